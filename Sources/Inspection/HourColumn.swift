import Streams

/// Reads the texts of an hour column, of which there are few different ones.
struct HourColumn {
    private var known: [String: (milliseconds: Int64, day: String)] = [:]

    mutating func hour(_ text: String) -> (milliseconds: Int64, day: String) {
        if let hour = known[text] { return hour }
        // Years of five digits and more are later than whatever is asked for.
        let milliseconds = UTC.milliseconds(text: text) ?? .max
        let hour = (milliseconds, String(text.prefix { $0 != "T" }))
        known[text] = hour
        return hour
    }
}
