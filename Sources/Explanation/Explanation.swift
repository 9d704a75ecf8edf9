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
        /// Name of the topic.
        public let topic: String
        /// Number of the partition.
        public let partition: Int32
        /// The offsets that are gone at the beginning of a stretch; nil for records that are missing among
        /// others.
        public let offsets: Range<Int64>?
        /// How many records of the hours that were looked at are missing from the partition.
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
    /// What the log no longer has.
    public let missing: [Missing]
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

    private var reason: String {
        guard !missing.isEmpty else {
            return "the log or the store was changed since; fold again with weir replay and compare"
        }
        return missing.map { missing in
            let place = "\(missing.topic)/\(missing.partition)"
            guard let offsets = missing.offsets else {
                return "\(missing.records) records of \(place) are gone from the log"
            }
            return
                "offsets \(offsets.lowerBound) to \(offsets.upperBound - 1) of \(place) are gone from the log "
                + "(\(missing.records) records of these hours)"
        }.joined(separator: "; ") + "; give --archive a copy that has them"
    }
}
