import ConversionModels
import Store
import Streams

// Sums that explanations of the funnel and of `roas` add in addition to stored sums.

extension FunnelFigure {
    /// The contribution of a row of postbacks to bounds: the index of their count in the stored aggregate, the measure,
    /// and the value of each postback.
    func boundTerms(
        _ entry: FunnelEntry
    ) -> [(index: Int, measure: String, factor: Int128)] {
        guard bounds != .absent, entry.isTrusted, let row = entry.postback else { return [] }
        // Rows of postbacks count those without a value, rows of values all others.
        let index =
            entry.value == nil
            ? PostbacksKey.Measure.nullValues.rawValue
            : ConversionValuesKey.Measure.postbacks.rawValue
        let found = models[row.app]?.revenueBounds(
            received: hours[row.hour].milliseconds, timing: row.timing, fine: entry.value?.fine,
            coarse: entry.value?.coarse, sequenceIndex: Int(row.sequenceIndex))
        guard ReturnWindow.all.indices.contains(Int(row.sequenceIndex)) else { return [] }
        let window = ReturnWindow.all[Int(row.sequenceIndex)]
        if case .through(let day) = bounds, window.firstDay > day { return [] }
        guard let found else { return [(index, FunnelColumn.unbounded, 1)] }
        return found.sorted { $0.key < $1.key }.flatMap { currency, amounts in
            let names: [(String, Int128)] =
                switch bounds {
                case .absent: []
                case .ofRevenue:
                    [
                        ("\(FunnelColumn.boundMin) \(currency)", amounts.minMicros),
                        ("\(FunnelColumn.boundMax) \(currency)", amounts.maxMicros),
                    ]
                case .through(let day):
                    [
                        (
                            "revenue_min_micros \(currency)",
                            window.lastDay <= day ? amounts.minMicros : 0
                        ),
                        ("revenue_max_micros \(currency)", amounts.maxMicros),
                    ]
                }
            return names.map { (index, $0, $1) }
        }
    }
}
