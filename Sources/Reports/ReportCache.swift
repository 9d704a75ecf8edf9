import ConfigurationValues
import Store
import Synchronization

/// Sums of stores and the configuration, which pages read repeatedly.
package final class ReportCache: Sendable {
    let answers: VersionedCache<KeptAnswer.Key, KeptAnswer>
    let hours = HourLedgers()
    let sums: UnitCache<KeySums.Content, KeySums>
    let seen: UnitCache<String, SeenCampaigns>
    let installs: UnitCache<String, KeySums>
    let cells: UnitCache<FunnelBasis, FunnelCells>
    let watched: UnitCache<WatchedSums.Content, WatchedSums>
    let columnNumbers: ColumnNumbers
    let funnelNumbers = FunnelNumbers()
    let judgements = WatchJudgements()
    private let configuration = Mutex<(texts: [String: String], parts: ConfigurationParts)?>(nil)

    /// - Parameter file: has the sums of an earlier process.
    package init(_ file: SumsFile? = nil) {
        let numbers = ColumnNumbers(in: file)
        columnNumbers = numbers
        file?.keep(funnelNumbers)
        answers = VersionedCache("answer", mostBytes: 100 << 20, in: file)
        cells = UnitCache("cells", mostBytes: 256 << 20, in: file)
        sums = UnitCache("sums", mostBytes: 256 << 20, in: file) {
            numbers.prepare($0.content.table)
        }
        seen = UnitCache("seen ads", mostBytes: 64 << 20, in: file) { _ in
            numbers.prepare(AdSource.numbered)
        }
        watched = UnitCache("watched", mostBytes: 64 << 20, in: file) { _ in
            numbers.prepare(WatchedSums.numbered)
        }
        installs = UnitCache("installs", mostBytes: 64 << 20, in: file) { _ in
            numbers.prepare(InstallsWithoutAds.numbered)
        }
    }

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
            let parts = ConfigurationParts(texts: texts)
            kept = (texts, parts)
            return parts
        }
    }
}
