import ConfigurationValues
import CoreMetrics
import Logging
import Monitoring

/// A served endpoint with a worker's metrics and health.
final class WorkerMonitor {
    /// The worker's loop reports to it.
    let metrics: WorkerMetrics
    private let endpoint: MonitoringEndpoint

    /// Listens when it returns.
    ///
    /// - Parameters:
    ///   - data: the directory of the store.
    ///   - log: path of the embedded log; nil for another one.
    init(
        at address: ListenAddress, topic: String, settings: WorkerSettings, data: String,
        log: String?, logger: Logger
    ) throws(MonitoringError) {
        let registry = MetricRegistry(
            Self.descriptions + WriteAheadMetrics.descriptions + ProcessMetrics.descriptions)
        let writeAhead = WriteAheadMetrics(factory: registry, directory: data, log: log)
        let health = Health(waitMilliseconds: settings.commitIntervalMilliseconds)
        let process = ProcessMetrics(factory: registry)
        registry.makeMeter(
            label: "weir_build_info",
            dimensions: [("version", WeirVersion.current)]
        ).set(Int64(1))
        metrics = WorkerMetrics(
            topic: topic, group: settings.group, factory: registry, health: health)
        endpoint = try MonitoringEndpoint(
            at: address, registry: registry, health: health, logger: logger,
            update: {
                process.update()
                writeAhead.update()
            })
        logger.info("serving metrics", metadata: ["url": "http://\(endpoint.address)/metrics"])
    }

    func stop() {
        endpoint.stop()
    }

    private static let descriptions = [
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
        MetricDescription(
            "weir_build_info", "Always 1; the label contains the version of the worker."),
    ]
}
