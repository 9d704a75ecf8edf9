import EventLog
import Foundation
import Program
import Store

/// Reads a topic for a store, and checks during the work that the log still contains the store's records. A topic may
/// be recreated at any time, or a log may lose its end and continue with other records. Kafka reports neither to
/// readers.
package final class TopicFollower {
    package let reader: any LogReader
    private let store: any WatchedStore
    /// Nil if the log allows no other reads.
    private let check: LogIdentityCheck?
    private let interval: Duration
    /// Waits for a log that does not answer; nil: does not wait.
    private let patience: BrokerPatience?
    /// Unassigned partitions have only marks.
    package var partitions: [Int32: FollowedPartition] = [:]
    private var hasSubscribed = false
    private var lastLook = ContinuousClock.now
    private var lastTimeDoubt: ContinuousClock.Instant?
    /// Whether a doubt arose since the last check.
    private var isDoubtNew = false
    package private(set) var lastOffsetCommit = ContinuousClock.now
    package var hasUncommittedOffsets = false

    /// A record that is older than the newest one by more than this comes from another log, not from disorder.
    private static let timeBound: Int64 = 86_400_000
    /// Minimum interval between checks because of records out of order.
    private static let timeDoubtPause = Duration.seconds(10)
    /// Timeout for the answer of a doubted log.
    private static let doubtPatience = Duration.seconds(20)
    /// Unchanged offsets are committed again after this time, because brokers delete old ones.
    private static let offsetsKept = Duration.seconds(3600)

    package init(
        _ reader: any LogReader, for store: any WatchedStore, lookInterval: Duration,
        patience: BrokerPatience?, openReader: LogIdentityCheck.OpenReader?
    ) {
        self.reader = reader
        self.store = store
        interval = lookInterval
        self.patience = patience
        check = openReader.map {
            LogIdentityCheck(store: store, topic: reader.topic, openReader: $0)
        }
    }

    /// Queries the log, and waits while it does not answer.
    package func waiting<Answer>(_ ask: () throws -> Answer) throws -> Answer {
        try patience?.wait(ask) ?? ask()
    }

    package func subscribe(_ assignment: LogAssignment) throws(LogError) {
        guard !hasSubscribed else { return }
        hasSubscribed = true
        try reader.subscribe(assignment)
    }

    /// Reads on. If reading fails, checks whether the topic was recreated, and reports that instead.
    package func read(
        into batch: RecordBatch, maxRecords: Int, maxBytes: Int, waitMilliseconds: Int
    ) throws -> LogReading {
        defer {
            if reader.takeDoubt() { doubt() }
        }
        do throws(LogError) {
            return try reader.read(
                into: batch, maxRecords: maxRecords, maxBytes: maxBytes,
                waitMilliseconds: waitMilliseconds)
        } catch {
            switch error {
            case .unknownTopic, .unknownPartition, .offsetGone, .backend: try lookNow()
            default: break
            }
            throw error
        }
    }

    func topicPartition(_ partition: Int32) -> TopicPartition {
        TopicPartition(topic: reader.topic, partition: partition)
    }
}

// MARK: Assignment of partitions

extension TopicFollower {
    /// The next offsets of the assigned partitions.
    package var nextOffsets: [Int32: Int64] { partitions.compactMapValues(\.nextOffset) }

    package var ends: [Int32: Int64] {
        partitions.filter { $1.nextOffset != nil }.mapValues(\.end)
    }

    /// Checks partitions before any of their records is stored, and the store's other partitions: readers use the most
    /// advanced copy, which must not come from another log. Throws a `LogChange` if the log is another one, and
    /// `LogError` if it does not answer.
    package func look(before numbers: [Int32]) throws {
        guard check != nil else { return }
        try waiting {
            let unread = try look(at: Set(numbers), isThorough: true)
            if let partition = unread.min() { throw LogError.unanswered(topicPartition(partition)) }
            let compared = partitions.filter(\.value.isCompared).keys
            _ = try look(at: stored.subtracting(compared), isThorough: true)
        }
    }

    package func committedOffsets() throws -> [Int32: GroupOffset] {
        try waiting { try reader.committedOffsets() }
    }

    /// The start and end of the log. Throws if the group's offsets belong to another log.
    package func bounds(
        of numbers: [Int32], comparing committed: [Int32: GroupOffset]
    ) throws -> [PartitionBounds] {
        let bounds = try waiting { try reader.bounds(of: numbers) }
        try waiting { try check?.compare(committed, in: bounds) }
        return bounds
    }

    /// Throws if the log does not contain the next record any more, or not yet.
    package func require(_ nextOffset: Int64, in bounds: PartitionBounds) throws {
        let refusal = FoldedLog.refusal(
            of: topicPartition(bounds.partition), nextOffset: nextOffset, in: bounds,
            store: store.path)
        if let refusal { throw store.refusal(refusal) }
    }

    /// Continues a partition at an offset.
    package func take(_ bounds: PartitionBounds, at nextOffset: Int64) {
        var partition = partitions[bounds.partition] ?? FollowedPartition()
        partition.nextOffset = nextOffset
        partition.readOffset = nextOffset
        partition.end = bounds.endOffset
        partitions[bounds.partition] = partition
    }

