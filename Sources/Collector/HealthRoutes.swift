/// Whether the collector lives and is of use: `/livez` and `/readyz`.
enum HealthRoutes {
    static func routes(appender: DurableAppender) -> [CollectorRoute] {
        [
            CollectorRoute(.get, "/livez") { _ in .text(200, "ok\n") },
            CollectorRoute(.get, "/readyz") { _ in
                guard let fault = appender.unreadiness else { return .text(200, "ok\n") }
                return .text(503, fault + "\n")
            },
        ]
    }
}
