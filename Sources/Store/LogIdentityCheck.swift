import EventLog
import Foundation

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

/// Checks during operation that a log still holds the folded records of a store. A topic can be recreated at any
/// time, and a log can lose its end and continue; Kafka reports neither to readers.
package final class LogIdentityCheck {
    /// Opens a reader of the topic; it is closed after a check.
    package typealias OpenReader = () throws -> any LogReader

    private let store: any WatchedStore
    private let topic: String
    private let openReader: OpenReader
    private let interval: Duration
    /// Whether the caller waits for an unresponsive log.
    private let isWaitedFor: Bool
    private var lastLook = ContinuousClock.now
    private var lastTimeDoubt: ContinuousClock.Instant?
    /// Folded records of each partition, in order: the last one at the previous check, and the last one of each batch
    /// since. Records folded later may belong to another log.
    private var marks: [Int32: [RecordFingerprint]] = [:]
    /// The partitions that are folded.
    private var taken: Set<Int32> = []
    /// The folded partitions with compared hours: since they were taken, a check found folded records of them.
    private var compared: Set<Int32> = []
    /// Partitions to check before more of their records are folded.
    private var doubted: Set<Int32> = []
    /// Whether there is a new reason since the last check.
    private var isDoubtNew = false

    /// A record that is older than the newest one by more than this belongs to another log: records out of order are
    /// not that old.
    private static let timeBound: Int64 = 86_400_000
    /// Records out of order cause a check at most this often.
    private static let timeDoubtPause = Duration.seconds(10)
    /// The most marks per partition; beyond them, every second one is kept.
    private static let marksKept = 4096
    /// Timeout of a log in doubt.
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

    /// Checks partitions before they are folded, and the store's data of other partitions: readers use the most
    /// advanced copy, which must not belong to another log. Throws `LogChange` if the log is another one, and
    /// `LogError` if it does not answer.
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

    /// Forgets a partition, except for its marks, which identify the stored records.
    package func drop(_ partition: Int32) {
        taken.remove(partition)
        compared.remove(partition)
        doubted.remove(partition)
    }

    /// Remembers a record that the log was just seen to have.
    package func mark(_ known: RecordFingerprint) { marks[known.partition] = [known] }

    /// Remembers the last record of each partition of a batch that is being folded, and returns them. With a mark for
    /// each batch, the first mark that the log still has belongs to the previously folded topic, if the log has any
    /// record of it: this holds even if a new topic is trimmed soon.
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

    /// A folded record that identifies the log of a partition: the last one at the previous check, because later ones
    /// may belong to another log. Nil without folded records.
    package func mark(of partition: Int32, below offset: Int64) throws -> RecordFingerprint? {
        if let mark = marks[partition]?.first, mark.offset < offset { return mark }
        return try store.watched().first { $0.partition == partition }?.last
    }

    /// Throws a `LogChange` if offsets of the group belong to another log, and `LogError` if the log does not answer.
    package func compare(_ committed: [Int32: GroupOffset], in bounds: [PartitionBounds]) throws {
        let change = try LogChange.ofGroup(
            committed, bounds, of: topic, watched: try store.watched(),
            openReader: openReader)
        if let change { throw change }
    }

    /// Any further folded record may belong to another log.
    package func doubt() {
        doubted = taken
        isDoubtNew = true
    }

    /// Notes a jump back in the times of a partition's records, if there is one.
    package func note(_ milliseconds: Int64, after newest: Int64, in partition: Int32) {
        guard max(milliseconds, 0) < max(newest, 0) - Self.timeBound,
            lastTimeDoubt.map({ $0.duration(to: .now) > Self.timeDoubtPause }) ?? true
        else { return }
        lastTimeDoubt = .now
        doubted.insert(partition)
    }

    /// Checks the doubted ones of these partitions until they answer: their records must not be folded earlier.
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

    /// Checks periodically, and after a new reason. If the log does not answer, a later call asks again.
    package func checkPeriodically() throws {
        guard isDoubtNew || lastLook.duration(to: .now) > interval else { return }
        try lookNow(thoroughly: !doubted.isEmpty)
    }

    /// Checks everything in the store, as far as the log answers.
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
        // The first three, in case a new topic has no record at the offset of the first, and those 1, 2, 4, ...
        // before the last.
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
