extension String {
    /// With the ASCII letters in lower case and everything else as it is, as keys of aggregates are.
    var asciiLowercased: String {
        String(
            decoding: utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}
