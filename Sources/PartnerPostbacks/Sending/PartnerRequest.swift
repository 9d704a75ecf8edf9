package struct PartnerRequest: Equatable, Sendable {
    /// The value of a secret header is never printed.
    package struct Header: Equatable, Sendable {
        /// The name as written in the file.
        package let name: String
        /// Without control characters.
        package let value: String
        /// Whether the value is a secret or contains one.
        let isSecret: Bool

        init(_ name: String, _ value: String, isSecret: Bool = false) {
            self.name = name
            self.value = value
            self.isSecret = isSecret
        }
    }

    package let method: String
    package let url: String
    /// In order, without headers that frame the request.
    package internal(set) var headers: [Header]
    /// Nil for no body.
    package let body: [UInt8]?

    /// Adds the headers of a signature, which covers the time.
    func signed(
        _ secrets: SigningSecrets?, key: String, timestampSeconds: Int64
    ) -> PartnerRequest {
        guard let secrets else { return self }
        var request = self
        let signature = secrets.signature(
            id: key, timestampSeconds: timestampSeconds, body: body ?? [])
        request.headers += [
            Header("webhook-id", key), Header("webhook-timestamp", "\(timestampSeconds)"),
            Header("webhook-signature", signature, isSecret: true),
        ]
        return request
    }
}

struct Destination: Equatable, Sendable {
    var host: String
    var allowsPrivate: Bool
    var timeoutMilliseconds: Int64

    /// Why nothing may be sent to a host with these addresses; nil when it may.
    func refusal(of addresses: [IPAddress]) -> String? {
        guard !allowsPrivate, let refused = addresses.first(where: { $0.refusal != nil }),
            let words = refused.refusal
        else { return nil }
        let place = host == refused.description ? host : "\(host) is \(refused)"
        return "\(place), \(words): allow_private would allow it"
    }
}

protocol PartnerSender: Sendable {
    /// Sends a request and calls back once, on any thread.
    func send(
        _ request: PartnerRequest, to destination: Destination,
        completion: @escaping @Sendable (AttemptResult) -> Void)
}
