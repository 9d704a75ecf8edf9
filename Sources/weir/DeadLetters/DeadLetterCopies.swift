import EventLog
import Inspection

/// Which records of a partition are copies of dead letters: found by their header `weir_origin`, in the log
/// itself. A copy goes to the partition of its dead letter, so that it lies behind it, and is there for as
/// long as the log still has the place of the dead letter.
struct DeadLetterCopies {
    /// The offset from which on the partition still has everything.
    let earliestOffset: Int64
    /// Offsets of the copies by what they name as their origin, in order.
    private let offsets: [RecordAddress: [Int64]]

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
        var offsets: [RecordAddress: [Int64]] = [:]
        var reading = try TopicReading(
            reader, partition: partition.partition, from: .offset(first), to: nil)
        var count: Int64 = 0
        try reading.readStretch { record in
            count += 1
            if count.isMultiple(of: 10_000) { onProgress(count) }
            guard let header = record.headers.first(named: "weir_origin"),
                let origin = RecordAddress(header), wanted.contains(origin)
            else { return }
            offsets[origin, default: []].append(record.offset)
        }
        self.offsets = offsets
    }

    /// The copy of a dead letter; nil when there is none. The copies of one record follow each other, each
    /// made of the one before, which was refused again.
    func copy(of letter: DeadLetter) -> RecordAddress? {
        offsets[letter.firstPlace]?.first { $0 > letter.place.offset }.map { offset in
            RecordAddress(
                topic: letter.place.topic, partition: letter.place.partition, offset: offset)
        }
    }
}
