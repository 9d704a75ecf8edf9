/// A change of the stores that are in force, as `sets.json` has it.
package struct StorePromotion: Codable, Equatable, Sendable {
    /// Which way it went.
    package enum Kind: String, Codable, Sendable {
        /// To a set that was replayed.
        case promote
        /// Back to a set that had been in force.
        case rollback
    }

    /// Where the store of a stream went. Directories are relative to the data directory when they lie
    /// below it (`.` is that itself), else absolute.
    package struct Move: Codable, Equatable, Sendable {
        /// The directory whose store is in force from then on.
        package var to: String
        /// The directory whose store was until then.
        package var from: String

        /// Names both.
        package init(to: String, from: String) {
            self.to = to
            self.from = from
        }
    }

    /// When it was, in milliseconds since 1970.
    package var atMilliseconds: Int64
    /// Which way it went.
    package var kind: Kind
    /// The streams that it changed.
    package var streams: [String: Move]

    /// Describes a promotion.
    package init(atMilliseconds: Int64, kind: Kind, streams: [String: Move]) {
        self.atMilliseconds = atMilliseconds
        self.kind = kind
        self.streams = streams
    }

    private enum CodingKeys: String, CodingKey {
        case atMilliseconds = "at_ms"
        case kind, streams
    }
}
