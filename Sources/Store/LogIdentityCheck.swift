import EventLog
import Foundation

/// A store of what was read of a topic, by which the topic is recognised.
package protocol WatchedStore: AnyObject {
    var path: String { get }
    /// Whether it holds documents for partners, which cannot be made anew from a log.
    var holdsDocuments: Bool { get }

    /// What told the log from others when the store began.
    func logIdentity() throws(StoreError) -> String

    /// The partitions of which something was read, in order.
    func watched() throws(StoreError) -> [WatchedPartition]

    /// A few records of a partition at or after an offset that were read, in order.
    func fingerprints(
        of partition: WatchedPartition, from offset: Int64
    ) throws(StoreError) -> [RecordFingerprint]
}

/// How far a store is with a partition.
package struct WatchedPartition {
    package let partition: Int32
    /// The first record that was not read.
    package let nextOffset: Int64
    /// The last record by which the log is recognised.
    package let last: RecordFingerprint?

    package init(partition: Int32, nextOffset: Int64, last: RecordFingerprint?) {
        self.partition = partition
        self.nextOffset = nextOffset
        self.last = last
    }
}

extension PartitionState {
    /// Nil when nothing is folded.
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

/// Sees to it that a log still holds what a store has folded, while both are at work: a topic may be made
/// anew at any time, and a log lose its end and be written on, and Kafka tells readers of neither.
package final class LogIdentityCheck {
    /// Opens a reader of the topic that is closed after a look.
    package typealias OpenReader = () throws -> any LogReader

    private let store: any WatchedStore
    private let topic: String
    private let openReader: OpenReader
    private let interval: Duration
    /// Whether the caller waits for a log that does not answer.
    private let isWaitedFor: Bool
    private var lastLook = ContinuousClock.now
    private var lastTimeDoubt: ContinuousClock.Instant?
    /// Folded records of each partition, in order: the last one as of the look before, and the last one of each batch
    /// since. What is folded later may be of another log.
    private var marks: [Int32: [RecordFingerprint]] = [:]
    /// The partitions that are folded.
    private var taken: Set<Int32> = []
    /// Those of them whose hours were compared since they were taken, while something of them was folded.
    private var compared: Set<Int32> = []
    /// Partitions that are looked at before anything else of them is folded.
    private var doubted: Set<Int32> = []
    /// Whether there is a reason since the last look.
    private var isDoubtNew = false

    /// A record that is older than the newest one by more than this does not come out of order, but out of
    /// another log.
    private static let timeBound: Int64 = 86_400_000
    /// Records out of order are a reason to look no more often than this.
    private static let timeDoubtPause = Duration.seconds(10)
    /// So many marks of a partition are kept at most; of more, every second one is.
    private static let marksKept = 4096
    /// How long a log that gives reason to doubt it may take to answer.
    private static let patience = Duration.seconds(20)

    package init(
        store: any WatchedStore, topic: String, interval: Duration = .seconds(30),
        isWaitedFor: Bool = false, openReader: @escaping OpenReader
    ) {
        self.isWaitedFor = isWaitedFor
        self.store = store
        self.topic = topic
        self.interval = interval
        self.openReader = openReader
    }

    /// Looks at partitions before anything of them is folded, and at what the store has of others: readers take
    /// the copy that is furthest, which must not be of another log. Throws `WorkerError` when the log is another
    /// one, and `LogError` when it does not answer.
    package func take(_ partitions: [Int32]) throws {
        taken.formUnion(partitions)
        let unread = try look(at: Set(partitions), thoroughly: true)
        if let partition = unread.min() {
            throw LogError.unanswered(
                TopicPartition(topic: topic, partition: partition))
        }
        _ = try look(at: stored.subtracting(compared), thoroughly: true)
    }

    private var stored: Set<Int32> {
        get throws { Set(try store.watched().map(\.partition)) }
    }

    /// Forgets a partition, but for its marks: they tell what the store has of it.
    package func drop(_ partition: Int32) {
        taken.remove(partition)
        compared.remove(partition)
        doubted.remove(partition)
    }

    /// Keeps a record in mind that the log was just seen to have.
    package func mark(_ known: RecordFingerprint) { marks[known.partition] = [known] }

    /// Keeps the last record of each partition in mind, of a batch that is folded now, and returns them. With a mark for
    /// each batch, the first one that the log still has is of the topic that was folded before, as long as it has any
    /// record of that: however soon a new topic is trimmed.
    @discardableResult
    package func mark(_ batch: RecordBatch) -> [Int32: RecordFingerprint] {
        var last: [Int32: RecordFingerprint] = [:]
        var current: Int32 = -1
        for index in (0..<batch.count).reversed() {
            let (partition, offset) = batch.position(index)
            guard partition != current else { continue }
            current = partition
            guard last[partition] == nil else { continue }
            let mark = RecordFingerprint(
                partition: partition, offset: offset, fingerprint: batch[index].fingerprint)
            last[partition] = mark
            var known = marks[partition] ?? []
            marks[partition] = nil
            if known.count >= Self.marksKept {
                known = known.enumerated().filter { $0.offset.isMultiple(of: 2) }.map(\.element)
            }
            known.append(mark)
            marks[partition] = known
        }
        return last
    }

    /// A folded record that tells the log of a partition: the last one as of the look before, since what is folded later
    /// may be of another log; nil when nothing is folded.
    package func mark(of partition: Int32, below offset: Int64) throws -> RecordFingerprint? {
        if let mark = marks[partition]?.first, mark.offset < offset { return mark }
        return try store.watched().first { $0.partition == partition }?.last
    }

    /// Throws a `LogChange` when offsets of the group are of another log, and `LogError` when the log does not answer.
    package func compare(_ committed: [Int32: GroupOffset], in bounds: [PartitionBounds]) throws {
        let change = try LogChange.ofGroup(
            committed, bounds, of: topic, watched: try store.watched(),
            openReader: openReader)
        if let change { throw change }
    }

    /// Everything that is folded may be another log's now.
    package func doubt() {
        doubted = taken
        isDoubtNew = true
    }

    /// Notes that the times of a partition's records have jumped back, if they have.
    package func note(_ milliseconds: Int64, after newest: Int64, in partition: Int32) {
        guard max(milliseconds, 0) < max(newest, 0) - Self.timeBound,
            lastTimeDoubt.map({ $0.duration(to: .now) > Self.timeDoubtPause }) ?? true
        else { return }
        lastTimeDoubt = .now
        doubted.insert(partition)
    }

    /// Looks at those of these partitions that there is reason to doubt, until they answer: nothing may be
    /// folded of them before.
    package func resolveDoubts(_ partitions: @autoclosure () -> Set<Int32>) throws {
        guard !doubted.isEmpty else { return }
        let partitions = partitions()
        let deadline = ContinuousClock.now + Self.patience
        while case let wanted = doubted.intersection(partitions), let first = wanted.min() {
            do {
                let unread = try look(at: wanted, thoroughly: true)
                doubted.subtract(wanted.subtracting(unread))
                guard unread.isEmpty || !isWaitedFor && ContinuousClock.now < deadline else {
                    throw LogError.unanswered(
                        TopicPartition(topic: topic, partition: first))
                }
            } catch let error as LogError {
                if isWaitedFor, case .unavailable = error { throw error }
                guard ContinuousClock.now < deadline else { throw error }
                usleep(100_000)
            }
        }
    }

    /// Looks now and then without a reason, and after one. A log that does not answer now is asked again
    /// later.
    package func checkPeriodically() throws {
        guard isDoubtNew || lastLook.duration(to: .now) > interval else { return }
        try lookNow(thoroughly: !doubted.isEmpty)
    }

    /// Looks at all that the store has, as far as the log answers.
    package func lookNow(thoroughly: Bool = true) throws {
        lastLook = .now
        isDoubtNew = false
        do {
            doubted.formIntersection(try look(at: stored, thoroughly: thoroughly))
        } catch is LogError {
            return
        }
    }

    /// - Returns: the partitions that do not answer.
    private func look(at partitions: Set<Int32>, thoroughly: Bool) throws -> Set<Int32> {
        let folded = try store.watched()
            .filter { partitions.contains($0.partition) && $0.last != nil }
        guard !folded.isEmpty else { return [] }
        let reader = try openReader()
        defer { reader.close() }
        guard try reader.identity() == store.logIdentity() else {
            throw refusal(.otherTopic(topic: topic, store: store.path))
        }
        // How many there are is asked elsewhere.
        let count = try reader.partitionCount()
        let states = folded.filter { $0.partition < count }
        let (bounds, faults) = try reader.knownBounds(of: states.map(\.partition))
        var fingerprints: [RecordFingerprint] = []
        for state in states {
            guard let bounds = bounds.first(where: { $0.partition == state.partition }) else {
                continue
            }
            guard state.nextOffset <= bounds.endOffset else {
                throw refusal(
                    .logEndsEarlier(
                        TopicPartition(topic: topic, partition: state.partition),
                        nextOffset: state.nextOffset, end: bounds.endOffset, store: store.path))
            }
            fingerprints += try self.fingerprints(
                of: state, from: bounds.earliestOffset, thoroughly)
        }
        let look = try FingerprintCheck(fingerprints, with: reader)
        if let other = look.others.min(by: { $0.partition < $1.partition }) {
            throw refusal(
                .otherRecords(
                    TopicPartition(topic: topic, partition: other.partition), offset: other.offset,
                    store: store.path))
        }
        let unread = look.unread.union(faults.keys)
        for state in states where !unread.contains(state.partition) {
            marks[state.partition] = [state.last].compactMap { $0 }
            compared.insert(state.partition)
        }
        return unread
    }

    private func fingerprints(
        of state: WatchedPartition, from earliest: Int64, _ thoroughly: Bool
    ) throws -> [RecordFingerprint] {
        let held = ((marks[state.partition] ?? []) + [state.last].compactMap { $0 })
            .filter { $0.offset >= earliest && $0.offset < state.nextOffset }
        // The first ones, in case a new topic has no record where the first one was, and those 1, 2, 4, ... before the
        // last.
        let known = Set(
            held.enumerated().filter { place, _ in
                let back = held.count - 1 - place
                return place < 3 || back & (back - 1) == 0
            }.map(\.element))
        // The marks may themselves come from a log that replaced the folded one. The stored fingerprints of hours
        // reveal that, so they are compared once after a partition is taken.
        guard thoroughly || !compared.contains(state.partition) else { return Array(known) }
        return Array(
            known.union(try store.fingerprints(of: state, from: earliest)))
    }

    private func refusal(_ change: LogChange) -> LogChange {
        store.holdsDocuments ? change.ofDocuments : change
    }
}

extension LogError {
    package static func unanswered(_ place: TopicPartition) -> LogError {
        .unavailable(
            operation: "read", address: "\(place)",
            detail: "it does not answer: see weir lag and the cluster")
    }
}
