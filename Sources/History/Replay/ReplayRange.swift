/// Where a replay begins and where it ends, of every partition.
package struct ReplayRange: Codable, Equatable, Sendable {
    /// The first offset; nil for the oldest record, unless there is a time.
    package var fromOffset: Int64?
    /// The time of the first record, in milliseconds since 1970.
    package var fromMilliseconds: Int64?
    /// The offset behind the last record; nil for the end of the log, unless there is a time.
    package var toOffset: Int64?
    /// A time, in milliseconds since 1970: the first record of that time or later is the first that is
    /// left out.
    package var toMilliseconds: Int64?

    /// All that there is, unless said otherwise.
    package init(
        fromOffset: Int64? = nil, fromMilliseconds: Int64? = nil, toOffset: Int64? = nil,
        toMilliseconds: Int64? = nil
    ) {
        self.fromOffset = fromOffset
        self.fromMilliseconds = fromMilliseconds
        self.toOffset = toOffset
        self.toMilliseconds = toMilliseconds
    }

    /// Whether it ends with the log, so that it may be followed.
    package var isOpen: Bool { toOffset == nil && toMilliseconds == nil }

    private enum CodingKeys: String, CodingKey {
        case fromOffset = "from_offset"
        case fromMilliseconds = "from_ms"
        case toOffset = "to_offset"
        case toMilliseconds = "to_ms"
    }
}
