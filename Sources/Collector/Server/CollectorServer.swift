import HummingbirdCore
import HummingbirdTLS
import Logging
import Monitoring
import NIOCore
import NIOHTTPTypes

/// Serves HTTP/1.1, with TLS or without, on threads of its own.
final class CollectorServer: Sendable {
    /// Where it listens, with the port that was picked.
    var address: ListenAddress { listener.address }
    private let listener: HTTPListener

    private static let backlog = 1024
    private static let maxHeaderFields = 128

    /// Listens when it returns.
    init(
        at address: ListenAddress, threads: Int, tls: TLSConfiguration?,
        limits: CollectorLimits, metrics: CollectorMetrics, logger: Logger,
        makeGuard: @escaping @Sendable () -> ConnectionGuard,
        respond: @escaping HTTPChannelHandler.Responder
    ) throws(CollectorError) {
        let plain = OrderedChannel(
            HTTP1Channel(
                responder: respond,
                configuration: .init(
                    additionalChannelHandlers: [makeGuard()],
                    idleTimeout: .seconds(limits.idleTimeoutSeconds),
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: limits.maxHeaderBytes,
                        maxHeaderListSize: limits.maxHeaderBytes,
                        maxHeaderFieldCount: Self.maxHeaderFields))),
            metrics: metrics)
        func listen(_ channel: some ServerChildChannel) throws(HTTPListeningError) -> HTTPListener {
            try HTTPListener(
                at: address, threads: threads, maxConnections: limits.maxConnections,
                backlog: Self.backlog, channel: LoopBoundChannel(base: channel), logger: logger)
        }
        do throws(HTTPListeningError) {
            guard let tls else {
                listener = try listen(plain)
                return
            }
            let channel: TLSChannel<OrderedChannel<HTTP1Channel>>
            do {
                channel = try TLSChannel(plain, tlsConfiguration: tls)
            } catch {
                throw HTTPListeningError(error)
            }
            listener = try listen(channel)
        } catch {
            throw .cannotListen(address, detail: error.detail)
        }
    }

    /// Accepts no more, lets requests end for so long, then closes all connections; returns when they are.
    func stop(drainSeconds: Int64) {
        listener.stop(drainSeconds: drainSeconds)
    }
}
