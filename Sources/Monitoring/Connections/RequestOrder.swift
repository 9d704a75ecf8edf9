import NIOCore
import NIOHTTP1

/// A rejection of a request by its head: the JSON of the body, and the status.
private struct HeadRefusal {
    let status: Int
    let reason: String
    let detail: String

    var body: [UInt8] { Array(#"{"error":"\#(reason)","detail":"\#(detail)"}"#.utf8) }
}

/// Passes on the requests of a connection one at a time: each after the answer to the previous one, at the
/// connection's turn. It also applies HTTP's rules for `Host` and for closing connections.
final class RequestOrder: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias InboundOut = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart
    typealias OutboundOut = HTTPServerResponsePart

    /// A request that was passed on and is not answered.
    private struct OpenRequest {
        var isComplete = false
        let keepsAlive: Bool
        let isOld: Bool

        init(_ head: HTTPRequestHead) {
            keepsAlive = head.isKeepAlive
            isOld = head.version == .http1_0
        }
    }

    /// The time for a client that still sends to read its last answer.
    private static let linger = TimeAmount.seconds(2)

    private let feed: RequestFeed
    private let turns: LoopTurns
    private let counting: any ConnectionCounting
    private var request: OpenRequest?
    /// Input after an unanswered request. The feed lets little through.
    private var waiting = CircularBuffer<HTTPServerRequestPart>()
    private var waitingError: (any Error)?
    private var isInputClosed = false
    /// The parser has stopped at a fault.
    private var hasFaultyInput = false
    /// Passes on no more input.
    private var isClosing = false
    private var context: ChannelHandlerContext?

    init(after feed: RequestFeed, turns: LoopTurns, counting: any ConnectionCounting) {
        self.feed = feed
        self.turns = turns
        self.counting = counting
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.context = nil
    }

    func channelInactive(context: ChannelHandlerContext) {
        isClosing = true
        waiting.removeAll()
        context.fireChannelInactive()
    }
}

// MARK: Requests

extension RequestOrder {
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isClosing else { return }
        let part = unwrapInboundIn(data)
        observe(part)
        if request?.isComplete == true || !waiting.isEmpty {
            waiting.append(part)
        } else {
            handOn(part, context)
        }
        updateFeed()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard waiting.isEmpty else {
            waitingError = error
            return
        }
        passOn(error, context)
    }

    /// Passes on an error. The later handlers answer 400 to a parser's error, outside of any route.
    private func passOn(_ error: any Error, _ context: ChannelHandlerContext) {
        if error is HTTPParserError {
            // After the last answer, the client would take another one for the answer to a further request. The
            // parser reports a version that it does not know twice.
            guard !isClosing, !hasFaultyInput else { return }
            hasFaultyInput = true
            // A fault within a body ends a request that was passed on. A client that is gone gets no answer.
            if request?.isComplete != false, context.channel.isActive {
                counting.countRefusal(status: 400)
            }
        }
        context.fireErrorCaught(error)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event as? ChannelEvent == .inputClosed, !waiting.isEmpty else {
            return context.fireUserInboundEventTriggered(event)
        }
        isInputClosed = true
    }

    private func observe(_ part: HTTPServerRequestPart) {
        switch part {
        case .head(let head): feed.expected = head.body
        case .body(let bytes):
            guard case .body(let count) = feed.expected else { return }
            feed.expected = .body(max(1, count - bytes.readableBytes))
        case .end: feed.expected = .head
        }
    }

    private func updateFeed() {
        feed.isHeld = request?.isComplete == true || !waiting.isEmpty
    }

    private func handOn(_ part: HTTPServerRequestPart, _ context: ChannelHandlerContext) {
        switch part {
        case .head(let head):
            request = OpenRequest(head)
            if let response = head.refusal { return refuse(head, response, context) }
        case .body: break
        case .end: request?.isComplete = true
        }
        context.fireChannelRead(wrapInboundOut(part))
    }

    /// The connection's turn: passes on the next request as far as it has arrived.
    private func takeTurn() {
        guard let context, !isClosing, request == nil else { return }
        let hadWaiting = !waiting.isEmpty
        while !isClosing, request?.isComplete != true, let part = waiting.popFirst() {
            handOn(part, context)
        }
        updateFeed()
        if hadWaiting { context.fireChannelReadComplete() }
        guard waiting.isEmpty, !isClosing else { return }
        if let error = waitingError {
            waitingError = nil
            passOn(error, context)
        }
        if isInputClosed {
            isInputClosed = false
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        }
        feed.resume()
    }

