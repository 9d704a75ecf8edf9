/// Finds the route of a path.
struct RouteTable: Sendable {
    /// What became of looking for a route.
    enum Finding {
        case route(CollectorRoute, argument: String)
        /// There is one, but it is asked in another way.
        case otherMethod(allowed: [CollectorRoute.Method])
        case none
    }

    private let exact: [String: [CollectorRoute]]
    /// By what stands before the name in braces, its slash included.
    private let open: [String: [CollectorRoute]]

    /// A table of these routes. Of two with the same method and path the first counts.
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

    /// The route of a path without its query; one slash at its end makes no difference.
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
