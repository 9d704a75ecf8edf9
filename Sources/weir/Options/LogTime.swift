import Streams

/// Times as a person writes them.
enum LogTime {
    /// Milliseconds since 1970, from RFC 3339, a date, or milliseconds in digits.
    static func milliseconds(_ text: String, option: String) throws(CommandError) -> Int64 {
        if let time = Int64(text) ?? UTC.milliseconds(text: text) { return time }
        throw .usage(
            "\(option) '\(text)' is no time: write 2026-11-21, 2026-11-21T05:00:00Z or milliseconds"
        )
    }
}
