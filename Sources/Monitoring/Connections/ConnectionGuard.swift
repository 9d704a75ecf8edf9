import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Guards one connection: closes it when the client sends too slowly or does not read, refuses it
/// when its address has too many, and closes it after an answer that came before its request was
/// complete.
///
/// The first headers have `headerTimeoutSeconds` from the connection on, later ones from their
/// first byte; when that byte came together with the end of the request before, from the next bytes
/// on.
final class ConnectionGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private enum Phase {
        case awaitingFirstHead, receivingBody, betweenBodies, receivingHead
        /// What still arrives is dropped. The connection is closed after so many answers, or by the
        /// timer when none is to come.
        case closing(answersToCome: Int)

        var isClosing: Bool {
            if case .closing = self { true } else { false }
        }

        var isReceivingBody: Bool {
            if case .receivingBody = self { true } else { false }
        }
    }

    /// How long a client has to read an early answer before the connection is closed.
    private static let lingerSeconds = 2

    private let limits: ConnectionLimits
    /// A request that expects `100 Continue` gets it for a body of at most so many bytes.
    private let maxBodyBytes: Int
    private let addresses: AddressLimit
    private let proxies: TrustedProxies
    private let counting: any ConnectionCounting
    private var phase = Phase.awaitingFirstHead
    /// Requests that have begun and are not answered yet.
    private var openRequests = 0
    private var isBegun = false
    private var countedAddress: String?
    private var isOverLimit = false
    private var timer: Scheduled<Void>?
    /// Answers that the system has not taken yet, since the client does not read.
    private var unreadAnswers = 0
    private var readingTimer: Scheduled<Void>?

    init(
        limits: ConnectionLimits, maxBodyBytes: Int, addresses: AddressLimit,
        proxies: TrustedProxies, counting: any ConnectionCounting
    ) {
        self.limits = limits
        self.maxBodyBytes = maxBodyBytes
        self.addresses = addresses
        self.proxies = proxies
        self.counting = counting
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { begin(context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        begin(context)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        end()
    }

    private func begin(_ context: ChannelHandlerContext) {
        guard !isBegun else { return }
        isBegun = true
        counting.connectionOpened()
        if let address = context.remoteAddress?.ipAddress, !proxies.contains(address) {
            countedAddress = address
            switch addresses.enter(address) {
            case .within: break
            case .over: isOverLimit = true
            case .far:
                counting.countCutOff("connections_of_address")
                phase = .closing(answersToCome: 0)
                // The pipeline is still being made.
                let loop = context.eventLoop.assumeIsolatedUnsafeUnchecked()
                return loop.execute { context.close(promise: nil) }
            }
        }
        start(limits.headerTimeoutSeconds, "slow_headers", context)
    }

    private func end() {
        timer?.cancel()
        timer = nil
        readingTimer?.cancel()
        readingTimer = nil
        guard isBegun else { return }
        isBegun = false
        counting.connectionClosed()
        if let countedAddress { addresses.leave(countedAddress) }
        countedAddress = nil
    }
}

// MARK: Requests

extension ConnectionGuard {
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is RequestFeed.Arrival else {
            return context.fireUserInboundEventTriggered(event)
        }
        guard case .betweenBodies = phase else { return }
        phase = .receivingHead
        start(limits.headerTimeoutSeconds, "slow_headers", context)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !phase.isClosing else { return }
        switch unwrapInboundIn(data) {
        case .head(let head):
            guard !isOverLimit else {
                counting.countCutOff("connections_of_address")
                return refuse(
                    .tooManyRequests, retryAfterSeconds: 5, for: Self.lingerSeconds, context)
            }
            phase = .receivingBody
            openRequests += 1
            start(limits.bodyTimeoutSeconds, "slow_body", context)
            if head.headerFields[.expect]?.lowercased() == "100-continue",
                head.declaredBodyBytes ?? 0 <= maxBodyBytes
            {
                context.writeAndFlush(
                    wrapOutboundOut(.head(HTTPResponse(status: .continue))), promise: nil)
            }
        case .body: break
        case .end:
            phase = .betweenBodies
            timer?.cancel()
            timer = nil
        }
        context.fireChannelRead(data)
    }

    private func start(_ seconds: Int, _ reason: String, _ context: ChannelHandlerContext) {
        timer?.cancel()
        timer = context.eventLoop.assumeIsolatedUnsafeUnchecked()
            .scheduleTask(in: .seconds(Int64(seconds))) { [self] in
                timer = nil
                counting.countCutOff(reason)
                cutOff(context)
            }
    }

    private func cutOff(_ context: ChannelHandlerContext) {
        let answersToCome = openRequests - (phase.isReceivingBody ? 1 : 0)
        guard answersToCome > 0 else {
            // Perhaps nobody reads it in time: the connection is closed together with it.
            return refuse(.requestTimeout, retryAfterSeconds: nil, for: 0, context)
        }
        // A 408 now would be taken for the answer to an earlier request.
        phase = .closing(answersToCome: answersToCome)
    }

    private func refuse(
        _ status: HTTPResponse.Status, retryAfterSeconds: Int?, for lingerSeconds: Int,
        _ context: ChannelHandlerContext
    ) {
        var fields: HTTPFields = [.contentLength: "0", .connection: "close"]
        if let retryAfterSeconds { fields[.retryAfter] = "\(retryAfterSeconds)" }
        context.write(
            wrapOutboundOut(.head(HTTPResponse(status: status, headerFields: fields))),
            promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        close(after: lingerSeconds, context)
    }

    private func close(after seconds: Int, _ context: ChannelHandlerContext) {
        phase = .closing(answersToCome: 0)
        timer?.cancel()
        guard seconds > 0 else { return context.close(promise: nil) }
        timer = context.eventLoop.assumeIsolatedUnsafeUnchecked()
            .scheduleTask(in: .seconds(Int64(seconds))) { context.close(promise: nil) }
    }
}

// MARK: Answers

extension ConnectionGuard {
    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // The answer comes before the body was read; the body is not waited for.
        let isEarly = phase.isReceivingBody && openRequests == 1
        let isLast = if case .closing(answersToCome: 1) = phase { true } else { isEarly }
        switch unwrapOutboundIn(data) {
        case .head(var head) where isLast && head.status.kind != .informational:
            head.headerFields[.connection] = "close"
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .end:
            openRequests -= 1
            let written = promise ?? context.eventLoop.makePromise(of: Void.self)
            watch(written.futureResult, context)
            context.write(data, promise: written)
            if case .closing(let answersToCome) = phase, answersToCome > 1 {
                phase = .closing(answersToCome: answersToCome - 1)
            }
            guard isLast else { return }
            context.flush()
            close(after: Self.lingerSeconds, context)
        default: context.write(data, promise: promise)
        }
    }
}

extension ConnectionGuard {
    /// Counts an answer until it is written. Each answer that is written restarts the time of those
    /// after it.
    private func watch(_ written: EventLoopFuture<Void>, _ context: ChannelHandlerContext) {
        unreadAnswers += 1
        if unreadAnswers == 1 { startReadingTimer(context) }
        written.assumeIsolatedUnsafeUnchecked().whenComplete { [self] _ in
            unreadAnswers -= 1
            readingTimer?.cancel()
            readingTimer = nil
            if unreadAnswers > 0, isBegun { startReadingTimer(context) }
        }
    }

    private func startReadingTimer(_ context: ChannelHandlerContext) {
        readingTimer = context.eventLoop.assumeIsolatedUnsafeUnchecked()
            .scheduleTask(in: .seconds(Int64(limits.idleTimeoutSeconds))) { [self] in
                readingTimer = nil
                counting.countCutOff("slow_reader")
                context.close(promise: nil)
            }
    }
}

extension HTTPRequest {
    /// Nil when the request does not declare the length of its body.
    package var declaredBodyBytes: Int? { headerFields[.contentLength].flatMap { Int($0) } }
}
