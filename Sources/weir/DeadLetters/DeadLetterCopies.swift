import EventLog
import Inspection

/// Which records of a partition are copies of dead letters: found in the log itself, by their header `weir_origin`
/// and their bytes. Any producer can write the header: a record of other bytes is no copy. A copy goes to the
/// partition of its dead letter, so that it lies after it, and is there for as long as the log still has the
/// place of the dead letter.
struct DeadLetterCopies {
    /// The offset from which on the partition still has everything.
    let earliestOffset: Int64
    /// Offsets of those that name an origin, in order, by the origin and by what they consist of.
    private let offsets: [RecordAddress: [String: [Int64]]]

    /// Reads a partition from the first of the dead letters on to its end.
    init(
        of letters: [DeadLetter], in partition: TopicPartition, _ log: any LogBackend,
        onProgress: (Int64) -> Void
    ) throws {
        let reader = try log.reader(topic: partition.topic)
        defer { reader.close() }
        earliestOffset = try reader.bounds(of: [partition.partition]).first?.earliestOffset ?? 0
        let first = letters.map(\.place.offset).min() ?? 0
        let wanted = Set(letters.map(\.firstPlace))
        var offsets: [RecordAddress: [String: [Int64]]] = [:]
        var reading = try TopicReading(
            reader, partition: partition.partition, from: .offset(first), to: nil)
        var count: Int64 = 0
        try reading.readStretch { record in
            count += 1
            if count.isMultiple(of: 10_000) { onProgress(count) }
            guard let header = record.headers.first(named: "weir_origin"),
                let origin = RecordAddress(header), wanted.contains(origin)
            else { return }
            let content = DeadLetter.contentSHA256(of: record)
            offsets[origin, default: [:]][content, default: []].append(record.offset)
        }
        self.offsets = offsets
    }

    /// The copy of a dead letter; nil when there is none. The copies of one record follow each other, each
    /// made of the one before, which was refused again.
    func copy(of letter: DeadLetter) -> RecordAddress? {
        offsets[letter.firstPlace]?[letter.contentSHA256]?.first { $0 > letter.place.offset }
            .map { place($0, beside: letter) }
    }

    /// The first record after a dead letter that names its origin and has other bytes; nil when there is none.
    func stranger(to letter: DeadLetter) -> RecordAddress? {
        offsets[letter.firstPlace]?.filter { $0.key != letter.contentSHA256 }.values.joined()
            .filter { $0 > letter.place.offset }.min().map { place($0, beside: letter) }
    }

    private func place(_ offset: Int64, beside letter: DeadLetter) -> RecordAddress {
        RecordAddress(
            topic: letter.place.topic, partition: letter.place.partition, offset: offset)
    }
}
