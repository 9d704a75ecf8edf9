import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Watches over one connection: cuts off who is slow to send, answers who has too many connections, and closes
/// after an answer that came before its request was complete.
///
/// The time of a later request's headers counts as rest, and is bounded as that is.
final class ConnectionGuard: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private enum Phase {
        case awaitingFirstHead, receivingBody, betweenBodies
        /// What still comes is dropped.
        case closing
    }

    /// How long a client that was answered early may take to read the answer.
    private static let lingerSeconds: Int64 = 2

    private let limits: CollectorLimits
    private let addresses: AddressLimit
    private let proxies: TrustedProxies
    private let metrics: CollectorMetrics
    private var phase = Phase.awaitingFirstHead
    /// Requests that have begun and are not answered.
    private var openRequests = 0
    private var isBegun = false
    private var countedAddress: String?
    private var isOverLimit = false
    private var timer: Scheduled<Void>?

    init(
        limits: CollectorLimits, addresses: AddressLimit, proxies: TrustedProxies,
        metrics: CollectorMetrics
    ) {
        self.limits = limits
        self.addresses = addresses
        self.proxies = proxies
        self.metrics = metrics
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
        metrics.connectionOpened()
        if let address = context.remoteAddress?.ipAddress, !proxies.contains(address) {
            countedAddress = address
            isOverLimit = !addresses.enter(address)
        }
        start(limits.headerTimeoutSeconds, "slow_headers", context)
    }

    private func end() {
        timer?.cancel()
        timer = nil
        guard isBegun else { return }
        isBegun = false
        metrics.connectionClosed()
        if let countedAddress { addresses.leave(countedAddress) }
        countedAddress = nil
    }
}

// MARK: Requests

extension ConnectionGuard {
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard phase != .closing else { return }
        switch unwrapInboundIn(data) {
        case .head(let head):
            guard !isOverLimit else {
                metrics.countCutOff("connections_of_address")
                return refuse(
                    .tooManyRequests, retryAfterSeconds: 5, for: Self.lingerSeconds, context)
            }
            phase = .receivingBody
            openRequests += 1
            start(limits.bodyTimeoutSeconds, "slow_body", context)
            if head.headerFields[.expect]?.lowercased() == "100-continue",
                head.declaredBodyBytes ?? 0 <= max(limits.maxBodyBytes, limits.maxBatchBytes)
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

    private func start(
        _ seconds: Int64, _ reason: String, _ context: ChannelHandlerContext
    ) {
        timer?.cancel()
        timer = context.eventLoop.assumeIsolatedUnsafeUnchecked()
            .scheduleTask(in: .seconds(seconds)) { [self] in
                timer = nil
                metrics.countCutOff(reason)
                // Nobody reads it in time, maybe: the connection is closed with it.
                refuse(.requestTimeout, retryAfterSeconds: nil, for: 0, context)
            }
    }

    private func refuse(
        _ status: HTTPResponse.Status, retryAfterSeconds: Int?, for lingerSeconds: Int64,
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

    private func close(after seconds: Int64, _ context: ChannelHandlerContext) {
        phase = .closing
        timer?.cancel()
        guard seconds > 0 else { return context.close(promise: nil) }
        timer = context.eventLoop.assumeIsolatedUnsafeUnchecked()
            .scheduleTask(in: .seconds(seconds)) { context.close(promise: nil) }
    }
}

// MARK: Answers

extension ConnectionGuard {
    func write(
        context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?
    ) {
        // The request is refused before its body is read, which is not waited for.
        let isEarly = phase == .receivingBody && openRequests == 1
        switch unwrapOutboundIn(data) {
        case .head(var head) where isEarly && head.status.kind != .informational:
            head.headerFields[.connection] = "close"
            context.write(wrapOutboundOut(.head(head)), promise: promise)
        case .end:
            openRequests -= 1
            context.write(data, promise: promise)
            guard isEarly else { return }
            context.flush()
            close(after: Self.lingerSeconds, context)
        default: context.write(data, promise: promise)
        }
    }
}

extension HTTPRequest {
    /// The length that the request says its body has; nil when it does not.
    var declaredBodyBytes: Int? { headerFields[.contentLength].flatMap { Int($0) } }
}
