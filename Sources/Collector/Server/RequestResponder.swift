import ConfigurationFiles
import EventLog
import HTTPTypes
import Hummingbird
import Monitoring
import NIOCore

/// Answers the requests of all routes, after the checks that they share.
struct RequestResponder: HTTPResponder {
    private let routes: ServedRoutes
    private let metrics: CollectorMetrics

    init(
        routes: [CollectorRoute], limits: CollectorLimits, connections: GuardedConnections,
        metrics: CollectorMetrics
    ) {
        self.metrics = metrics
        let handlers = routes.map { route -> ServedRoutes.Handler in
            let checked = CheckedRoute(
                route: route, maxBodyBytes: route.maxBodyBytes ?? limits.maxBodyBytes,
                bodies: connections.bodies)
            return { try await checked.answer($0, $1).response }
        }
        var exact: [String: [HTTPRequest.Method: ServedRoutes.Handler]] = [:]
        for (route, handler) in zip(routes, handlers) where !route.path.contains("{") {
            exact[route.path, default: [:]][route.method] = handler
        }
        self.routes = ServedRoutes(
            connections, exact: exact, refuse: { refusal, _, _ in refusal.answer.response }
        ) { router in
            for (route, handler) in zip(routes, handlers) {
                router.on(RouterPath(route.path), method: route.method, use: handler)
            }
        }
    }

    /// Throws when the body does not arrive.
    func respond(to request: Request, context: ServedContext) async throws -> Response {
        let begun = ContinuousClock.now
        let response = try await routes.respond(to: request, context: context)
        metrics.count(
            route: context.endpointPath ?? "unknown", status: response.status.code,
            took: begun.duration(to: .now))
        return response
    }
}

extension RouteRefusal {
    fileprivate var answer: CollectorResponse {
        switch self {
        case .notFound: .refusal(404, "not_found", "this path does not exist")
        case .otherMethod:
            .refusal(405, "method_not_allowed", "this path has other methods: see Allow")
        case .tooManyRequests:
            .refusal(429, "too_many_requests", "too many simultaneous requests from your address")
        }
    }
}

/// A route with the checks that all routes share.
private struct CheckedRoute: Sendable {
    let route: CollectorRoute
    let maxBodyBytes: Int
    let bodies: BodyTotal

    func answer(_ request: Request, _ context: ServedContext) async throws -> CollectorResponse {
        guard let query = QueryParameters(request.query) else {
            return .refusal(400, "malformed_query", "the query is not percent-encoded UTF-8")
        }
        let mediaType = mediaType(request.headers.value(of: .contentType))
        if let refusal = refusal(of: request, mediaType) { return refusal }
        let path = request.uri.path
        var asked = CollectorRequest(
            path: path.hasSuffix("/") ? String(path.dropLast()) : path,
            parameters: context.parameters, query: query, headers: request.headers,
            mediaType: mediaType.isEmpty ? route.mediaTypes.first ?? "" : mediaType, body: [],
            clientAddress: context.client, receivedAtMilliseconds: WallClock.milliseconds)
        if let refusal = route.admission(asked) { return refusal }
        guard !route.mediaTypes.isEmpty else { return await route.response(to: asked) }
        do {
            let body = try await BodyBytes.receive(
                request, from: context.client, counted: bodies, maxCount: maxBodyBytes)
            asked.body = body.bytes
            return await route.response(to: asked)
        } catch let refusal as BodyRefusal {
            return refusal.answer
        }
    }

    /// The checks before the body is read.
    private func refusal(of request: Request, _ mediaType: String) -> CollectorResponse? {
        guard !route.mediaTypes.isEmpty else { return nil }
        if let encoding = request.headers.value(of: .contentEncoding),
            encoding.lowercased() != "identity"
        {
            return .refusal(415, "content_encoding", "send the body without content-encoding")
        }
        if !mediaType.isEmpty, !route.mediaTypes.contains(mediaType) {
            let valid = route.mediaTypes.joined(separator: " or ")
            return .refusal(415, "content_type", "send the body as \(valid)")
        }
        if let declared = request.head.declaredBodyBytes, declared > maxBodyBytes {
            return BodyRefusal.tooLarge(maxCount: maxBodyBytes).answer
        }
        return nil
    }

    /// Without parameters, in lower case.
    private func mediaType(_ contentType: String?) -> String {
        guard let contentType else { return "" }
        if route.mediaTypes.contains(contentType) { return contentType }
        return contentType.prefix { $0 != ";" }.trimmed.lowercased()
    }
}

extension BodyRefusal: AnsweredError {
    var answer: CollectorResponse {
        switch self {
        case .tooLarge(let maxCount):
            .refusal(413, "too_large", "the body is too large: the limit is \(maxCount) bytes")
        case .tooBusy:
            .refusal(
                503, "too_busy", "the collector is receiving too many bodies: try again",
                retryAfterSeconds: 1)
        }
    }
}

extension CollectorResponse {
    fileprivate var response: Response {
        var fields = HTTPFields()
        if !contentType.isEmpty { fields[.contentType] = contentType }
        for (name, value) in headers {
            guard let name = HTTPField.Name(name), HTTPField.isValidValue(value) else {
                return Self.refusal(500, "unexpected", "the answer's header \(name) is not valid")
                    .response
            }
            fields[name] = value
        }
        return Response(
            status: .init(code: status), headers: fields,
            body: body.isEmpty
                ? ResponseBody() : ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }
}
