import HummingbirdCore
import Logging
import NIOCore
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import Synchronization

/// Answers requests on the thread of their connection's event loop. Only waiting for the log
/// changes threads.
struct LoopBoundChannel<Base: ServerChildChannel>: ServerChildChannel {
    typealias Value = Base.Value

    private let base: Base
    private let executors = PerLoop { EventLoopExecutor($0) }

    init(base: Base) {
        self.base = base
    }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        base.setup(channel: channel, logger: logger)
    }

    func handle(value: Value, logger: Logger) async {
        await withTaskExecutorPreference(executors[value.channel.eventLoop]) {
            await base.handle(value: value, logger: logger)
        }
    }
}

/// Gives the connections of an event loop turns, one request at a time.
package struct OrderedChannel<Base: ServerChildChannel>: ServerChildChannel {
    package typealias Value = Base.Value

    private let base: Base
    private let counting: any ConnectionCounting
    private let turns = PerLoop { LoopTurns($0) }

    init(_ base: Base, counting: any ConnectionCounting) {
        self.base = base
        self.counting = counting
    }

    package func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        let turns = turns[channel.eventLoop]
        return channel.eventLoop.makeCompletedFuture {
            // One read bounds the bytes that are held back.
            try channel.syncOptions?.setOption(.maxMessagesPerRead, value: 1)
            try channel.pipeline.syncOperations.addHandler(RequestFeed())
        }.flatMap {
            base.setup(channel: channel, logger: logger)
        }.flatMapThrowing { value in
            let pipeline = channel.pipeline.syncOperations
            let feed = try pipeline.handler(type: RequestFeed.self)
            let guarding = try pipeline.handler(type: ConnectionGuard.self)
            feed.headArrives = { guarding.headArrives() }
            let order = RequestOrder(after: feed, turns: turns, counting: counting)
            let codec = try pipeline.handler(type: HTTP1ToHTTPServerCodec.self)
            try pipeline.addHandler(order, position: .before(codec))
            return value
        }
    }

    package func handle(value: Value, logger: Logger) async {
        await base.handle(value: value, logger: logger)
    }
}

/// Gives the connections of one event loop turns of one request each, and lets the loop poll its sockets in between.
/// While tasks create further tasks, the loop does not poll, and other connections starve.
///
/// `@unchecked Sendable`: after `init`, everything runs on the loop.
final class LoopTurns: @unchecked Sendable {
    private static let spell = TimeAmount.milliseconds(1)
    /// A task scheduled in the future makes the loop poll its sockets first.
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
        // Runs after the tasks that the turn has started.
        loop.execute { self.goOn() }
    }
}

/// One value for each event loop, made at its first use.
private final class PerLoop<Value: AnyObject & Sendable>: Sendable {
    private let make: @Sendable (any EventLoop) -> Value
    private let all = Mutex<[ObjectIdentifier: Value]>([:])

    init(_ make: @escaping @Sendable (any EventLoop) -> Value) {
        self.make = make
    }

    subscript(loop: any EventLoop) -> Value {
        all.withLock { all in
            let id = ObjectIdentifier(loop)
            if let value = all[id] { return value }
            let value = make(loop)
            all[id] = value
            return value
        }
    }
}
