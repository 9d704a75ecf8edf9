/// Whether the collector lives and takes records: `/livez` and `/readyz`, which many ask by HEAD. Parts that
/// fail beside it are named, and take nothing away from that.
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
                    let failed = parts().filter(\.hasFailed).map(\.name).joined(separator: ", ")
                    let words = (fault ?? "ok") + (failed.isEmpty ? "" : "\nfailed: \(failed)")
                    return .text(fault == nil ? 200 : 503, words + "\n")
                },
            ]
        }
    }
}
