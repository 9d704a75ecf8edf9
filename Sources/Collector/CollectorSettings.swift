import Foundation
import Monitoring
import NIOSSL
import Pipelines

/// What the collector takes, and from whom.
package struct CollectorSettings: Sendable {
    /// Where to listen.
    package var listen: ListenAddress
    /// Threads that serve; one to append is beside them.
    package var threads = max(
        1, min(8, ProcessInfo.processInfo.activeProcessorCount - 1))
    /// Certificate and key; nil to serve without TLS.
    package var tls: TLSConfiguration?
    /// Bounds.
    package var limits = CollectorLimits()
    /// Whose word is taken for the address of a client.
    package var trustedProxies: [AddressRange] = []

    /// Who may send what, to begin with.
    package var access = CollectorPipeline.Access()
    /// How long tokens may hold.
    package var tokenLifetimes = TokenLifetimes()

    /// The defaults, at an address.
    package init(listen: ListenAddress) {
        self.listen = listen
    }
}

extension CollectorSettings {
    /// What configuration says.
    ///
    /// Throws `CollectorError.badCertificate`.
    package init(
        _ pipeline: CollectorPipeline, tokenLifetimes: TokenLifetimes, listen: ListenAddress
    ) throws(CollectorError) {
        self.init(listen: listen)
        if let threads = pipeline.threads { self.threads = threads }
        tls = try pipeline.tls.map { files throws(CollectorError) in try Self.tls(files) }
        trustedProxies = pipeline.trustedProxies
        limits.maxBodyBytes = pipeline.maxBodyBytes
        limits.maxBatchBytes = pipeline.maxBatchBytes
        limits.maxHeaderBytes = pipeline.maxHeaderBytes
        limits.maxBodyBytesInFlight = pipeline.maxBodyMemoryBytes
        limits.headerTimeoutSeconds = pipeline.headerTimeoutSeconds
        limits.bodyTimeoutSeconds = pipeline.bodyTimeoutSeconds
        limits.idleTimeoutSeconds = pipeline.idleTimeoutSeconds
        limits.maxConnections = pipeline.maxConnections
        limits.maxConnectionsPerAddress = pipeline.maxConnectionsPerAddress
        limits.drainSeconds = pipeline.drainSeconds
        limits.append.deadlineSeconds = Double(pipeline.logTimeoutSeconds)
        limits.append.maxQueuedRecords = pipeline.maxQueuedRecords
        limits.append.maxQueuedBytes = pipeline.maxQueuedBytes
        access = pipeline.access
        self.tokenLifetimes = tokenLifetimes
    }

    private static func tls(
        _ files: CollectorPipeline.TLSFiles
    ) throws(CollectorError) -> TLSConfiguration {
        let chain: [NIOSSLCertificate]
        do {
            chain = try NIOSSLCertificate.fromPEMFile(files.certificate.text)
        } catch {
            throw .badCertificate(file: files.certificate.text, detail: "\(error)")
        }
        guard !chain.isEmpty else {
            throw .badCertificate(file: files.certificate.text, detail: "it holds no certificate")
        }
        do {
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: chain.map { .certificate($0) },
                privateKey: .privateKey(
                    try NIOSSLPrivateKey(file: files.key.text, format: .pem)))
            configuration.minimumTLSVersion = .tlsv12
            // A key that is not the certificate's is found here, and not with the first connection.
            _ = try NIOSSLContext(configuration: configuration)
            return configuration
        } catch {
            throw .badCertificate(file: files.key.text, detail: "\(error)")
        }
    }
}
