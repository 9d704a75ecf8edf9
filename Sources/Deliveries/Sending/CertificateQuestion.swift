import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import Streams

/// Fetches the certificates of a partner and sends nothing. Used after a certificate was not accepted: the TLS
/// library does not report which one, or why.
struct CertificateQuestion {
    /// Timeout for the certificates.
    private static let seconds: Int64 = 5

    let host: String
    let address: IPAddress
    let port: Int

    func reason(on loop: any EventLoop) -> EventLoopFuture<String> {
        certificates(on: loop).map {
            Self.reason($0, nowSeconds: Int(Date().timeIntervalSince1970))
        }
        .recover { _ in Self.reason([], nowSeconds: 0) }
    }

    /// The fault of certificates that are not accepted, the partner's own first.
    static func reason(_ certificates: [NIOSSLCertificate], nowSeconds: Int) -> String {
        for (index, certificate) in certificates.enumerated() {
            let which = index == 0 ? "the certificate" : "certificate \(index + 1) of its chain"
            func time(_ seconds: Int) -> String { UTC.text(milliseconds: Int64(seconds) * 1000) }
            if certificate.notValidAfter < nowSeconds {
                return "\(which) has expired: it was valid until \(time(certificate.notValidAfter))"
            }
            if certificate.notValidBefore > nowSeconds {
                return
                    "\(which) is not valid yet: it is valid from \(time(certificate.notValidBefore)), according to the clock of this machine"
            }
        }
        return
            "the certificate is not trusted: no authority known to this machine issued it, or an intermediate certificate is missing"
    }

    private func certificates(on loop: any EventLoop) -> EventLoopFuture<[NIOSSLCertificate]> {
        let found = loop.makePromise(of: [NIOSSLCertificate].self)
        var configuration = TLSConfiguration.makeClientConfiguration()
        // Nothing is verified here, so no roots need to be read.
        configuration.trustRoots = .certificates([])
        let name = IPAddress(host) == nil ? host : nil
        ClientBootstrap(group: loop)
            .connectTimeout(.seconds(Self.seconds))
            .channelInitializer { [configuration] channel in
                channel.eventLoop.makeCompletedFuture {
                    let handler = try NIOSSLClientHandler(
                        context: NIOSSLContext(configuration: configuration), serverHostname: name,
                        customVerificationCallback: { certificates, verdict in
                            found.succeed(certificates)
                            verdict.succeed(.failed)
                        })
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
            .connect(host: address.description, port: port)
            .whenComplete { result in
                switch result {
                case .success(let channel):
                    channel.closeFuture.whenComplete { _ in found.fail(ChannelError.eof) }
                    found.futureResult.whenComplete { _ in channel.close(promise: nil) }
                case .failure(let error): found.fail(error)
                }
            }
        let timer = loop.scheduleTask(in: .seconds(Self.seconds)) {
            found.fail(ChannelError.eof)
        }
        found.futureResult.whenComplete { _ in timer.cancel() }
        return found.futureResult
    }
}
