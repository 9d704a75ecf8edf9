import ConfigurationValues
import Store
import Synchronization

/// Sums of stores and the configuration, which pages read repeatedly.
package final class ReportCache: Sendable {
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
        for name in directory.source.names(in: directory.path) ?? [] where name.hasSuffix(".yaml") {
            let path = "\(directory.path)/\(name)"
            texts[path] = try? directory.source.text(of: path)
        }
        return configuration.withLock { kept in
            if let kept, kept.texts == texts { return kept.parts }
            let parts = ConfigurationParts()
            kept = (texts, parts)
            return parts
        }
    }
}
