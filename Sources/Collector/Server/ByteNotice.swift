import HummingbirdCore
import Logging
import NIOCore

/// Tells the handlers behind it that bytes of a request are there, before the decoder has made anything of
/// them.
final class ByteNotice: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// The event.
    struct Arrival: Sendable {}

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Empty lines may stand before a request, and begin none.
        if unwrapInboundIn(data).readableBytesView.contains(where: { $0 != 0x0D && $0 != 0x0A }) {
            context.fireUserInboundEventTriggered(Arrival())
        }
        context.fireChannelRead(data)
    }
}

/// A channel whose decoder has a `ByteNotice` before it.
struct NoticingChannel<Base: ServerChildChannel>: ServerChildChannel {
    typealias Value = Base.Value

    let base: Base

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(ByteNotice())
        }.flatMap {
            base.setup(channel: channel, logger: logger)
        }
    }

    func handle(value: Value, logger: Logger) async {
        await base.handle(value: value, logger: logger)
    }
}
