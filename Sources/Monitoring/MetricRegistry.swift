import CoreMetrics
import Synchronization

/// Metrics in memory, to be printed in Prometheus's text format. Any thread may count and print at any
/// time; nobody waits for longer than it takes to add a number.
///
/// Counters are counters; gauges and meters are gauges; recorders that aggregate, and timers (in seconds), are
/// histograms. A metric that is asked for again is the same one. One that is asked for as another kind than
/// it has been counts for itself and is not printed.
package final class MetricRegistry: MetricsFactory {
    private struct Family {
        var kind: MetricKind
        /// By their labels, as they are printed.
        var series: [String: any MetricSeries] = [:]
    }

    private let descriptions: [String: MetricDescription]
    private let families = Mutex<[String: Family]>([:])

    /// A registry without metrics. Those of other names than the descriptions' are printed without help, and
    /// their histograms have the buckets of times.
    package init(_ descriptions: [MetricDescription]) {
        self.descriptions = Dictionary(
            descriptions.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// All metrics, in order of their names and labels.
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
            let known = families[name]?.series[labels]
            if let known = known as? Series { return known }
            let series = make(bounds)
            guard known == nil, (families[name]?.kind ?? kind) == kind else { return series }
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

// MARK: What swift-metrics asks for

extension MetricRegistry {
    /// A counter of whole numbers.
    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(label, dimensions, .counter) { _ in CounterSeries() }
    }

    /// A counter of numbers with fractions.
    package func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        series(label, dimensions, .counter) { _ in FloatingPointCounterSeries() }
    }

    /// A gauge.
    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(label, dimensions, .gauge) { _ in GaugeSeries() }
    }

    /// A histogram when it aggregates, else a gauge.
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

    /// Prints it no more.
    package func destroyCounter(_ handler: any CounterHandler) { remove(handler) }

    /// Prints it no more.
    package func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {
        remove(handler)
    }

    /// Prints it no more.
    package func destroyMeter(_ handler: any MeterHandler) { remove(handler) }

    /// Prints it no more.
    package func destroyRecorder(_ handler: any RecorderHandler) { remove(handler) }

    /// Prints it no more.
    package func destroyTimer(_ handler: any TimerHandler) { remove(handler) }
}
