import ConversionValues
import Monitoring
import Pipelines

/// All that the collector reads of the configuration when it starts, before it opens anything; `weir check` reads
/// the same.
package struct CollectorConfiguration {
    /// What `collector.yaml` says.
    let pipeline: CollectorPipeline
    /// What the collector takes, and from whom; certificates are read.
    let settings: CollectorSettings
    /// The apps whose installs get conversion values.
    let apps: ConversionApps

    /// Number of producers that have keys.
    package var producers: Int { pipeline.access.keys.count }
    /// Number of keys of tokens.
    package var tokenKeys: Int { pipeline.access.tokenKeys.count }
    /// Whether it serves with TLS.
    package var hasTLS: Bool { settings.tls != nil }

    /// Reads it. Throws what keeps the collector from starting.
    init(_ pipelines: PipelineDirectory, listen: ListenAddress) throws {
        pipeline = try pipelines.collector()
        settings = try CollectorSettings(
            pipeline, tokenLifetimes: TokenLifetimes(pipelines), listen: listen)
        apps = try ConversionApps(pipelines)
    }
}

extension CollectorProgram {
    /// Reads what the collector reads when it starts, and opens nothing. Throws what keeps it from starting.
    package static func checkConfiguration(
        _ pipelines: PipelineDirectory
    ) throws -> CollectorConfiguration {
        // Where to listen is asked of the command line and the environment.
        try CollectorConfiguration(pipelines, listen: ListenAddress(host: "127.0.0.1", port: 0))
    }
}
