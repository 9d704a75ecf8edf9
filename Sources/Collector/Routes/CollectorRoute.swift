import HTTPTypes

/// A method and path that the collector answers.
struct CollectorRoute: Sendable {
    let method: HTTPRequest.Method
    /// A part may be a name in braces, which matches any one part: `/v1/events/{topic}`.
    let path: String
    /// Allowed media types of a body, in lower case. A body without a type counts as the first. Empty for a route
    /// without a body.
    let mediaTypes: [String]
    /// Most bytes of a body; nil for `CollectorLimits.maxBodyBytes`.
    let maxBodyBytes: Int?
    /// Rejects a request before its body is read; nil to read it. The request's `body` is still empty.
    let admission: @Sendable (CollectorRequest) -> CollectorResponse?
    /// Answers a request; errors become answers too. It may suspend, but must not block its thread for longer than
    /// reading a request takes: blocking work belongs on another thread.
    private let answer: @Sendable (CollectorRequest) async throws -> CollectorResponse

    init(
        _ method: HTTPRequest.Method, _ path: String, mediaTypes: [String] = [],
        maxBodyBytes: Int? = nil,
        admission: @escaping @Sendable (CollectorRequest) -> CollectorResponse? = { _ in nil },
        answer: @escaping @Sendable (CollectorRequest) async throws -> CollectorResponse
    ) {
        self.method = method
        self.path = path
        self.mediaTypes = mediaTypes
        self.maxBodyBytes = maxBodyBytes
        self.admission = admission
        self.answer = answer
    }

    func response(to request: CollectorRequest) async -> CollectorResponse {
        do {
            return try await answer(request)
        } catch let error as any AnsweredError {
            return error.answer
        } catch {
            return .refusal(500, "unexpected", "\(error)")
        }
    }
}

/// `/livez` and `/readyz`, for GET and HEAD. `/readyz` names other services of the process that have failed, and explains
/// why the status is 200 anyway: without the collector, a balancer would lose records.
enum HealthRoutes {
    static func routes(
        unreadiness: @escaping @Sendable () -> String?,
        services: @escaping @Sendable () -> [ServiceState]
    ) -> [CollectorRoute] {
        [.get, .head].flatMap { (method: HTTPRequest.Method) in
            [
                CollectorRoute(method, "/livez") { _ in .text(200, "ok\n") },
                CollectorRoute(method, "/readyz") { _ in
                    let fault = unreadiness()
                    let failed = ServiceState.explanation(ofFailed: services())
                    let explanation = [
                        fault ?? "ok", failed,
                        fault == nil && failed != nil
                            ? "The status is 200 because the collector makes records durable. Failed services "
                                + "fold or deliver them once they work again." : nil,
                    ]
                    return .text(
                        fault == nil ? 200 : 503,
                        explanation.compactMap { $0.map { $0 + "\n" } }.joined())
                },
            ]
        }
    }
}
