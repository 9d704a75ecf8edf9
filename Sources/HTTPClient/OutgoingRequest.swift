/// A request to another server.
package struct OutgoingRequest: Equatable, Sendable {
    /// The value of a secret header is never printed.
    package struct Header: Equatable, Sendable {
        /// As it is sent.
        package let name: String
        /// Without control characters.
        package let value: String
        /// Whether the value is a secret or contains one.
        package let isSecret: Bool

        package init(_ name: String, _ value: String, isSecret: Bool = false) {
            self.name = name
            self.value = value
            self.isSecret = isSecret
        }
    }

    package let method: String
    package let url: String
    /// In order, without headers that frame the request.
    package var headers: [Header]
    /// Nil for no body.
    package let body: [UInt8]?
    /// The longest body of an answer in bytes, which is then required to arrive whole. Nil to discard bodies: the
    /// status of an answer counts even if the rest of it fails.
    package let answerBytes: Int?

    package init(
        method: String, url: String, headers: [Header], body: [UInt8]?, answerBytes: Int? = nil
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.answerBytes = answerBytes
    }
}

/// The result of one request.
package enum RequestResult: Equatable, Sendable {
    /// `retryAfterMilliseconds` is the pause that the receiver requested. `body` is empty if bodies are discarded.
    case answered(status: Int, retryAfterMilliseconds: Int64?, body: [UInt8] = [])
    /// No HTTP answer.
    case failed(ConnectionFault, detail: String)
    /// The receiver's address is not allowed.
    case addressRefused(detail: String)
}

package enum ConnectionFault: String, CaseIterable, Sendable {
    /// No answer in time.
    case timeout
    case resolution
    /// No connection, or one that closed before the answer.
    case connection
    /// No encrypted connection, or an unacceptable certificate.
    case tls
    /// The answer was not HTTP, or too long.
    case protocolError = "protocol"
}
