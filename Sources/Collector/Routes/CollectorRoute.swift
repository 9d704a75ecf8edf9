import JSON

/// A method and path that the collector answers.
struct CollectorRoute: Sendable {
    enum Method: String, Sendable {
        case get = "GET"
        /// As `get`, but the answer has no body.
        case head = "HEAD"
        case post = "POST"
    }

    let method: Method
    /// The path without a trailing slash; requests may have one. The last part may be a name in braces, which matches
    /// any single part: `/v1/events/{topic}`.
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
        _ method: Method, _ path: String, mediaTypes: [String] = [], maxBodyBytes: Int? = nil,
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

struct RouteTable: Sendable {
    enum Finding {
        case route(CollectorRoute, argument: String)
        /// The path has a route, but for another method.
        case otherMethod(allowed: [CollectorRoute.Method])
        case none
    }

    private let exact: [String: [CollectorRoute]]
    /// By the path up to the name in braces, including the slash.
    private let open: [String: [CollectorRoute]]

    /// If two routes have the same method and path, the first wins.
    init(_ routes: [CollectorRoute]) {
        var exact: [String: [CollectorRoute]] = [:]
        var open: [String: [CollectorRoute]] = [:]
        for route in routes {
            if route.path.hasSuffix("}"), let brace = route.path.lastIndex(of: "{") {
                open[String(route.path[..<brace]), default: []].append(route)
            } else {
                exact[route.path, default: []].append(route)
            }
        }
        self.exact = exact
        self.open = open
    }

    /// A path in its simplest form (RFC 3986, section 6.2.2.2): escapes of letters, digits and `-._~` are decoded
    /// once, and several slashes become one. All other escapes stay, including `%2F`. `.` and `..` have no special
    /// meaning, because no route has such a part.
    static func normalised(_ path: Substring) -> Substring {
        guard path.utf8.contains(UInt8(ascii: "%")) || path.contains("//") else { return path }
        var bytes: [UInt8] = []
        var rest = path.utf8
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "/"), bytes.last == byte { continue }
            guard byte == UInt8(ascii: "%"), let high = rest.first?.hexDigit,
                let low = rest.dropFirst().first?.hexDigit, (high << 4 | low).isUnreserved
            else {
                bytes.append(byte)
                continue
            }
            bytes.append(high << 4 | low)
            rest = rest.dropFirst(2)
        }
        return Substring(String(decoding: bytes, as: UTF8.self))
    }

    /// `path` has no query. A trailing slash makes no difference.
    func find(_ method: String, _ path: Substring) -> Finding {
        let path = path.utf8.count > 1 && path.hasSuffix("/") ? path.dropLast() : path
        if let routes = exact[String(path)] { return choose(routes, method, argument: "") }
        guard let slash = path.lastIndex(of: "/") else { return .none }
        let start = path.index(after: slash)
        guard start < path.endIndex, let routes = open[String(path[..<start])] else { return .none }
        return choose(routes, method, argument: String(path[start...]))
    }

    private func choose(_ routes: [CollectorRoute], _ method: String, argument: String) -> Finding {
        if let route = routes.first(where: { $0.method.rawValue == method }) {
            return .route(route, argument: argument)
        }
        return .otherMethod(allowed: routes.map(\.method))
    }
}

extension UInt8 {
    /// Whether escaping the character in a URL changes nothing (RFC 3986, section 2.3).
    fileprivate var isUnreserved: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "_"), UInt8(ascii: "~"):
            true
        default: false
        }
    }
}

/// `/livez` and `/readyz`, for GET and HEAD. `/readyz` names other parts of the process that have failed, and
/// explains why the status is 200 anyway: a balancer that removed the collector would lose records.
enum HealthRoutes {
    static func routes(
        unreadiness: @escaping @Sendable () -> String?,
        parts: @escaping @Sendable () -> [ProgramPart]
    ) -> [CollectorRoute] {
        [.get, .head].flatMap { (method: CollectorRoute.Method) in
            [
                CollectorRoute(method, "/livez") { _ in .text(200, "ok\n") },
                CollectorRoute(method, "/readyz") { _ in
                    let fault = unreadiness()
                    let failed = ProgramPart.explanation(ofFailed: parts())
                    let explanation = [
                        fault ?? "ok", failed,
                        fault == nil && failed != nil
                            ? "The status is 200 because the collector makes records durable. Failed parts "
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
