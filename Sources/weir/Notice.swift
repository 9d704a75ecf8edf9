import Worker

/// What a reader of the output should know beside it.
enum Notice {
    /// Writes a line to standard error.
    static func write(_ words: String) {
        StandardError.write(line: "weir: \(words)")
    }
}
