/// A request to a partner, as it is sent.
package struct PartnerRequest: Equatable, Sendable {
    /// A header. The value of a secret one is never printed.
    package struct Header: Equatable, Sendable {
        /// Name, as the file writes it.
        package let name: String
        /// Value, without control characters.
        package let value: String
        /// Whether the value is a secret, or made with one.
        package let isSecret: Bool

        init(_ name: String, _ value: String, isSecret: Bool = false) {
            self.name = name
            self.value = value
            self.isSecret = isSecret
        }
    }

    /// GET, POST or PUT.
    package let method: String
    /// The whole address.
    package let url: String
    /// Headers in order; those that frame the request are not among them.
    package internal(set) var headers: [Header]
    /// The body; nil for none.
    package let body: [UInt8]?

    /// The request with the headers that are of its moment: the signature goes by the time.
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
