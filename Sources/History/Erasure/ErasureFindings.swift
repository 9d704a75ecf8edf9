import EventLog
import Store
import Wording

/// The findings of an erasure.
package struct ErasureFindings: Sendable {
    /// Records of a partition of the log.
    package struct Records: Sendable {
        package let topic: String
        /// The identity of their topic.
        let identity: String
        package let partition: Int32
        /// Offsets with the times of the records, in milliseconds since 1970.
        package internal(set) var records: [(offset: Int64, timestampMilliseconds: Int64)] = []
        /// The distinct keys of the records.
        var keys: Set<[UInt8]> = []
        package internal(set) var fate: Fate = .emptied

        /// When Kafka may delete the last of them, in milliseconds since 1970; nil if that is not known.
        package var expiryMilliseconds: Int64? {
            guard case .kept(let retention?) = fate else { return nil }
            return records.map { $0.timestampMilliseconds + retention }.max()
        }
    }

    /// The fate of found records.
    package enum Fate: Equatable, Sendable {
        /// The bytes are removed in place.
        case emptied
        /// Kafka compacts the topic: a tombstone with the key of a record removes it.
        case compacted
        /// Kafka keeps the record for this time, in milliseconds; nil: permanently.
        case kept(retentionMilliseconds: Int64?)

        package var name: String {
            switch self {
            case .emptied: "emptied"
            case .compacted: "compacted"
            case .kept: "kept"
            }
        }
    }

    /// Rejected records with their bytes, in a store.
    package struct Refused: Sendable {
        package let path: String
        let data: String
        package let places: [RefusedBytes.Place]
    }

    /// States of the install in a file of a collector.
    package struct Installs: Sendable {
        package let path: String
        package let states: Int
    }

    /// A file that still contains the records, and that Weir does not change.
    package struct Copy: Sendable {
        package let path: String
        package var records: Int
        package var remedy: String

        package init(path: String, records: Int, remedy: String) {
            self.path = path
            self.records = records
            self.remedy = remedy
        }
    }

    package internal(set) var records: [Records] = []
    package internal(set) var refused: [Refused] = []
    package internal(set) var installs: [Installs] = []
    package var copies: [Copy] = []
    package init() {}

    package var isEmpty: Bool {
        records.isEmpty && refused.isEmpty && installs.isEmpty && copies.isEmpty
    }

    /// The number of records with a fate.
    package func count(_ isWanted: (Fate) -> Bool) -> Int {
        records.reduce(0) { $0 + (isWanted($1.fate) ? $1.records.count : 0) }
    }

    /// One sentence with the numbers, for the operator's log and for people.
    package func summary(isDry: Bool) -> String {
        guard !isEmpty else { return "nothing found" }
        let emptied = count { $0 == .emptied }
        let kept = count { $0 != .emptied }
        let refusedCount = refused.reduce(0) { $0 + $1.places.count }
        let states = installs.reduce(0) { $0 + $1.states }
        var parts = [
            "\(counted(emptied, "record")) of the log",
            "\(counted(refusedCount, "rejected record")) in stores",
            "\(counted(states, "state")) of the install",
        ]
        parts = ["\(isDry ? "would erase" : "erased") \(parts.joined(separator: ", "))"]
        if kept > 0 {
            parts.append(
                "\(counted(kept, "record")) \(kept == 1 ? "stays" : "stay") in Kafka until compaction or retention"
            )
        }
        if !copies.isEmpty {
            parts.append(
                "\(counted(copies.count, "copy", plural: "copies")) \(copies.count == 1 ? "still contains" : "still contain") records"
            )
        }
        return parts.joined(separator: "; ")
    }
}
