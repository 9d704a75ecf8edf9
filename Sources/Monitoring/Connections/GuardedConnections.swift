import HTTPTypes
import HummingbirdCore
import NIOCore

/// The rules for all connections of a server: bounds, one request at a time, and HTTP/1's rules for `Host` and for
/// closing connections.
package struct GuardedConnections: Sendable {
    package let limits: ConnectionLimits
    package let addresses: AddressLimit
    package let proxies: TrustedProxies
    private let maxBodyBytes: Int
    private let counting: any ConnectionCounting

    private static let maxHeaderFields = 128
    private static let forwardedFor = HTTPField.Name("X-Forwarded-For")

    /// - Parameters:
    ///   - maxBodyBytes: the longest body that any path accepts.
    ///   - trusted: proxies with a trusted `X-Forwarded-For`. Their connections are not counted; count the requests
    ///     of their
    ///     clients with `addresses`.
    package init(
        _ limits: ConnectionLimits, maxBodyBytes: Int = 0, trusted: [AddressRange] = [],
        counting: any ConnectionCounting = UncountedConnections()
    ) {
        self.limits = limits
        self.maxBodyBytes = maxBodyBytes
        self.counting = counting
        addresses = AddressLimit(limits)
        proxies = TrustedProxies(trusted)
    }

    /// A channel without TLS.
    package func channel(
        _ respond: @escaping HTTPChannelHandler.Responder
    ) -> OrderedChannel<HTTP1Channel> {
        OrderedChannel(
            HTTP1Channel(
                responder: respond,
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

    /// The address of the client that sent a request over a connection of `peer`.
    package func client(of request: Request, from peer: String) -> String {
        proxies.client(
            of: peer, forwardedFor: Self.forwardedFor.flatMap { request.headers[$0] })
    }
}
