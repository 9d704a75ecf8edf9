import HummingbirdCore
import HummingbirdTLS
import Logging
import Monitoring
import NIOCore

/// HTTP/1.1, with TLS or without, on its own threads.
final class CollectorServer: Sendable {
    var address: ListenAddress { listener.address }
    private let listener: HTTPListener

    private static let backlog = 1024

    /// Listens when it returns.
    init(
        at address: ListenAddress, threads: Int, tls: TLSConfiguration?,
        connections: GuardedConnections, logger: Logger,
        respond: @escaping HTTPChannelHandler.Responder
    ) throws(CollectorError) {
        let plain = connections.channel(respond)
        func listen(_ channel: some ServerChildChannel) throws(HTTPListeningError) -> HTTPListener {
            try HTTPListener(
                at: address, threads: threads, maxConnections: connections.limits.maxConnections,
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

    /// Accepts no more connections, lets requests end for `drainSeconds`, then closes all connections, and returns.
    func stop(drainSeconds: Int) {
        listener.stop(drainSeconds: Int64(drainSeconds))
    }
}
