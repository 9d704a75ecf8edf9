import HummingbirdCore
import Logging
import NIOCore
import NIOHTTPTypesHTTP1

/// A channel whose connections have turns, a request at a time.
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
            // What is read and held back is bounded by one read.
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
