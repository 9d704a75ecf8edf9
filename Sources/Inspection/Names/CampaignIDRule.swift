import AggregateStore
import Pipelines

/// How the columns of a dump, shown or not, say which id the campaign of a row is.
enum CampaignIDRule {
    /// Places of the framework and of its version.
    case framework(Int, version: Int)
    /// Place of the version of SKAdNetwork.
    case skanVersion(Int)
    /// Place of the flag itself.
    case flag(Int)
    /// They do not say it.
    case silent

    init(_ columns: [DumpColumn]) {
        func place(_ name: String) -> Int? { columns.firstIndex { $0.name == name } }
        if let framework = place("framework"), let version = place("version") {
            self = .framework(framework, version: version)
        } else if let version = place("skan_version") {
            self = .skanVersion(version)
        } else if let flag = place("has_source_identifier") {
            self = .flag(flag)
        } else {
            self = .silent
        }
    }

    /// Which id it is, by the values of all columns.
    func kind(_ values: [StoredValue]) -> CampaignIDKind {
        switch self {
        case .framework(let framework, let version):
            CampaignIDKind(framework: values[framework].text, version: values[version].text)
        case .skanVersion(let version): CampaignIDKind(skanVersion: values[version].text)
        case .flag(let flag): CampaignIDKind(hasSourceIdentifier: values[flag].integer != 0)
        case .silent: .either
        }
    }
}
