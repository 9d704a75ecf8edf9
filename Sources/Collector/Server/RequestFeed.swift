import NIOCore

/// Feeds the decoder of a connection, about a request at a time, and holds back the bytes of further requests
/// until that one is answered; meanwhile nothing is read from the socket.
final class RequestFeed: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The event for handlers after it: bytes of a request are there, before the decoder has made anything of
    /// them.
    struct Arrival: Sendable {}

    /// What the decoder makes of the next bytes.
    enum Expected: Equatable {
        case head
        /// So many bytes of a body, more than 0.
        case body(Int)
        /// A body that says only at its end where that is.
        case chunks
    }

    /// So much of a body without a length goes on at once: requests may follow it.
    private static let chunkBytes = 4096

    /// What comes next; the handler after the decoder says so.
    var expected = Expected.head
    /// A request is complete and not answered; the handler after the decoder says so.
    var isHeld = false
    private var isDropping = false
    private var held = ByteBuffer()
    private var isFeeding = false
    private var isReadWanted = false
    private var isInputClosed = false
    private var context: ChannelHandlerContext?

    /// Whether bytes wait for an answer.
    var holdsBytes: Bool { held.readableBytes > 0 }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isDropping else { return }
        var bytes = unwrapInboundIn(data)
        if holdsBytes {
            held.writeBuffer(&bytes)
        } else {
            held = bytes
        }
        feed(context)
    }

    func read(context: ChannelHandlerContext) {
        guard holdsBytes else { return context.read() }
        isReadWanted = true
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event as? ChannelEvent == .inputClosed, holdsBytes else {
            return context.fireUserInboundEventTriggered(event)
        }
        isInputClosed = true
    }

    /// Goes on after an answer.
    func resume() {
        guard let context, holdsBytes, !isHeld else { return }
        feed(context)
        context.fireChannelReadComplete()
    }

    /// From now on nothing is fed any more; what comes is read, and dropped.
    func drop() {
        isDropping = true
        held.clear()
        if let context { settle(context) }
    }

    private func feed(_ context: ChannelHandlerContext) {
        guard !isFeeding else { return }
        isFeeding = true
        while !isHeld, holdsBytes, let piece = held.readSlice(length: pieceLength) {
            // Empty lines may stand before a request, and begin none.
            if piece.readableBytesView.contains(where: { $0 != 0x0D && $0 != 0x0A }) {
                context.fireUserInboundEventTriggered(Arrival())
            }
            context.fireChannelRead(wrapInboundOut(piece))
        }
        isFeeding = false
        if !holdsBytes { settle(context) }
    }

    /// Nothing is held any more: what waited for that happens.
    private func settle(_ context: ChannelHandlerContext) {
        held = ByteBuffer()
        if isInputClosed {
            isInputClosed = false
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        }
        if isReadWanted {
            isReadWanted = false
            context.read()
        }
    }

    /// Bytes up to where the next request may begin: no more than two requests end in them, or what
    /// `chunkBytes` hold.
    private var pieceLength: Int {
        switch expected {
        case .body(let count): min(count, held.readableBytes)
        case .chunks: min(Self.chunkBytes, held.readableBytes)
        case .head: held.withUnsafeReadableBytes(Self.headLength) ?? held.readableBytes
        }
    }

    /// The length of a request's head with the empty line at its end; nil when that is not there.
    private static func headLength(_ bytes: UnsafeRawBufferPointer) -> Int? {
        let feed = UInt8(ascii: "\n")
        let carriage = UInt8(ascii: "\r")
        guard var place = bytes.firstIndex(where: { $0 != carriage && $0 != feed }) else {
            return nil
        }
        while let end = bytes[place...].firstIndex(of: feed) {
            place = end + 1
            if place < bytes.count, bytes[place] == feed { return place + 1 }
            if place + 1 < bytes.count, bytes[place] == carriage, bytes[place + 1] == feed {
                return place + 2
            }
        }
        return nil
    }
}
