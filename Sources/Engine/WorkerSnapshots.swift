import Dispatch
import EventLog
import Foundation
import Logging
import Store
import Streams
import Synchronization

/// How often a worker takes snapshots, and when it restores one.
package struct SnapshotPacing: Sendable {
    /// From the start of a round of snapshots to the start of the next one.
    package var interval = Duration.seconds(10)
    /// The time of a round is at most one part in so many. So snapshots of much history cost a small share of the
    /// throughput.
    package var share = 40
    /// A snapshot of fewer records beyond the store is not worth restoring, if the log has these records.
    package var worthwhileRecords: Int64 = 100_000

    package init() {}
}

/// Snapshots of a worker's partitions: takes them on another thread, and restores partitions from them.
package final class WorkerSnapshots {
    private let pacing: SnapshotPacing
    private let root: String
    private let group: String
    private let store: AggregateStore
    private let logger: Logger
    private let metrics: WorkerMetrics?
    private let openReader: LogIdentityCheck.OpenReader?
    private let thread = DispatchQueue(label: "weir.snapshots")
    private let round: Round
    /// Whether the store keeps copies of partitions of other workers.
    private let isStandby: Bool
    /// The copies of partitions that this worker does not fold, as the store has them.
    private(set) var copies: [Int32: PartitionCopy] = [:]

    /// The state of the other thread.
    ///
    /// `@unchecked Sendable`: writers are only used on it.
    private final class Round: @unchecked Sendable {
        var writers: [Int32: SnapshotWriter] = [:]
        /// The last warning, so that it does not repeat with each round.
        var warning = ""
        /// When the next round may begin; nil while one is running.
        let due = Mutex<ContinuousClock.Instant?>(.now)
        /// Snapshots of other workers that are verified and not copied.
        let others = Mutex<[Int32: SnapshotManifest]>([:])
        /// The last snapshots of other workers that were looked at.
        var seen: [Int32: String] = [:]
    }

    /// - Parameters:
    ///   - root: the directory of all snapshots.
    ///   - group: the consumer group. Snapshots of others are not used.
    ///   - isStandby: whether to keep copies of partitions of other workers.
    ///   - openReader: opens a reader of the log itself; nil if the log allows no other reads.
    package init(
        root: String, group: String, store: AggregateStore, logger: Logger,
        metrics: WorkerMetrics? = nil,
        pacing: SnapshotPacing = SnapshotPacing(), isStandby: Bool = false,
        openReader: LogIdentityCheck.OpenReader? = nil
    ) {
        self.openReader = openReader
        self.root = root
        self.group = group
        self.isStandby = isStandby
        self.store = store
        self.logger = logger
        self.metrics = metrics
        self.pacing = pacing
        round = Round()
        store.notesChanges = true
    }

    private func directory(of partition: Int32) -> SnapshotDirectory {
        SnapshotDirectory(root: root, stream: store.stream, partition: partition)
    }

    /// Begins a round of snapshots of these partitions if it is time. A standby also looks for new snapshots of the
    /// others.
    ///
    /// - Parameters:
    ///   - partitionCount: of the topic.
    ///   - configuration: under which other partitions would have to continue.
    func look(
        _ partitions: some Sequence<Int32>, of partitionCount: Int32,
        under configuration: FoldConfiguration
    ) {
        let isDue = round.due.withLock { due in
            guard let time = due, time <= .now else { return false }
            due = nil
            return true
        }
        guard isDue else { return }
        let partitions = partitions.sorted()
        nonisolated(unsafe) let snapshots = self
        thread.async {
            let start = ContinuousClock.now
            snapshots.take(partitions)
            if snapshots.isStandby {
                snapshots.verify(Set(0..<partitionCount).subtracting(partitions), configuration)
            }
            let end = ContinuousClock.now
            let rest = start.duration(to: end) * snapshots.pacing.share
            snapshots.round.due.withLock { $0 = max(start + snapshots.pacing.interval, end + rest) }
        }
    }

    /// Takes the last snapshots of these partitions, which this worker folds no more.
    func finish(_ partitions: some Sequence<Int32>) {
        let partitions = partitions.sorted()
        thread.sync {
            take(partitions)
            for partition in partitions { round.writers[partition] = nil }
        }
    }

    /// The end of the worker.
    func close() { thread.sync { round.writers.removeAll() } }

    /// On the other thread.
    private func take(_ partitions: [Int32]) {
        for partition in partitions {
            do {
                let writer =
                    try round.writers[partition]
                    ?? SnapshotWriter(
                        directory(of: partition), of: partition, in: store, group: group)
                round.writers[partition] = writer
                guard try writer.take() != nil else { continue }
                metrics?.countSnapshot(succeeded: true)
                round.warning = ""
            } catch {
                metrics?.countSnapshot(succeeded: false)
                let warning = "\(error)"
                guard warning != round.warning else { continue }
                round.warning = warning
                logger.warning("no snapshot of partition \(partition): \(warning)")
            }
        }
    }

    // MARK: Copies of other partitions

    /// On the other thread: verifies the newest snapshots of partitions of other workers.
    private func verify(_ partitions: Set<Int32>, _ configuration: FoldConfiguration) {
        for partition in partitions.sorted() {
            let directory = directory(of: partition)
            guard let name = manifests(in: directory).first, name != round.seen[partition]
            else { continue }
            do {
                let manifest = try directory.manifest(named: name)
                try requireGroup(manifest)
                try directory.verify(manifest)
                if let refusal = try configuration.refusal(of: manifest, in: directory) {
                    throw SnapshotFault(refusal)
                }
                round.others.withLock { $0[partition] = manifest }
            } catch {
                logger.warning("\(directory.path)/\(name) is not copied: \(error)")
            }
            round.seen[partition] = name
        }
    }

    /// The manifests in a directory, the newest first; none for a directory that cannot be read, which is logged.
    private func manifests(in directory: SnapshotDirectory) -> [String] {
        do {
            return try directory.manifests()
        } catch {
            logger.warning("snapshots are not used: \(error)")
            return []
        }
    }

    private func requireGroup(_ manifest: SnapshotManifest) throws(SnapshotFault) {
        guard let other = manifest.group, other != group else { return }
        throw SnapshotFault("it is of the consumer group \(other), and this worker is in \(group)")
    }

    /// Whether there is a snapshot to copy.
    var hasCopy: Bool { isStandby && round.others.withLock { !$0.isEmpty } }

    /// Copies one partition of another worker from its verified snapshot: only what has changed since the last copy.
    ///
    /// - Parameter owned: the partitions of this worker. One may have been assigned while its snapshot was verified.
    func copy(except owned: some Collection<Int32>) throws {
        let next = round.others.withLock { others in
            others.keys.min().flatMap { others.removeValue(forKey: $0) }
        }
        guard let manifest = next else { return }
        let partition = manifest.partition
        guard !owned.contains(partition) else { return }
        let state = try store.partitionStates().first { $0.partition == partition }
        if let state, state.records > 0, state.nextOffset >= manifest.nextOffset { return }
        let directory = directory(of: partition)
        let start = ContinuousClock.now
        do {
            if copies[partition] == nil { try requireRecord(manifest, in: directory) }
            copies[partition] = try store.restore(
                manifest, in: directory, over: copies.removeValue(forKey: partition))
        } catch let fault as SnapshotFault {
            return logger.warning("a snapshot in \(directory.path) is not copied: \(fault)")
        }
        logger.debug(
            "partition of another worker copied",
            metadata: [
                "partition": "\(partition)", "next_offset": "\(manifest.nextOffset)",
                "duration": "\(start.duration(to: .now))",
            ])
    }

    // MARK: Restoring

    /// Restores a partition from its newest usable snapshot, if that is further than the store.
    ///
    /// - Parameters:
    ///   - state: the partition in the store.
    ///   - configuration: under which the partition has to continue.
    /// - Returns: whether the partition was restored.
    func restore(
        _ bounds: PartitionBounds, _ state: PartitionState?, under configuration: FoldConfiguration
    ) throws -> Bool {
        let directory = directory(of: bounds.partition)
        _ = round.others.withLock { $0.removeValue(forKey: bounds.partition) }
        let copy = copies.removeValue(forKey: bounds.partition)
        defer { if let copy { try? store.release(copy) } }
        if let copy, let state, state.nextOffset >= copy.manifest.nextOffset {
            logger.notice(
                "partition continues from its copy",
                metadata: [
                    "partition": "\(bounds.partition)", "next_offset": "\(state.nextOffset)",
                ])
        }
        let names = manifests(in: directory)
        if names.isEmpty, state == nil, bounds.earliestOffset > 0 {
            logger.warning("no snapshot in \(directory.path): is its disk mounted?")
        }
        for name in names {
            let start = ContinuousClock.now
            do throws(any Error) {
                let manifest = try directory.manifest(named: name)
                guard isWorthwhile(manifest, bounds, state) else { return false }
                try requireGroup(manifest)
                try requireLog(manifest, bounds)
                try directory.verify(manifest)
                if let refusal = try configuration.refusal(of: manifest, in: directory) {
                    throw SnapshotFault(refusal)
                }
                try requireRecord(manifest, in: directory)
                let restored = try store.restore(manifest, in: directory, over: copy)
                try store.release(restored)
                let writer = try SnapshotWriter(
                    directory, of: bounds.partition, in: store, group: group,
                    after: restored.sharedManifest)
                thread.sync { round.writers[bounds.partition] = writer }
                logger.notice(
                    "partition restored from a snapshot",
                    metadata: [
                        "partition": "\(bounds.partition)", "next_offset": "\(manifest.nextOffset)",
                        "snapshot": "\(directory.path)/\(name)",
                        "duration": "\(start.duration(to: .now))",
                    ])
                return true
            } catch {
                guard let fault = error as? SnapshotFault else { throw error }
                logger.warning("\(directory.path)/\(name) is not used: \(fault)")
            }
        }
        return false
    }

    private func isWorthwhile(
        _ manifest: SnapshotManifest, _ bounds: PartitionBounds, _ state: PartitionState?
    ) -> Bool {
        guard let state, state.records > 0 else { return true }
        guard state.nextOffset >= bounds.earliestOffset else {
            return manifest.nextOffset > state.nextOffset
        }
        return manifest.nextOffset > state.nextOffset + pacing.worthwhileRecords
    }

    private func requireLog(
        _ manifest: SnapshotManifest, _ bounds: PartitionBounds
    ) throws(SnapshotFault) {
        if manifest.nextOffset > bounds.endOffset {
            throw SnapshotFault(
                "it ends at offset \(manifest.nextOffset), and the log at \(bounds.endOffset): it is of another log, or the log has lost its end"
            )
        }
        if manifest.nextOffset < bounds.earliestOffset {
            throw SnapshotFault(
                "it ends at offset \(manifest.nextOffset), and the log begins at \(bounds.earliestOffset): the records between are gone"
            )
        }
    }

    /// Throws `SnapshotFault` if the log has another record where the snapshot has its last one: on Kafka, a recreated
    /// topic is not recognised by its name.
    private func requireRecord(
        _ manifest: SnapshotManifest, in directory: SnapshotDirectory
    ) throws {
        guard let openReader else { return }
        let last = try directory.state(of: manifest) { $1.lastFingerprint }
        let reader = try openReader()
        defer { reader.close() }
        guard let last, let bounds = try reader.bounds(of: [manifest.partition]).first,
            last.offset >= bounds.earliestOffset
        else { return }
        guard last.offset < bounds.endOffset else { return try requireLog(manifest, bounds) }
        let look = try FingerprintCheck([last], with: reader)
        guard look.unread.isEmpty else {
            throw LogError.unanswered(
                TopicPartition(topic: manifest.topic, partition: manifest.partition))
        }
        guard look.others.isEmpty else {
            throw SnapshotFault(
                "its last record, at offset \(last.offset), is another one in the log: the topic was recreated, or the log has lost its end"
            )
        }
    }
}
