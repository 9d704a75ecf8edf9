import Reports
import Wording

/// The result of explaining a number.
package struct Explanation: Sendable {
    /// A measure: its sum in the stores, and the sum over the records.
    package struct Measure: Equatable, Sendable {
        package let name: String
        /// Its index in the number.
        package let index: Int
        /// Nil if an earlier version folded some of the rows and did not count the measure.
        package let stored: Int128?
        package let found: Int128
        package let records: Int64
        /// The currency of an amount, if all of it in the stores has the same one; nil without amounts or without a
        /// named currency.
        package internal(set) var currency: String?

        /// The name, followed by the currency of an amount: `revenue_min_micros USD`. The names of some measures end
        /// in their currency already.
        package var label: String {
            guard let currency, !name.contains(" ") else { return name }
            return "\(name) \(currency)"
        }
    }

    /// Records that were folded and are no longer in the log.
    package struct Missing: Equatable, Sendable {
        /// Where they are missing.
        package enum Position: Equatable, Sendable {
            /// The log begins later: records expired or were trimmed.
            case beforeBegin(Range<Int64>)
            /// The log ends earlier: it lost its end, or is another one.
            case afterEnd(Range<Int64>)
            /// Among others: offsets without a record, for example after compaction.
            case between
        }

        package let topic: String
        package let partition: Int32
        package let position: Position
        /// The number of missing records in the partition's relevant hours; negative if the log has more records than
        /// were folded.
        package let records: Int64
    }

    /// Left-out records that may or may not belong to the number.
    package struct Untold: Equatable, Sendable {
        package let topic: String
        /// Why they were left out.
        package let reason: String
        package let records: Int64
    }

    package let dump: String
    /// The requested measures; for all, those that are not 0.
    package let measures: [Measure]
    package let counted: Int64
    package let leftOut: Int64
    /// Whether the records were folded again. Otherwise the index of the store has counted them.
    package internal(set) var isVerified = true
    /// The records of the same hours that were not accepted, and of which it is unknown whether they were left out of
    /// this number; 0 if all were folded again.
    package internal(set) var unexamined: Int64 = 0
    /// Other left-out records of the same hours, by topic and reason.
    package let untold: [Untold]
    /// Records that the log no longer has, or has in excess.
    package let missing: [Missing]
    /// Records of the hours, or of the list, that were erased. What they added is in the store, and cannot be computed
    /// again.
    package internal(set) var erased: [ErasedPosition] = []
    /// Partitions, as `bids/0`, in which a worker folded records during the explanation.
    package internal(set) var foldedOn: [String] = []
    /// The streams without a store: their records are unknown, and not in any number.
    package internal(set) var missingStreams: [String] = []

    /// Whether the records add up to the numbers in the stores.
    package var addsUp: Bool { measures.allSatisfy { $0.stored == $0.found } }

    /// Whether the records contradict the numbers. If some were erased, a difference proves nothing.
    package var differs: Bool { !addsUp && erased.isEmpty }

    /// A line for each measure: whether it adds up, and why not.
    package var summary: [String] {
        guard !measures.isEmpty else {
            return [
                isVerified
                    ? "adds up: no record adds anything, the store has 0"
                    : "the number is 0: no record adds to it, by the index of the store"
            ]
        }
        return measures.map { measure in
            let records =
                measure.records == 1 ? "1 record adds" : "\(measure.records) records add"
            guard let stored = measure.stored else {
                return
                    "not known: \(records) \(measure.found) to \(measure.label), and an earlier version of Weir did not count \(measure.label) in some of these rows: see weir upgrade"
            }
            guard isVerified else {
                return
                    "\(measure.label) is \(stored): \(records) to it, by the index of the store"
            }
            guard stored != measure.found else {
                return
                    "adds up: \(records) \(measure.found) to \(measure.label), the store has \(stored)"
            }
            guard erased.isEmpty else {
                return
                    "cannot be verified: \(records) \(measure.found) to \(measure.label), the store has \(stored), and what \(Wording.counted(Int64(erased.count), "erased record")) of these hours added is not known any more"
            }
            return
                "does not add up: \(records) \(measure.found) to \(measure.label), the store has \(stored), "
                + "which is \(Self.difference(stored - measure.found)): \(reason)"
        }
    }

    private static func difference(_ more: Int128) -> String {
        more > 0 ? "\(more) more" : "\(-more) less"
    }

    /// The cause: the log, a running worker, or damage.
    private var reason: String {
        guard missing.isEmpty else {
            let hasBegin = missing.contains {
                if case .beforeBegin = $0.position { true } else { false }
            }
            return missing.map(Self.explanation).joined(separator: "; ")
                + (hasBegin ? "; give --archive a copy that contains them" : "")
        }
        guard foldedOn.isEmpty else {
            return
                "a worker has folded further records of \(foldedOn.joined(separator: ", ")) in the meantime: repeat the command, and if the result stays the same, stop the worker and repeat it"
        }
        return
            "every record of these hours is in the log, so the store or the log is damaged or was changed by hand: run weir check, then fold again with weir replay and compare"
    }

    private static func explanation(_ missing: Missing) -> String {
        let partition = "\(missing.topic)/\(missing.partition)"
        let records = "\(Wording.counted(missing.records, "record")) of these hours"
        switch missing.position {
        case .beforeBegin(let offsets):
            return
                "the log no longer contains offsets \(offsets.lowerBound) to \(offsets.upperBound - 1) of \(partition) and now starts later (\(records))"
        case .afterEnd(let offsets):
            return
                "\(partition) ends at offset \(offsets.lowerBound), but was folded up to \(offsets.upperBound) (\(records)): the log lost its end or is another log; give --log the log that was folded"
        case .between where missing.records < 0:
            return
                "\(partition) contains \(Wording.counted(-missing.records, "record")) of these hours more than were folded: it is another log, or it was overwritten; give --log the log that was folded"
        case .between:
            return
                "\(records) of \(partition) \(missing.records == 1 ? "is" : "are") missing from the log: it was compacted, is another log or is damaged; run weir check, or give --archive a copy that contains them"
        }
    }
}

