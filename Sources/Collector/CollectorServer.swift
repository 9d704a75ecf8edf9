import Dispatch
import Foundation
import HummingbirdCore
import HummingbirdTLS
import Logging
import Monitoring
import NIOCore
import NIOHTTPTypes
import NIOPosix
import Synchronization

/// Serves HTTP/1.1, with TLS or without, on threads of its own.
final class CollectorServer: Sendable {
    /// Where it listens, with the port that was picked.
    let address: ListenAddress
    private let group: MultiThreadedEventLoopGroup
    private let drain: @Sendable () async throws -> Void
    private let task: Task<Void, Never>
    private let ended: DispatchSemaphore
    private let isStopped = Atomic<Bool>(false)

    /// How long the end of the connections that are cut off is waited for.
    private static let cutSeconds = 5

    /// Listens when it returns.
    init(
        at address: ListenAddress, threads: Int, tls: TLSConfiguration?,
        limits: CollectorLimits, logger: Logger,
        makeGuard: @escaping @Sendable () -> ConnectionGuard,
        respond: @escaping HTTPChannelHandler.Responder
    ) throws(CollectorError) {
        var logger = logger
        // That a client goes away is no error.
        logger.logLevel = .critical
        group = MultiThreadedEventLoopGroup(numberOfThreads: threads)
        let bound = group.next().makePromise(of: SocketAddress?.self)
        let base = NoticingChannel(
            base: HTTP1Channel(
                responder: respond,
                configuration: .init(
                    additionalChannelHandlers: [makeGuard()],
                    idleTimeout: .seconds(limits.idleTimeoutSeconds),
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: limits.maxHeaderBytes,
                        maxHeaderListSize: limits.maxHeaderBytes, maxHeaderFieldCount: 128))))
        let configuration = ServerConfiguration(
            address: .hostname(address.host, port: Int(address.port)), backlog: 1024,
            availableConnectionsDelegate: MaximumAvailableConnections(
                limits.maxConnections, logger: logger))
        let run: @Sendable () async throws -> Void
        do {
            if let tls {
                let channel = LoopBoundChannel(base: try TLSChannel(base, tlsConfiguration: tls))
                (run, drain) = Self.server(channel, configuration, bound, group, logger)
            } else {
                let channel = LoopBoundChannel(base: base)
                (run, drain) = Self.server(channel, configuration, bound, group, logger)
            }
        } catch {
            bound.fail(error)
            try? group.syncShutdownGracefully()
            throw .cannotListen(address, detail: Self.words(for: error))
        }
        let ended = DispatchSemaphore(value: 0)
        task = Task(executorPreference: EventLoopExecutor(group.next())) {
            do {
                try await run()
                bound.fail(CancellationError())
            } catch {
                bound.fail(error)
            }
            ended.signal()
        }
        self.ended = ended
        do {
            let local = try bound.futureResult.wait()
            self.address = ListenAddress(
                host: local?.ipAddress ?? address.host,
                port: local?.port.flatMap(UInt16.init(exactly:)) ?? address.port)
        } catch {
            ended.wait()
            try? group.syncShutdownGracefully()
            throw .cannotListen(address, detail: Self.words(for: error))
        }
    }

    /// Accepts no more, lets requests end for so long, then closes all connections; returns when they are.
    func stop(drainSeconds: Int64) {
        guard !isStopped.exchange(true, ordering: .acquiringAndReleasing) else { return }
        let drained = DispatchSemaphore(value: 0)
        // On a thread of its own group: whoever stops it may hold up all others.
        Task(executorPreference: EventLoopExecutor(group.next())) { [drain] in
            try? await drain()
            drained.signal()
        }
        let isDrained =
            drained.wait(timeout: .now() + .seconds(Int(drainSeconds))) == .success
        task.cancel()
        ended.wait()
        // Nothing may run on the threads once they have ended.
        if !isDrained { _ = drained.wait(timeout: .now() + .seconds(Self.cutSeconds)) }
        try? group.syncShutdownGracefully()
    }

    private static func server<Channel: ServerChildChannel>(
        _ channel: Channel, _ configuration: ServerConfiguration,
        _ bound: EventLoopPromise<SocketAddress?>, _ group: MultiThreadedEventLoopGroup,
        _ logger: Logger
    ) -> (run: @Sendable () async throws -> Void, drain: @Sendable () async throws -> Void) {
        let server = Server(
            childChannelSetup: channel, configuration: configuration,
            onServerRunning: { bound.succeed($0.localAddress) }, eventLoopGroup: group,
            logger: logger)
        return ({ try await server.run() }, { try await server.shutdownGracefully() })
    }

    private static func words(for error: any Error) -> String {
        if let error = error as? IOError { return String(cString: strerror(error.errnoCode)) }
        if error is SocketAddressError.UnknownHost { return "the host is not known" }
        return "\(error)".split(separator: "\n").joined(separator: " ")
    }
}
