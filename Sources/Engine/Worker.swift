import EventLog
import Foundation
import Logging
import Program
import Store
import Streams

/// Reads a topic, folds it, stores the results, publishes the store's new data, and commits offsets to the log. One
/// plain thread; only signatures are verified on others.
package final class Worker<Fold: StreamFold> {
    private let lanes: Lanes<Fold>
    private let store: AggregateStore
    private let reader: any LogReader
    /// Nil if this worker must not publish. Data folded from an archive stays due until a worker continues with the
    /// original log.
    private let emitter: Emitter?
    private let settings: WorkerSettings
    private let configuration: FoldConfiguration
    private let partitionCount: Int32
    private let stop: StopSignal
    private let logger: Logger
    private let metrics: WorkerMetrics?
    private var progress: Progress
    private var hasSubscribed = false
    private var interruption: Interruption
    private var configurationFiles: FollowedConfiguration?
    /// Waits for an unresponsive log; nil not to wait.
    private let patience: BrokerPatience?
    private var nextOffsets: [Int32: Int64] = [:]
    private var ends: [Int32: Int64] = [:]
    /// The offsets to commit. A store that is being rebuilt repeats the offset that another store committed.
    /// Partitions without a folded record are excluded: nothing of them was published, and the topic may be recreated
    /// before the first record.
    private var groupOffsets: [Int32: GroupOffset] = [:]
    /// The batch that lanes fold, and since when.
    private var pending:
        (batch: RecordBatch, prepared: Fold.Prepared, since: ContinuousClock.Instant)?
    /// One batch is folded while the next is read and its signatures are verified.
    private let batches = [RecordBatch(), RecordBatch()]
    private var filling = 0
    /// The expected offset of the next record of each partition in the log.
    private var readOffsets: [Int32: Int64] = [:]
    /// Timestamp of the newest record of each partition, in milliseconds since 1970.
    private var newest: [Int32: Int64] = [:]
    /// Checks that the log is still the folded one; nil if no other log can be read.
    private let watch: LogIdentityCheck?
    /// The last folded records of newly taken partitions: they are read again, and must be unchanged.
    private var lastFolded: [Int32: (offset: Int64, fingerprint: String)] = [:]
    /// `PartitionState.oldestExpected` of each partition without folded records, until its first record is read; 0 if
    /// the log may start anywhere.
    private var oldestExpected: [Int32: Int64] = [:]
    private var lastOffsetCommit = ContinuousClock.now
    private var lastCount = ContinuousClock.now
    private var hasUncommittedOffsets = false
    /// Partitions with unpublished data after a stop: their offsets are not committed, so that the next start
    /// publishes it.
    private var unpublished: Set<Int32> = []
    /// Partitions without folded records.
    private var unfolded: Set<Int32> = []
    /// The last stored batch, while it waits for the disk.
    private var awaited: AwaitedBatch?

    package init(
        lanes: [Fold], store: AggregateStore, reader: any LogReader, emitter: Emitter?,
        settings: WorkerSettings, configuration: FoldConfiguration, stop: StopSignal,
        logger: Logger, metrics: WorkerMetrics? = nil,
        configurationFiles: FollowedConfiguration? = nil,
        interruption: @escaping () -> Bool = { false }, patience: BrokerPatience? = nil,
        openReader: LogIdentityCheck.OpenReader? = nil
    ) {
        self.lanes = Lanes(FoldLanes(lanes))
        self.store = store
        self.reader = reader
        self.emitter = emitter
        self.settings = settings
        self.configuration = configuration
        partitionCount = settings.partitionCount
        self.stop = stop
        self.logger = logger
        self.metrics = metrics
        self.configurationFiles = configurationFiles
        self.patience = patience
        self.interruption = Interruption(interruption)
        progress = Progress(label: settings.name, isWanted: settings.showsProgress)
        watch = openReader.map {
            LogIdentityCheck(
                store: store, topic: reader.topic, interval: settings.lookInterval,
                isWaitedFor: patience != nil, openReader: $0)
        }
    }

    /// Timeout for the acceptance of offsets at the end.
    private static var commitPatience: Duration { .seconds(10) }
    /// Unchanged offsets are committed again after this time, because brokers expire old ones.
    private static var offsetsKept: Duration { .seconds(3600) }

    /// Works until a stop is requested, the store is needed elsewhere or, with `untilEnd`, everything in the log at
    /// the start is folded and published. Folded records are committed when it returns or throws.
    @discardableResult
    package func run() throws(WorkerError) -> WorkerEnd {
        while true {
            if let end = try turn() { return end }
        }
    }

    /// Reads once, then folds and stores the previously read batch. Returns why the work is over, otherwise nil. Do
    /// not call it again after an end or an error.
    package func turn() throws(WorkerError) -> WorkerEnd? {
        do {
            let end = try takeTurn()
            if end != nil { settle() }
            return end
        } catch is BrokerPatience.Stopped {
            // The next start reads unfolded records again.
            settle()
            logger.info("stopped while the log does not answer", metadata: summary)
            guard !stop.isRequested else { return .stopped }
            for partition in nextOffsets.keys.sorted() { drop(partition) }
            return .interrupted
        } catch {
            settle()
            throw WorkerError(error)
        }
    }

    private func takeTurn() throws -> WorkerEnd? {
        if !hasSubscribed {
            hasSubscribed = true
            try reader.subscribe(settings.assignment)
        }
        var isOver = false
        if !stop.isRequested, !interruption.look() {
            configurationFiles?.look()
            isOver = try !step()
            guard isOver else { return nil }
        }
        try foldPending()
        try commitOffsets()
        // A group with members may reject the offsets; a later rebuild would then publish again.
        if settings.untilEnd, isOver {
            try reader.awaitCommits(Self.commitPatience)
        }
        progress.end()
        logger.info("stopped", metadata: summary)
        if isOver { return .reachedEnd }
        guard interruption.isMade else { return .stopped }
        for partition in nextOffsets.keys.sorted() { drop(partition) }
        return .interrupted
    }

    /// Asks the log, and waits while it does not answer.
    private func waiting<Answer>(_ ask: () throws -> Answer) throws -> Answer {
        try patience?.wait(ask) ?? ask()
    }

    /// At any end of the work: waits for lanes and stored data, and ends the line of progress, so that an error
    /// begins on its own line.
    private func settle() {
        progress.end()
        _ = try? store.awaitCommit()
        lanes.settle()
    }

    /// Waits until the commit and the lanes on other threads have ended. The next turn reads their results. A
    /// simulation disturbs a process between turns, and needs the same state there in each run.
    package func quiesce() {
        store.quiesce()
        lanes.settle()
    }

    /// Reads once; false if the work is done.
    private func step() throws -> Bool {
        let start = ContinuousClock.now
        metrics?.turn(reader, isFolded: pending == nil)
        let batch = batches[filling]
        let wait = pending == nil ? settings.commitIntervalMilliseconds : 0
        switch try read(into: batch, waitMilliseconds: wait) {
        case .assigned(let partitions):
            try foldPending()
            try take(partitions)
            metrics?.noteAssignment(rememberedIDs: rememberedIDs)
            try emit(Set(partitions))
            try checkMemory()
        case .revoked(let partitions):
            try foldPending()
            try commitOffsets()
            for partition in partitions { drop(partition) }
            metrics?.noteAssignment(rememberedIDs: rememberedIDs)
        case .records:
            try checkLastFolded(in: batch)
            guard !batch.isEmpty else { break }
            try checkContinuity(of: batch)
            let prepared = lanes.folds.folds[0].prepare(batch)
            filling = 1 - filling
            try foldPending()
            pending = (batch, prepared, .now)
            lanes.start(batch, prepared)
            if batch.count < settings.batchRecords, batch.byteCount < reader.batchBytes {
                try foldPending()
                if reader.isCaughtUp {
                    try finishCommit()
                    rest(since: start)
                }
            }
        case .idle:
            try foldPending()
            try finishCommit()
            if hasUncommittedOffsets || lastOffsetCommit.duration(to: .now) > Self.offsetsKept {
                try commitOffsets()
            }
            try watch?.checkPeriodically()
            try checkPartitionCount()
            // Commits check this by themselves.
            try store.requireInPlace()
            try waiting { try reader.requireAnswer() }
            return !(settings.untilEnd && isAtEnd)
        }
        return !(settings.untilEnd && isAtEnd)
    }

    /// Continues reading. If reading fails, checks whether the topic was recreated and reports that instead.
    private func read(into batch: RecordBatch, waitMilliseconds: Int) throws -> LogReading {
        defer { if reader.takeDoubt() { watch?.doubt() } }
        do throws(LogError) {
            return try reader.read(
                into: batch, maxRecords: settings.batchRecords, maxBytes: reader.batchBytes,
                waitMilliseconds: waitMilliseconds)
        } catch {
            switch error {
            case .unknownTopic, .unknownPartition, .offsetGone, .backend: try watch?.lookNow()
            default: break
            }
            throw error
        }
    }

    private func foldPending() throws {
        guard let (batch, prepared, start) = pending else { return }
        pending = nil
        try waiting {
            try watch?.resolveDoubts(Set((0..<batch.count).map { batch.position($0).partition }))
        }
        try watch?.checkPeriodically()
        watch?.mark(batch)
        try store(batch, prepared, since: start)
    }

    /// Folds and commits a batch, then publishes, then commits offsets, in this order. If there is nothing to
    /// publish, the commit waits for the disk while the next batch is read and folded.
    private func store(
        _ batch: RecordBatch, _ prepared: Fold.Prepared, since start: ContinuousClock.Instant
    ) throws {
        try lanes.finish()
        let folded = ContinuousClock.now
        try finishCommit()
        let hasEmissions = lanes.folds.hasEmissions
        let partitions = lanes.folds.progress
        let verifications = lanes.folds.folds.reduce(0) { $0 + $1.verifications(in: prepared) }
        let stored = try store.store(lanes.folds, batch: batch)
        awaited = AwaitedBatch(
            stored: stored, partitions: partitions,
            verifications: verifications, began: start, folded: folded)
        if hasEmissions || stored.hasOverflowed {
            try finishCommit()
            try emit(Set(partitions.map(\.partition)))
            // Offsets of published data are committed at once, so that a rebuild does not publish it again.
            try commitOffsets()
        } else if lastOffsetCommit.duration(to: .now) > .seconds(1) {
            try commitOffsets()
        }
        try checkPartitionCount()
        try checkMemory()
    }

    /// Waits until stored data is durable, and notes it.
    private func finishCommit() throws {
        guard let batch = awaited else { return }
        awaited = nil
        let committed = try store.awaitCommit() ?? .now
        metrics?.commit(
            batch, at: committed, rememberedIDs: rememberedIDs)
        var records = 0
        for progress in batch.partitions {
            nextOffsets[progress.partition] = progress.nextOffset
            unfolded.remove(progress.partition)
            records += Int(progress.records)
        }
        hasUncommittedOffsets = true
        progress.add(records, behind: behind)
    }

    private func emit(_ partitions: Set<Int32>) throws {
        guard let emitter else { return }
        try metrics?.setUnpublished(store.unpublishedCount())
        unpublished.formUnion(try emitter.emit(partitions))
        try metrics?.setUnpublished(store.unpublishedCount())
    }

    private var rememberedIDs: Int { rememberedIDs(atMost: .max) }

    private func rememberedIDs(atMost bound: Int) -> Int {
        store.rememberedIDs(of: lanes.folds, atMost: bound)
    }

    private func checkMemory() throws(WorkerError) {
        guard let bound = settings.dedupeMaxIDs else { return }
        let ids = rememberedIDs(atMost: bound)
        guard ids < bound else {
            throw .dedupeMemoryFull(ids: ids, bound: bound, stream: Fold.streamName)
        }
    }

    private func commitOffsets() throws {
        try finishCommit()
        lastOffsetCommit = .now
        hasUncommittedOffsets = false
        guard emitter != nil else { return }
        for (partition, offset) in nextOffsets
        where !unpublished.contains(partition) && offset > groupOffsets[partition]?.next ?? 0 {
            groupOffsets[partition] = GroupOffset(
                offset, mark: try watch?.mark(of: partition, below: offset))
        }
        let offsets = groupOffsets.filter { !unfolded.contains($0.key) }
        guard !offsets.isEmpty else { return }
        try reader.commit(offsets)
    }

    /// Batches that are not full wait for the rest of the commit interval, so that a slow trickle of records does not
    /// cause a commit each.
    private func rest(since start: ContinuousClock.Instant) {
        guard !settings.untilEnd else { return }
        let end = start + .milliseconds(settings.commitIntervalMilliseconds)
        while !stop.isRequested, !interruption.look(), ContinuousClock.now < end { usleep(5000) }
    }

    private var isAtEnd: Bool {
        pending == nil
            && ends.allSatisfy { partition, end in
                reader.position(partition: partition).map { $0 >= end } ?? true
            }
    }

    private var behind: Int64? {
        guard settings.untilEnd else { return nil }
        return ends.reduce(settings.recordsLater) {
            $0 + max(0, $1.value - (nextOffsets[$1.key] ?? 0))
        }
    }

    private var summary: Logger.Metadata {
        ["partitions": "\(nextOffsets.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" })"]
    }
}

