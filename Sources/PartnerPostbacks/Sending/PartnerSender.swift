/// Where a request goes, and how long it may take.
struct Destination: Equatable, Sendable {
    var host: String
    var allowsPrivate: Bool
    var timeoutMilliseconds: Int64

    /// Why nothing is sent to a host of these addresses; nil when it may be.
    func refusal(of addresses: [IPAddress]) -> String? {
        guard !allowsPrivate, let refused = addresses.first(where: { $0.refusal != nil }),
            let words = refused.refusal
        else { return nil }
        let place = host == refused.description ? host : "\(host) is \(refused)"
        return "\(place), \(words): allow_private would allow it"
    }
}

/// Sends requests to partners.
protocol PartnerSender: Sendable {
    /// Sends a request, and calls back once, on whatever thread.
    func send(
        _ request: PartnerRequest, to destination: Destination,
        completion: @escaping @Sendable (AttemptResult) -> Void)
}