/// Why numbers cannot be explained as requested.
package enum ExplanationError: OperatorError, Equatable, Sendable {
    /// The store has no configuration in force for an offset.
    case unknownEpoch(topic: String, partition: Int32, offset: Int64)
    /// The log returned nothing before the end of a range.
    case silentLog(topic: String, partition: Int32, offset: Int64, end: Int64, seconds: Int64)
    /// The log no longer has records that must be folded again.
    case recordsGone(topic: String, partition: Int32, offsets: Range<Int64>)
    /// The same for one or several partitions.
    case gone([GoneRecords])
    /// Records that must be folded again were erased.
    case erased([ErasedPosition])
    /// The log has other records than those that the store has accepted.
    case postbacksMissing(
        topic: String, partition: Int32, offsets: Range<Int64>, found: Int, accepted: Int)
    /// A record before an instant replaced or repeated one after it. The record that it would otherwise have replaced
    /// is unknown.
    case replacedLater(topic: String, partition: Int32, offset: Int64, replaced: Int64)
    /// The log, or the topic in it, is not the one that the store was folded from.
    case otherLog(topic: String, address: String)
    /// The log holds another record than the store has folded.
    case otherRecords(topic: String, partition: Int32, offset: Int64)
    /// Another version of Weir wrote a stream that this one does not know.
    case unknownStream(String)
    case unknownMeasure(String, dump: String, valid: [String])
    /// An earlier version of Weir folded some of the rows and did not count the measure.
    case notCounted(measure: String, dump: String)
    /// The measure is not a sum over records.
    case noSum(String, dump: String, explanation: String)
    /// The rows of the dump are not sums.
    case noFigure(dump: String, explanation: String)
    /// The rows are of several currencies, which are never added up.
    case severalCurrencies(measure: String, dump: String, currencies: [String])
    case file(operation: String, path: String, detail: String)
    /// The file is not evidence of this version's format.
    case noEvidence(path: String, detail: String)

    /// True if the query is at fault, not the data.
    package var isUsage: Bool {
        switch self {
        case .unknownMeasure, .noSum, .noFigure, .severalCurrencies: true
        case .unknownEpoch, .silentLog, .recordsGone, .gone, .erased, .postbacksMissing,
            .replacedLater,
            .otherLog,
            .otherRecords,
            .unknownStream, .notCounted,
            .file,
            .noEvidence:
            false
        }
    }

    /// One line: fault, place and remedy.
    package var description: String {
        switch self {
        case .unknownEpoch(let topic, let partition, let offset):
            "the store has no configuration for offset \(offset) of \(topic)/\(partition), so it is damaged: move it away and fold again"
        case .silentLog(let topic, let partition, let offset, let end, let seconds):
            "\(topic)/\(partition) returned no records from offset \(offset) within \(seconds) s, and the range ends at \(end): its broker does not answer; check weir lag and the cluster, then try again"
        case .recordsGone(let topic, let partition, let offsets):
            "\(Self.gone([GoneRecords(topic: topic, partition: partition, offsets: offsets)]))"
        case .gone(let records):
            "the log no longer has "
                + records.map {
                    "offsets \($0.offsets.lowerBound) to \($0.offsets.upperBound - 1) of \($0.topic)/\($0.partition)"
                }.joined(separator: ", ") + ": give --archive an archive that contains them"
        case .erased(let records):
            "\(Wording.counted(Int64(records.count), "record")) of \(records.first.map { "\($0.topic)/\($0.partition), the first at offset \($0.offset)," } ?? "the log") \(records.count == 1 ? "was" : "were") erased and cannot be folded again: choose a time without them"
        case .postbacksMissing(let topic, let partition, let offsets, let found, let accepted):
            "the log contains \(found) of \(accepted) accepted postbacks in offsets \(offsets.lowerBound) to \(offsets.upperBound - 1) of \(topic)/\(partition): records are missing in between or at the end; give --archive an archive that contains them, or give --log the log that was folded"
        case .replacedLater(let topic, let partition, let offset, let replaced):
            "\(topic)/\(partition) has out-of-order timestamps: the record at offset \(offset) is earlier than the requested time, but replaced or repeated the later record at offset \(replaced). The state at that time is unknown: give a later time"
        case .otherLog(let topic, let address):
            "\(topic) of \(address) is not the topic that the stores were folded from: give --log the log that was folded"
        case .otherRecords(let topic, let partition, let offset):
            "\(topic)/\(partition) contains another record at offset \(offset) than the store has folded: the topic was recreated, or its log lost its end and was overwritten; give --log the log that was folded (ops/runbooks/topic-recreated.md)"
        case .unknownStream(let stream):
            "this version of Weir does not know the stream '\(stream)': use the version that wrote it"
        case .unknownMeasure(let measure, let dump, let valid):
            "no measure '\(measure)' in \(dump): \(UnknownName(measure, valid: valid))"
        case .notCounted(let measure, let dump):
            "\(measure) of \(dump) is unknown in some of these rows: an earlier version of Weir did not count it. Run weir upgrade, or choose other rows (docs/guides/upgrade.md)"
        case .noSum(let measure, let dump, let explanation):
            "\(measure) of \(dump) \(explanation)"
        case .noFigure(let dump, let explanation): "\(dump) \(explanation)"
        case .severalCurrencies(let measure, let dump, let currencies):
            "\(measure) of \(dump) has amounts in \(MoneyByCurrency.list(currencies)), which cannot be added: select one currency, for example with --where currency=\(currencies.last ?? "")"
        case .file(let operation, let path, let detail):
            "cannot \(operation) \(path): \(detail)"
        case .noEvidence(let path, let detail):
            "this version of Weir cannot read \(path) as evidence: \(detail)"
        }
    }
}
