import CoreMetrics
import Synchronization

/// How many values fell into each of some buckets. Times count in seconds.
final class HistogramSeries: RecorderHandler, TimerHandler, MetricSeries {
    private struct Values {
        /// By bucket, each without those below it; the last has no bound.
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
        // A sum that is no number would stay so.
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
