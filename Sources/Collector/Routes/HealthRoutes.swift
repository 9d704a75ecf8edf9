/// Whether the collector lives and is of use: `/livez` and `/readyz`, which many ask by HEAD.
enum HealthRoutes {
    static func routes(
        unreadiness: @escaping @Sendable () -> String?
    ) -> [CollectorRoute] {
        [.get, .head].flatMap { (method: CollectorRoute.Method) in
            [
                CollectorRoute(method, "/livez") { _ in .text(200, "ok\n") },
                CollectorRoute(method, "/readyz") { _ in
                    guard let fault = unreadiness() else { return .text(200, "ok\n") }
                    return .text(503, fault + "\n")
                },
            ]
        }
    }
}
