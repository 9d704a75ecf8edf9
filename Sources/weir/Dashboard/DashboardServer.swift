import Collector
import ConfigurationFiles
import EventLog
import Foundation
import HTTPTypes
import HummingbirdCore
import Logging
import Monitoring
import NIOCore
import NIOPosix
import Program
import Reports
import Store
import Streams
import Synchronization

/// Serves the pages over HTTP/1.1. Nothing is changed by any of them.
final class DashboardServer: Sendable {
    private let source: SourceOptions
    /// The parts of this process that do not work now.
    private let failures: @Sendable () -> [PartFailure]
    private let access: DashboardAccess
    /// Pages are made on these threads, so that none holds up the connections.
    private let pages: NIOThreadPool
    private let shared = SharedPages()
    private let keptDays = KeptDays()
    /// Stands in shared pages where the form of each reader has its token.
    private let formMark = SecretText.random()
    /// Explanations read the log and use all cores: a few at a time.
    private let explanations: NIOThreadPool
    private let explaining = Mutex(0)
    private let listener = Mutex<HTTPListener?>(nil)
    private let logger: Logger

    private static let maxConnections = 512
    private static let idleSeconds: Int64 = 60
    private static let mostExplanations = 4
    private static let mostFormBytes = 16 << 10

    /// Listens when it returns.
    init(
        at address: ListenAddress, source: SourceOptions, access: DashboardAccess, logger: Logger,
        failures: @escaping @Sendable () -> [PartFailure] = { [] }
    ) throws(CommandError) {
        self.source = source
        self.failures = failures
        self.access = access
        self.logger = logger
        pages = NIOThreadPool(numberOfThreads: max(2, ProcessInfo.processInfo.activeProcessorCount))
        explanations = NIOThreadPool(numberOfThreads: Self.mostExplanations)
        pages.start()
        explanations.start()
        let channel = HTTP1Channel(
            responder: { [weak self] request, writer, channel in
                guard let self else { return }
                try await self.respond(to: request, writer, channel)
            },
            configuration: .init(idleTimeout: .seconds(Self.idleSeconds)))
        do throws(HTTPListeningError) {
            let listening = try HTTPListener(
                at: address, threads: 1, maxConnections: Self.maxConnections, channel: channel,
                logger: logger)
            listener.withLock { $0 = listening }
        } catch {
            throw .failure(
                "dashboard: cannot listen on \(address): \(error.detail): give another --dashboard or --listen HOST:PORT, port 0 for any free one"
            )
        }
    }

    var address: ListenAddress? { listener.withLock { $0?.address } }

    /// Returns after all connections were closed.
    func stop() {
        listener.withLock { $0.take() }?.stop()
        try? pages.syncShutdownGracefully()
        try? explanations.syncShutdownGracefully()
    }

    // MARK: Requests

    private struct Asked {
        let path: String
        let query: QueryParameters
        /// As it was asked.
        let queryText: String
        let cookies: [String: String]
        let isSecure: Bool
        let address: String
    }

    private func respond(
        to request: Request, _ writer: consuming ResponseWriter, _ channel: any Channel
    ) async throws {
        var response = try await response(to: request, channel)
        response.headers[.date] = HTTPDate.now
        try await writer.write(
            response: response.head,
            body: request.method == .head ? ResponseBody() : response.body)
    }

    private func response(to request: Request, _ channel: any Channel) async throws -> Response {
        let target = request.head.path ?? "/"
        let path = String(target.prefix { $0 != "?" })
        let query = target.utf8.count > path.utf8.count ? target.dropFirst(path.count + 1) : ""
        guard let parameters = QueryParameters(query) else {
            return Self.plain(.badRequest, "the query is not percent-encoded UTF-8")
        }
        let asked = Asked(
            path: path, query: parameters, queryText: String(query),
            cookies: Self.cookies(request.headers[.cookie]),
            isSecure: HTTPField.Name("x-forwarded-proto").flatMap { request.headers[$0] }
                == "https",
            address: channel.remoteAddress?.ipAddress ?? "")
        if path == "/dashboard.css" {
            return Self.response(.ok, "text/css; charset=utf-8", Array(Stylesheet.text.utf8))
        }
        if request.method == .post { return try await answerForm(asked, request) }
        guard request.method == .get || request.method == .head else {
            return Self.plain(.methodNotAllowed, "ask with GET")
        }
        let decision = access.decision(
            host: request.head.authority ?? "", cookies: asked.cookies,
            bearer: Self.bearer(request.headers[.authorization]), nowSeconds: Self.nowSeconds)
        switch decision {
        case .otherHost:
            return Self.plain(
                .misdirectedRequest,
                "this dashboard is open to this machine only: ask for it as localhost")
        case .signIn where path == "/sign-in": return signInPage(asked, fault: nil)
        case .signIn where request.headers[.authorization] != nil:
            return Self.plain(.unauthorized, "this is no read token, or it has expired")
        case .signIn: return Self.redirect(to: "/sign-in")
        case .reads(let scope): return await page(asked, scope)
        }
    }

