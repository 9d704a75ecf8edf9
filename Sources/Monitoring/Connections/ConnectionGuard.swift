import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Guards one connection. It closes the connection if the client sends too slowly, does not read, or gets its answer
/// before its request is complete. It refuses the connection if its address has too many.
///
/// The first headers have `headerTimeoutSeconds` from the connection on, later ones from their first byte. If that
/// byte arrived together with the end of the previous request, they have it from the next bytes on.
final class ConnectionGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private enum Phase {
        case awaitingFirstHead, receivingBody, betweenBodies, receivingHead
        /// Drops further input. Closes the connection after this number of answers, or by the timer if it is 0.
        case closing(answersToCome: Int)

        var isClosing: Bool {
            if case .closing = self { true } else { false }
        }

        var isReceivingBody: Bool {
            if case .receivingBody = self { true } else { false }
        }
    }

    private struct Deadline {
        let instant: NIODeadline
        /// The metric's reason for cutting off the connection; nil to only close it.
        let reason: String?
    }

    /// The time for a client to read an early answer before the connection closes.
    private static let lingerSeconds = 2

    private let limits: ConnectionLimits
    /// A request that expects `100 Continue` gets it for a body of at most this size.
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
    /// The end of the wait for the client's bytes, or of the connection.
    private var deadline: Deadline?
    /// Answers that the system has not accepted yet, because the client does not read.
    private var unreadAnswers = 0
    /// The end of the wait for a client that does not read.
    private var readingDeadline: NIODeadline?
    /// The connection's only timer: scheduling and cancelling tasks for each request is expensive.
    private var timer: Scheduled<Void>?
    private var timerDeadline = NIODeadline.distantFuture
    private var context: ChannelHandlerContext?

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
        self.context = context
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
        self.context = nil
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
                // The pipeline is still under construction.
                let loop = context.eventLoop.assumeIsolatedUnsafeUnchecked()
                return loop.execute { context.close(promise: nil) }
            }
        }
        start(limits.headerTimeoutSeconds, "slow_headers", context)
    }

    private func end() {
        deadline = nil
        readingDeadline = nil
        timer?.cancel()
        timer = nil
        guard isBegun else { return }
        isBegun = false
        counting.connectionClosed()
        if let countedAddress { addresses.leave(countedAddress) }
        countedAddress = nil
    }
}

// MARK: Requests

extension ConnectionGuard {
    /// Bytes of a request's head arrived, before the decoder sees them.
    func headArrives() {
        guard let context, case .betweenBodies = phase else { return }
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
            if head.headerFields.value(of: .expect)?.lowercased() == "100-continue",
                head.declaredBodyBytes ?? 0 <= maxBodyBytes
            {
                context.writeAndFlush(
                    wrapOutboundOut(.head(HTTPResponse(status: .continue))), promise: nil)
            }
        case .body: break
        case .end:
            phase = .betweenBodies
            deadline = nil
        }
        context.fireChannelRead(data)
    }

    private func start(_ seconds: Int, _ reason: String?, _ context: ChannelHandlerContext) {
        let instant = context.eventLoop.now + .seconds(Int64(seconds))
        deadline = Deadline(instant: instant, reason: reason)
        wake(at: instant, context)
    }

    private func cutOff(_ context: ChannelHandlerContext) {
        let answersToCome = openRequests - (phase.isReceivingBody ? 1 : 0)
        guard answersToCome > 0 else {
            // The client may not read it in time, because the connection closes at the same moment.
            return refuse(.requestTimeout, retryAfterSeconds: nil, for: 0, context)
        }
        // The client would take a 408 now as the answer to an earlier request.
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
        deadline = nil
        guard seconds > 0 else { return context.close(promise: nil) }
        start(seconds, nil, context)
    }
}

// MARK: Deadlines

extension ConnectionGuard {
    /// Lets the timer fire by this instant. It may fire earlier, and then waits for the next deadline.
    private func wake(at instant: NIODeadline, _ context: ChannelHandlerContext) {
        // A timer would keep a closed connection in memory.
        guard isBegun else { return }
        if timer != nil {
            guard instant < timerDeadline else { return }
            timer?.cancel()
        }
        timerDeadline = instant
        timer = context.eventLoop.assumeIsolatedUnsafeUnchecked()
            .scheduleTask(deadline: instant) { [self] in
                timer = nil
                timerFired(context)
            }
    }

    private func timerFired(_ context: ChannelHandlerContext) {
        let now = context.eventLoop.now
        if let readingDeadline, readingDeadline <= now {
            counting.countCutOff("slow_reader")
            return context.close(promise: nil)
        }
        if let deadline, deadline.instant <= now {
            self.deadline = nil
            guard let reason = deadline.reason else { return context.close(promise: nil) }
            counting.countCutOff(reason)
            cutOff(context)
        }
        let next = [deadline?.instant, readingDeadline].compactMap { $0 }.min()
        if let next { wake(at: next, context) }
    }
}

// MARK: Answers

extension ConnectionGuard {
    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        // The answer precedes the end of the body, so the rest is not awaited.
        let isEarly = phase.isReceivingBody && openRequests == 1
        let isLast = if case .closing(answersToCome: 1) = phase { true } else { isEarly }
        switch unwrapOutboundIn(data) {
        case .head(var head) where isLast && head.status.kind != .informational:
            head.headerFields[.connection] = "close"
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .end:
            openRequests -= 1
            let written = promise ?? context.eventLoop.makePromise(of: Void.self)
            observe(written.futureResult, context)
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
    /// Counts an answer until it is written. Each written answer restarts the timer of the following ones.
    private func observe(_ written: EventLoopFuture<Void>, _ context: ChannelHandlerContext) {
        unreadAnswers += 1
        if unreadAnswers == 1 { startReading(context) }
        written.assumeIsolatedUnsafeUnchecked().whenComplete { [self] _ in
            unreadAnswers -= 1
            readingDeadline = nil
            if unreadAnswers > 0, isBegun { startReading(context) }
        }
    }

    private func startReading(_ context: ChannelHandlerContext) {
        let instant = context.eventLoop.now + .seconds(Int64(limits.idleTimeoutSeconds))
        readingDeadline = instant
        wake(at: instant, context)
    }
}

extension HTTPRequest {
    /// Nil if the request does not declare the length of its body.
    package var declaredBodyBytes: Int? {
        headerFields.value(of: .contentLength).flatMap { Int($0) }
    }
}
