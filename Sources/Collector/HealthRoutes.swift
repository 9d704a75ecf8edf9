/// Whether the collector lives and is of use: `/livez` and `/readyz`.
enum HealthRoutes {
    static func routes(
        unreadiness: @escaping @Sendable () -> String?
    ) -> [CollectorRoute] {
        [
            CollectorRoute(.get, "/livez") { _ in .text(200, "ok\n") },
            CollectorRoute(.get, "/readyz") { _ in
                guard let fault = unreadiness() else { return .text(200, "ok\n") }
                return .text(503, fault + "\n")
            },
        ]
    }
}
