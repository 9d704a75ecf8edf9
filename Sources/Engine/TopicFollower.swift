import EventLog
import Foundation
import Program
import Store

/// Follows a topic for a store: reads it, and sees to it that the log still holds what the store has, while both are at
/// work. A topic may be made anew at any time, and a log lose its end and be written on, and Kafka tells readers of
/// neither.
package final class TopicFollower {
    package let reader: any LogReader
    private let store: any WatchedStore
    /// Nil where nothing else can be read of the log.
    private let check: LogIdentityCheck?
    private let interval: Duration
    /// Waits for a log that does not answer; nil for not at all.
    private let patience: BrokerPatience?
    /// Those that are not taken have only marks.
    package var partitions: [Int32: FollowedPartition] = [:]
    private var hasSubscribed = false
    private var lastLook = ContinuousClock.now
    private var lastTimeDoubt: ContinuousClock.Instant?
    /// Whether there is a reason to look since the last look.
    private var isDoubtNew = false
    package private(set) var lastOffsetCommit = ContinuousClock.now
    package var hasUncommittedOffsets = false

    /// A record that is older than the newest one by more than this does not come out of order, but out of
    /// another log.
    private static let timeBound: Int64 = 86_400_000
    /// Records out of order are a reason to look no more often than this.
    private static let timeDoubtPause = Duration.seconds(10)
    /// How long a log that gives reason to doubt it may take to answer.
    private static let doubtPatience = Duration.seconds(20)
    /// Offsets that do not change are committed again after so long: brokers forget old ones.
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

    /// Asks the log, and waits while it does not answer.
    package func waiting<Answer>(_ ask: () throws -> Answer) throws -> Answer {
        try patience?.wait(ask) ?? ask()
    }

    package func subscribe(_ assignment: LogAssignment) throws(LogError) {
        guard !hasSubscribed else { return }
        hasSubscribed = true
        try reader.subscribe(assignment)
    }

    /// Reads on. What ends that may be that the topic is another one now, which is then said instead.
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

    func place(_ partition: Int32) -> TopicPartition {
        TopicPartition(topic: reader.topic, partition: partition)
    }
}

// MARK: Partitions coming and going

extension TopicFollower {
    /// Of the partitions that are taken.
    package var nextOffsets: [Int32: Int64] { partitions.compactMapValues(\.nextOffset) }

    package var ends: [Int32: Int64] {
        partitions.filter { $1.nextOffset != nil }.mapValues(\.end)
    }

    /// Looks at partitions before anything of them is stored, and at what the store has of others: readers take
    /// the copy that is furthest, which must not be of another log. Throws a `LogChange` when the log is another
    /// one, and `LogError` when it does not answer.
    package func look(before numbers: [Int32]) throws {
        guard check != nil else { return }
        try waiting {
            let unread = try look(at: Set(numbers), isThorough: true)
            if let partition = unread.min() { throw LogError.unanswered(place(partition)) }
            let compared = partitions.filter(\.value.isCompared).keys
            _ = try look(at: stored.subtracting(compared), isThorough: true)
        }
    }

    package func committedOffsets() throws -> [Int32: GroupOffset] {
        try waiting { try reader.committedOffsets() }
    }

    /// Where the log starts and ends. Throws when offsets of the group are of another log.
    package func bounds(
        of numbers: [Int32], comparing committed: [Int32: GroupOffset]
    ) throws -> [PartitionBounds] {
        let bounds = try waiting { try reader.bounds(of: numbers) }
        try waiting { try check?.compare(committed, in: bounds) }
        return bounds
    }

    /// Throws when the log has no longer, or not yet, what follows.
    package func require(_ nextOffset: Int64, in bounds: PartitionBounds) throws {
        let refusal = FoldedLog.refusal(
            of: place(bounds.partition), nextOffset: nextOffset, in: bounds, store: store.path)
        if let refusal { throw store.refusal(refusal) }
    }

    /// A partition goes on at an offset.
    package func take(_ bounds: PartitionBounds, at nextOffset: Int64) {
        var partition = partitions[bounds.partition] ?? FollowedPartition()
        partition.nextOffset = nextOffset
        partition.readOffset = nextOffset
        partition.end = bounds.endOffset
        partitions[bounds.partition] = partition
    }

    /// Forgets a partition, but for its marks.
    package func drop(_ number: Int32) {
        var dropped = FollowedPartition()
        dropped.marks = partitions[number]?.marks ?? []
        partitions[number] = dropped
    }

    /// Whether everything was read that was in the log when the partitions were taken.
    package var isAtEnd: Bool {
        ends.allSatisfy { partition, end in
            reader.position(partition: partition).map { $0 >= end } ?? true
        }
    }

    /// Whether an older copy of a store still takes over again what it once had.
    package var isRepeating: Bool { partitions.contains { $1.repeatedUntil != nil } }

    package func endRepetitions() {
        for (number, partition) in partitions {
            guard let end = partition.repeatedUntil else { continue }
            let isOver = reader.position(partition: number).map { $0 >= end } ?? true
            if isOver { partitions[number]?.repeatedUntil = nil }
        }
    }

    /// How many records were not stored of those that were in the log when the partitions were taken.
    var recordsLeft: Int64 {
        partitions.values.reduce(0) { $0 + max(0, $1.end - ($1.nextOffset ?? 0)) }
    }
}

// MARK: What was read

