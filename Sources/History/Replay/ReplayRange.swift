/// The beginning and end of a replay in every partition.
package struct ReplayRange: Codable, Equatable, Sendable {
    /// The first offset; nil for the oldest record, unless there is a time.
    package var fromOffset: Int64?
    /// The time of the first record, in milliseconds since 1970.
    package var fromMilliseconds: Int64?
    /// The end offset, excluded; nil for the end of the log, unless there is a time.
    package var toOffset: Int64?
    /// A time, in milliseconds since 1970: the first record of that time or later is excluded, with all later ones.
    package var toMilliseconds: Int64?

    /// Everything by default.
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
