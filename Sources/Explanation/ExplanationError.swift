/// Why numbers cannot be explained as asked.
package enum ExplanationError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The store says of no configuration that it was in force at an offset.
    case unknownEpoch(topic: String, partition: Int32, offset: Int64)
    /// The log gave nothing before the end of a stretch.
    case silentLog(topic: String, partition: Int32, offset: Int64, end: Int64, seconds: Int64)
    /// The log no longer has records that would have to be folded again.
    case recordsGone(topic: String, partition: Int32, offsets: Range<Int64>)
    /// The log, or the topic in it, is not the one that the store was folded from.
    case otherLog(topic: String, address: String)
    /// The log holds another record than the store has folded.
    case otherRecords(topic: String, partition: Int32, offset: Int64)
    /// The dump has no such measure.
    case unknownMeasure(String, dump: String, known: [String])
    /// The measure is not a sum of what records add.
    case noSum(String, dump: String, words: String)
    /// The rows are of several currencies, which are never added up.
    case severalCurrencies(measure: String, dump: String, currencies: [String])
    /// A file cannot be read or written.
    case file(operation: String, path: String, detail: String)
    /// A file is no evidence as this version writes it.
    case noEvidence(path: String, detail: String)

    /// True when the question is at fault, and not what it is asked of.
    package var isUsage: Bool {
        switch self {
        case .unknownMeasure, .noSum, .severalCurrencies: true
        case .unknownEpoch, .silentLog, .recordsGone, .otherLog, .otherRecords, .file, .noEvidence:
            false
        }
    }

    /// One line: what, where, and what to do.
    package var description: String {
        switch self {
        case .unknownEpoch(let topic, let partition, let offset):
            "the store has no configuration for offset \(offset) of \(topic)/\(partition): it is damaged; move it away and fold again"
        case .silentLog(let topic, let partition, let offset, let end, let seconds):
            "\(topic)/\(partition) gave nothing from offset \(offset) on within \(seconds) s, and the stretch ends at \(end): its broker does not answer; see weir lag and the cluster, then ask again"
        case .recordsGone(let topic, let partition, let offsets):
            "the log no longer has offsets \(offsets.lowerBound) to \(offsets.upperBound - 1) of \(topic)/\(partition): name an archive that has them with --archive"
        case .otherLog(let topic, let address):
            "\(topic) of \(address) is not the topic that the stores were folded from: give --log that one"
        case .otherRecords(let topic, let partition, let offset):
            "\(topic)/\(partition) holds another record at offset \(offset) than the store has folded: the topic was created anew, or its log lost its end and was written on; give --log the one that was folded (ops/runbooks/topic-made-anew.md)"
        case .unknownMeasure(let measure, let dump, let known):
            "no measure '\(measure)' in \(dump): there are \(known.joined(separator: ", "))"
        case .noSum(let measure, let dump, let words):
            "\(measure) of \(dump) \(words)"
        case .severalCurrencies(let measure, let dump, let currencies):
            "\(measure) of \(dump) is of \(Money.words(currencies)) here, which are never added up: give --where currency=\(currencies.last ?? ""), one after the other"
        case .file(let operation, let path, let detail):
            "cannot \(operation) \(path): \(detail)"
        case .noEvidence(let path, let detail):
            "\(path) is no evidence that this version of Weir reads: \(detail)"
        }
    }
}