    private func refuse(
        _ head: HTTPRequestHead, _ response: HeadRefusal, _ context: ChannelHandlerContext
    ) {
        counting.countRefusal(status: response.status)
        request = nil
        let fields: HTTPHeaders = [
            "Connection": "close", "Content-Type": "application/json",
            "Content-Length": "\(response.body.count)",
        ]
        context.write(
            wrapOutboundOut(
                .head(
                    HTTPResponseHead(
                        version: .http1_1, status: .init(statusCode: response.status),
                        headers: fields))),
            promise: nil)
        if head.method != .HEAD {
            context.write(
                wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: response.body)))), promise: nil)
        }
        let written = context.eventLoop.makePromise(of: Void.self)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: written)
        close(after: written.futureResult, sendsMore: head.body != .head, context)
    }
}

// MARK: Answers

extension RequestOrder {
    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        switch unwrapOutboundIn(data) {
        case .head(var head) where head.status.code >= 200:
            if let request, head.headers["connection"].isEmpty {
                if !request.keepsAlive {
                    head.headers.add(name: "Connection", value: "close")
                } else if request.isOld {
                    head.headers.add(name: "Connection", value: "keep-alive")
                }
            }
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .end: end(data, promise, context)
        default: context.write(data, promise: promise)
        }
    }

    private func end(
        _ data: NIOAny, _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext
    ) {
        guard let answered = request else { return context.write(data, promise: promise) }
        request = nil
        guard answered.isComplete else {
            // An answer before the request is complete also closes the connection.
            isClosing = true
            context.write(data, promise: promise)
            return feed.drop()
        }
        guard answered.keepsAlive else {
            let written = promise ?? context.eventLoop.makePromise(of: Void.self)
            context.writeAndFlush(data, promise: written)
            let sendsMore = feed.holdsBytes || !waiting.isEmpty
            return close(after: written.futureResult, sendsMore: sendsMore, context)
        }
        context.write(data, promise: promise)
        updateFeed()
        guard !waiting.isEmpty || feed.holdsBytes else { return }
        turns.wait { [weak self] in self?.takeTurn() }
    }

    /// Closes after the last answer was written. While the client still sends, closing at once would reset the
    /// connection, and the client would lose the answer.
    private func close(
        after written: EventLoopFuture<Void>, sendsMore: Bool, _ context: ChannelHandlerContext
    ) {
        isClosing = true
        waiting.removeAll()
        feed.drop()
        let loop = context.eventLoop.assumeIsolatedUnsafeUnchecked()
        written.assumeIsolatedUnsafeUnchecked().whenComplete { _ in
            guard sendsMore else { return context.close(promise: nil) }
            loop.scheduleTask(in: Self.linger) { context.close(promise: nil) }
        }
    }
}

extension HTTPRequestHead {
    /// The rejection of a request by its head alone; nil if the head is valid.
    fileprivate var refusal: HeadRefusal? {
        if let explanation = hostFault {
            return HeadRefusal(status: 400, reason: "bad_host", detail: explanation)
        }
        let codings = headers["transfer-encoding"]
        guard codings.isEmpty || codings.map({ $0.lowercased() }) == ["chunked"] else {
            // The body would be accepted in its encoded form, as bytes that the client did not mean.
            return HeadRefusal(
                status: 400, reason: "transfer_encoding",
                detail: "send the body without transfer codings other than chunked")
        }
        return nil
    }

    /// Nil if `Host` is valid.
    private var hostFault: String? {
        let hosts = headers["host"]
        if hosts.count > 1 { return "a request must have exactly one Host" }
        guard let host = hosts.first, !host.isEmpty else {
            return (version.major, version.minor) >= (1, 1)
                ? "a request of HTTP/1.1 must have a Host" : nil
        }
        let isOne = host.utf8.allSatisfy { (0x21...0x7E).contains($0) && !Self.noHost.contains($0) }
        return isOne && !host.hasPrefix(":")
            ? nil : "Host must be one host, with or without its port"
    }

    /// Characters of lists and of other parts of an address.
    private static let noHost = Array(",/?#@\\".utf8)

    fileprivate var body: RequestFeed.Expected {
        if !headers["transfer-encoding"].isEmpty { return .chunks }
        let count = headers["content-length"].first.flatMap { Int($0) } ?? 0
        return count > 0 ? .body(count) : .head
    }
}