    private static var nowSeconds: Int64 { WallClock.milliseconds / 1000 }

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

    // MARK: Signing in and out

    private func answerForm(_ asked: Asked, _ request: Request) async throws -> Response {
        let body = try await request.body.collect(upTo: Self.mostFormBytes)
        guard let form = QueryParameters(String(buffer: body)) else {
            return Self.plain(.badRequest, "the form is not percent-encoded UTF-8")
        }
        switch asked.path {
        case "/sign-in":
            guard let id = asked.cookies[DashboardAccess.formCookie],
                form["form"] == DashboardAccess.formToken(id)
            else { return signInPage(asked, fault: "The form was too old: try again.") }
            let now = Self.nowSeconds
            guard !access.isThrottled(asked.address, now) else {
                return signInPage(asked, fault: "Too many tokens were refused: wait a minute.")
            }
            let token = (form["token"] ?? "").trimmingCharacters(in: .whitespacesAndNewlines)
            guard let session = access.signIn(token, address: asked.address, nowSeconds: now) else {
                logger.warning(
                    "a token for the dashboard was refused",
                    metadata: ["address": "\(asked.address)"])
                return signInPage(
                    asked,
                    fault:
                        "This is no read token, or it has expired: weir token make --read makes one."
                )
            }
            return Self.redirect(
                to: "/", setting: (DashboardAccess.cookie, session), asked.isSecure)
        case "/sign-out":
            if let id = asked.cookies[DashboardAccess.cookie],
                form["form"] == DashboardAccess.formToken(id)
            {
                access.signOut(id)
            }
            return Self.redirect(
                to: "/sign-in", setting: (DashboardAccess.cookie, ""), asked.isSecure)
        default: return Self.plain(.methodNotAllowed, "ask with GET")
        }
    }

    private func signInPage(_ asked: Asked, fault: String?) -> Response {
        let id = SecretText.random()
        var html = HTML()
        html.beginDocument()
        html.element("head") { html in
            html.element("meta", ["charset": "utf-8"])
            html.element(
                "meta", ["name": "viewport", "content": "width=device-width, initial-scale=1"])
            html.element("title", text: "Sign in · Weir")
            html.element("link", ["rel": "stylesheet", "href": "/dashboard.css"])
        }
        html.element("body") { html in
            html.element("main", ["class": "sign-in"]) { html in
                html.element("h1", text: "Weir")
                if let fault {
                    html.element("p", ["class": "warning", "role": "alert"], text: fault)
                }
                html.element("form", ["action": "/sign-in", "method": "post"]) { html in
                    html.element(
                        "input",
                        [
                            "type": "hidden", "name": "form",
                            "value": DashboardAccess.formToken(id),
                        ])
                    html.element("label") { html in
                        html.text("Read token ")
                        html.element(
                            "input",
                            [
                                "type": "password", "name": "token", "required": "",
                                "autocomplete": "current-password",
                            ])
                    }
                    html.element("button", ["type": "submit"], text: "Sign in")
                }
            }
        }
        var response = Self.response(
            fault == nil ? .ok : .forbidden, "text/html; charset=utf-8", html.bytes)
        response.headers[.setCookie] = Self.cookie(DashboardAccess.formCookie, id, asked.isSecure)
        return response
    }

    private static func cookie(_ name: String, _ value: String, _ isSecure: Bool) -> String {
        "\(name)=\(value); Path=/; HttpOnly; SameSite=Strict\(isSecure ? "; Secure" : "")\(value.isEmpty ? "; Max-Age=0" : "")"
    }

