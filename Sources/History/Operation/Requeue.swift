import Engine
import EventLog
import Reports
import Store

/// Publishes copies of dead letters, each once, however often the command runs.
///
/// The log is the only record of published copies. However the last attempt ended, the copy is either found in the log,
/// or missing and published.
package struct Requeue {
    /// The outcome for a dead letter.
    package enum Outcome: Equatable, Sendable {
        /// The copy is not published yet.
        case due
        /// The copy was published at this position.
        case requeued(TopicPosition)
        /// The copy was published earlier, at this position.
        case before(TopicPosition)
        /// Why a copy cannot be published.
        case impossible(String)
    }

    /// The maximum numbers of records and of value bytes per batch.
    private static let batchRecords = 100
    private static let batchBytes = 8 << 20

    private let log: any LogBackend
    /// Looks up dead letters by position, with their bytes.
    private let fetch: ([TopicPosition]) throws -> [KeptRecord]
    /// Whether to requeue letters if the log no longer reaches back far enough to show an earlier copy.
    package var includesUnchecked = false
    /// Called from time to time with the number of log records read.
    package var onProgress: (Int64) -> Void = { _ in }
    /// Called with a due dead letter, and a record that names it as its origin without being a copy.
    package var onStranger: (DeadLetter, TopicPosition) -> Void = { _, _ in }

    package init(
        to log: any LogBackend, _ fetch: @escaping ([TopicPosition]) throws -> [KeptRecord]
    ) {
        self.log = log
        self.fetch = fetch
    }

    /// The expected outcome of each dead letter, in their order.
    package func plan(_ letters: [DeadLetter]) throws -> [Outcome] {
        let topics = try log.topics()
        var copies: [TopicPartition: DeadLetterCopies] = [:]
        let possible = letters.filter { obstacle(of: $0, topics) == nil }
        let partitions = Dictionary(grouping: possible) {
            TopicPartition(topic: $0.position.topic, partition: $0.position.partition)
        }
        for (partition, letters) in partitions.sorted(by: { $0.key < $1.key }) {
            copies[partition] = try DeadLetterCopies(
                of: letters, in: partition, log, onProgress: onProgress)
        }
        return letters.map { letter in
            if let explanation = obstacle(of: letter, topics) { return .impossible(explanation) }
            let partition = TopicPartition(
                topic: letter.position.topic, partition: letter.position.partition)
            guard let found = copies[partition] else { return .due }
            if let copy = found.copy(of: letter) { return .before(copy) }
            guard letter.position.offset >= found.earliestOffset || includesUnchecked else {
                return .impossible(
                    "the log now starts at offset \(found.earliestOffset), so the command cannot detect "
                        + "whether this record was requeued before. Use --unchecked to requeue it anyway"
                )
            }
            if let stranger = found.stranger(to: letter) { onStranger(letter, stranger) }
            return .due
        }
    }

    /// Publishes copies of the due dead letters. Calls `note` for each as soon as its outcome is durable.
    package func publish(
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
            let kept = try fetch(batch.map { letters[$0].position })
            // A promotion may have replaced the stores in between.
            let found = batch.compactMap { index in
                kept.first { $0.position == letters[index].position }.map { (index, $0) }
            }
            let positions = try writer.append(found.map(\.1.copy))
            for (position, (index, record)) in zip(positions, found) {
                note(
                    index,
                    .requeued(
                        TopicPosition(
                            topic: record.position.topic, partition: position.partition,
                            offset: position.offset)))
            }
            for index in batch where !found.contains(where: { $0.0 == index }) {
                note(index, .impossible("the stores no longer contain it"))
            }
        }
    }

    private func obstacle(of letter: DeadLetter, _ topics: [TopicDescription]) -> String? {
        if let explanation = letter.obstacle { return explanation }
        guard let topic = topics.first(where: { $0.name == letter.position.topic }) else {
            return "its topic is not in \(log.address): give --log the log that it was folded from"
        }
        guard topic.identity == letter.logIdentity else {
            return
                "it was folded from another topic than that of \(log.address): give --log the log of that topic"
        }
        guard letter.position.partition < topic.partitionCount else {
            return "partition \(letter.position.partition) is not in \(log.address)"
        }
        if topic.isArchive {
            return "\(log.address) is an archive of its topic: give --log the original log"
        }
        return nil
    }
}

/// Finds the copies of dead letters in a partition: records with the header `weir_origin` and the same bytes. Any
/// producer can write the header, so a record with other bytes is not a copy. A copy is published to the partition of
/// its dead letter. So its offset is higher, and the log keeps it at least as long as the dead letter's position.
struct DeadLetterCopies {
    /// The first offset in the partition.
    let earliestOffset: Int64
    /// Ascending offsets of the records that name an origin, by origin and then by content.
    private let offsets: [TopicPosition: [String: [Int64]]]

    /// Reads a partition from the first of the dead letters to its end.
    init(
        of letters: [DeadLetter], in partition: TopicPartition, _ log: any LogBackend,
        onProgress: (Int64) -> Void
    ) throws {
        let reader = try log.reader(topic: partition.topic)
        defer { reader.close() }
        earliestOffset = try reader.bounds(of: [partition.partition]).first?.earliestOffset ?? 0
        let first = letters.map(\.position.offset).min() ?? 0
        let wanted = Set(letters.map(\.firstPosition))
        var offsets: [TopicPosition: [String: [Int64]]] = [:]
        var reading = try TopicReading(
            reader, partition: partition.partition, from: .offset(first), to: nil)
        var count: Int64 = 0
        try reading.readRange { record in
            count += 1
            if count.isMultiple(of: 10_000) { onProgress(count) }
            guard let header = record.headers.first(named: "weir_origin"),
                let origin = TopicPosition(header), wanted.contains(origin)
            else { return }
            let content = DeadLetter.contentSHA256(of: record)
            offsets[origin, default: [:]][content, default: []].append(record.offset)
        }
        self.offsets = offsets
    }

    /// The copy of a dead letter; nil without one. If a record has several copies, each was made from the previous one
    /// after that was rejected.
    func copy(of letter: DeadLetter) -> TopicPosition? {
        offsets[letter.firstPosition]?[letter.contentSHA256]?.first { $0 > letter.position.offset }
            .map { position($0, beside: letter) }
    }

    /// The first record after a dead letter that names its origin but has other bytes; nil without one.
    func stranger(to letter: DeadLetter) -> TopicPosition? {
        offsets[letter.firstPosition]?.filter { $0.key != letter.contentSHA256 }.values.joined()
            .filter { $0 > letter.position.offset }.min().map { position($0, beside: letter) }
    }

    private func position(_ offset: Int64, beside letter: DeadLetter) -> TopicPosition {
        TopicPosition(
            topic: letter.position.topic, partition: letter.position.partition, offset: offset)
    }
}
