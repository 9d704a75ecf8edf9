import Dispatch
import Foundation
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import Synchronization

/// Listens for HTTP on its own threads. It uses the bare server, because an application would keep timers on Swift's
/// own threads.
package final class HTTPListener: Sendable {
    /// The real port, even if 0 was requested.
    package let address: ListenAddress
    private let group: MultiThreadedEventLoopGroup
    /// Drains the server, and keeps it alive; nil after the stop.
    private let drain: Mutex<(@Sendable () async throws -> Void)?>
    private let task: Task<Void, Never>
    private let ended: DispatchSemaphore
    private let isStopped = Atomic<Bool>(false)

    /// Timeout for the end of closed connections.
    private static let cutSeconds = 5

    /// Listens when it returns.
    ///
    /// - Parameters:
    ///   - threads: the number of threads that share the connections.
    ///   - maxConnections: further ones wait.
    ///   - backlog: how many may wait in the kernel.
    init(
        at address: ListenAddress, threads: Int, maxConnections: Int, backlog: Int,
        channel: some ServerChildChannel, logger: Logger
    ) throws(HTTPListeningError) {
        var logger = logger
        // A client that disconnects, or a connection closed at the end, is not an error.
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

    /// Accepts no more connections, lets requests end for `drainSeconds`, then closes all connections, and returns.
    package func stop(drainSeconds: Int64 = 0) {
        guard !isStopped.exchange(true, ordering: .acquiringAndReleasing) else { return }
        let drained = beginDraining(isWanted: drainSeconds > 0)
        let isDrained = drained.wait(timeout: .now() + .seconds(Int(drainSeconds))) == .success
        task.cancel()
        ended.wait()
        // No work may run on the threads after they have ended.
        if !isDrained { _ = drained.wait(timeout: .now() + .seconds(Self.cutSeconds)) }
        // The server still fails a promise on one of its threads when it is freed, so the threads end after it.
        drain.withLock { $0 = nil }
        try? group.syncShutdownGracefully()
    }

    /// Stops accepting if `isWanted`. The semaphore is signalled after the requests have ended.
    private func beginDraining(isWanted: Bool) -> DispatchSemaphore {
        // Begins at 0: freeing a semaphore below its initial value ends the process.
        let drained = DispatchSemaphore(value: 0)
        guard isWanted, let drain = drain.withLock({ $0 }) else {
            drained.signal()
            return drained
        }
        // On a thread of its own group: the caller of `stop` may block all others.
        Task(executorPreference: EventLoopExecutor(group.next())) {
            try? await drain()
            drained.signal()
        }
        return drained
    }
}

package struct HTTPListeningError: Error {
    /// The system's error text.
    package let detail: String

    /// Wraps an error from the start of a server.
    package init(_ error: any Error) {
        detail =
            switch error {
            case let error as HTTPListeningError: error.detail
            case let error as IOError: String(cString: strerror(error.errnoCode))
            case is SocketAddressError.UnknownHost: "the host is unknown"
            default: "\(error)".split(separator: "\n").joined(separator: " ")
            }
    }
}

/// Runs tasks on the thread of an event loop, so that serving uses no other thread. Jobs that are ready at the same time
/// run as one task of the loop.
final class EventLoopExecutor: TaskExecutor {
    private struct Waiting {
        var jobs: [UnownedJob] = []
        /// Empty, with the capacity for further jobs.
        var spare: [UnownedJob] = []
        /// The loop will run the jobs.
        var isScheduled = false
    }

    private let loop: any EventLoop
    private let waiting = Mutex(Waiting())

    init(_ loop: any EventLoop) {
        self.loop = loop
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isScheduled = waiting.withLock { waiting in
            waiting.jobs.append(job)
            defer { waiting.isScheduled = true }
            return waiting.isScheduled
        }
        if !isScheduled { loop.execute { self.run() } }
    }

    /// Jobs that these jobs make ready run later, so that the loop's other tasks have their turn.
    private func run() {
        var jobs = waiting.withLock { waiting in
            defer {
                waiting.jobs = waiting.spare
                waiting.spare = []
                waiting.isScheduled = false
            }
            return waiting.jobs
        }
        for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
        jobs.removeAll(keepingCapacity: true)
        waiting.withLock { $0.spare = jobs }
    }
}

/// The address of a server: `HOST:PORT`, with an IPv6 address in brackets.
package struct ListenAddress: Equatable, Sendable, CustomStringConvertible {
    /// A name or an address, without brackets.
    package let host: String
    /// 0 for any free port.
    package let port: UInt16

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Nil if the text is not an address.
    package init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":") else { return nil }
        let digits = text[text.index(after: colon)...]
        var host = text[..<colon]
        guard let port = UInt16(digits), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        if host.hasPrefix("["), host.hasSuffix("]"), host.utf8.count > 2 {
            host = host.dropFirst().dropLast()
            // A zone, the name of an interface, may follow the address.
            let address = host.prefix { $0 != "%" }
            guard address.contains(":"), address.allSatisfy({ $0.isHexDigit || ":.".contains($0) }),
                host.allSatisfy({ $0.isASCII && !$0.isWhitespace && $0 != "/" })
            else { return nil }
        } else {
            let isNamed = host.utf8.allSatisfy { byte in
                (0x61...0x7A).contains(byte | 0x20) || (0x30...0x39).contains(byte)
                    || "-._".utf8.contains(byte)
            }
            guard !host.isEmpty, isNamed else { return nil }
        }
        self.init(host: String(host), port: port)
    }

    /// In the form that `init` reads.
    package var description: String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}

/// Times in HTTP's format (RFC 9110, 5.6.7).
package enum HTTPDate {
    /// The last written second and its text.
    private static let last = Mutex<(second: Int, text: String)>((-1, ""))

    /// The present time.
    package static var now: String {
        var now = time(nil)
        return last.withLock { last in
            guard last.second != now else { return last.text }
            var parts = tm()
            gmtime_r(&now, &parts)
            let text = withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { text in
                let count = strftime(
                    text.baseAddress, text.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
                return String(decoding: text[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
            }
            last = (now, text)
            return text
        }
    }
}
