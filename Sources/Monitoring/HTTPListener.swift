import Dispatch
import Foundation
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import Synchronization

/// Listens for HTTP on threads of its own, with the bare server: an application would keep timers on
/// threads of the language's own.
package final class HTTPListener: Sendable {
    /// Where it listens, with the port that was picked.
    package let address: ListenAddress
    private let group: MultiThreadedEventLoopGroup
    /// Drains the server, which it holds; nil once it is stopped.
    private let drain: Mutex<(@Sendable () async throws -> Void)?>
    private let task: Task<Void, Never>
    private let ended: DispatchSemaphore
    private let isStopped = Atomic<Bool>(false)

    /// How long the end of the connections that are cut off is waited for.
    private static let cutSeconds = 5

    /// Listens when it returns.
    ///
    /// - Parameters:
    ///   - threads: connections are shared among so many.
    ///   - maxConnections: more than these wait.
    ///   - backlog: so many may wait in the kernel.
    package init(
        at address: ListenAddress, threads: Int, maxConnections: Int, backlog: Int = 256,
        channel: some ServerChildChannel, logger: Logger
    ) throws(HTTPListeningError) {
        var logger = logger
        // That a client goes away, or is cut off at the end, is no error.
        logger.logLevel = .critical
        group = MultiThreadedEventLoopGroup(numberOfThreads: threads)
        let loop = group.next()
        let bound = loop.makePromise(of: SocketAddress?.self)
        let server = Server(
            childChannelSetup: channel,
            configuration: ServerConfiguration(
                address: .hostname(address.host, port: Int(address.port)), backlog: backlog,
                availableConnectionsDelegate: MaximumAvailableConnections(
                    maxConnections, logger: logger)),
            onServerRunning: { bound.succeed($0.localAddress) }, eventLoopGroup: group,
            logger: logger)
        drain = Mutex { try await server.shutdownGracefully() }
        let ended = DispatchSemaphore(value: 0)
        task = Task(executorPreference: EventLoopExecutor(loop)) {
            do {
                try await server.run()
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
            throw HTTPListeningError(error)
        }
    }

    /// Accepts no more, lets requests end for so long, then closes all connections; returns when they are.
    package func stop(drainSeconds: Int64 = 0) {
        guard !isStopped.exchange(true, ordering: .acquiringAndReleasing) else { return }
        let drained = beginDraining(isWanted: drainSeconds > 0)
        let isDrained = drained.wait(timeout: .now() + .seconds(Int(drainSeconds))) == .success
        task.cancel()
        ended.wait()
        // Nothing may run on the threads once they have ended.
        if !isDrained { _ = drained.wait(timeout: .now() + .seconds(Self.cutSeconds)) }
        // As the server goes it still fails a promise on one of its threads, so they end after it.
        drain.withLock { $0 = nil }
        try? group.syncShutdownGracefully()
    }

    /// Accepts no more where that is wanted; signals when requests have ended.
    private func beginDraining(isWanted: Bool) -> DispatchSemaphore {
        // Begins at 0: one that ends below where it began ends the process.
        let drained = DispatchSemaphore(value: 0)
        guard isWanted, let drain = drain.withLock({ $0 }) else {
            drained.signal()
            return drained
        }
        // On a thread of its own group: whoever stops it may hold up all others.
        Task(executorPreference: EventLoopExecutor(group.next())) {
            try? await drain()
            drained.signal()
        }
        return drained
    }
}

/// Why an address cannot be listened on.
package struct HTTPListeningError: Error {
    /// What the system answered, in words.
    package let detail: String

    /// The words for what was thrown while a server was started.
    package init(_ error: any Error) {
        detail =
            switch error {
            case let error as IOError: String(cString: strerror(error.errnoCode))
            case is SocketAddressError.UnknownHost: "the host is not known"
            default: "\(error)".split(separator: "\n").joined(separator: " ")
            }
    }
}
