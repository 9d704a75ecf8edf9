import ConfigurationValues
import Store
import Synchronization

/// Sums of stores and the configuration, which pages read repeatedly.
package final class ReportCache: Sendable {
    let answers = VersionedCache<KeptAnswer.Key, KeptAnswer>(mostBytes: 100 << 20)
    let hours = HourLedgers()
    let sums = UnitCache<KeySums.Content, KeySums>(mostBytes: 256 << 20)
    let seen = UnitCache<String, SeenCampaigns>(mostBytes: 64 << 20)
    let installs = UnitCache<String, KeySums>(mostBytes: 64 << 20)
    let columnNumbers = ColumnNumbers()
    let cells = UnitCache<FunnelBasis, FunnelCells>(mostBytes: 256 << 20)
    let funnelNumbers = FunnelNumbers()
    let judgements = WatchJudgements()
    private let configuration = Mutex<(texts: [String: String], parts: ConfigurationParts)?>(nil)

    package init() {}

    /// The parts of a configuration that were read from the same texts; without any read part if a file has changed.
    func parts(of directory: PipelineDirectory) -> ConfigurationParts {
        var texts: [String: String] = [:]
        for folder in [directory.path, "\(directory.path)/\(PipelineDirectory.modelsName)"] {
            for name in directory.source.names(in: folder) ?? []
            where name.hasSuffix(".yaml") || name == CurrencyRates.fileName {
                texts["\(folder)/\(name)"] = try? directory.source.text(of: "\(folder)/\(name)")
            }
        }
        return configuration.withLock { kept in
            if let kept, kept.texts == texts { return kept.parts }
            let parts = ConfigurationParts()
            kept = (texts, parts)
            return parts
        }
    }
}
