import Monitoring
import Testing

@testable import Collector

@Suite("Parts beside the collector")
struct PartTests {
    @Test("that fail are measured by their names, until they work again")
    func failed() throws {
        let parts = [
            ProgramPart("weir-bids", hasFailed: false),
            ProgramPart("weir-impressions", hasFailed: true),
        ]
        let registry = MetricRegistry(ProgramPartMetrics.descriptions)
        let metrics = ProgramPartMetrics(factory: registry)
        metrics.update(parts)
        #expect(registry.text.contains(#"weir_part_failed{part="weir-bids"} 0"#))
        #expect(registry.text.contains(#"weir_part_failed{part="weir-impressions"} 1"#))
        metrics.update([ProgramPart("weir-impressions", hasFailed: false)])
        #expect(registry.text.contains(#"weir_part_failed{part="weir-impressions"} 0"#))
    }
}
