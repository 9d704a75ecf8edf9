import ConfigurationFiles
import ConfigurationValues
import ConversionModels
import Foundation
import Streams

/// The configuration as readers of stores need it: without a directory it is empty.
package struct ReportConfiguration: Sendable {
    package let directory: PipelineDirectory
    /// Whether the directory was named: the default one may be absent, and one that was named may not.
    private let isNamed: Bool

    package init(_ directory: PipelineDirectory, isNamed: Bool) {
        self.directory = directory
        self.isNamed = isNamed
    }

    private var isConfigured: Bool { isNamed || directory.exists }

    /// The catalog; an empty one where there is no configuration.
    package func catalog() throws(ConfigurationError) -> Catalog {
        isConfigured ? try directory.catalog() : Catalog()
    }

    package func appsByBundle() throws(ConfigurationError) -> [String: Int64] {
        isConfigured ? try directory.appsByBundle() : [:]
    }

    /// The conversion models; none where there is no configuration.
    package func conversionModels() throws(ConfigurationError) -> [ConversionModel] {
        isConfigured ? try directory.conversionModels() : []
    }

    /// The consumer groups of the workers; none where there is no configuration.
    package func groups() throws(ConfigurationError) -> [String: String] {
        isConfigured ? try directory.groups() : [:]
    }

    /// A query of a dump; that of conversion values has the models that they are explained by.
    package func dumpQuery(_ query: DumpQuery) throws(ConfigurationError) -> DumpQuery {
        guard query.name == ConversionUpdatesFold.streamName else { return query }
        var query = query
        query.conversionModels = try conversionModels()
        return query
    }

    /// A query of the funnel with what the configuration adds.
    package func funnelQuery(
        _ query: DumpQuery, dateRule: FunnelQuery.DateRule = .arrival
    ) throws(ConfigurationError) -> FunnelQuery {
        FunnelQuery(
            query: query, dateRule: dateRule, catalog: try catalog(),
            trustsDevelopment: try trustsDevelopment(), appsByBundle: try appsByBundle())
    }

    /// Whether postbacks of the verdict `development` are trusted.
    package func trustsDevelopment() throws(ConfigurationError) -> Bool {
        try PostbacksFold.trustsDevelopment(in: directory)
    }
}

extension PipelineDirectory {
    package var exists: Bool { FileManager.default.fileExists(atPath: path) }
}
