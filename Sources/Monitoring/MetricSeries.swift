import CoreMetrics
import Synchronization

/// The kinds of metrics, by their names in the text format.
enum MetricKind: String {
    case counter
    case gauge
    case histogram
}

/// The values of a metric with one set of labels.
protocol MetricSeries: AnyObject, Sendable {
    func write(_ name: String, labels: String, to text: inout ExpositionText)
}

/// A whole number that only grows and saturates at the largest one.
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

/// The last set number.
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

/// How many values fell into each bucket. Times are in seconds.
final class HistogramSeries: RecorderHandler, TimerHandler, MetricSeries {
    private struct Values {
        /// By bucket, not cumulative; the last has no bound.
        var counts: [Int64]
        var sum = 0.0
    }

    private static let nanosecondsInSecond = 1e9

    private let bounds: [Double]
    private let values: Mutex<Values>

    init(bounds: [Double]) {
        self.bounds = bounds
        values = Mutex(Values(counts: Array(repeating: 0, count: bounds.count + 1)))
    }

    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        // One non-finite value would permanently make the sum non-finite.
        guard value.isFinite else { return }
        let bucket = bounds.firstIndex { value <= $0 } ?? bounds.count
        values.withLock { values in
            values.counts[bucket] += 1
            values.sum += value
        }
    }

    func recordNanoseconds(_ duration: Int64) {
        record(Double(duration) / Self.nanosecondsInSecond)
    }

    func write(_ name: String, labels: String, to text: inout ExpositionText) {
        let values = values.withLock { $0 }
        var count: Int64 = 0
        for (bound, inBucket) in zip(bounds + [.infinity], values.counts) {
            count += inBucket
            text.value(
                "\(count)", of: "\(name)_bucket", labels: labels,
                more: "le=\"\(ExpositionText.number(bound))\"")
        }
        text.value(ExpositionText.number(values.sum), of: "\(name)_sum", labels: labels)
        text.value("\(count)", of: "\(name)_count", labels: labels)
    }
}
