import Dispatch
import EventLog
import Foundation
import Logging
import Store
import Streams
import Synchronization

/// Snapshots of a worker's partitions: takes them on another thread, and restores partitions from them.
package final class WorkerSnapshots {
    /// From the start of a round of snapshots to the start of the next one.
    private let interval: Duration
    /// The time of a round is at most one part in so many. So snapshots of much history cost a small share of the
    /// throughput.
    private static let share = 40
    /// A snapshot of fewer records beyond the store is not worth restoring, if the log has these records.
    private static let worthwhileRecords: Int64 = 100_000

    private let root: String
    private let store: AggregateStore
    private let logger: Logger
    private let metrics: WorkerMetrics?
    private let thread = DispatchQueue(label: "weir.snapshots")
    private let round: Round

    /// The state of the other thread.
    ///
    /// `@unchecked Sendable`: writers are only used on it.
    private final class Round: @unchecked Sendable {
        var writers: [Int32: SnapshotWriter] = [:]
        /// The last warning, so that it does not repeat with each round.
        var warning = ""
        /// When the next round may begin; nil while one is running.
        let due = Mutex<ContinuousClock.Instant?>(.now)
    }

    /// - Parameter root: the directory of all snapshots.
    package init(
        root: String, store: AggregateStore, logger: Logger, metrics: WorkerMetrics? = nil,
        interval: Duration = .seconds(10)
    ) {
        self.root = root
        self.store = store
        self.logger = logger
        self.metrics = metrics
        self.interval = interval
        round = Round()
        store.notesChanges = true
    }

    private func directory(of partition: Int32) -> SnapshotDirectory {
        SnapshotDirectory(root: root, stream: store.stream, partition: partition)
    }

    /// Begins a round of snapshots of these partitions if it is time.
    func look(_ partitions: some Sequence<Int32>) {
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
            let end = ContinuousClock.now
            let rest = start.duration(to: end) * Self.share
            snapshots.round.due.withLock { $0 = max(start + snapshots.interval, end + rest) }
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
                    ?? SnapshotWriter(directory(of: partition), of: partition, in: store)
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
        // Without this directory nothing is restored, which the log makes good.
        for name in (try? directory.manifests()) ?? [] {
            let start = ContinuousClock.now
            do throws(any Error) {
                let manifest = try directory.manifest(named: name)
                guard isWorthwhile(manifest, bounds, state) else { return false }
                try requireLog(manifest, bounds)
                try directory.verify(manifest)
                if let refusal = try configuration.refusal(of: manifest, in: directory) {
                    throw SnapshotFault(refusal)
                }
                let hasSameKeys = try store.restore(manifest, in: directory)
                let writer = try SnapshotWriter(
                    directory, of: bounds.partition, in: store,
                    after: hasSameKeys ? manifest : nil)
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
        return manifest.nextOffset > state.nextOffset + Self.worthwhileRecords
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
}
