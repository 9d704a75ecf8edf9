import CoreMetrics
import EventLog
import Foundation
import Monitoring
import Store
import Streams

/// The metrics of a worker's loop. The loop updates them per batch and per turn, never per record;
/// docs/reference/metrics.md describes each metric.
package final class WorkerMetrics {
    private let topic: String
    private let group: String
    private let factory: any MetricsFactory
    private let health: Health
    private let boundsInterval: Duration
    private let records: [Outcome: Counter]
    private let rejections: [RejectionReason: Counter]
    private let batchRecords: Recorder
    private let foldDuration: CoreMetrics.Timer
    private let commitDuration: CoreMetrics.Timer
    private let outboxDepth: Meter
    private let verifications: Counter
    private let dedupeIDs: Meter
    private let assignedPartitions: Meter
    private let brokerWait: Meter
    private let snapshots: Counter
    private let snapshotFailures: Counter
    private let standbyPartitions: Meter
    /// Whether the worker is ready without a partition of its own.
    package var isStandby = false
    private var partitions: [Int32: PartitionMetrics] = [:]
    private var boundsAsked = ContinuousClock.now

    /// Metrics of a worker without partitions yet. It asks the log for its end once per interval.
    init(
        topic: String, group: String, factory: any MetricsFactory, health: Health,
        boundsInterval: Duration = .seconds(5)
    ) {
        self.topic = topic
        self.group = group
        self.factory = factory
        self.health = health
        self.boundsInterval = boundsInterval
        let labels = [("topic", topic)]
        // A series that exists from the start, at 0, has a rate from its first record on.
        records = Dictionary(
            uniqueKeysWithValues: Outcome.allCases.map { outcome in
                let labels = labels + [("outcome", outcome.label)]
                let name = "weir_records_total"
                return (outcome, Counter(label: name, dimensions: labels, factory: factory))
            })
        rejections = Dictionary(
            uniqueKeysWithValues: RejectionReason.allCases.map { reason in
                let labels = labels + [("reason", reason.name)]
                let name = "weir_rejected_total"
                return (reason, Counter(label: name, dimensions: labels, factory: factory))
            })
        batchRecords = Recorder(
            label: "weir_batch_records", dimensions: labels, factory: factory)
        foldDuration = CoreMetrics.Timer(
            label: "weir_fold_duration_seconds", dimensions: labels, factory: factory)
        commitDuration = CoreMetrics.Timer(
            label: "weir_commit_duration_seconds", dimensions: labels, factory: factory)
        outboxDepth = Meter(label: "weir_outbox_depth", dimensions: labels, factory: factory)
        verifications = Counter(
            label: "weir_verifications_total", dimensions: labels, factory: factory)
        dedupeIDs = Meter(label: "weir_dedupe_ids", dimensions: labels, factory: factory)
        assignedPartitions = Meter(
            label: "weir_partitions_assigned", dimensions: labels, factory: factory)
        brokerWait = Meter(
            label: "weir_broker_wait_seconds", dimensions: labels, factory: factory)
        brokerWait.set(0)
        snapshots = Counter(
            label: "weir_snapshots_total", dimensions: labels, factory: factory)
        snapshotFailures = Counter(
            label: "weir_snapshot_failures_total", dimensions: labels, factory: factory)
        standbyPartitions = Meter(
            label: "weir_standby_partitions", dimensions: labels, factory: factory)
    }

    /// Counts a snapshot of a partition. Called on any thread.
    func countSnapshot(succeeded: Bool) {
        (succeeded ? snapshots : snapshotFailures).increment()
    }

    /// The number of partitions of other workers of which the store has a copy.
    func setStandbyPartitions(_ count: Int) { standbyPartitions.set(count) }

    /// Counts a turn of the loop; periodically asks the log for its end.
    ///
    /// - Parameter isFolded: whether all records from the reader are folded and committed.
    func beat(_ reader: any LogReader, isFolded: Bool) {
        health.beat()
        if isFolded {
            for (number, partition) in partitions {
                partition.position = reader.position(partition: number) ?? 0
            }
        }
        let now = ContinuousClock.now
        if !partitions.isEmpty, boundsAsked.duration(to: now) >= boundsInterval {
            boundsAsked = now
            askBounds(reader)
        }
        let seconds = Date().timeIntervalSince1970
        for partition in partitions.values { partition.update(nowSeconds: seconds) }
    }

    /// Adds a partition that this worker now owns.
    func take(_ state: PartitionState, end: Int64) {
        health.beat()
        let partition = PartitionMetrics(
            labels: [("topic", topic), ("partition", "\(state.partition)")], group: group,
            factory: factory)
        partitions[state.partition] = partition
        partition.endOffset = end
        partition.nextOffset = state.nextOffset
        partition.watermarkMilliseconds = state.records > 0 ? state.watermarkMilliseconds : nil
        partition.update(nowSeconds: Date().timeIntervalSince1970)
    }

    /// Removes a partition that another worker now owns.
    func drop(_ partition: Int32) {
        partitions.removeValue(forKey: partition)?.destroy()
    }

    /// Ends a change of the assignment.
    func updateAssignment(rememberedIDs: Int) {
        assignedPartitions.set(partitions.count)
        dedupeIDs.set(rememberedIDs)
        health.setReady(
            unless: partitions.isEmpty && !isStandby ? "no partition is assigned" : nil)
    }

    /// The worker has ended: its partitions have no owner.
    func end() {
        for partition in partitions.keys { drop(partition) }
        updateAssignment(rememberedIDs: 0)
        brokerWait.set(0)
    }

    /// Counts a folded batch, which was committed at that instant.
    func commit(
        _ batch: AwaitedBatch, at committed: ContinuousClock.Instant, rememberedIDs: Int
    ) {
        foldDuration.record(batch.began.duration(to: batch.folded))
        commitDuration.record(batch.folded.duration(to: committed))
        batchRecords.record(batch.partitions.reduce(0) { $0 + $1.records })
        for (outcome, counter) in records { counter.increment(by: batch.stored.count(outcome)) }
        for (reason, counter) in rejections { counter.increment(by: batch.stored.count(reason)) }
        verifications.increment(by: batch.verifications)
        dedupeIDs.set(rememberedIDs)
        for progress in batch.partitions {
            guard let partition = partitions[progress.partition] else { continue }
            partition.nextOffset = progress.nextOffset
            partition.watermarkMilliseconds = progress.watermarkMilliseconds
            partition.update(nowSeconds: Date().timeIntervalSince1970)
        }
    }

    /// The loop waits for the log to accept records; an unusual wait has a reason.
    func wait(for reason: String?) {
        health.beat()
        if let reason { health.setReady(unless: reason) }
    }

    /// A wait with a reason is over.
    func goOn() {
        health.setReady(unless: nil)
        brokerWait.set(0)
    }

    /// The time since the log last answered or accepted records.
    func setBrokerWait(_ seconds: Double) {
        brokerWait.set(seconds)
    }

    /// The number of unpublished outbox rows and rejected records in the store.
    func setUnpublished(_ count: Int64) {
        outboxDepth.set(count)
    }

    /// If the log does not answer, folding its records continues.
    private func askBounds(_ reader: any LogReader) {
        do {
            for bounds in try reader.bounds(of: partitions.keys.sorted()) {
                partitions[bounds.partition]?.endOffset = bounds.endOffset
            }
            health.setReady(unless: nil)
        } catch {
            health.setReady(unless: "\(error)")
        }
    }
}