// MARK: Assignment of partitions

extension Worker {
    /// Continues a partition at its offset in the store; a new store begins at the oldest record.
    private func take(_ partitions: [Int32]) throws {
        if partitions.contains(where: { $0 >= partitionCount }) {
            try checkPartitionCount(always: true)
        }
        try waiting { try watch?.take(partitions) }
        guard !partitions.isEmpty else { return }
        let committed = try waiting { try reader.committedOffsets() }
        let bounds = try waiting { try reader.bounds(of: partitions) }
        try waiting { try watch?.compare(committed, in: bounds) }
        for bounds in bounds { try take(bounds, committed[bounds.partition]) }
    }

    private func take(_ bounds: PartitionBounds, _ committed: GroupOffset?) throws {
        let emitted = committed?.next ?? 0
        let partition = bounds.partition
        let place = TopicPartition(topic: reader.topic, partition: partition)
        var state = try store.partitionStates().first { $0.partition == partition }
        if state?.oldestExpected.map({ bounds.logStart < $0 }) ?? (state == nil) {
            // If a reader cannot begin there, it throws before the store begins.
            try reader.seek(partition: partition, to: bounds.earliestOffset)
            try store.beginPartition(
                partition, at: bounds.earliestOffset, logStart: bounds.logStart, emitFrom: emitted)
            if bounds.earliestOffset > 0 {
                logger.warning(
                    "the log no longer has its beginning: what came before is not counted",
                    metadata: [
                        "partition": "\(partition)", "first_offset": "\(bounds.earliestOffset)",
                    ])
            }
            state = try store.partitionStates().first { $0.partition == partition }
        }
        guard let state else { return }
        if emitted > state.emitFrom || (state.records == 0 && emitted != state.emitFrom) {
            // An older copy of the store: the newer one published everything below.
            let rows = try store.dueCount(partition: partition, below: emitted)
            if rows > 0 {
                logger.warning(
                    "taken as published by another store of this group: postbacks for partners",
                    metadata: [
                        "partition": "\(partition)", "count": "\(rows)",
                        "below_offset": "\(emitted)",
                    ])
            }
            try store.setEmission(partition: partition, to: emitted)
        }
        let refusal = FoldedLog.refusal(
            of: place, nextOffset: state.nextOffset, in: bounds, store: store.path)
        if let refusal { throw refusal }
        try enforceConfiguration(on: state)
        try store.restore(state, in: lanes.folds[partition: partition])
        store.expect(state)
        nextOffsets[partition] = state.nextOffset
        groupOffsets[partition] = committed
        if state.records == 0 {
            unfolded.insert(partition)
            oldestExpected[partition] = state.oldestExpected ?? 0
        }
        readOffsets[partition] = state.nextOffset
        newest[partition] = state.watermarkMilliseconds
        ends[partition] = bounds.endOffset
        metrics?.take(state, end: bounds.endOffset)
        let last = state.nextOffset - 1
        if !state.lastRecord.isEmpty, last >= bounds.earliestOffset {
            lastFolded[partition] = (last, state.lastRecord)
            try reader.seek(partition: partition, to: last)
        } else {
            try reader.seek(partition: partition, to: state.nextOffset)
        }
        logger.info(
            "partition taken",
            metadata: [
                "partition": "\(partition)", "next_offset": "\(state.nextOffset)",
                "end": "\(bounds.endOffset)",
            ])
    }

