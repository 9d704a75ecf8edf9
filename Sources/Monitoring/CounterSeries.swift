import CoreMetrics
import Synchronization

/// A whole number that only grows; it stays at the largest that there is.
final class CounterSeries: CounterHandler, MetricSeries {
    private let total = Mutex<Int64>(0)

    func increment(by amount: Int64) {
        guard amount > 0 else { return }
        total.withLock { total in
            let (sum, overflow) = total.addingReportingOverflow(amount)
            total = overflow ? .max : sum
        }
    }

    func reset() {
        total.withLock { $0 = 0 }
    }

    func write(_ name: String, labels: String, to text: inout ExpositionText) {
        text.value("\(total.withLock { $0 })", of: name, labels: labels)
    }
}

/// A number with fractions that only grows.
final class FloatingPointCounterSeries: FloatingPointCounterHandler, MetricSeries {
    private let total = Mutex<Double>(0)

    func increment(by amount: Double) {
        guard amount > 0, amount.isFinite else { return }
        total.withLock { $0 += amount }
    }

    func reset() {
        total.withLock { $0 = 0 }
    }

    func write(_ name: String, labels: String, to text: inout ExpositionText) {
        text.value(ExpositionText.number(total.withLock { $0 }), of: name, labels: labels)
    }
}
