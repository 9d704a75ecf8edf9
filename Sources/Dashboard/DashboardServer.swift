import ConfigurationFiles
import EventLog
import Foundation
import HTTPTypes
import History
import Hummingbird
import Logging
import Monitoring
import NIOCore
import NIOPosix
import Program
import Reports
import Store
import Synchronization
import Tokens

/// A service of this process that has failed.
package struct ServiceFailure: Equatable, Sendable {
    /// The name of the service's own program.
    package let name: String
    package let fault: String

    package init(name: String, fault: String) {
        self.name = name
        self.fault = fault
    }
}

/// Serves the pages over HTTP/1.1. All pages are read-only but the forms of operators (`OperatorForm`).
package final class DashboardServer: Sendable {
    private let source: Installation
    /// The services of this process that have currently failed.
    private let failures: @Sendable () -> [ServiceFailure]
    let access: DashboardAccess
    let connections: GuardedConnections
    /// Pages are built on these threads, so that they do not block connections.
    private let pages: NIOThreadPool
    private let shared = PageCache()
    private let cache: ReportCache
    /// Keeps sums for the next start; nil for small stores.
    private let sums: SumsFile?
    private let nextWrite: Mutex<ContinuousClock.Instant>
    /// A placeholder in shared pages, replaced by the form token of each reader.
    private let formMark = SecretText.random()
    /// Explanations read the log and use all cores, so only a few run at a time.
    private let explanations = AnswerThreads(4)
    /// Files may wait for slow clients.
    private let files = AnswerThreads(8)
    /// Actions of operators.
    let operations = AnswerThreads(2)
    /// The number of actions since the start. A page that was made before the last one is out of date.
    private let actions = Mutex(0)
    private let listener = Mutex<HTTPListener?>(nil)
    private let firstPages = Mutex<Task<Void, Never>?>(nil)
    let logger: Logger

    static let mostFormBytes = 16 << 10
    private static let secondsBetweenWrites = 60

    /// Limits of connections. The dashboard has fewer clients than the collector, so one address may have at most a
    /// quarter of its connections.
    private static func limits(_ collector: ConnectionLimits) -> ConnectionLimits {
        var limits = collector
        limits.maxConnections = min(collector.maxConnections, 512)
        limits.maxConnectionsPerAddress = min(
            collector.maxConnectionsPerAddress, max(1, limits.maxConnections / 4))
        return limits
    }

    /// Listens when it returns.
    ///
    /// - Parameters:
    ///   - limits: the limits of the collector, from which those of the dashboard follow.
    ///   - trusted: proxies with a trusted `X-Forwarded-For` and `X-Forwarded-Proto`.
    ///   - firstPagesBytes: the size of stores from which pages are built before a reader asks for them, and sums are
    ///     kept in a file for the next start.
    package init(
        at address: ListenAddress, source: Installation, access: DashboardAccess,
        limits: CollectorLimits, trusted: [AddressRange], logger: Logger,
        firstPagesBytes: Int64 = 64 << 20,
        failures: @escaping @Sendable () -> [ServiceFailure] = { [] }
    ) throws(CommandError) {
        self.source = source
        self.failures = failures
        self.access = access
        self.logger = logger
        let storedBytes = PageSource(source).storeFiles().reduce(0) { $0 + $1.bytes }
        let isLarge = storedBytes >= firstPagesBytes
        sums = isLarge ? Self.sumsFile(of: source, logger) : nil
        cache = ReportCache(sums)
        nextWrite = Mutex(.now + .seconds(Self.secondsBetweenWrites))
        connections = GuardedConnections(
            Self.limits(limits.connections), maxBodyBytes: Self.mostFormBytes,
            maxBodyBytesInFlight: limits.maxBodyBytesInFlight, trusted: trusted)
        pages = NIOThreadPool(numberOfThreads: max(2, ProcessInfo.processInfo.activeProcessorCount))
        pages.start()
        do throws(HTTPListeningError) {
            let listening = try connections.listen(
                at: address, over: connections.channel(routes()), logger: logger)
            listener.withLock { $0 = listening }
        } catch {
            throw .failure(
                "dashboard: cannot listen on \(address): \(error.detail): give another --dashboard or --listen HOST:PORT (port 0 picks a free port)"
            )
        }
        guard isLarge else { return }
        firstPages.withLock { $0 = Task { await buildFirstPages() } }
    }

    package var address: ListenAddress? { listener.withLock { $0?.address } }

    /// Returns after all connections are closed.
    package func stop() {
        listener.withLock { $0.take() }?.stop()
        try? pages.syncShutdownGracefully()
        explanations.stop()
        files.stop()
        operations.stop()
        writeSums(isAwaited: true)
    }

    func noteAction() { actions.withLock { $0 += 1 } }

    // MARK: Requests

    struct Asked {
        let path: String
        let query: QueryParameters
        /// The unparsed query.
        let queryText: String
        let cookies: [String: String]
        let isSecure: Bool
        /// The address of the client, also through a trusted proxy.
        let address: String
    }

    private func routes() -> ServedRoutes {
        ServedRoutes(connections, refuse: { try await self.refuse($0, $1, $2) }) { router in
            for method in [HTTPRequest.Method.get, .head] {
                router.on("dashboard.css", method: method) { _, _ in
                    Self.response(.ok, "text/css; charset=utf-8", Array(Stylesheet.text.utf8))
                }
                router.on("dashboard.js", method: method) { _, _ in
                    Self.response(.ok, "text/javascript; charset=utf-8", Array(Script.text.utf8))
                }
                router.on("dashboard.svg", method: method) { _, _ in
                    Self.response(.ok, "image/svg+xml", Array(Stylesheet.icon.utf8))
                }
                router.on("sign-in", method: method) { request, context in
                    try await self.read(nil, request, context)
                }
            }
            addForms(to: router)
            PageRoute.add(to: router) { try await self.read($0, $1, $2) }
            router.post("sign-in") { request, context in
                try await self.answerForm(request, context, self.signIn)
            }
            router.post("sign-out") { request, context in
                try await self.answerForm(request, context, self.signOut)
            }
        }
    }

    private func refuse(
        _ refusal: RouteRefusal, _ request: Request, _ context: ServedContext
    ) async throws -> Response {
        switch refusal {
        case .notFound where [.get, .head].contains(request.method):
            try await read(nil, request, context)
        case .notFound: Self.fault(.methodNotAllowed, "use GET", at: request.uri.path)
        case .otherMethod(let allowed):
            Self.fault(
                .methodNotAllowed, "use \(allowed.prefix { $0 != "," })", at: request.uri.path)
        case .tooManyRequests:
            Self.fault(
                .tooManyRequests, "too many concurrent requests from your address: try again",
                at: request.uri.path)
        }
    }

    /// Nil when the query is not percent-encoded UTF-8.
    func asked(_ request: Request, _ context: ServedContext) -> Asked? {
        let path = request.uri.path
        return QueryParameters(request.query).map { query in
            Asked(
                path: path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path,
                query: query, queryText: String(request.query),
                cookies: Self.cookies(request.headers[.cookie]),
                isSecure: connections.proxies.contains(context.peer)
                    && HTTPField.Name("x-forwarded-proto").flatMap { request.headers[$0] }
                        == "https",
                address: context.client)
        }
    }

    static func malformedQuery(_ request: Request) -> Response {
        fault(.badRequest, "the query is not percent-encoded UTF-8", at: request.uri.path)
    }

    /// Answers a permitted reader; `route` is nil for an unknown address.
    private func read(
        _ route: PageRoute?, _ request: Request, _ context: ServedContext
    ) async throws -> Response {
        guard let asked = asked(request, context) else { return Self.malformedQuery(request) }
        switch admission(request, asked) {
        case .refused(let response): return response
        case .reads where asked.path == "/sign-in" && access.canSignIn: return signInPage(asked)
        case .reads(let scope): return await page(route, asked, scope, context)
        }
    }

    enum Admission {
        case reads([ReportRequest.Condition])
        case refused(Response)
    }

    /// Whether a request may read, and what.
    func admission(_ request: Request, _ asked: Asked) -> Admission {
        let path = asked.path
        let decision = access.decision(
            host: request.head.authority ?? "", cookies: asked.cookies,
            bearer: Self.bearer(request.headers[.authorization]), address: asked.address,
            nowSeconds: Self.nowSeconds)
        switch decision {
        case .otherHost:
            return .refused(
                Self.fault(
                    .misdirectedRequest,
                    "this dashboard accepts only local requests: use the host name localhost",
                    at: path))
        case .throttled(let seconds):
            var response = Self.fault(
                .tooManyRequests,
                "too many invalid tokens from your address: try again in \(seconds) s",
                at: path)
            response.headers[.retryAfter] = "\(seconds)"
            return .refused(response)
        case .signIn where path == "/sign-in": return .refused(signInPage(asked))
        case .signIn where request.headers[.authorization] != nil:
            logRefusal(of: asked.address)
            var response = Self.fault(
                .unauthorized, "the read token is not valid, or it has expired", at: path)
            response.headers[.wwwAuthenticate] = "Bearer"
            return .refused(response)
        case .signIn: return .refused(Self.redirect(to: "/sign-in"))
        case .reads(let scope): return .reads(scope)
        }
    }

    func logRefusal(of client: String) {
        logger.warning(
            "the dashboard rejected a token", metadata: ["address": "\(client)"])
    }

    static var nowSeconds: Int64 { WallClock.milliseconds / 1000 }

    private static func bearer(_ header: String?) -> String? {
        guard let header, header.lowercased().hasPrefix("bearer ") else { return nil }
        return String(header.dropFirst(7))
    }

    private static func cookies(_ header: String?) -> [String: String] {
        var cookies: [String: String] = [:]
        for pair in (header ?? "").split(separator: ";") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { continue }
            cookies[parts[0].trimmingCharacters(in: .whitespaces)] = String(parts[1])
        }
        return cookies
    }

    // MARK: Pages

    /// The value that forms must send back; nil for readers who are not signed in.
    func formToken(_ asked: Asked) -> String? {
        let permission = access.permission(cookies: asked.cookies, nowSeconds: Self.nowSeconds)
        if case .none = permission { return nil }
        return asked.cookies[DashboardAccess.cookie].map(DashboardAccess.formToken)
    }

    func pageSource() -> PageSource { PageSource(source, cache, failures: failures()) }

    /// Lowers the priority of the calling thread, which builds pages: readers wait rather than workers.
    private static func giveWayToWorkers() {
        // On Linux 0 means the thread, not the process.
        _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
    }

    private func page(
        _ route: PageRoute?, _ asked: Asked, _ scope: [ReportRequest.Condition],
        _ context: ServedContext
    ) async -> Response {
        let formToken = formToken(asked)
        if let route, route.isStreamed {
            return await stream(route, asked, scope, formToken, context)
        }
        let mark = formToken == nil ? nil : formMark
        let key = PageCache.Key(
            path: asked.path, query: asked.queryText,
            scope: scope.map { "\($0.column)=\($0.value)" } + [mark ?? ""])
        guard let made = await page(route, key, asked.query, scope, formMark: mark) else {
            return Self.fault(.serviceUnavailable, "the dashboard is stopping", at: asked.path)
        }
        var body = made.body
        if let mark, let formToken { body.replace(Array(mark.utf8), with: Array(formToken.utf8)) }
        return Self.response(.init(code: made.status), made.contentType, body)
    }

    /// A page that readers share; nil when the server is stopping.
    private func page(
        _ route: PageRoute?, _ key: PageCache.Key, _ query: QueryParameters,
        _ scope: [ReportRequest.Condition], formMark: String?
    ) async -> PageCache.Page? {
        let failures = failures()
        var key = key
        key.state =
            ["\(actions.withLock { $0 })"] + failures.map { "\($0.name) \($0.fault)" }
        return await shared.page(key) { [source, cache, path = key.path] finish in
            pages.submit { state in
                guard case .active = state else { return finish(nil) }
                Self.giveWayToWorkers()
                finish(
                    PageBuilder(
                        source: PageSource(source, cache, failures: failures), route: route,
                        path: path, parameters: query, scope: scope
                    )
                    .response(formToken: formMark))
                self.writeSums()
            }
        }
    }

    // MARK: Sums for the next start

    /// The file in the first data directory; nil if it cannot be used.
    private static func sumsFile(of source: Installation, _ logger: Logger) -> SumsFile? {
        guard let directory = source.directories.first else { return nil }
        let path = "\(directory)/dashboard.sums"
        var program = stat()
        guard stat("/proc/self/exe", &program) == 0 else { return nil }
        do {
            return try SumsFile(
                path: path,
                program: "\(WeirVersion.current) \(program.st_size) \(program.st_mtim.tv_sec)")
        } catch {
            logger.notice(
                "the dashboard keeps no sums for its next start, so its first pages take longer then",
                metadata: ["file": "\(path)", "reason": "\(error)"])
            return nil
        }
    }

    /// Writes the sums of the last minute.
    private func writeSums(isAwaited: Bool = false) {
        let isDue = nextWrite.withLock { next in
            guard isAwaited || next <= .now else { return false }
            next = .now + .seconds(Self.secondsBetweenWrites)
            return true
        }
        guard isDue else { return }
        do { _ = try sums?.write() } catch {
            logger.warning(
                "the dashboard cannot keep sums for its next start",
                metadata: ["reason": "\(error)"])
        }
    }

    /// Returns when the first pages are built: at once if the stores are small.
    func waitForFirstPages() async { await firstPages.withLock { $0 }?.value }

    /// Builds the pages about days once, so that their first readers do not wait for the rows of large stores.
    private func buildFirstPages() async {
        guard let query = QueryParameters("") else { return }
        let start = ContinuousClock.now
        for page in DashboardPage.allCases where page.needsRecords {
            let key = PageCache.Key(path: page.path, query: "", scope: [""])
            guard await self.page(.page(page), key, query, [], formMark: nil) != nil else { return }
        }
        writeSums(isAwaited: true)
        let seconds = start.duration(to: .now).components.seconds
        logger.notice("the dashboard has read the stores", metadata: ["seconds": "\(seconds)"])
    }

    /// Streams an answer while it is written. The body is chunked. If writing fails, the last chunk is missing and the
    /// connection is closed.
    private func stream(
        _ route: PageRoute, _ asked: Asked, _ scope: [ReportRequest.Condition],
        _ formToken: String?,
        _ context: ServedContext
    ) async -> Response {
        let pipe = AnswerPipe(cut: context.close)
        let reader = pipe.reader
        let threads = route.isExplanation ? explanations : files
        let isBegun = threads.begin { [self] in
            Self.giveWayToWorkers()
            let making = PageBuilder(
                source: PageSource(source, cache, failures: failures()), route: route,
                path: asked.path,
                parameters: asked.query, scope: scope)
            making.stream(formToken: formToken, isWanted: { pipe.isWanted }, pipe.send)
            pipe.finish()
        }
        guard isBegun else {
            var response = await busy(route, asked, scope, formToken)
            response.headers[.retryAfter] = "5"
            return response
        }
        guard let head = await reader.head() else {
            return Self.fault(.serviceUnavailable, "the dashboard is stopping", at: asked.path)
        }
        var response = Self.response(.init(code: head.status), head.contentType, [])
        if let name = head.fileName {
            response.headers[.contentDisposition] = "attachment; filename=\"\(name)\""
        }
        response.headers[.contentLength] = nil
        response.body = ResponseBody { writer in
            try await reader.forEach { try await writer.write(ByteBuffer(bytes: $0)) }
            try await writer.finish(nil)
        }
        return response
    }

    /// Says that no explanation can begin now: on a page to a reader of pages, in its format to a reader of a file.
    private func busy(
        _ route: PageRoute, _ asked: Asked, _ scope: [ReportRequest.Condition],
        _ formToken: String?
    ) async -> Response {
        guard case .ofDump(.explain, _, nil) = route,
            let made = try? await pages.runIfActive({ [self] in
                PageBuilder(
                    source: pageSource(), route: route, path: asked.path,
                    parameters: asked.query, scope: scope
                ).failure(DashboardError.busy, formToken)
            })
        else {
            return Self.fault(.serviceUnavailable, "\(DashboardError.busy)", at: asked.path)
        }
        return Self.response(.init(code: made.status), made.contentType, made.body)
    }

    // MARK: Answers

    private static let security: [(String, String)] = [
        (
            "content-security-policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        ),
        ("x-content-type-options", "nosniff"), ("referrer-policy", "same-origin"),
        ("cache-control", "no-store"), ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ]

    static func response(
        _ status: HTTPResponse.Status, _ type: String, _ body: [UInt8]
    ) -> Response {
        var headers: HTTPFields = [.contentType: type, .contentLength: "\(body.count)"]
        for (name, value) in security {
            if let name = HTTPField.Name(name) { headers[name] = value }
        }
        return Response(
            status: status, headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
    }

    static func plain(_ status: HTTPResponse.Status, _ text: String) -> Response {
        response(status, "text/plain; charset=utf-8", Array("\(text)\n".utf8))
    }

    /// An error in the requested format: JSON for a JSON file, otherwise plain text.
    static func fault(
        _ status: HTTPResponse.Status, _ text: String, at target: String
    ) -> Response {
        guard let format = DumpFormat(path: String(target.prefix { $0 != "?" })) else {
            return plain(status, text)
        }
        return response(status, format.errorContentType, format.error(text))
    }

    static func redirect(
        to path: String, setting cookie: (name: String, value: String)? = nil,
        _ isSecure: Bool = false
    ) -> Response {
        var response = response(.seeOther, "text/plain; charset=utf-8", [])
        response.headers[.location] = path
        if let cookie {
            response.headers[.setCookie] = Self.cookie(cookie.name, cookie.value, isSecure)
        }
        return response
    }
}
