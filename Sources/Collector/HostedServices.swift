import CoreMetrics
import Monitoring
import Synchronization

/// The other services of `weir up`, which run in the collector's process.
package struct HostedServices: Sendable {
    /// The registry that the services share. The collector serves it.
    let registry: MetricRegistry
    /// The present states.
    let states: @Sendable () -> [ServiceState]

    package init(
        sharing registry: MetricRegistry, states: @escaping @Sendable () -> [ServiceState]
    ) {
        self.registry = registry
        self.states = states
    }
}

/// The state of a service of `weir up`.
package struct ServiceState: Equatable, Sendable {
    /// The name of the service as a separate program, such as `weir-bids`.
    let name: String
    let hasFailed: Bool
    /// How often it has failed since the start of the process.
    let failures: Int

    package init(_ name: String, hasFailed: Bool, failures: Int) {
        self.name = name
        self.hasFailed = hasFailed
        self.failures = failures
    }

    /// Names the failed services; nil if all work.
    static func explanation(ofFailed services: [ServiceState]) -> String? {
        let names = services.filter(\.hasFailed).map(\.name)
        return names.isEmpty ? nil : "failed: \(names.joined(separator: ", "))"
    }
}

final class ServiceMetrics: Sendable {
    static let descriptions = [
        MetricDescription(
            "weir_part_failed", "1 while a service of weir up does not work, otherwise 0."),
        MetricDescription("weir_part_failures_total", "How often a service of weir up has failed."),
    ]

    private let factory: any MetricsFactory
    private let counted = Mutex<[String: Int]>([:])

    init(factory: any MetricsFactory) {
        self.factory = factory
    }

    /// Call it before the metrics are printed.
    func update(_ services: [ServiceState]) {
        for service in services {
            let labels = [("part", service.name)]
            factory.makeMeter(label: "weir_part_failed", dimensions: labels)
                .set(Int64(service.hasFailed ? 1 : 0))
            let failures = factory.makeCounter(
                label: "weir_part_failures_total", dimensions: labels)
            counted.withLock { counted in
                failures.increment(by: Int64(service.failures - counted[service.name, default: 0]))
                counted[service.name] = service.failures
            }
        }
    }
}
