import CoreMetrics
import Synchronization

/// A number that goes up and down: the one that was set last.
final class GaugeSeries: RecorderHandler, MeterHandler, MetricSeries {
    private let current = Mutex<Double>(0)

    func record(_ value: Int64) { set(Double(value)) }

    func record(_ value: Double) { set(value) }

    func set(_ value: Int64) { set(Double(value)) }

    func set(_ value: Double) {
        current.withLock { $0 = value }
    }

    func increment(by amount: Double) {
        current.withLock { $0 += amount }
    }

    func decrement(by amount: Double) {
        current.withLock { $0 -= amount }
    }

    func write(_ name: String, labels: String, to text: inout ExpositionText) {
        text.value(ExpositionText.number(current.withLock { $0 }), of: name, labels: labels)
    }
}
