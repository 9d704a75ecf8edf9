import CoreMetrics
import Monitoring

/// Which parts of the program fail, as metrics.
struct ProgramPartMetrics: Sendable {
    /// What the metric means.
    static let descriptions = [
        MetricDescription("weir_part_failed", "1 while a part of weir up does not work, else 0.")
    ]

    let factory: any MetricsFactory

    /// To be called before the metrics are printed.
    func update(_ parts: [ProgramPart]) {
        for part in parts {
            factory.makeMeter(label: "weir_part_failed", dimensions: [("part", part.name)])
                .set(Int64(part.hasFailed ? 1 : 0))
        }
    }
}
