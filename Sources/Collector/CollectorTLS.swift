import ConfigurationFiles
import HummingbirdCore

#if TLS
    import HummingbirdTLS
    import NIOSSL

    /// A certificate chain and its key.
    struct CollectorTLS: Sendable {
        private let configuration: TLSConfiguration

        init(_ files: CollectorPipeline.TLSFiles) throws(CollectorError) {
            let chain: [NIOSSLCertificate]
            do {
                chain = try NIOSSLCertificate.fromPEMFile(files.certificate.text)
            } catch {
                throw .badCertificate(file: files.certificate.text, detail: "\(error)")
            }
            guard !chain.isEmpty else {
                throw .badCertificate(
                    file: files.certificate.text, detail: "it does not contain a certificate")
            }
            do {
                var configuration = TLSConfiguration.makeServerConfiguration(
                    certificateChain: chain.map { .certificate($0) },
                    privateKey: .privateKey(
                        try NIOSSLPrivateKey(file: files.key.text, format: .pem)))
                configuration.minimumTLSVersion = .tlsv12
                // Finds a key that does not fit its certificate here, not at the first connection.
                _ = try NIOSSLContext(configuration: configuration)
                self.configuration = configuration
            } catch {
                throw .badCertificate(file: files.key.text, detail: "\(error)")
            }
        }

        func channel(_ plain: some ServerChildChannel) throws -> some ServerChildChannel {
            try TLSChannel(plain, tlsConfiguration: configuration)
        }
    }
#else
    /// Not in this build.
    struct CollectorTLS: Sendable {
        init(_ files: CollectorPipeline.TLSFiles) throws(CollectorError) {
            throw .builtWithoutTLS(file: files.certificate.file, line: files.certificate.line)
        }

        func channel<Plain: ServerChildChannel>(_ plain: Plain) -> Plain { plain }
    }
#endif
