import EventLog
import Foundation
import Logging
import Program
import Store
import Streams

/// Reads a topic, folds it, stores the results, publishes the store's new data, and commits offsets to the log. One
/// plain thread; only signatures are verified on others.
package final class Worker<Fold: StreamFold> {
    let lanes: Lanes<Fold>
    let store: AggregateStore
    let follower: TopicFollower
    /// Nil if this worker must not publish. Results folded from an archive stay due until a worker continues with the
    /// original log.
    let emitter: Emitter?
    let settings: WorkerSettings
    let configuration: FoldConfiguration
    let partitionCount: Int32
    let stop: StopSignal
    let logger: Logger
    let metrics: WorkerMetrics?
    let snapshots: WorkerSnapshots?
    /// The times of the stream's promotions in the data directory, in order, in milliseconds since 1970.
    let promotions: [Int64]
    private var progress: Progress
    var interruption: Interruption
    private var configurationFiles: FollowedConfiguration?
    /// The batch that lanes fold, and since when.
    private var pending: (prepared: Fold.Prepared, since: ContinuousClock.Instant)?
    /// The records that are folded and not stored, without those of the pending batch, and since when.
    private var gathered: (records: Int, since: ContinuousClock.Instant)?
    /// The number of records that are still to be stored batch by batch, because a sum has overflowed in a commit of
    /// several.
    private var ungathered = 0
    /// One batch is folded while the next is read and its signatures are verified.
    private let batches = [RecordBatch(), RecordBatch()]
    private var filling = 0
    var lastCount = ContinuousClock.now
    /// The last stored batch, while it waits for the disk.
    private var awaited: AwaitedBatch?

    package init(
        lanes: [Fold], others: [Fold]? = nil, store: AggregateStore, reader: any LogReader,
        emitter: Emitter?,
        settings: WorkerSettings, configuration: FoldConfiguration, stop: StopSignal,
        logger: Logger, metrics: WorkerMetrics? = nil,
        configurationFiles: FollowedConfiguration? = nil,
        interruption: @escaping () -> Bool = { false }, patience: BrokerPatience? = nil,
        openReader: LogIdentityCheck.OpenReader? = nil, snapshots: WorkerSnapshots? = nil,
        promotions: [Int64] = []
    ) {
        self.snapshots = snapshots
        self.promotions = promotions
        self.lanes = Lanes(FoldLanes(lanes), others: others.map(FoldLanes.init))
        self.store = store
        store.explainDays = settings.explainDays
        follower = TopicFollower(
            reader, for: store, lookInterval: settings.lookInterval, patience: patience,
            openReader: openReader)
        self.emitter = emitter
        self.settings = settings
        self.configuration = configuration
        partitionCount = settings.partitionCount
        self.stop = stop
        self.logger = logger
        self.metrics = metrics
        self.configurationFiles = configurationFiles
        self.interruption = Interruption(interruption)
        progress = Progress(label: settings.name, isWanted: settings.showsProgress)
    }

    /// While there are more records to read, they wait at most this long for their commit.
    private static var longestGathering: Duration { .seconds(1) }
    /// Beyond this number of contributions, batches are no longer gathered; they have 12 bytes each.
    private static var mostContributions: Int { 1_000_000 }
    /// The wait for the rest of a batch while lanes fold the previous one.
    private static var gatheringWaitMilliseconds: Int { 5 }
    /// Timeout for the acceptance of offsets at the end.
    private static var commitPatience: Duration { .seconds(10) }

    /// Works until a stop is requested, the store is needed elsewhere or, with `untilEnd`, everything in the log at
    /// the start is folded and published. Folded records are committed when it returns or throws.
    @discardableResult
    package func run() throws(WorkerError) -> WorkerEnd {
        while true {
            if let end = try runOnce() { return end }
        }
    }

    /// Reads once, then folds and stores the previously read batch. Returns why the work is over, otherwise nil. Do
    /// not call it again after an end or an error.
    package func runOnce() throws(WorkerError) -> WorkerEnd? {
        do {
            let end = try runOnceUnguarded()
            if end != nil { settle() }
            return end
        } catch is BrokerPatience.Stopped {
            // The next start reads unfolded records again.
            settle()
            logger.info("stopped while the log does not answer", metadata: summary)
            guard !stop.isRequested else { return .stopped }
            return interrupt()
        } catch {
            settle()
            throw WorkerError(error)
        }
    }

    private func runOnceUnguarded() throws -> WorkerEnd? {
        try follower.subscribe(settings.assignment)
        var isOver = false
        if !stop.isRequested, !interruption.look() {
            configurationFiles?.look()
            try takeSnapshots()
            isOver = try !step()
            guard isOver else { return nil }
        }
        try foldPending()
        try commitOffsets()
        // A group with members may reject the offsets; a later rebuild would then publish again.
        if settings.untilEnd, isOver {
            try follower.reader.awaitCommits(Self.commitPatience)
        }
        progress.end()
        logger.info("stopped", metadata: summary)
        if isOver { return .reachedEnd }
        return interruption.isMade ? interrupt() : .stopped
    }

    private func interrupt() -> WorkerEnd {
        for partition in follower.nextOffsets.keys.sorted() { drop(partition) }
        return .interrupted
    }

    /// At any end of the work: waits for lanes and stored data, and ends the line of progress, so that an error
    /// begins on its own line.
    private func settle() {
        progress.end()
        _ = try? store.awaitCommit()
        lanes.settle()
        snapshots?.finish(follower.nextOffsets.keys)
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
        let reader = follower.reader
        metrics?.beat(reader, isFolded: pending == nil)
        let batch = batches[filling]
        let maxRecords = Fold.hasWindow ? settings.gatheredRecords : settings.batchRecords
        let reading = try follower.read(
            into: batch, maxRecords: maxRecords, maxBytes: reader.batchBytes,
            waitMilliseconds: waitMilliseconds)
        switch reading {
        case .assigned(let partitions):
            try foldPending()
            try finishCommit()
            try take(partitions)
            noteAssignment()
            try emit(Set(partitions))
            try checkMemory()
        case .revoked(let partitions):
            try foldPending()
            try commitOffsets()
            snapshots?.finish(partitions)
            for partition in partitions { drop(partition) }
            noteAssignment()
        case .records:
            try follower.checkLastStored(in: batch)
            guard !batch.isEmpty else { break }
            try follower.checkContinuity(of: batch, times: true)
            let prepared = lanes.folds.folds[0].prepare(batch)
            filling = 1 - filling
            guard try foldPending(before: prepared) else { return true }
            pending = (prepared, .now)
            lanes.start(prepared)
            let isFull = batch.count >= maxRecords || batch.byteCount >= reader.batchBytes
            if !isFull, !Fold.hasWindow || reader.isCaughtUp {
                try foldPending()
                if reader.isCaughtUp {
                    try finishCommit()
                    rest(since: start)
                }
            }
        case .idle:
            try foldPending()
            try finishCommit()
            if follower.isCommitDue { try commitOffsets() }
            try follower.lookPeriodically()
            try checkPartitionCount()
            // Commits check this by themselves.
            try store.requireInPlace()
            try follower.waiting { try reader.requireAnswer() }
        }
        guard settings.untilEnd, isAtEnd else { return true }
        // It may return to earlier records.
        try finishCommit()
        return !isAtEnd
    }

    /// The wait of the next read for records.
    private var waitMilliseconds: Int {
        guard pending != nil else { return settings.commitIntervalMilliseconds }
        return Fold.hasWindow && !follower.reader.isCaughtUp ? Self.gatheringWaitMilliseconds : 0
    }

    /// Folds the pending batch to its end, and commits it with the gathered ones. If another batch follows, the
    /// commit may wait for that: the more records it has, the fewer rows they touch each.
    ///
    /// - Returns: false if a sum has overflowed in a commit of several batches, this one or the one before. The reader
    ///   has then returned to the stored offsets, and `next` is read again.
    @discardableResult
    func foldPending(before next: Fold.Prepared? = nil) throws -> Bool {
        guard let (prepared, start) = pending else { return true }
        pending = nil
        let batch = prepared.batch
        try follower.confirm(batch)
        try lanes.finish()
        let before = gathered?.records ?? 0
        let since = gathered?.since ?? start
        gathered = nil
        if let next, before + batch.count + next.batch.count <= settings.batchRecords,
            mayGather(since: since)
        {
            store.gather(lanes.folds, batch)
            gathered = (before + batch.count, since)
            return true
        }
        // Fails for the commit before: its sums are not those of this one.
        guard try finishCommit(folded: before + batch.count) else { return false }
        if next != nil, try storeBeside(prepared, since: since) { return true }
        do {
            try store(prepared, since: since)
        } catch StoreError.overflow where before > 0 {
            try stepBack(before + batch.count)
            return false
        }
        ungathered -= min(ungathered, before + batch.count)
        return true
    }

    /// Whether the folded batch may wait for its commit. Streams with permanent memory query the store for each
    /// record, and refused records and documents are published after their commit.
    private func mayGather(since: ContinuousClock.Instant) -> Bool {
        Fold.hasWindow && mayWait && since.duration(to: .now) < Self.longestGathering
            && lanes.folds.contributionCount < Self.mostContributions
    }

    /// Whether nothing needs the commit of the folded records before later records are folded.
    private var mayWait: Bool {
        ungathered == 0 && !lanes.folds.hasEmissions && !lanes.folds.hasOverflowed
    }

    /// Stores the folded records on another thread, while other folds go on with the next ones.
    ///
    /// - Returns: false without storing if that is not possible.
    private func storeBeside(
        _ prepared: Fold.Prepared, since start: ContinuousClock.Instant
    ) throws -> Bool {
        guard lanes.canTakeTurns, mayWait else { return false }
        // Later, this would wait for the commit.
        if follower.lastOffsetCommit.duration(to: .now) > .seconds(1) { try commitOffsets() }
        let folded = ContinuousClock.now
        store.gather(lanes.folds, prepared.batch)
        guard let full = lanes.takeTurns() else { return false }
        let partitions = full.progress
        let verifications = full.folds.reduce(0) { $0 + $1.verifications(in: prepared) }
        awaited = AwaitedBatch(
            stored: try store.storeBeside(full), partitions: partitions,
            verifications: verifications, began: start, folded: folded)
        try checkPartitionCount()
        try checkMemory()
        return true
    }

    /// Returns to the stored offsets. The records from there on are read again and stored batch by batch, so that
    /// only the one with the overflow is rejected.
    private func stepBack(_ records: Int) throws {
        ungathered = records
        lanes.discard()
        store.takeGathered()
        for state in try store.partitionStates()
        where follower.reader.position(partition: state.partition) != nil {
            try store.restore(state, in: lanes.folds[partition: state.partition])
            let offset = follower.stepBack(to: state)
            try follower.reader.seek(partition: state.partition, to: offset)
        }
    }

    /// Commits folded records, then publishes, then commits offsets, in this order. If there is nothing to
    /// publish, the commit waits for the disk while the next batch is read and folded.
    private func store(_ prepared: Fold.Prepared, since start: ContinuousClock.Instant) throws {
        let folded = ContinuousClock.now
        try finishCommit()
        let hasEmissions = lanes.folds.hasEmissions
        let partitions = lanes.folds.progress
        let verifications = lanes.folds.folds.reduce(0) { $0 + $1.verifications(in: prepared) }
        let stored = try store.store(lanes.folds, prepared)
        awaited = AwaitedBatch(
            stored: stored, partitions: partitions,
            verifications: verifications, began: start, folded: folded)
        if hasEmissions || stored.hasOverflowed {
            try finishCommit()
            try emit(Set(partitions.map(\.partition)))
            // Offsets of published data are committed at once, so that a rebuild does not publish it again.
            try commitOffsets()
        } else if follower.lastOffsetCommit.duration(to: .now) > .seconds(1) {
            try commitOffsets()
        }
        try checkPartitionCount()
        try checkMemory()
    }

    /// Waits until stored data is durable, and records it.
    ///
    /// - Parameter folded: the number of records that are folded and neither gathered nor pending.
    /// - Returns: false if a sum has overflowed. The reader has then returned to the stored offsets.
    @discardableResult
    func finishCommit(folded: Int = 0) throws -> Bool {
        guard let batch = awaited else { return true }
        awaited = nil
        let committed: ContinuousClock.Instant
        do {
            committed = try store.awaitCommit() ?? .now
        } catch {
            guard case .overflow = error else { throw error }
            let records = batch.partitions.reduce(0) { $0 + Int($1.records) }
            let later = (gathered?.records ?? 0) + (pending?.prepared.batch.count ?? 0)
            (gathered, pending) = (nil, nil)
            try stepBack(records + folded + later)
            return false
        }
        metrics?.commit(
            batch, at: committed, rememberedIDs: rememberedIDs)
        for progress in batch.partitions {
            follower.advance(progress.partition, to: progress.nextOffset)
        }
        progress.add(
            batch.partitions.reduce(0) { $0 + Int($1.records) },
            behind: settings.untilEnd ? settings.recordsLater + follower.recordsLeft : nil)
        return true
    }

    private func emit(_ partitions: Set<Int32>) throws {
        guard let emitter else { return }
        let owned = follower.nextOffsets.keys
        try metrics?.setUnpublished(store.unpublishedCount(of: owned))
        for partition in try emitter.emit(partitions) {
            follower.partitions[partition]?.isUnpublished = true
        }
        try metrics?.setUnpublished(store.unpublishedCount(of: owned))
    }

    var rememberedIDs: Int { rememberedIDs(atMost: .max) }

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
        follower.hasUncommittedOffsets = false
        guard emitter != nil else { return try follower.commit([:]) }
        for (partition, followed) in follower.partitions where !followed.isUnpublished {
            guard let offset = followed.nextOffset, offset > followed.groupOffset?.next ?? 0 else {
                continue
            }
            let mark = try follower.mark(of: partition, below: offset)
            // The last promotion of any store of the group.
            let promotion = [promotions.last, followed.groupOffset?.promotion].compactMap(\.self)
            follower.partitions[partition]?.groupOffset = GroupOffset(
                offset, mark: mark, promotion: promotion.max())
        }
        // A partition without folded records has published nothing, and its topic may be recreated before the first
        // record arrives.
        try follower.commit(
            follower.partitions.compactMapValues { $0.isUnfolded ? nil : $0.groupOffset })
    }

    /// Batches that are not full wait for the rest of the commit interval, so that a slow trickle of records does not
    /// cause a commit each.
    private func rest(since start: ContinuousClock.Instant) {
        guard !settings.untilEnd else { return }
        let end = start + .milliseconds(settings.commitIntervalMilliseconds)
        while !stop.isRequested, !interruption.look(), ContinuousClock.now < end { usleep(5000) }
    }

    private var isAtEnd: Bool { pending == nil && follower.isAtEnd }

    private var summary: Logger.Metadata {
        [
            "partitions":
                "\(follower.nextOffsets.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" })"
        ]
    }
}
