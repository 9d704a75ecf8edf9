import CoreMetrics
import Logging

/// The metrics and the health of a worker. A separate program serves them at an address of its own; a service of
/// `weir up` adds its metrics to those that `weir up` serves.
package final class ServiceMonitor {
    package let factory: any MetricsFactory
    package let health: Health
    /// Nil in `weir up`.
    private let endpoint: MonitoringEndpoint?

    package init(sharing metrics: LabelledMetrics, waitMilliseconds: Int) {
        factory = metrics
        health = Health(waitMilliseconds: waitMilliseconds)
        endpoint = nil
    }

    /// Listens when it returns.
    ///
    /// - Parameters:
    ///   - descriptions: of the worker's own metrics.
    ///   - waitMilliseconds: how long the worker's loop may wait for records.
    ///   - data: the directory of the store.
    ///   - log: path of the embedded log; nil for another one.
    package init(
        at address: ListenAddress, _ descriptions: [MetricDescription], waitMilliseconds: Int,
        data: String, log: String?, logger: Logger
    ) throws(MonitoringError) {
        let registry = MetricRegistry(
            descriptions + WriteAheadMetrics.descriptions + ProcessMetrics.descriptions)
        let writeAhead = WriteAheadMetrics(factory: registry, directory: data, log: log)
        let process = ProcessMetrics(factory: registry)
        let health = Health(waitMilliseconds: waitMilliseconds)
        let endpoint = try MonitoringEndpoint(
            at: address, registry: registry, health: health, logger: logger,
            update: {
                process.update()
                writeAhead.update()
            })
        factory = registry
        self.health = health
        self.endpoint = endpoint
        logger.info("serving metrics", metadata: ["url": "http://\(endpoint.address)/metrics"])
    }

    package func stop() {
        endpoint?.stop()
    }
}