extension TopicFollower {
    /// A topic that was created anew, or a log that lost its end and was written on, has other records
    /// where the stored ones were. The last stored one is read again to see that, and left out.
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
                    .otherRecords(place(partition), offset: offset, store: store.path))
            }
            batch.remove(at: index)
        }
    }

    /// A gap in the offsets is normal, unless the log was trimmed ahead of the store. Offsets that come
    /// again, and times long past, are a reason to doubt that the log is the same.
    ///
    /// - Parameter minded: whether times are.
    package func checkContinuity(of batch: RecordBatch, times areMinded: Bool) throws {
        // Records of a partition come one after the other: what is known of it is looked up once a run.
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
                    note(time, after: newest ?? time, in: partition)
                    newest = max(newest ?? time, time)
                }
                index += 1
            }
            partitions[partition]?.readOffset = expected
            partitions[partition]?.newestMilliseconds = newest
        }
    }

    /// Throws when the topic was created anew before any of its records was folded: the new one may have records
    /// before the position of the reader, and nothing of it was published below the group's offset.
    private func checkBeginning(of partition: Int32, expected: Int64) throws {
        let committed = partitions[partition]?.groupOffset.map { [partition: $0] } ?? [:]
        guard expected > 0 || !committed.isEmpty else { return }
        let bounds = try waiting { try reader.bounds(of: [partition]) }
        for bounds in bounds where bounds.logStart < expected {
            throw LogChange.logStartsEarlier(
                place(partition), expected: expected, earliest: bounds.logStart, store: store.path)
        }
        try waiting { try check?.compare(committed, in: bounds) }
    }

    private func check(_ offset: Int64, of partition: Int32, expected: Int64) throws {
        guard offset > expected else {
            try lookNow()
            if store.holdsDocuments {
                throw LogChange.otherDocuments(place(partition), offset: offset, store: store.path)
            }
            throw WorkerError.offsetsAgain(place(partition), offset: offset, expected: expected)
        }
        let bounds = try waiting { try reader.bounds(of: [partition]).first }
        if let bounds, bounds.earliestOffset > expected {
            throw store.refusal(
                .logStartsLater(
                    place(partition), nextOffset: expected, earliest: bounds.earliestOffset,
                    store: store.path))
        }
    }

    /// Looks at a batch that is stored next, if there is reason to doubt, until the log answers. Then keeps the last
    /// record of each partition in mind, and returns them. With a mark for each batch, the first one that the log still
    /// has is of the topic that was stored before, as long as it has any record of that: however soon a new topic is
    /// trimmed.
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

    /// A stored record that tells the log of a partition: the last one as of the look before, since what is stored later
    /// may be of another log; nil when nothing is stored.
    package func mark(of partition: Int32, below offset: Int64) throws -> RecordFingerprint? {
        guard check != nil else { return nil }
        if let mark = partitions[partition]?.marks.first, mark.offset < offset {
            return mark
        }
        return try store.watched().first { $0.partition == partition }?.last
    }

    /// Keeps a record in mind that the log was just seen to have.
    package func mark(_ known: RecordFingerprint) {
        partitions[known.partition, default: FollowedPartition()].marks = [known]
    }

    /// Everything below an offset is stored.
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

    /// Everything that is stored may be another log's now.
    private func doubt() {
        for number in nextOffsets.keys { partitions[number]?.isDoubted = true }
        isDoubtNew = true
    }

    /// Notes that the times of a partition's records have jumped back, if they have.
    private func note(_ milliseconds: Int64, after newest: Int64, in partition: Int32) {
        guard max(milliseconds, 0) < max(newest, 0) - Self.timeBound,
            lastTimeDoubt.map({ $0.duration(to: .now) > Self.timeDoubtPause }) ?? true
        else { return }
        lastTimeDoubt = .now
        partitions[partition]?.isDoubted = true
    }

    /// Looks at those of these partitions that there is reason to doubt, until they answer: nothing may be
    /// stored of them before.
    private func resolveDoubts(_ numbers: Set<Int32>) throws {
        let deadline = ContinuousClock.now + Self.doubtPatience
        while case let wanted = numbers.filter({ partitions[$0]?.isDoubted ?? false }),
            let first = wanted.min()
        {
            do {
                let unread = try look(at: wanted, isThorough: true)
                for number in wanted.subtracting(unread) { partitions[number]?.isDoubted = false }
                guard unread.isEmpty || patience == nil && ContinuousClock.now < deadline else {
                    throw LogError.unanswered(place(first))
                }
            } catch let error as LogError {
                if patience != nil, case .unavailable = error { throw error }
                guard ContinuousClock.now < deadline else { throw error }
                usleep(100_000)
            }
        }
    }

    /// Looks now and then without a reason, and after one. A log that does not answer now is asked again
    /// later.
    package func lookPeriodically() throws {
        guard isDoubtNew || lastLook.duration(to: .now) > interval else { return }
        try lookNow(isThorough: isDoubting)
    }

    /// Looks at all that the store has, as far as the log answers.
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

// MARK: What the group is told

extension TopicFollower {
    /// Whether offsets are to be committed where nothing is read.
    package var isCommitDue: Bool {
        hasUncommittedOffsets || lastOffsetCommit.duration(to: .now) > Self.offsetsKept
    }

    /// Commits offsets, which may be none.
    package func commit(_ offsets: [Int32: GroupOffset]) throws {
        lastOffsetCommit = .now
        if !offsets.isEmpty { try reader.commit(offsets) }
    }
}
