import Monitoring

/// A worker's metrics, and where they are served.
final class WorkerMonitor {
    /// The worker's loop reports to it.
    let metrics: WorkerMetrics
    private let service: ServiceMonitor

    init(_ service: ServiceMonitor, topic: String, group: String) {
        self.service = service
        metrics = WorkerMetrics(
            topic: topic, group: group, factory: service.factory, health: service.health)
    }

    /// The series of `weir up` stay after a worker has ended. They show a worker without partitions.
    func stop() {
        metrics.end()
        service.stop()
    }
}

extension WorkerMetrics {
    package static let descriptions = [
        MetricDescription("weir_records_total", "Records read, by outcome."),
        MetricDescription("weir_rejected_total", "Records rejected, by reason."),
        MetricDescription(
            "weir_batch_records", "Records folded and committed together.",
            bounds: MetricDescription.countBounds),
        MetricDescription(
            "weir_fold_duration_seconds",
            "Seconds to fold a batch, including the wait for its signatures."),
        MetricDescription(
            "weir_commit_duration_seconds", "Seconds to commit a batch to the store."),
        MetricDescription(
            "kafka_consumergroup_lag", "Records between the next offset and the end of the log."),
        MetricDescription(
            "kafka_consumergroup_current_offset",
            "Offset of the first record that is not folded yet."),
        MetricDescription(
            "weir_lag_seconds",
            "Seconds since the timestamp of the newest folded record; 0 when caught up."),
        MetricDescription(
            "weir_outbox_depth",
            "Unpublished partner postbacks and dead letters in the store."),
        MetricDescription(
            "weir_verifications_total", "Verified signatures and shared secrets."),
        MetricDescription("weir_dedupe_ids", "Ids in memory to detect duplicates."),
        MetricDescription("weir_partitions_assigned", "Partitions that this worker folds."),
        MetricDescription(
            "weir_broker_wait_seconds",
            "Seconds of waiting for a log that does not answer; 0 while it answers."
        ),
        MetricDescription("weir_snapshots_total", "Snapshots of partitions taken."),
        MetricDescription(
            "weir_snapshot_failures_total", "Snapshots of partitions that could not be taken."),
        MetricDescription(
            "weir_standby_partitions",
            "Partitions of other workers of which a worker with --standby has a copy."),
    ]
}