    // MARK: Pages

    /// Lowers the priority of the calling thread, which makes pages: readers wait rather than workers.
    private static func giveWayToWorkers() {
        // On Linux 0 is the thread, not the process.
        _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
    }

    private func page(_ asked: Asked, _ scope: [DumpQuery.Condition]) async -> Response {
        let session = access.isOpen ? nil : asked.cookies[DashboardAccess.cookie]
        let formToken = session.map(DashboardAccess.formToken)
        if asked.path.hasPrefix("/explain/") || asked.path.hasPrefix("/evidence/") {
            return await explanation(asked, scope, formToken)
        }
        let mark = formToken == nil ? nil : formMark
        let failures = failures()
        let key = SharedPages.Key(
            path: asked.path, query: asked.queryText,
            scope: scope.map { "\($0.column)=\($0.value)" } + [mark ?? ""]
                + failures.map { "\($0.name) \($0.fault)" })
        let made = await shared.page(key) { [source, keptDays] finish in
            pages.submit { state in
                guard case .active = state else { return finish(nil) }
                Self.giveWayToWorkers()
                finish(
                    PageMaking(
                        source: PageSource(source, keptDays, failures: failures), path: asked.path,
                        parameters: asked.query,
                        scope: scope
                    )
                    .response(formToken: mark))
            }
        }
        guard let made else { return Self.plain(.serviceUnavailable, "the dashboard is stopping") }
        var body = made.body
        if let mark, let formToken { body.replace(Array(mark.utf8), with: Array(formToken.utf8)) }
        return Self.response(.init(code: made.status), made.contentType, body)
    }

    private func explanation(
        _ asked: Asked, _ scope: [DumpQuery.Condition], _ formToken: String?
    ) async -> Response {
        let isFree = explaining.withLock { count in
            guard count < Self.mostExplanations else { return false }
            count += 1
            return true
        }
        guard isFree else {
            return Self.plain(.serviceUnavailable, "\(DashboardError.busy)")
        }
        let wanted = SharedFlag()
        let (pieces, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        continuation.onTermination = { _ in wanted.lower() }
        explanations.submit { [self] _ in
            Self.giveWayToWorkers()
            let making = PageMaking(
                source: PageSource(source, keptDays, failures: failures()), path: asked.path,
                parameters: asked.query, scope: scope)
            making.stream(formToken: formToken, isWanted: { wanted.isRaised }) { piece in
                continuation.yield(piece)
            }
            continuation.finish()
            explaining.withLock { $0 -= 1 }
        }
        // The first piece says whether there is an answer, and of what kind.
        var iterator = pieces.makeAsyncIterator()
        guard let first = await iterator.next() else {
            return Self.plain(.serviceUnavailable, "the dashboard is stopping")
        }
        let kind = PageMaking.kind(ofFirst: first)
        nonisolated(unsafe) var rest = iterator
        var response = Self.response(.init(code: kind.status), kind.contentType, [])
        if let name = kind.fileName {
            response.headers[.contentDisposition] = "attachment; filename=\"\(name)\""
        }
        response.headers[.contentLength] = nil
        response.body = ResponseBody { writer in
            // Whoever leaves ends the work: the stream is dropped with this closure.
            do {
                try await writer.write(ByteBuffer(bytes: kind.rest))
                while let piece = await rest.next() {
                    try await writer.write(ByteBuffer(bytes: piece))
                }
                try await writer.finish(nil)
            } catch {
                wanted.lower()
                throw error
            }
        }
        return response
    }

    // MARK: Answers

    private static let security: [(String, String)] = [
        (
            "content-security-policy",
            "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        ),
        ("x-content-type-options", "nosniff"), ("referrer-policy", "same-origin"),
        ("cache-control", "no-store"), ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ]

    private static func response(
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

    private static func plain(_ status: HTTPResponse.Status, _ text: String) -> Response {
        response(status, "text/plain; charset=utf-8", Array("\(text)\n".utf8))
    }

    private static func redirect(
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

/// A flag that is raised at first, and lowered from any thread.
private final class SharedFlag: Sendable {
    private let flag = Atomic<Bool>(true)

    var isRaised: Bool { flag.load(ordering: .relaxed) }

    func lower() { flag.store(false, ordering: .relaxed) }
}
