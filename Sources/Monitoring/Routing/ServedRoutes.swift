import HTTPTypes
import Hummingbird
import JSON
import Logging

/// The context of a request: its addresses and its connection.
package struct ServedContext: RequestContext {
    package struct Source: RequestContextSource {
        /// Nothing is logged for each request.
        private static let quiet = Logger(label: "requests") { _ in SwiftLogNoOpLogHandler() }

        package var logger: Logger { Self.quiet }
        let peer: String
        let client: String
        let close: @Sendable () -> Void

        /// - Parameters:
        ///   - peer: the address of the connection.
        ///   - client: the address of the client, which a trusted proxy names.
        ///   - close: ends the connection at once.
        package init(
            peer: String, client: String, close: @escaping @Sendable () -> Void = {}
        ) {
            self.peer = peer
            self.client = client
            self.close = close
        }
    }

    package var coreContext: CoreRequestContextStorage
    package let peer: String
    package let client: String
    package let close: @Sendable () -> Void

    package init(source: Source) {
        coreContext = CoreRequestContextStorage(source: source)
        peer = source.peer
        client = source.client
        close = source.close
    }
}

extension HTTPFields {
    /// The same as the subscript, without its cost for joining values. A field rarely occurs twice.
    package func value(of name: HTTPField.Name) -> String? {
        var found: String?
        for field in self where field.name == name {
            guard found == nil else { return self[name] }
            found = field.value
        }
        return found
    }
}

extension Request {
    /// The target after the question mark.
    package var query: Substring {
        guard let target = head.path, let mark = target.utf8.firstIndex(of: UInt8(ascii: "?"))
        else { return "" }
        return target[target.utf8.index(after: mark)...]
    }
}

/// The reason why a request has no route.
package enum RouteRefusal: Sendable {
    case notFound
    /// The path has routes, but for other methods. They are added as `Allow`.
    case otherMethod(allowed: String)
    /// A trusted proxy's client has too many simultaneous requests. `Retry-After` is added.
    case tooManyRequests
}

/// The routes of a server, in Hummingbird's router, with the behaviour that all servers share. Paths are compared in
/// their simplest form, other methods get a 405, and the requests of a proxy's client are counted.
package struct ServedRoutes: HTTPResponder {
    package typealias Refuse =
        @Sendable (RouteRefusal, Request, ServedContext) async throws -> Response

    package typealias Handler = @Sendable (Request, ServedContext) async throws -> Response

    private let router: RouterResponder<ServedContext>
    /// Routes without names in braces, by path. They are found without the router.
    private let exact: [String: [HTTPRequest.Method: Handler]]
    private let methods: Set<HTTPRequest.Method>
    private let addresses: AddressLimit
    private let refuse: Refuse

    /// The router gets this method in place of methods without a route.
    private static let other = HTTPRequest.Method.trace

    /// - Parameters:
    ///   - exact: routes of `add` without names in braces, by path.
    ///   - refuse: the answer, without the headers that a refusal adds.
    package init(
        _ connections: GuardedConnections, exact: [String: [HTTPRequest.Method: Handler]] = [:],
        refuse: @escaping Refuse,
        add: (Router<ServedContext>) -> Void
    ) {
        let router = Router(context: ServedContext.self)
        add(router)
        let routes = router.routes
        let methods = Set(routes.map(\.method))
        for (path, routes) in Dictionary(grouping: routes, by: \.path.description) {
            let allowed = routes.map(\.method)
            let names = allowed.map(\.rawValue).joined(separator: ", ")
            for method in methods.union([Self.other]).subtracting(allowed) {
                router.on(RouterPath(path), method: method) { request, context in
                    context.coreContext.endpointPath.value = nil
                    var response = try await refuse(
                        .otherMethod(allowed: names), request, context)
                    response.headers[.allow] = names
                    return response
                }
            }
        }
        // Applies to later additions: the answer without a route.
        router.add(middleware: NoRoute(refuse: refuse))
        self.router = router.buildResponder()
        self.exact = exact
        self.methods = methods
        self.refuse = refuse
        addresses = connections.addresses
    }

    package func respond(to request: Request, context: ServedContext) async throws -> Response {
        // Direct connections are counted by the connection guard.
        let isCounted = context.client != context.peer
        defer { if isCounted { addresses.leave(context.client) } }
        if isCounted, addresses.enter(context.client) != .within {
            var response = try await refuse(.tooManyRequests, request, context)
            response.headers[.retryAfter] = "1"
            return response
        }
        let request = routed(request)
        guard let handler = exact[request.uri.path]?[request.method] else {
            return try await router.respond(to: request, context: context)
        }
        context.coreContext.endpointPath.value = request.uri.path
        do {
            return try await handler(request, context)
        } catch let error as any HTTPResponseError {
            return try error.response(from: request, context: context)
        }
    }

    private func routed(_ request: Request) -> Request {
        let path = request.head.path.flatMap(Self.normalised)
        let isKnown = methods.contains(request.method)
        guard path != nil || !isKnown else { return request }
        var head = request.head
        if let path { head.path = path }
        if !isKnown { head.method = Self.other }
        return Request(head: head, body: request.body)
    }

    /// A target with its path in the simplest form (RFC 3986, section 6.2.2.2): escapes of letters, digits and `-._~`
    /// are decoded once, and repeated slashes become one. Other escapes stay, including `%2F`. `.` and `..` have no
    /// special meaning, because no route has such a part. Nil if the path may already have this form.
    private static func normalised(_ target: String) -> String? {
        let slash = UInt8(ascii: "/")
        var target = target
        let isSimple = target.withUTF8 { bytes in
            var before: UInt8 = 0
            for byte in bytes {
                if byte == UInt8(ascii: "?") { return true }
                if byte == UInt8(ascii: "%") || (byte == slash && before == slash) { return false }
                before = byte
            }
            return true
        }
        if isSimple { return nil }
        let end = target.utf8.firstIndex(of: UInt8(ascii: "?")) ?? target.endIndex
        var rest = target.utf8[..<end]
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            if byte == slash, bytes.last == byte { continue }
            guard byte == UInt8(ascii: "%"), let high = rest.first?.hexDigit,
                let low = rest.dropFirst().first?.hexDigit, (high << 4 | low).isUnreserved
            else {
                bytes.append(byte)
                continue
            }
            bytes.append(high << 4 | low)
            rest = rest.dropFirst(2)
        }
        return String(decoding: bytes, as: UTF8.self) + target[end...]
    }
}

/// Answers requests without a route.
private struct NoRoute: RouterMiddleware {
    typealias Context = ServedContext

    let refuse: ServedRoutes.Refuse

    func handle(
        _ request: Request, context: ServedContext,
        next _: (Request, ServedContext) async throws -> Response
    ) async throws -> Response { try await refuse(.notFound, request, context) }
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