    /// A recreated topic, or a log that lost its end and continued, has other records at the folded offsets. To
    /// detect this, the last folded record is read again, and then dropped.
    private func checkLastFolded(in batch: RecordBatch) throws {
        var index = 0
        while !lastFolded.isEmpty, index < batch.count {
            let (partition, offset) = batch.position(index)
            guard let last = lastFolded.removeValue(forKey: partition), last.offset == offset else {
                index += 1
                continue
            }
            guard batch[index].fingerprint == last.fingerprint else {
                throw LogChange.otherRecords(
                    TopicPartition(topic: reader.topic, partition: partition), offset: offset,
                    store: store.path)
            }
            batch.remove(at: index)
        }
    }

    /// Periodically asks for the number of partitions of the topic: with more of them keys move to other partitions.
    /// If the log does not answer, a later call asks again.
    private func checkPartitionCount(always: Bool = false) throws {
        guard always || lastCount.duration(to: .now) > settings.lookInterval else { return }
        lastCount = .now
        guard let now = try? reader.partitionCount(), now != partitionCount else { return }
        // A recreated topic may have another number too.
        try watch?.lookNow()
        throw LogChange.partitionCountChanged(
            topic: reader.topic, folded: partitionCount, now: now, store: store.path)
    }

    /// A gap in the offsets is normal, unless the log was trimmed beyond this worker's position. Repeated offsets,
    /// and times long past, cast doubt on whether the log is the same.
    private func checkContinuity(of batch: RecordBatch) throws {
        // Records of a partition follow each other, so each run needs one lookup of its state.
        var index = 0
        while index < batch.count {
            let partition = batch.position(index).partition
            var expected = readOffsets[partition]
            var newest = newest[partition]
            if let oldest = oldestExpected.removeValue(forKey: partition) {
                try checkBeginning(of: partition, expected: oldest)
            }
            while index < batch.count, batch.position(index).partition == partition {
                let offset = batch.position(index).offset
                if let expected, offset != expected {
                    try check(offset, of: partition, expected: expected)
                }
                expected = offset + 1
                let time = batch.timestampMilliseconds(index)
                watch?.note(time, after: newest ?? time, in: partition)
                newest = max(newest ?? time, time)
                index += 1
            }
            readOffsets[partition] = expected
            self.newest[partition] = newest
        }
    }

