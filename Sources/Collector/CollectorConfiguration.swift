import ConfigurationFiles
import ConfigurationValues
import ConversionValues
import Foundation
import Monitoring
import Tokens

/// The configuration that the collector reads at its start, before it opens anything. `weir check` reads the same.
package struct CollectorConfiguration {
    let pipeline: CollectorPipeline
    /// With certificates already read.
    let settings: CollectorSettings
    /// The apps with conversion values for their installs.
    let apps: ConversionApps

    package var producers: Int { pipeline.access.keys.count }
    package var tokenKeys: Int { pipeline.access.tokenKeys.count }
    package var hasTLS: Bool { settings.tls != nil }

    /// Throws any fault that prevents the start.
    init(_ pipelines: PipelineDirectory, listen: ListenAddress) throws {
        pipeline = try pipelines.collector()
        settings = try CollectorSettings(
            pipeline, tokenLifetimes: TokenLifetimes(pipelines), listen: listen)
        apps = try ConversionApps(pipelines)
    }
}

extension CollectorProgram {
    /// Reads the configuration as at a start, and opens nothing. Throws any fault that prevents the start.
    package static func checkConfiguration(
        _ pipelines: PipelineDirectory
    ) throws -> CollectorConfiguration {
        // The address to listen on comes from the command line or the environment.
        try CollectorConfiguration(pipelines, listen: ListenAddress(host: "127.0.0.1", port: 0))
    }
}

/// The accepted requests and their senders.
package struct CollectorSettings: Sendable {
    var listen: ListenAddress
    /// Serving threads. One more appends; it mostly waits for the disk, so it has no core of its own.
    var threads = min(8, ProcessInfo.processInfo.activeProcessorCount)
    /// Nil to serve without TLS.
    var tls: CollectorTLS?
    var limits = CollectorLimits()
    /// Proxies with a trusted `X-Forwarded-For`.
    var trustedProxies: [AddressRange] = []

    /// The senders and their permissions at the start.
    var access = CollectorPipeline.Access()
    var tokenLifetimes = TokenLifetimes()

    package init(listen: ListenAddress) {
        self.listen = listen
    }
}

extension CollectorSettings {
    /// Throws `CollectorError.badCertificate`.
    init(
        _ pipeline: CollectorPipeline, tokenLifetimes: TokenLifetimes, listen: ListenAddress
    ) throws(CollectorError) {
        self.init(listen: listen)
        if let threads = pipeline.threads { self.threads = threads }
        tls = try pipeline.tls.map { files throws(CollectorError) in try CollectorTLS(files) }
        trustedProxies = pipeline.trustedProxies
        limits = pipeline.limits
        access = pipeline.access
        self.tokenLifetimes = tokenLifetimes
    }
}
