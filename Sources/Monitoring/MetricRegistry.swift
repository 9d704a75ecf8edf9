import CoreMetrics
import Synchronization

/// Monitoring: metrics in memory, their text for Prometheus, health, and the HTTP endpoint that serves them. The
/// collector uses `HTTPListener` too.
///
/// ```swift
/// let registry = MetricRegistry([MetricDescription("weir_lag_records", "Records not read yet.")])
/// registry.makeMeter(label: "weir_lag_records", dimensions: []).set(Int64(7))
/// print(registry.text)
/// ```
///
/// Any thread may count and print at any time; locks are held only while a number is added.
///
/// Counters are counters. Gauges and meters are gauges. Recorders that aggregate, and timers (in seconds), are
/// histograms. Requesting a metric again returns the same one. If it is requested as another kind, it counts
/// separately and is not printed.
package final class MetricRegistry: MetricsFactory {
    private struct Family {
        var kind: MetricKind
        /// By printed labels.
        var series: [String: any MetricSeries] = [:]
    }

    private let descriptions: [String: MetricDescription]
    private let families = Mutex<[String: Family]>([:])

    /// Metrics without a description are printed without help, and their histograms have the buckets of times.
    package init(_ descriptions: [MetricDescription]) {
        self.descriptions = Dictionary(
            descriptions.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// All metrics in the text format, sorted by name and labels.
    package var text: String {
        let families = families.withLock { $0 }
        var text = ExpositionText()
        for (name, family) in families.sorted(by: { $0.key < $1.key }) {
            text.begin(name, help: descriptions[name]?.help, kind: family.kind)
            for (labels, series) in family.series.sorted(by: { $0.key < $1.key }) {
                series.write(name, labels: labels, to: &text)
            }
        }
        return text.text
    }

    private func series<Series: MetricSeries>(
        _ label: String, _ dimensions: [(String, String)], _ kind: MetricKind,
        make: (_ bounds: [Double]) -> Series
    ) -> Series {
        let name = ExpositionText.metricName(label)
        let labels = ExpositionText.labels(dimensions)
        let bounds = descriptions[name]?.bounds ?? MetricDescription.secondsBounds
        return families.withLock { families in
            let existing = families[name]?.series[labels]
            if let existing = existing as? Series { return existing }
            let series = make(bounds)
            guard existing == nil, (families[name]?.kind ?? kind) == kind else { return series }
            families[name, default: Family(kind: kind)].series[labels] = series
            return series
        }
    }

    private func remove(_ handler: AnyObject) {
        families.withLock { families in
            for (name, family) in families {
                guard let labels = family.series.first(where: { $0.value === handler })?.key
                else { continue }
                families[name]?.series[labels] = nil
                if family.series.count == 1 { families[name] = nil }
                return
            }
        }
    }
}

// MARK: The protocol of swift-metrics

extension MetricRegistry {
    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(label, dimensions, .counter) { _ in CounterSeries() }
    }

    package func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        series(label, dimensions, .counter) { _ in FloatingPointCounterSeries() }
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(label, dimensions, .gauge) { _ in GaugeSeries() }
    }

    /// A histogram if it aggregates, otherwise a gauge.
    package func makeRecorder(
        label: String, dimensions: [(String, String)], aggregate: Bool
    ) -> any RecorderHandler {
        guard aggregate else { return series(label, dimensions, .gauge) { _ in GaugeSeries() } }
        return series(label, dimensions, .histogram) { HistogramSeries(bounds: $0) }
    }

    /// A histogram of seconds.
    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        series(label, dimensions, .histogram) { HistogramSeries(bounds: $0) }
    }

    package func destroyCounter(_ handler: any CounterHandler) { remove(handler) }

    package func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {
        remove(handler)
    }

    package func destroyMeter(_ handler: any MeterHandler) { remove(handler) }

    package func destroyRecorder(_ handler: any RecorderHandler) { remove(handler) }

    package func destroyTimer(_ handler: any TimerHandler) { remove(handler) }
}

/// The help and the buckets of a metric.
package struct MetricDescription: Sendable {
    /// Upper bounds of buckets for times, in seconds.
    package static let secondsBounds: [Double] = [
        0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
    ]
    /// Upper bounds of buckets for counts.
    package static let countBounds: [Double] = [
        1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000,
    ]

    package let name: String
    /// One sentence, with the unit.
    package let help: String
    /// Upper bounds of a histogram's buckets, ascending, without the infinite one. Unused for other kinds.
    package let bounds: [Double]

    package init(_ name: String, _ help: String, bounds: [Double] = secondsBounds) {
        self.name = name
        self.help = help
        self.bounds = bounds
    }
}