    /// Throws if the topic was recreated before any of its records was folded: the new one may have records before
    /// the reader's position, and nothing of it was published below the group's offset.
    private func checkBeginning(of partition: Int32, expected: Int64) throws {
        let committed = groupOffsets.filter { $0.key == partition }
        guard expected > 0 || !committed.isEmpty else { return }
        let bounds = try waiting { try reader.bounds(of: [partition]) }
        for bounds in bounds where bounds.logStart < expected {
            throw LogChange.logStartsEarlier(
                TopicPartition(topic: reader.topic, partition: partition), expected: expected,
                earliest: bounds.logStart, store: store.path)
        }
        try waiting { try watch?.compare(committed, in: bounds) }
    }

    private func check(_ offset: Int64, of partition: Int32, expected: Int64) throws {
        let place = TopicPartition(topic: reader.topic, partition: partition)
        guard offset > expected else {
            try watch?.lookNow()
            throw WorkerError.offsetsAgain(place, offset: offset, expected: expected)
        }
        let bounds = try waiting { try reader.bounds(of: [partition]).first }
        if let bounds, bounds.earliestOffset > expected {
            throw LogChange.logStartsLater(
                place, nextOffset: expected, earliest: bounds.earliestOffset, store: store.path)
        }
    }

    private func enforceConfiguration(on state: PartitionState) throws {
        let (folded, refusal) = try store.snapshot { snapshot in
            (
                try snapshot.configurationOfLastRecord(of: state),
                try configuration.refusal(of: state, in: snapshot, store: store.path)
            )
        }
        if let refusal { throw refusal }
        if let folded, folded.hash != configuration.hash {
            logger.notice(
                "new configuration",
                metadata: [
                    "partition": "\(state.partition)", "from_offset": "\(state.nextOffset)",
                    "hash": "\(configuration.hash)",
                ])
        }
        try store.recordEpoch(partition: state.partition, configuration: configuration)
    }

    private func drop(_ partition: Int32) {
        lanes.folds[partition: partition].forget(partition: partition)
        unpublished.remove(partition)
        unfolded.remove(partition)
        nextOffsets[partition] = nil
        groupOffsets[partition] = nil
        readOffsets[partition] = nil
        newest[partition] = nil
        lastFolded[partition] = nil
        oldestExpected[partition] = nil
        watch?.drop(partition)
        ends[partition] = nil
        metrics?.drop(partition)
        logger.info("partition given up", metadata: ["partition": "\(partition)"])
    }
}