/// The progress and lag of a partition.
private final class PartitionMetrics {
    var nextOffset: Int64 = 0
    /// Every lower offset was read and folded, or is not a record: Kafka's control records follow the last record of
    /// a transaction.
    var position: Int64 = 0
    var endOffset: Int64 = 0
    /// The largest folded timestamp, since 1970; nil without a folded record.
    var watermarkMilliseconds: Int64?

    private let lag: Meter
    private let currentOffset: Meter
    private let lagSeconds: Meter

    /// Creates the metrics of a partition; some have the consumer group as a label.
    init(labels: [(String, String)], group: String, factory: any MetricsFactory) {
        let groupLabels = labels + [("consumergroup", group)]
        lag = Meter(
            label: "kafka_consumergroup_lag", dimensions: groupLabels, factory: factory)
        currentOffset = Meter(
            label: "kafka_consumergroup_current_offset", dimensions: groupLabels, factory: factory)
        lagSeconds = Meter(label: "weir_lag_seconds", dimensions: labels, factory: factory)
    }

    func update(nowSeconds: Double) {
        let records = max(0, endOffset - max(nextOffset, position))
        lag.set(records)
        currentOffset.set(nextOffset)
        guard records > 0, let watermarkMilliseconds else { return lagSeconds.set(0) }
        lagSeconds.set(max(0, nowSeconds - Double(watermarkMilliseconds) / 1000))
    }

    func destroy() {
        lag.destroy()
        currentOffset.destroy()
        lagSeconds.destroy()
    }
}

extension Outcome {
    /// The outcome of one record.
    fileprivate var label: String {
        switch self {
        case .accepted: "accepted"
        case .duplicates: "duplicate"
        case .conflicts: "conflict"
        case .untrusted: "untrusted"
        case .rejected: "rejected"
        }
    }
}

extension CoreMetrics.Timer {
    fileprivate func record(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}

/// A folded and stored batch, which may still wait for the disk.
struct AwaitedBatch {
    /// The outcomes of its records.
    var stored: StoredBatch
    /// The progress of its partitions.
    var partitions: [PartitionProgress]
    /// How many records, or signatures in them, were verified.
    var verifications: Int
    /// When folding began.
    var began: ContinuousClock.Instant
    /// When folding ended.
    var folded: ContinuousClock.Instant
}
