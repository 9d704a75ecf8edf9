import EventLog

/// A store of records of a topic, which identify the topic.
package protocol WatchedStore: AnyObject {
    var path: String { get }
    /// Whether it holds documents for partners, which cannot be recreated from a log.
    var holdsDocuments: Bool { get }

    /// The log's identity when the store began.
    func logIdentity() throws(StoreError) -> String

    /// The partitions with at least one read record, in order.
    func watched() throws(StoreError) -> [WatchedPartition]

    /// A few read records of a partition at or after an offset, in order.
    func fingerprints(
        of partition: WatchedPartition, from offset: Int64
    ) throws(StoreError) -> [RecordFingerprint]
}

/// A store's progress in a partition.
package struct WatchedPartition {
    package let partition: Int32
    /// The first record that was not read.
    package let nextOffset: Int64
    /// The last record that identifies the log.
    package let last: RecordFingerprint?

    package init(partition: Int32, nextOffset: Int64, last: RecordFingerprint?) {
        self.partition = partition
        self.nextOffset = nextOffset
        self.last = last
    }
}

extension PartitionState {
    /// Nil without folded records.
    package var watched: WatchedPartition? {
        guard records > 0 else { return nil }
        return WatchedPartition(partition: partition, nextOffset: nextOffset, last: lastFingerprint)
    }
}

extension AggregateStore: WatchedStore {
    package var holdsDocuments: Bool { false }

    package func logIdentity() throws(StoreError) -> String { try origin().logIdentity }

    package func watched() throws(StoreError) -> [WatchedPartition] {
        try partitionStates().compactMap(\.watched)
    }

    package func fingerprints(
        of partition: WatchedPartition, from offset: Int64
    ) throws(StoreError) -> [RecordFingerprint] {
        try snapshot { try $0.fingerprints(of: partition, from: offset) }
    }
}

/// Compares a log with a store's records. A topic may be recreated, or a log may lose its end and continue with other
/// records. Kafka reports neither to readers.
package struct LogIdentityCheck {
    /// Opens a reader of the topic that is closed after a look.
    package typealias OpenReader = () throws -> any LogReader

    private let store: any WatchedStore
    private let topic: String
    private let openReader: OpenReader

    package init(store: any WatchedStore, topic: String, openReader: @escaping OpenReader) {
        self.store = store
        self.topic = topic
        self.openReader = openReader
    }

    /// Compares partitions as far as they answer. Throws a `LogChange` if the log is another one, and `LogError` if it
    /// does not answer at all.
    ///
    /// - Parameters:
    ///   - marks: stored records of a partition, in order. They may themselves come from a log that replaced the
    ///     store's one. Its fingerprints of hours reveal that.
    ///   - needsHours: whether to compare the fingerprints of hours too.
    /// - Returns: the compared partitions, and those that do not answer.
    package func look(
        at partitions: Set<Int32>, marks: (Int32) -> [RecordFingerprint] = { _ in [] },
        needsHours: (Int32) -> Bool = { _ in true }
    ) throws -> (compared: [WatchedPartition], unread: Set<Int32>) {
        let folded = try store.watched()
            .filter { partitions.contains($0.partition) && $0.last != nil }
        guard !folded.isEmpty else { return ([], []) }
        let reader = try openReader()
        defer { reader.close() }
        guard try reader.identity() == store.logIdentity() else {
            throw store.refusal(.otherTopic(topic: topic, store: store.path))
        }
        // Another check compares the number of partitions.
        let count = try reader.partitionCount()
        let states = folded.filter { $0.partition < count }
        let (bounds, faults) = try reader.knownBounds(of: states.map(\.partition))
        var fingerprints: [RecordFingerprint] = []
        for state in states {
            guard let bounds = bounds.first(where: { $0.partition == state.partition }) else {
                continue
            }
            guard state.nextOffset <= bounds.endOffset else {
                throw store.refusal(
                    .logEndsEarlier(
                        TopicPartition(topic: topic, partition: state.partition),
                        nextOffset: state.nextOffset, end: bounds.endOffset, store: store.path))
            }
            let earliest = bounds.earliestOffset
            fingerprints += Self.chosen(of: state, from: earliest, marks(state.partition))
            if needsHours(state.partition) {
                fingerprints += try store.fingerprints(of: state, from: earliest)
            }
        }
        let look = try FingerprintCheck(Array(Set(fingerprints)), with: reader)
        if let other = look.others.min(by: { $0.partition < $1.partition }) {
            throw store.refusal(
                .otherRecords(
                    TopicPartition(topic: topic, partition: other.partition), offset: other.offset,
                    store: store.path))
        }
        let unread = look.unread.union(faults.keys)
        return (states.filter { !unread.contains($0.partition) }, unread)
    }

    /// Compares partitions that must all answer.
    package func requireAnswers(of partitions: Set<Int32>) throws {
        guard let first = try look(at: partitions).unread.min() else { return }
        throw LogError.unanswered(TopicPartition(topic: topic, partition: first))
    }

    /// Throws a `LogChange` if the group's offsets belong to another log, and `LogError` if the log does not answer.
    package func compare(_ committed: [Int32: GroupOffset], in bounds: [PartitionBounds]) throws {
        let change = try LogChange.ofGroup(
            committed, bounds, of: topic, watched: try store.watched(),
            openReader: openReader)
        if let change { throw change }
    }

    private static func chosen(
        of state: WatchedPartition, from earliest: Int64, _ marks: [RecordFingerprint]
    ) -> [RecordFingerprint] {
        let held = (marks + [state.last].compactMap { $0 })
            .filter { $0.offset >= earliest && $0.offset < state.nextOffset }
        // The first ones, in case a new topic has no record at the first offset, and those 1, 2, 4, ... before the
        // last.
        return held.enumerated().filter { place, _ in
            let back = held.count - 1 - place
            return place < 3 || back & (back - 1) == 0
        }.map(\.element)
    }
}

extension WatchedStore {
    /// A change of the log, in words for the store's content.
    package func refusal(_ change: LogChange) -> LogChange {
        holdsDocuments ? change.ofDocuments : change
    }
}

extension LogError {
    package static func unanswered(_ place: TopicPartition) -> LogError {
        .unavailable(
            operation: "read", address: "\(place)",
            detail: "it does not answer: check weir lag and the cluster")
    }
}
