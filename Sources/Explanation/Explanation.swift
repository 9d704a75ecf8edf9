/// What came of explaining a number.
public struct Explanation: Sendable {
    /// A measure, as the stores have it and as the records add up to it.
    public struct Measure: Equatable, Sendable {
        /// Its name.
        public let name: String
        /// Its place in the cell.
        public let place: Int
        /// The number in the stores.
        public let stored: Int128
        /// What the records add up to.
        public let found: Int128
        /// How many of them there are.
        public let records: Int64
    }

    /// Records that were folded and are no longer in the log.
    public struct Missing: Equatable, Sendable {
        /// Where they are missing.
        public enum Place: Equatable, Sendable {
            /// The log begins later: its retention is over, or it was trimmed.
            case beforeBegin(Range<Int64>)
            /// The log ends earlier: it lost its end, or is another one.
            case afterEnd(Range<Int64>)
            /// Among others: offsets without a record, as compaction leaves them.
            case between
        }

        /// Name of the topic.
        public let topic: String
        /// Number of the partition.
        public let partition: Int32
        /// Where they are missing.
        public let place: Place
        /// How many records of the hours that were looked at are missing from the partition; negative when
        /// the log has more of them than were folded.
        public let records: Int64
    }

    /// Records that were left out, of which cannot be told whether they concern the number.
    public struct Untold: Equatable, Sendable {
        /// Name of the topic.
        public let topic: String
        /// Why they were left out.
        public let reason: String
        /// How many there are.
        public let records: Int64
    }

    /// Name of the dump.
    public let dump: String
    /// The measures that were asked for; of all, those that are not 0.
    public let measures: [Measure]
    /// Number of records that add to them.
    public let counted: Int64
    /// Number of records that were left out.
    public let leftOut: Int64
    /// What else was left out in the same hours, by topic and reason.
    public let untold: [Untold]
    /// What the log no longer has, or has more of.
    public let missing: [Missing]
    /// Partitions, as `bids/0`, that a worker has folded on meanwhile.
    public internal(set) var foldedOn: [String] = []
    /// The streams that have no store: what comes of them is not known, and in no number.
    public internal(set) var missingStreams: [String] = []
    /// Number of records that were looked at.
    public let read: Int64

    /// Whether the records add up to the numbers in the stores.
    public var addsUp: Bool { measures.allSatisfy { $0.stored == $0.found } }

    /// A line for each measure: whether it adds up and, where it does not, why.
    public var words: [String] {
        guard !measures.isEmpty else {
            return ["adds up: no record adds anything, the store says 0"]
        }
        return measures.map { measure in
            let records =
                measure.records == 1 ? "1 record adds" : "\(measure.records) records add"
            guard measure.stored != measure.found else {
                return
                    "adds up: \(records) \(measure.found) to \(measure.name), the store says \(measure.stored)"
            }
            return
                "does not add up: \(records) \(measure.found) to \(measure.name), the store says \(measure.stored), "
                + "which is \(measure.stored - measure.found) more: \(reason)"
        }
    }

    /// Whether it is the log, a worker that runs, or damage.
    private var reason: String {
        guard missing.isEmpty else {
            let hasBegin = missing.contains {
                if case .beforeBegin = $0.place { true } else { false }
            }
            return missing.map(Self.words).joined(separator: "; ")
                + (hasBegin ? "; give --archive a copy that has them" : "")
        }
        guard foldedOn.isEmpty else {
            return
                "a worker has folded on in \(foldedOn.joined(separator: ", ")) meanwhile: ask again, and with the worker stopped if that gives the same"
        }
        return
            "every record of these hours is in the log, so the store or the log is damaged or was changed by hand: see weir check, then fold again with weir replay and compare"
    }

    private static func words(_ missing: Missing) -> String {
        let partition = "\(missing.topic)/\(missing.partition)"
        let records = "\(missing.records) records of these hours"
        switch missing.place {
        case .beforeBegin(let offsets):
            return
                "offsets \(offsets.lowerBound) to \(offsets.upperBound - 1) of \(partition) are gone from the log, which begins later now (\(records))"
        case .afterEnd(let offsets):
            return
                "\(partition) ends at offset \(offsets.lowerBound), before \(offsets.upperBound) that was folded (\(records)): the log lost its end or is another one; give --log the one that was folded"
        case .between where missing.records < 0:
            return
                "\(partition) has \(-missing.records) records of these hours more than were folded: it is another log, or was written on where it was folded; give --log the one that was folded"
        case .between:
            return
                "\(records) of \(partition) are gone from the log, which has none at their offsets: it was compacted, is another one or is damaged; see weir check, or give --archive a copy that has them"
        }
    }
}