    /// Returns an assigned partition to its stored state.
    ///
    /// - Returns: the offset to read from.
    func stepBack(to state: PartitionState) -> Int64 {
        partitions[state.partition]?.readOffset = state.nextOffset
        partitions[state.partition]?.newestMilliseconds = state.watermarkMilliseconds
        partitions[state.partition]?.marks.removeAll { $0.offset >= state.nextOffset }
        return partitions[state.partition]?.lastStored?.offset ?? state.nextOffset
    }

    /// Drops a partition's state except its marks.
    package func drop(_ number: Int32) {
        var dropped = FollowedPartition()
        dropped.marks = partitions[number]?.marks ?? []
        partitions[number] = dropped
    }

    /// Whether all records are read that the log contained at the assignment.
    package var isAtEnd: Bool {
        ends.allSatisfy { partition, end in
            reader.position(partition: partition).map { $0 >= end } ?? true
        }
    }

    /// Whether an older copy of a store still ingests its lost records again.
    package var isRepeating: Bool { partitions.contains { $1.repeatedUntil != nil } }

    package func endRepetitions() {
        for (number, partition) in partitions {
            guard let end = partition.repeatedUntil else { continue }
            let isOver = reader.position(partition: number).map { $0 >= end } ?? true
            if isOver { partitions[number]?.repeatedUntil = nil }
        }
    }

    /// The number of records that the log contained at the assignment and that are not stored yet.
    var recordsLeft: Int64 {
        partitions.values.reduce(0) { $0 + max(0, $1.end - ($1.nextOffset ?? 0)) }
    }
}

// MARK: Checks of read records

extension TopicFollower {
    /// A recreated topic, or a log that lost its end and continued, has other records at the stored offsets. The last
    /// stored record is read again to detect that, and skipped.
    func checkLastStored(in batch: RecordBatch) throws {
        var left = partitions.values.count { $0.lastStored != nil }
        var index = 0
        while left > 0, index < batch.count {
            let (partition, offset) = batch.position(index)
            guard let last = partitions[partition]?.lastStored else {
                index += 1
                continue
            }
            partitions[partition]?.lastStored = nil
            left -= 1
            guard last.offset == offset else {
                index += 1
                continue
            }
            guard batch[index].fingerprint == last.fingerprint else {
                throw store.refusal(
                    .otherRecords(topicPartition(partition), offset: offset, store: store.path))
            }
            batch.remove(at: index)
        }
    }

    /// A gap in the offsets is normal, unless the log was trimmed beyond the store's position. Repeated offsets and
    /// much older times raise a doubt about the log.
    ///
    /// - Parameter areMinded: whether times are checked.
    package func checkContinuity(of batch: RecordBatch, times areMinded: Bool) throws {
        // Consecutive records mostly share a partition: its state is looked up once per run.
        var index = 0
        while index < batch.count {
            let partition = batch.position(index).partition
            var expected = partitions[partition]?.readOffset
            var newest = partitions[partition]?.newestMilliseconds
            if let oldest = partitions[partition]?.oldestExpected {
                partitions[partition]?.oldestExpected = nil
                try checkBeginning(of: partition, expected: oldest)
            }
            while index < batch.count, batch.position(index).partition == partition {
                let offset = batch.position(index).offset
                if let expected, offset != expected {
                    try check(offset, of: partition, expected: expected)
                }
                expected = offset + 1
                if areMinded {
                    let time = batch.timestampMilliseconds(index)
                    checkTime(time, after: newest ?? time, in: partition)
                    newest = max(newest ?? time, time)
                }
                index += 1
            }
            partitions[partition]?.readOffset = expected
            partitions[partition]?.newestMilliseconds = newest
        }
    }

    /// Throws if the topic was recreated before any of its records was folded. The new topic may have records before
    /// the reader's position, and none of them below the group's offset was published.
    private func checkBeginning(of partition: Int32, expected: Int64) throws {
        let committed = partitions[partition]?.groupOffset.map { [partition: $0] } ?? [:]
        guard expected > 0 || !committed.isEmpty else { return }
        let bounds = try waiting { try reader.bounds(of: [partition]) }
        for bounds in bounds where bounds.logStart < expected {
            throw LogChange.logStartsEarlier(
                topicPartition(partition), expected: expected, earliest: bounds.logStart,
                store: store.path)
        }
        try waiting { try check?.compare(committed, in: bounds) }
    }

    private func check(_ offset: Int64, of partition: Int32, expected: Int64) throws {
        guard offset > expected else {
            try lookNow()
            if store.holdsDocuments {
                throw LogChange.otherDocuments(
                    topicPartition(partition), offset: offset, store: store.path)
            }
            throw WorkerError.offsetsAgain(
                topicPartition(partition), offset: offset, expected: expected)
        }
        let bounds = try waiting { try reader.bounds(of: [partition]).first }
        if let bounds, bounds.earliestOffset > expected {
            throw store.refusal(
                .logStartsLater(
                    topicPartition(partition), nextOffset: expected,
                    earliest: bounds.earliestOffset,
                    store: store.path))
        }
    }

