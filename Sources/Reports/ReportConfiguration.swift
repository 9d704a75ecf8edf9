import ConfigurationFiles
import ConfigurationValues
import ConversionModels
import Foundation
import Streams
import Synchronization

/// The configuration for readers of stores; empty without a directory. Each part is read when first needed, and on
/// pages only once.
package struct ReportConfiguration: Sendable {
    package let directory: PipelineDirectory
    /// Whether the directory was named explicitly. The default directory may be absent, an explicit one may not.
    private let isNamed: Bool
    /// The parts that were read; nil to read each part every time.
    let kept: ConfigurationParts?

    package init(_ directory: PipelineDirectory, isNamed: Bool) {
        self.init(directory, isNamed: isNamed, kept: nil)
    }

    /// A configuration without a directory.
    package init(
        catalog: Catalog, trustsDevelopment: Bool = false, appsByBundle: [String: Int64] = [:]
    ) {
        self.init(
            PipelineDirectory(""), isNamed: false,
            kept: ConfigurationParts(
                catalog: catalog, appsByBundle: appsByBundle, trustsDevelopment: trustsDevelopment))
    }

    private init(_ directory: PipelineDirectory, isNamed: Bool, kept: ConfigurationParts?) {
        self.directory = directory
        self.isNamed = isNamed
        self.kept = kept
    }

    /// A copy that reads each part once as long as the files have the same texts, for all rows of pages.
    package func keepingParts(in cache: ReportCache) -> ReportConfiguration {
        ReportConfiguration(directory, isNamed: isNamed, kept: cache.parts(of: directory))
    }

    private var isConfigured: Bool { isNamed || directory.exists }

    /// The catalog; empty without a configuration.
    package func catalog() throws(ConfigurationError) -> Catalog {
        try part(\.catalog) { () throws(ConfigurationError) in
            isConfigured ? try directory.catalog() : Catalog()
        }
    }

    /// The catalog, if a request uses `catalog_campaign`. Other requests do not depend on a valid catalog.
    func catalog(for request: ReportRequest) throws(ConfigurationError) -> Catalog {
        let name = ReportRequest.catalogCampaign
        let isUsed =
            request.grouping != .all && request.grouping.names(name)
            || request.conditions.contains { $0.column == name }
        return isUsed ? try catalog() : Catalog()
    }

    /// The time zone of days.
    package func timeZone() throws(ConfigurationError) -> ReportTimeZone {
        try catalog().reportTimeZone
    }

    package func appsByBundle() throws(ConfigurationError) -> [String: Int64] {
        try part(\.appsByBundle) { () throws(ConfigurationError) in
            isConfigured ? try directory.appsByBundle() : [:]
        }
    }

    /// Whether postbacks of the verdict `development` are trusted.
    package func trustsDevelopment() throws(ConfigurationError) -> Bool {
        try part(\.trustsDevelopment) { () throws(ConfigurationError) in
            try PostbacksFold.trustsDevelopment(in: directory)
        }
    }

    /// The rates of currencies. Throws if there are none.
    package func rates() throws(ConfigurationError) -> CurrencyRates {
        try part(\.rates) { () throws(ConfigurationError) in try directory.rates() }
    }

    private func part<Part: Sendable>(
        _ path: WritableKeyPath<ConfigurationParts.Parts, Part?> & Sendable,
        _ read: () throws(ConfigurationError) -> Part
    ) throws(ConfigurationError) -> Part {
        if let cached = kept?.parts.withLock({ $0[keyPath: path] }) { return cached }
        let part = try read()
        kept?.parts.withLock { $0[keyPath: path] = part }
        return part
    }

    /// The conversion models; empty without a configuration.
    package func conversionModels() throws(ConfigurationError) -> [ConversionModel] {
        isConfigured ? try directory.conversionModels() : []
    }

    /// The consumer groups of the workers; empty without a configuration.
    package func groups() throws(ConfigurationError) -> [String: String] {
        isConfigured ? try directory.groups() : [:]
    }
}

/// The parts of the configuration that rows of dumps depend on; empty without a configuration.
package struct DumpConfiguration: Sendable {
    /// Determine the versions of values in postbacks, for `conversion-updates`.
    package let models: [ConversionModel]
    /// Names the campaigns of rows, for `catalog_campaign`.
    package let catalog: Catalog

    package init(models: [ConversionModel] = [], catalog: Catalog = Catalog()) {
        self.models = models
        self.catalog = catalog
    }
}

/// The parts of a configuration that were read.
final class ConfigurationParts: Sendable {
    struct Parts {
        var catalog: Catalog?
        var appsByBundle: [String: Int64]?
        var trustsDevelopment: Bool?
        var rates: CurrencyRates?
    }

    let parts: Mutex<Parts>
    /// The digest of the texts of all files.
    let digest: ContentDigest

    init(
        catalog: Catalog? = nil, appsByBundle: [String: Int64]? = nil,
        trustsDevelopment: Bool? = nil, texts: [String: String] = [:]
    ) {
        digest = ContentDigest {
            for (path, text) in texts.sorted(by: { $0.key < $1.key }) {
                $0.append(path)
                $0.append(text)
            }
        }
        parts = Mutex(
            Parts(
                catalog: catalog, appsByBundle: appsByBundle, trustsDevelopment: trustsDevelopment))
    }
}

extension PipelineDirectory {
    package var exists: Bool { source.exists(path) }
}
