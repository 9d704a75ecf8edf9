import EventLog
import Inspection

/// Publishes copies of dead letters, each once, however often it is asked to.
///
/// The log is what says that a copy was published, and nothing else does: whatever ended the attempt before,
/// the copy is there, and is found, or it is not, and is published.
struct Requeue {
    /// What became of a dead letter.
    enum Outcome: Equatable {
        /// A copy would be published.
        case due
        /// A copy was published there.
        case requeued(RecordAddress)
        /// A copy was published before, and lies there.
        case before(RecordAddress)
        /// No copy can be published.
        case impossible(String)
    }

    /// A copy is published together with at most so many others.
    private static let batchRecords = 100
    private static let batchBytes = 8 << 20

    private let log: any LogBackend
    /// The dead letters of some places, with their bytes.
    private let fetch: ([RecordAddress]) throws -> [KeptRecord]
    /// Whether letters are requeued of which the log no longer shows whether they were before.
    var includesUnchecked = false
    /// Is told how many records of the log were looked through.
    var onProgress: (Int64) -> Void = { _ in }
    /// Is called with a dead letter that is due, and a record that names its origin and is no copy of it.
    var onStranger: (DeadLetter, RecordAddress) -> Void = { _, _ in }

    init(to log: any LogBackend, _ fetch: @escaping ([RecordAddress]) throws -> [KeptRecord]) {
        self.log = log
        self.fetch = fetch
    }

    /// What would become of dead letters, in their order.
    func plan(_ letters: [DeadLetter]) throws -> [Outcome] {
        let topics = try log.topics()
        var copies: [TopicPartition: DeadLetterCopies] = [:]
        let possible = letters.filter { obstacle(of: $0, topics) == nil }
        let partitions = Dictionary(grouping: possible) {
            TopicPartition(topic: $0.place.topic, partition: $0.place.partition)
        }
        for (partition, letters) in partitions.sorted(by: { $0.key < $1.key }) {
            copies[partition] = try DeadLetterCopies(
                of: letters, in: partition, log, onProgress: onProgress)
        }
        return letters.map { letter in
            if let words = obstacle(of: letter, topics) { return .impossible(words) }
            let partition = TopicPartition(
                topic: letter.place.topic, partition: letter.place.partition)
            guard let found = copies[partition] else { return .due }
            if let copy = found.copy(of: letter) { return .before(copy) }
            guard letter.place.offset >= found.earliestOffset || includesUnchecked else {
                return .impossible(
                    "the log begins at offset \(found.earliestOffset) by now, so that it does not "
                        + "show whether this was requeued before: --unchecked requeues it all the same"
                )
            }
            if let stranger = found.stranger(to: letter) { onStranger(letter, stranger) }
            return .due
        }
    }

    /// Publishes copies of those of the dead letters that are due. `note` is told what became of each,
    /// as soon as it is durable.
    func publish(
        _ letters: [DeadLetter], _ plan: [Outcome], note: (Int, Outcome) -> Void
    ) throws {
        let due = letters.indices.filter { plan[$0] == .due }
        guard !due.isEmpty else { return }
        let writer = try log.writer()
        var rest = due[...]
        while let first = rest.first {
            var batch = [first]
            var bytes = letters[first].valueBytes ?? 0
            for index in rest.dropFirst().prefix(Self.batchRecords - 1) {
                bytes += letters[index].valueBytes ?? 0
                guard bytes <= Self.batchBytes else { break }
                batch.append(index)
            }
            rest = rest.dropFirst(batch.count)
            let kept = try fetch(batch.map { letters[$0].place })
            // A promotion may have put other stores in force meanwhile.
            let found = batch.compactMap { index in
                kept.first { $0.place == letters[index].place }.map { (index, $0) }
            }
            let positions = try writer.append(found.map(\.1.copy))
            for (position, (index, record)) in zip(positions, found) {
                note(
                    index,
                    .requeued(
                        RecordAddress(
                            topic: record.place.topic, partition: position.partition,
                            offset: position.offset)))
            }
            for index in batch where !found.contains(where: { $0.0 == index }) {
                note(index, .impossible("the stores no longer have it"))
            }
        }
    }

    private func obstacle(of letter: DeadLetter, _ topics: [TopicDescription]) -> String? {
        if let words = letter.obstacle { return words }
        guard let topic = topics.first(where: { $0.name == letter.place.topic }) else {
            return "its topic is not in \(log.address): give --log the one that it was folded from"
        }
        guard topic.identity == letter.logIdentity else {
            return
                "it was folded from another topic than that of \(log.address): give --log that one"
        }
        guard letter.place.partition < topic.partitionCount else {
            return "partition \(letter.place.partition) is not in \(log.address)"
        }
        if topic.isArchive { return "\(log.address) has a copy of its topic: give --log the log" }
        return nil
    }
}
