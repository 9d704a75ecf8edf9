import Logging
import Monitoring

/// Metrics and health of delivering, being served.
final class DeliveryMonitor {
    /// What the loop reports to.
    let metrics: DeliveryMetrics
    private let endpoint: MonitoringEndpoint

    /// Listens when it returns.
    init(
        at address: ListenAddress, topic: String, group: String, partners: [String],
        waitMilliseconds: Int, logger: Logger
    ) throws(MonitoringError) {
        let registry = MetricRegistry(DeliveryMetrics.descriptions + ProcessMetrics.descriptions)
        let health = Health(waitMilliseconds: waitMilliseconds)
        let process = ProcessMetrics(factory: registry)
        metrics = DeliveryMetrics(
            topic: topic, group: group, partners: partners, factory: registry, health: health)
        endpoint = try MonitoringEndpoint(
            at: address, registry: registry, health: health, logger: logger,
            update: process.update)
        logger.info("serving metrics", metadata: ["url": "http://\(endpoint.address)/metrics"])
    }

    /// Ends serving.
    func stop() {
        endpoint.stop()
    }
}
