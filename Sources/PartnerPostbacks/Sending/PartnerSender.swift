/// Where a request goes, and how long it may take.
struct Destination: Equatable, Sendable {
    var host: String
    var allowsPrivate: Bool
    var timeoutMilliseconds: Int64
}

/// Sends requests to partners.
protocol PartnerSender: Sendable {
    /// Sends a request, and calls back once, on whatever thread.
    func send(
        _ request: PartnerRequest, to destination: Destination,
        completion: @escaping @Sendable (AttemptResult) -> Void)
}
