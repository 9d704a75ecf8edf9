import NIOCore

/// Feeds the decoder of a connection about one request at a time. It holds back bytes of further requests until the
/// request is answered, and stops reading the socket during that time.
final class RequestFeed: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The decoder's use of the next bytes.
    enum Expected: Equatable {
        case head
        /// More bytes of a body, at least 1.
        case body(Int)
        /// A body without a declared length.
        case chunks
    }

    /// Bytes passed on at once from a body without a length, because further requests may follow it.
    private static let chunkBytes = 4096

    /// Called when bytes of a request's head have arrived, before the decoder sees them.
    var headArrives: (() -> Void)?
    /// Set by the handler after the decoder.
    var expected = Expected.head
    /// A request is complete and not answered. Set by the handler after the decoder.
    var isHeld = false
    private var isDropping = false
    private var held = ByteBuffer()
    private var isFeeding = false
    private var isReadWanted = false
    private var isInputClosed = false
    private var context: ChannelHandlerContext?

    var holdsBytes: Bool { held.readableBytes > 0 }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
        headArrives = nil
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

    /// Continues after an answer.
    func resume() {
        guard let context, holdsBytes, !isHeld else { return }
        feed(context)
        context.fireChannelReadComplete()
    }

    /// From now on, reads and drops all input.
    func drop() {
        isDropping = true
        held.clear()
        if let context { passOn(context) }
    }

    private func feed(_ context: ChannelHandlerContext) {
        guard !isFeeding else { return }
        isFeeding = true
        while !isHeld, holdsBytes, let piece = held.readSlice(length: pieceLength) {
            // Empty lines before a request do not begin it.
            if expected == .head,
                piece.readableBytesView.contains(where: { $0 != 0x0D && $0 != 0x0A })
            {
                headArrives?()
            }
            context.fireChannelRead(wrapInboundOut(piece))
        }
        isFeeding = false
        if !holdsBytes { passOn(context) }
    }

    /// No bytes are held back any more: passes on the events that waited for this.
    private func passOn(_ context: ChannelHandlerContext) {
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

    /// Bytes up to the possible beginning of the next request. A piece ends at most two requests, or has
    /// `chunkBytes`.
    private var pieceLength: Int {
        switch expected {
        case .body(let count): min(count, held.readableBytes)
        case .chunks: min(Self.chunkBytes, held.readableBytes)
        case .head: held.withUnsafeReadableBytes(Self.headLength) ?? held.readableBytes
        }
    }

    /// The length of a request's head including the empty line; nil if that has not arrived.
    private static func headLength(_ bytes: UnsafeRawBufferPointer) -> Int? {
        let feed = UInt8(ascii: "\n")
        let carriage = UInt8(ascii: "\r")
        guard var index = bytes.firstIndex(where: { $0 != carriage && $0 != feed }) else {
            return nil
        }
        while let end = bytes[index...].firstIndex(of: feed) {
            index = end + 1
            if index < bytes.count, bytes[index] == feed { return index + 1 }
            if index + 1 < bytes.count, bytes[index] == carriage, bytes[index + 1] == feed {
                return index + 2
            }
        }
        return nil
    }
}
