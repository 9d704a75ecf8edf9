import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore

/// The rules for all connections of a server: bounds, one request at a time, and HTTP/1's rules for `Host` and for
/// closing connections.
package struct GuardedConnections: Sendable {
    package let limits: ConnectionLimits
    package let addresses: AddressLimit
    package let proxies: TrustedProxies
    /// The total of the bodies that all connections are sending.
    package let bodies: BodyTotal
    private let maxBodyBytes: Int
    private let counting: any ConnectionCounting

    private static let maxHeaderFields = 128
    private static let backlog = 1024
    private static let forwardedFor = HTTPField.Name("X-Forwarded-For")

    /// - Parameters:
    ///   - maxBodyBytes: the longest body of any path.
    ///   - maxBodyBytesInFlight: all bodies at once. An address may use a quarter of it, and at least one body of the
    ///     maximum length.
    ///   - trusted: proxies with a trusted `X-Forwarded-For`. Their connections are not counted; count the requests of
    ///     their clients with `addresses`.
    package init(
        _ limits: ConnectionLimits, maxBodyBytes: Int = 0, maxBodyBytesInFlight: Int = 0,
        trusted: [AddressRange] = [],
        counting: any ConnectionCounting = UncountedConnections()
    ) {
        self.limits = limits
        self.maxBodyBytes = maxBodyBytes
        self.counting = counting
        bodies = BodyTotal(
            maxCount: maxBodyBytesInFlight,
            maxCountOfAddress: max(maxBodyBytesInFlight / 4, maxBodyBytes))
        addresses = AddressLimit(limits)
        proxies = TrustedProxies(trusted)
    }

    /// A channel without TLS. Requests get the client's address in their context, answers get their date, and those to
    /// HEAD lose their body.
    package func channel(
        _ responder: some HTTPResponder<ServedContext>
    ) -> OrderedChannel<HTTP1Channel> {
        OrderedChannel(
            HTTP1Channel(
                responder: { request, writer, channel in
                    let response = try await response(to: request, over: channel, by: responder)
                    try await writer.write(
                        response: response.head,
                        body: request.method == .head ? ResponseBody() : response.body)
                },
                configuration: .init(
                    additionalChannelHandlers: [
                        ConnectionGuard(
                            limits: limits, maxBodyBytes: maxBodyBytes, addresses: addresses,
                            proxies: proxies, counting: counting)
                    ],
                    idleTimeout: .seconds(Int64(limits.idleTimeoutSeconds)),
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: limits.maxHeaderBytes,
                        maxHeaderListSize: limits.maxHeaderBytes,
                        maxHeaderFieldCount: Self.maxHeaderFields))),
            counting: counting)
    }

    private func response(
        to request: Request, over channel: any Channel,
        by responder: some HTTPResponder<ServedContext>
    ) async throws -> Response {
        let peer = channel.remoteAddress?.ipAddress ?? ""
        let client = proxies.client(
            of: peer, forwardedFor: Self.forwardedFor.flatMap { request.headers[$0] })
        var response = try await responder.respond(
            to: request,
            context: ServedContext(
                source: .init(peer: peer, client: client, close: { channel.close(promise: nil) })))
        response.headers[.date] = HTTPDate.now
        return response
    }

    /// Listens over a channel of `channel` when it returns.
    ///
    /// - Parameter threads: the number of threads that share the connections.
    package func listen(
        at address: ListenAddress, threads: Int = 1, over channel: some ServerChildChannel,
        logger: Logger
    ) throws(HTTPListeningError) -> HTTPListener {
        try HTTPListener(
            at: address, threads: threads, maxConnections: limits.maxConnections,
            backlog: Self.backlog, channel: LoopBoundChannel(base: channel), logger: logger)
    }
}
