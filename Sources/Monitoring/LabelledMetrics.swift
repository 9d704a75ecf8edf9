import CoreMetrics

/// The series of a registry that have the label `worker`. The services of `weir up` share a registry; with this label
/// their series are those that Prometheus stores for separate programs.
package struct LabelledMetrics: MetricsFactory {
    private let registry: MetricRegistry
    private let labels: [(String, String)]

    /// - Parameter worker: the stream's name, `partner-postbacks` or `collector`.
    package init(_ registry: MetricRegistry, worker: String) {
        self.registry = registry
        labels = [("worker", worker)]
    }

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        registry.makeCounter(label: label, dimensions: labels + dimensions)
    }

    package func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        registry.makeFloatingPointCounter(label: label, dimensions: labels + dimensions)
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        registry.makeMeter(label: label, dimensions: labels + dimensions)
    }

    package func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        registry.makeRecorder(label: label, dimensions: labels + dimensions, aggregate: aggregate)
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        registry.makeTimer(label: label, dimensions: labels + dimensions)
    }

    package func destroyCounter(_ handler: any CounterHandler) { registry.destroyCounter(handler) }

    package func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {
        registry.destroyFloatingPointCounter(handler)
    }

    package func destroyMeter(_ handler: any MeterHandler) { registry.destroyMeter(handler) }

    package func destroyRecorder(_ handler: any RecorderHandler) {
        registry.destroyRecorder(handler)
    }

    package func destroyTimer(_ handler: any TimerHandler) { registry.destroyTimer(handler) }
}
