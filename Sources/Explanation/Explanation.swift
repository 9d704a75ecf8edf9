/// What came of explaining a number.
package struct Explanation: Sendable {
    /// A measure, as the stores have it and as the records add up to it.
    package struct Measure: Equatable, Sendable {
        /// Its name.
        package let name: String
        /// Its place in the cell.
        package let place: Int
        /// The number in the stores.
        package let stored: Int128
        /// What the records add up to.
        package let found: Int128
        /// How many of them there are.
        package let records: Int64
    }

    /// Records that were folded and are no longer in the log.
    package struct Missing: Equatable, Sendable {
        /// Where they are missing.
        package enum Place: Equatable, Sendable {
            /// The log begins later: its retention is over, or it was trimmed.
            case beforeBegin(Range<Int64>)
            /// The log ends earlier: it lost its end, or is another one.
            case afterEnd(Range<Int64>)
            /// Among others: offsets without a record, as compaction leaves them.
            case between
        }

        /// Name of the topic.
        package let topic: String
        /// Number of the partition.
        package let partition: Int32
        /// Where they are missing.
        package let place: Place
        /// How many records of the hours that were looked at are missing from the partition; negative when
        /// the log has more of them than were folded.
        package let records: Int64
    }

    /// Records that were left out, of which cannot be told whether they concern the number.
    package struct Untold: Equatable, Sendable {
        /// Name of the topic.
        package let topic: String
        /// Why they were left out.
        package let reason: String
        /// How many there are.
        package let records: Int64
    }

    /// Name of the dump.
    package let dump: String
    /// The measures that were asked for; of all, those that are not 0.
    package let measures: [Measure]
    /// Number of records that add to them.
    package let counted: Int64
    /// Number of records that were left out.
    package let leftOut: Int64
    /// What else was left out in the same hours, by topic and reason.
    package let untold: [Untold]
    /// What the log no longer has, or has more of.
    package let missing: [Missing]
    /// Partitions, as `bids/0`, that a worker has folded on meanwhile.
    package internal(set) var foldedOn: [String] = []
    /// The streams that have no store: what comes of them is not known, and in no number.
    package internal(set) var missingStreams: [String] = []
    /// Number of records that were looked at.
    package let read: Int64

    /// Whether the records add up to the numbers in the stores.
    package var addsUp: Bool { measures.allSatisfy { $0.stored == $0.found } }

    /// A line for each measure: whether it adds up and, where it does not, why.
    package var words: [String] {
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
