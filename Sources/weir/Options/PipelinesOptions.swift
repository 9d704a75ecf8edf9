import ArgumentParser
import ConversionModels
import Foundation
import Inspection
import Pipelines

/// Where the configuration is.
struct PipelinesOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The directory of the configuration (WEIR_PIPELINES; default: pipelines).",
            valueName: "dir"))
    var pipelines: String?

    /// The directory of the configuration, there or not.
    var directory: PipelineDirectory { PipelineDirectory(Environment().pipelines(pipelines)) }

    /// Whether there is a configuration; the one that nobody named need not be there.
    private var isConfigured: Bool {
        directory.exists || pipelines != nil || Environment()["WEIR_PIPELINES"] != nil
    }

    /// The catalog; an empty one where there is no configuration.
    func catalog() throws(ConfigurationError) -> Catalog {
        isConfigured ? try directory.catalog() : Catalog()
    }

    /// App Store ids of the configured apps by bundle id.
    func appsByBundle() throws(ConfigurationError) -> [String: Int64] {
        isConfigured ? try directory.appsByBundle() : [:]
    }

    /// The conversion models; none where there is no configuration.
    func conversionModels() throws(ConfigurationError) -> [ConversionModel] {
        isConfigured ? try directory.conversionModels() : []
    }

    /// The consumer groups of the workers; none where there is no configuration.
    func groups() throws(ConfigurationError) -> [PipelineStream: String] {
        isConfigured ? try directory.groups() : [:]
    }

    /// What the configuration adds to a question that is asked of the funnel.
    func funnelQuery(
        _ query: DumpQuery, dateRule: FunnelQuery.DateRule = .arrival
    ) throws(ConfigurationError) -> FunnelQuery {
        FunnelQuery(
            query: query, dateRule: dateRule, catalog: try catalog(),
            trustsDevelopment: try trustsDevelopment(), appsByBundle: try appsByBundle())
    }

    /// Whether postbacks of the verdict `development` are trusted.
    func trustsDevelopment() throws(ConfigurationError) -> Bool {
        directory.has(.postbacks) ? try directory.postbacks().trustDevelopment : false
    }
}

extension PipelineDirectory {
    /// Whether there is something to read.
    var exists: Bool { FileManager.default.fileExists(atPath: path) }
}
