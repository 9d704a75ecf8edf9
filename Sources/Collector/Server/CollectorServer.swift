import ConfigurationFiles
import HummingbirdCore
import HummingbirdTLS
import Logging
import Monitoring
import NIOCore
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import Synchronization

/// HTTP/1.1, with TLS or without, on threads of its own.
final class CollectorServer: Sendable {
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
                    idleTimeout: .seconds(Int64(limits.idleTimeoutSeconds)),
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

    /// Accepts no more, lets requests end for `drainSeconds`, then closes all connections, and
    /// returns.
    func stop(drainSeconds: Int) {
        listener.stop(drainSeconds: Int64(drainSeconds))
    }
}

/// Answers requests on the thread of their connection's event loop. Only waiting for the log
/// changes threads.
struct LoopBoundChannel<Base: ServerChildChannel>: ServerChildChannel {
    typealias Value = Base.Value

    let base: Base

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        base.setup(channel: channel, logger: logger)
    }

    func handle(value: Value, logger: Logger) async {
        await withTaskExecutorPreference(EventLoopExecutor(value.channel.eventLoop)) {
            await base.handle(value: value, logger: logger)
        }
    }
}

/// Gives the connections of an event loop turns, a request at a time.
struct OrderedChannel<Base: ServerChildChannel>: ServerChildChannel {
    typealias Value = Base.Value

    let base: Base
    let metrics: CollectorMetrics
    private let turns = TurnsOfLoops()

    init(_ base: Base, metrics: CollectorMetrics) {
        self.base = base
        self.metrics = metrics
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        let turns = turns.turns(of: channel.eventLoop)
        return channel.eventLoop.makeCompletedFuture {
            // One read bounds the bytes that are held back.
            try channel.syncOptions?.setOption(.maxMessagesPerRead, value: 1)
            try channel.pipeline.syncOperations.addHandler(RequestFeed())
        }.flatMap {
            base.setup(channel: channel, logger: logger)
        }.flatMapThrowing { value in
            let pipeline = channel.pipeline.syncOperations
            let order = RequestOrder(
                after: try pipeline.handler(type: RequestFeed.self), turns: turns, metrics: metrics)
            let codec = try pipeline.handler(type: HTTP1ToHTTPServerCodec.self)
            try pipeline.addHandler(order, position: .before(codec))
            return value
        }
    }

    func handle(value: Value, logger: Logger) async {
        await base.handle(value: value, logger: logger)
    }
}

/// Gives the connections of one event loop turns of one request each, and lets the loop look at its
/// sockets in between. While tasks make further tasks, the loop does not look, and other
/// connections starve.
///
/// `@unchecked Sendable`: after `init`, everything runs on the loop.
final class LoopTurns: @unchecked Sendable {
    private static let spell = TimeAmount.milliseconds(1)
    /// A task that is scheduled in the future makes the loop look at its sockets first.
    private static let pause = TimeAmount.microseconds(50)

    private let loop: any EventLoop
    private var waiting = CircularBuffer<() -> Void>()
    private var isRunning = false
    private var spellEnd = NIODeadline.uptimeNanoseconds(0)

    init(_ loop: any EventLoop) {
        self.loop = loop
    }

    func wait(_ turn: @escaping () -> Void) {
        loop.preconditionInEventLoop()
        waiting.append(turn)
        guard !isRunning else { return }
        isRunning = true
        goOn()
    }

    private func goOn() {
        guard !waiting.isEmpty else {
            isRunning = false
            return
        }
        if NIODeadline.now() < spellEnd {
            loop.execute { self.turn() }
        } else {
            loop.scheduleTask(in: Self.pause) {
                self.spellEnd = .now() + Self.spell
                self.turn()
            }
        }
    }

    private func turn() {
        waiting.popFirst()?()
        // Runs after the tasks that the turn has begun.
        loop.execute { self.goOn() }
    }
}

final class TurnsOfLoops: Sendable {
    private let all = Mutex<[ObjectIdentifier: LoopTurns]>([:])

    func turns(of loop: any EventLoop) -> LoopTurns {
        all.withLock { all in
            let id = ObjectIdentifier(loop)
            if let turns = all[id] { return turns }
            let turns = LoopTurns(loop)
            all[id] = turns
            return turns
        }
    }
}