    /// If there is a doubt, checks the log before a batch is stored, until the log answers. Then marks the last record
    /// of each partition, and returns the marks.
    ///
    /// Each batch has a mark. So if the log still has records of the previously stored topic, its first remaining mark
    /// belongs to that topic, even after early trimming of a new topic.
    @discardableResult
    package func confirm(_ batch: RecordBatch) throws -> [Int32: RecordFingerprint] {
        guard check != nil else { return [:] }
        if isDoubting {
            try waiting {
                try resolveDoubts(Set((0..<batch.count).map { batch.position($0).partition }))
            }
        }
        try lookPeriodically()
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
            partitions[partition, default: FollowedPartition()].add(mark)
        }
        return last
    }

    /// A stored record that identifies a partition's log: the last one at the previous check, because records stored
    /// later may belong to another log. Nil without stored records.
    package func mark(of partition: Int32, below offset: Int64) throws -> RecordFingerprint? {
        guard check != nil else { return nil }
        if let mark = partitions[partition]?.marks.first, mark.offset < offset {
            return mark
        }
        return try store.watched().first { $0.partition == partition }?.last
    }

    /// Marks a record that the log has just been checked to contain.
    package func mark(_ fingerprint: RecordFingerprint) {
        partitions[fingerprint.partition, default: FollowedPartition()].marks = [fingerprint]
    }

    /// Records that everything below an offset is stored.
    package func advance(_ partition: Int32, to nextOffset: Int64) {
        partitions[partition]?.nextOffset = nextOffset
        partitions[partition]?.isUnfolded = false
        hasUncommittedOffsets = true
    }
}

// MARK: Doubts

extension TopicFollower {
    private var stored: Set<Int32> {
        get throws { Set(try store.watched().map(\.partition)) }
    }

    private var isDoubting: Bool { partitions.contains { $1.isDoubted } }

    /// All stored partitions may belong to another log now.
    private func doubt() {
        for number in nextOffsets.keys { partitions[number]?.isDoubted = true }
        isDoubtNew = true
    }

    /// Raises a doubt if the times of a partition's records jumped back.
    private func checkTime(_ milliseconds: Int64, after newest: Int64, in partition: Int32) {
        guard max(milliseconds, 0) < max(newest, 0) - Self.timeBound,
            lastTimeDoubt.map({ $0.duration(to: .now) > Self.timeDoubtPause }) ?? true
        else { return }
        lastTimeDoubt = .now
        partitions[partition]?.isDoubted = true
    }

    /// Checks the doubted partitions among these, until they answer: their records must not be stored earlier.
    private func resolveDoubts(_ numbers: Set<Int32>) throws {
        let deadline = ContinuousClock.now + Self.doubtPatience
        while case let wanted = numbers.filter({ partitions[$0]?.isDoubted ?? false }),
            let first = wanted.min()
        {
            do {
                let unread = try look(at: wanted, isThorough: true)
                for number in wanted.subtracting(unread) { partitions[number]?.isDoubted = false }
                guard unread.isEmpty || patience == nil && ContinuousClock.now < deadline else {
                    throw LogError.unanswered(topicPartition(first))
                }
            } catch let error as LogError {
                if patience != nil, case .unavailable = error { throw error }
                guard ContinuousClock.now < deadline else { throw error }
                usleep(100_000)
            }
        }
    }

    /// Checks the log periodically, and after a doubt. A log that does not answer is checked again later.
    package func lookPeriodically() throws {
        guard isDoubtNew || lastLook.duration(to: .now) > interval else { return }
        try lookNow(isThorough: isDoubting)
    }

    /// Checks all partitions of the store, as far as the log answers.
    func lookNow(isThorough: Bool = true) throws {
        guard check != nil else { return }
        lastLook = .now
        isDoubtNew = false
        do {
            let unread = try look(at: stored, isThorough: isThorough)
            for number in partitions.keys where !unread.contains(number) {
                partitions[number]?.isDoubted = false
            }
        } catch is LogError {
            return
        }
    }

    /// - Returns: the partitions that do not answer.
    private func look(at numbers: Set<Int32>, isThorough: Bool) throws -> Set<Int32> {
        guard let check else { return [] }
        let (compared, unread) = try check.look(
            at: numbers, marks: { partitions[$0]?.marks ?? [] },
            needsHours: { isThorough || partitions[$0]?.isCompared != true })
        for state in compared {
            partitions[state.partition, default: FollowedPartition()].marks =
                [state.last].compactMap { $0 }
            partitions[state.partition]?.isCompared = true
        }
        return unread
    }
}

// MARK: Offsets of the group

extension TopicFollower {
    /// Whether to commit offsets even if no records arrive.
    package var isCommitDue: Bool {
        hasUncommittedOffsets || lastOffsetCommit.duration(to: .now) > Self.offsetsKept
    }

    /// Commits offsets; the dictionary may be empty.
    package func commit(_ offsets: [Int32: GroupOffset]) throws {
        lastOffsetCommit = .now
        if !offsets.isEmpty { try reader.commit(offsets) }
    }
}
