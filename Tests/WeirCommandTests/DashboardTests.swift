import Collector
import ConfigurationFiles
import Foundation
import History
import Reports
import Synchronization
import TestKit
import Testing

@testable import weir

/// The stores and the log of the demo, made once for all tests of pages.
private enum DemoStores {
    static let shared = Result { () -> (files: TemporaryDirectory, data: String) in
        let files = try TemporaryDirectory()
        let data = "\(files.path)/data"
        let demo = try Program.run(
            "weir",
            [
                "demo", "--data", data, "--pipelines", Repository.path("pipelines"), "--topics",
                Repository.path("topics"),
            ])
        guard demo.status == 0 else { throw TestFault("weir demo: \(demo.error)") }
        return (files, data)
    }

    static func source() throws -> SourceOptions {
        try SourceOptions.parse([
            "--data", try shared.get().data, "--pipelines", Repository.path("pipelines"),
        ])
    }
}

private let chromium = "/usr/bin/chromium"

/// A page as text, and what is in it.
struct ReadPage {
    let status: Int
    let text: String

    /// Where links lead that are within the dashboard, with what they show.
    var links: [(address: String, text: String)] {
        text.matches(of: #/<a [^>]*href="(\/[^"]*)"[^>]*>([^<]*)</#).map {
            (String($0.1).replacing("&amp;", with: "&"), String($0.2))
        }
    }
}

/// Asks for pages as the server does, without a server.
struct PageAsker {
    var source: SourceOptions
    var scope: [DumpQuery.Condition] = []

    private func making(_ address: String) throws -> PageMaking {
        let parts = address.split(separator: "?", maxSplits: 1).map(String.init)
        let parameters = try #require(QueryParameters(parts.count > 1 ? parts[1] : ""))
        return PageMaking(
            source: PageSource(source), path: parts[0], parameters: parameters, scope: scope)
    }

    func page(_ address: String) throws -> ReadPage {
        guard address.hasPrefix("/explain/") || address.hasPrefix("/evidence/") else {
            let made = try making(address).response(formToken: nil)
            return ReadPage(status: made.status, text: String(decoding: made.body, as: UTF8.self))
        }
        var pieces: [[UInt8]] = []
        try making(address).stream(formToken: nil, isWanted: { true }) { pieces.append($0) }
        let first = PageMaking.kind(ofFirst: try #require(pieces.first))
        let bytes = first.rest + pieces.dropFirst().flatMap { $0 }
        return ReadPage(status: first.status, text: String(decoding: bytes, as: UTF8.self))
    }
}

@Suite("The dashboard", .timeLimit(.minutes(10)))
struct DashboardTests {
    private let asker: PageAsker

    init() throws { asker = PageAsker(source: try DemoStores.source()) }

    private static let pages = DashboardPage.allCases.map(\.path) + ["/dumps"]

    @Test("every link of every page leads to a page")
    func links() throws {
        var known: Set<String> = []
        for path in Self.pages {
            let page = try asker.page(path)
            #expect(page.status == 200, "\(path)")
            for link in page.links where known.insert(link.address).inserted {
                // What takes the log, or several thousand numbers, is looked at by other tests.
                guard !link.address.hasPrefix("/explain/"), !link.address.hasPrefix("/dump/"),
                    link.address != "/dashboard.css"
                else { continue }
                let found = try asker.page(link.address)
                #expect(found.status == 200, "\(path) leads to \(link.address)")
            }
        }
        #expect(known.count > 100)
    }

    @Test("a number leads to records that add up to it")
    func numbers() throws {
        var doors: [(address: String, text: String)] = []
        for path in ["/", "/campaigns", "/publisher", "/subscriptions", "/postbacks", "/cohorts"] {
            doors += try asker.page(path).links.filter { link in
                // Whole numbers, which the explanation shows as they are.
                link.address.hasPrefix("/explain/") && !link.text.contains(/[^0-9,]/)
            }
        }
        #expect(doors.count > 100)
        for place in stride(from: 0, to: doors.count, by: doors.count / 25) {
            let door = doors[place]
            let page = try asker.page(door.address)
            let measure = try #require(door.address.firstMatch(of: #/measure=([a-z_%0-9]+)/#)).1
            let shown = page.text.matches(of: #/<span class="amount">([^<]*)<\/span>/#).map {
                String($0.1)
            }
            #expect(page.text.contains("adds up: "), "\(door.address)")
            #expect(!page.text.contains("does not add up"), "\(door.address)")
            #expect(shown == [door.text], "\(measure) of \(door.address)")
        }
    }

    @Test("an amount of money leads to the records that it is made of, by its currency")
    func money() throws {
        let campaign = "campaign=5239&app_id=525463029&ad_network_id=com.example"
        for (measure, sums) in [
            ("cost_micros", ["USD 108.28 CPM"]), ("revenue_max_micros", ["USD 1,000.00"]),
            ("cpi", ["USD 108.28 CPM", "1"]),
        ] {
            let page = try asker.page("/explain/funnel?\(campaign)&measure=\(measure)")
            let shown = page.text.matches(of: #/<span class="amount">([^<]*)<\/span>/#)
                .map { String($0.1) }
            #expect(shown == sums, "\(measure)")
            #expect(page.text.contains("adds up: ") && !page.text.contains("0 records"))
        }
    }

    @Test("a question that is misspelt or asked twice is refused, not answered in part")
    func misspelt() throws {
        for question in ["campain=5239", "campaign=5239&campaign=5240"] {
            #expect(try asker.page("/dump/bids.csv?\(question)").status == 400, "\(question)")
        }
        #expect(try asker.page("/dump/bids?by=total").status == 200)
    }

    @Test(
        "a table as a file has the rows of the command that it names",
        arguments: ["/campaigns", "/postbacks"])
    func files(_ path: String) throws {
        let page = try asker.page(path)
        let tables = page.text.matches(
            of: #/href="(\/dump\/[^"]*\.csv[^"]*)".*?<pre>(weir dump [^<]*)<\/pre>/#)
        #expect(tables.count > 2)
        for table in tables {
            let address = String(table.1).replacing("&amp;", with: "&")
            let command = String(table.2).replacing("&#39;", with: "'").replacing(
                "&amp;", with: "&")
            let shell = Process()
            let output = Pipe()
            shell.executableURL = URL(fileURLWithPath: "/bin/sh")
            shell.arguments = [
                "-c",
                "exec \(try Program.directory())/\(command) --format csv --data \(try DemoStores.shared.get().data) --pipelines \(Repository.path("pipelines"))",
            ]
            shell.standardOutput = output
            try Spawning.apart { try shell.run() }
            let printed = output.fileHandleForReading.readDataToEndOfFile()
            shell.waitUntilExit()
            #expect(shell.terminationStatus == 0, "\(command)")
            let file = try asker.page(address)
            #expect(file.text == String(decoding: printed, as: UTF8.self), "\(command)")
        }
    }

    @Test("evidence that is taken from a page is verified by the command")
    func evidence() throws {
        let files = try TemporaryDirectory()
        let parts = PageMaking(
            source: PageSource(asker.source), path: "/evidence/funnel",
            parameters: try #require(QueryParameters("campaign=5239")), scope: [])
        var bytes: [UInt8] = []
        parts.stream(formToken: nil, isWanted: { true }) { bytes += $0 }
        #expect(PageMaking.kind(ofFirst: bytes).fileName == "evidence.tar")
        let path = "\(files.path)/evidence.tar"
        try Data(bytes.dropFirst()).write(to: URL(fileURLWithPath: path))
        #expect(try Program.run("weir", ["evidence", "verify", path]).status == 0)
    }

    @Test("an explanation that nobody waits for any more ends without a word")
    func left() throws {
        var pieces = 0
        let parts = PageMaking(
            source: PageSource(asker.source), path: "/explain/bids",
            parameters: try #require(QueryParameters("measure=bids")), scope: [])
        parts.stream(formToken: nil, isWanted: { false }) { _ in pieces += 1 }
        #expect(pieces == 0)
    }

    @Test("what cannot be asked says so, with the status of its kind")
    func faults() throws {
        #expect(try asker.page("/nowhere").status == 404)
        #expect(try asker.page("/record?topic=bids&partition=0&offset=99999999").status == 404)
        let unknown = try asker.page("/dump/none")
        #expect(unknown.status == 400)
        #expect(unknown.text.contains("no dump &#39;none&#39;"))
        #expect(try asker.page("/dump/bids?by=colour").status == 400)
        #expect(try asker.page("/dump/bids?since=soon").status == 400)
        #expect(try asker.page("/explain/funnel?measure=nonsense").text.contains("no measure"))
    }

    @Test("stores that are not there are no error: pages say what to send")
    func empty() throws {
        let files = try TemporaryDirectory()
        let nothing = PageAsker(
            source: try SourceOptions.parse([
                "--data", files.path, "--pipelines", Repository.path("pipelines"),
            ]))
        for path in [
            "/", "/campaigns", "/cohorts", "/publisher", "/subscriptions", "/postbacks",
            "/partners",
        ] {
            let page = try nothing.page(path)
            #expect(page.status == 200, "\(path)")
            #expect(page.text.contains("class=\"empty\""), "\(path)")
        }
        #expect(try nothing.page("/publisher").text.contains("weir publish --topic"))
    }

    @Test("texts of records and of the address stay texts")
    func escaping() throws {
        let hostile = "%3Cscript%3Ealert(1)%3C%2Fscript%3E%22%27"
        for path in [
            "/campaign?campaign=\(hostile)", "/dump/bids?by=seat&seat=\(hostile)",
            "/explain/bids?seat=\(hostile)&measure=bids", "/\(hostile)",
        ] {
            let page = try asker.page(path)
            #expect(!page.text.contains("<script"), "\(path)")
        }
        var html = HTML()
        html.element("p", ["title": "\" onclick=\"x"], text: "<b>\u{202E}&")
        let text = String(decoding: html.bytes, as: UTF8.self)
        #expect(text == #"<p title="&quot; onclick=&quot;x">&lt;b&gt;\u{202E}&amp;</p>"#)
    }
}

@Suite("Who reads the dashboard", .timeLimit(.minutes(10)))
struct DashboardAccessTests {
    /// A reader of one campaign of an app.
    private func reader() throws -> PageAsker {
        PageAsker(
            source: try DemoStores.source(),
            scope: [DumpQuery.Condition(column: "campaign", value: "5240")])
    }

    @Test("whoever may see one campaign sees nothing of another, by no address")
    func scope() throws {
        let asker = try reader()
        var known: Set<String> = []
        var waiting = DashboardPage.allCases.map(\.path) + ["/dumps"]
        waiting += DumpDescription.all.map { "/dump/\($0.name)?by=\($0.columns[0].name)" }
        waiting += [
            "/dump/funnel?by=campaign", "/dump/funnel?campaign=5239", "/explain/bids?measure=bids",
        ]
        waiting += [
            "/dump/bids?by=campaign&campaign=5239", "/dump/bids.csv?by=campaign",
            "/record?topic=bids&partition=0&offset=0",
        ]
        waiting += [
            "/changes/funnel?from=2026-11-01", "/evidence/funnel", "/delivery?id=1",
            "/explain/funnel?measure=app_refunds",
        ]
        while let address = waiting.popLast(), known.count < 400 {
            guard known.insert(address).inserted, address != "/dashboard.css" else { continue }
            let page = try asker.page(address)
            for other in ["5239", "3342", "Rides, launch", "mj797d8u6f", "example123"] {
                // What was asked for may be named again in a refusal.
                guard !address.contains(other) else { continue }
                #expect(!page.text.contains(other), "\(address) shows \(other)")
            }
            guard page.status == 200 else { continue }
            waiting += page.links.map(\.address).filter {
                !$0.hasPrefix("/explain/") || known.count < 60
            }
        }
        for path in [
            "/warnings", "/partners", "/operation", "/live",
            "/record?topic=bids&partition=0&offset=0",
            "/evidence/funnel",
        ] {
            #expect(try asker.page(path).status == 403, "\(path)")
        }
        let own = try asker.page("/dump/bids.csv?by=campaign&measures=bids")
        #expect(
            own.text.split(whereSeparator: \.isNewline).map(String.init) == [
                "campaign,bids", "5240,96",
            ])
        #expect(try asker.page("/dump/bids?campaign=5239").status == 403)
        #expect(try asker.page("/dump/store-notifications?by=product_id").status == 403)
    }

    private static func keys() throws -> (files: TemporaryDirectory, keys: TokenKeys) {
        let files = try TemporaryDirectory()
        try files.write(String(repeating: "k", count: 43) + "\n", to: "k1")
        try files.write("token_keys: [{id: k1, file: k1}]\n", to: "collector.yaml")
        return (files, TokenKeys(try PipelineDirectory(files.path).collector().tokenKeys))
    }

    @Test("a token signs in for what it fixes and until it ends, and its cookie is no token")
    func sessions() throws {
        let (files, keys) = try Self.keys()
        defer { withExtendedLifetime(files) {} }
        let access = DashboardAccess(keys: keys)
        let token = try #require(
            try keys.sign(
                ReadToken(
                    conditions: [ReadToken.Condition(column: "campaign", value: "5240")],
                    expiresAtSeconds: 2000)))
        #expect(access.signIn("nonsense", address: "1", nowSeconds: 1000) == nil)
        #expect(access.signIn(token, address: "1", nowSeconds: 2000) == nil)
        let id = try #require(access.signIn(token, address: "1", nowSeconds: 1000))
        #expect(!token.contains(id))
        func decision(_ id: String, _ now: Int64) -> String {
            let cookies = [DashboardAccess.cookie: id]
            return "\(access.decision(host: "h", cookies: cookies, bearer: nil, nowSeconds: now))"
        }
        #expect(decision(id, 1999).contains("5240"))
        #expect(decision(id, 2000) == "signIn")
        #expect(decision(token, 1000) == "signIn")
        access.signOut(id)
        #expect(decision(id, 1000) == "signIn")
        let bearer = access.decision(host: "h", cookies: [:], bearer: token, nowSeconds: 1000)
        #expect("\(bearer)".contains("5240"))
        // A token of an event reads nothing.
        let event = try keys.sign(
            EventToken(
                use: .impression, type: "skadn.impression", event: "{}", openMembers: [],
                target: "", expiresAtSeconds: 2000))
        #expect(access.signIn(try #require(event), address: "1", nowSeconds: 1000) == nil)
    }

    @Test("after ten refused tokens an address waits for a minute, and others do not")
    func throttling() throws {
        let (files, keys) = try Self.keys()
        defer { withExtendedLifetime(files) {} }
        let access = DashboardAccess(keys: keys)
        let token = try #require(
            try keys.sign(ReadToken(conditions: [], expiresAtSeconds: 9000)))
        for second in 0..<10 {
            #expect(access.signIn("x", address: "1", nowSeconds: 1000 + Int64(second)) == nil)
        }
        #expect(access.signIn(token, address: "1", nowSeconds: 1010) == nil)
        #expect(access.signIn(token, address: "2", nowSeconds: 1010) != nil)
        #expect(access.signIn(token, address: "1", nowSeconds: 1075) != nil)
    }

    @Test("open to this machine only, it answers no request that names another host")
    func hosts() {
        let access = DashboardAccess(keys: nil)
        func reads(_ host: String) -> Bool {
            if case .reads = access.decision(host: host, cookies: [:], bearer: nil, nowSeconds: 0) {
                return true
            }
            return false
        }
        for host in ["localhost:8090", "127.0.0.1:8090", "127.0.0.1", "[::1]:8090", "localhost"] {
            #expect(reads(host), "\(host)")
        }
        for host in ["evil.example", "127.0.0.1.evil.example:8090", "10.0.0.1:8090", ""] {
            #expect(!reads(host), "\(host)")
        }
    }
}

@Suite("The dashboard over HTTP", .timeLimit(.minutes(10)))
struct DashboardServerTests {
    private func start(_ arguments: [String]) throws -> (program: Program, port: UInt16) {
        let program = try Program("weir", ["dashboard"] + arguments)
        return (program, try program.port(after: "dashboard: http://\(arguments[1].dropLast())"))
    }

    private func ask(_ port: UInt16, _ head: String, body: String = "") throws -> Answer {
        let connection = try RawConnection(port: port)
        let length = body.isEmpty ? "" : "Content-Length: \(body.utf8.count)\r\n"
        connection.send("\(head)\r\n\(length)Connection: close\r\n\r\n\(body)")
        return try #require(connection.answer())
    }

    @Test("on this machine it is open, and no page may run a script or ask another host")
    func open() throws {
        let (program, port) = try start([
            "--listen", "127.0.0.1:0", "--data", try DemoStores.shared.get().data, "--pipelines",
            Repository.path("pipelines"),
        ])
        let page = try ask(port, "GET / HTTP/1.1\r\nHost: localhost:\(port)")
        #expect(page.status == 200)
        let policy = try #require(page.headers["content-security-policy"])
        #expect(policy.hasPrefix("default-src 'none'; style-src 'self'"))
        #expect(!policy.contains("unsafe") && !policy.contains("http"))
        #expect(!page.text.contains("style=\"") && !page.text.contains("<script"))
        #expect(page.headers["x-content-type-options"] == "nosniff")
        #expect(page.headers["cache-control"] == "no-store")
        let other = try ask(port, "GET / HTTP/1.1\r\nHost: evil.example")
        #expect(other.status == 421)
        #expect(!other.text.contains("Spend"))
        #expect(try ask(port, "DELETE / HTTP/1.1\r\nHost: localhost").status == 405)
        let style = try ask(port, "GET /dashboard.css HTTP/1.1\r\nHost: localhost")
        #expect(style.headers["content-type"] == "text/css; charset=utf-8")
        let file = try ask(port, "GET /dump/bids.csv?by=campaign HTTP/1.1\r\nHost: localhost")
        #expect(file.headers["content-type"] == "text/csv; charset=utf-8")
        #expect(try program.stop() == 0)
    }

    @Test(
        "a browser shows every page without an error, and nothing in it is from elsewhere",
        .enabled(if: FileManager.default.isExecutableFile(atPath: chromium)))
    func browser() throws {
        let (program, port) = try start([
            "--listen", "127.0.0.1:0", "--data", try DemoStores.shared.get().data, "--pipelines",
            Repository.path("pipelines"),
        ])
        let files = try TemporaryDirectory()
        let explanation = "/explain/postbacks?measure=postbacks"
        for path in DashboardPage.allCases.map(\.path) + [explanation] {
            let process = Process()
            let (output, error) = (Pipe(), try files.write("", to: "error"))
            process.executableURL = URL(fileURLWithPath: chromium)
            process.arguments = [
                "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
                "--disable-component-update", "--no-first-run",
                "--user-data-dir=\(files.path)/browser",
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                "--enable-logging=stderr", "--dump-dom", "http://127.0.0.1:\(port)\(path)",
            ]
            process.standardOutput = output
            process.standardError = try FileHandle(forWritingTo: URL(fileURLWithPath: error))
            try Spawning.apart { try process.run() }
            let shown = String(
                decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            let said = try String(contentsOfFile: error, encoding: .utf8)
            #expect(shown.contains("<h1>"), "\(path): \(said.suffix(500))")
            #expect(shown.contains("</footer>"), "\(path)")
            #expect(!said.contains("CONSOLE"), "\(path): \(said)")
            #expect(!shown.contains(#/(src|href|action)="(https?:)?\/\//#), "\(path)")
        }
        #expect(try program.stop() == 0)
    }

    @Test("elsewhere a reader signs in with a token of weir token make --read, and out again")
    func signIn() throws {
        let files = try TemporaryDirectory()
        let pipelines = "\(files.path)/pipelines"
        try FileManager.default.copyItem(atPath: Repository.path("pipelines"), toPath: pipelines)
        try files.write(String(repeating: "k", count: 43) + "\n", to: "pipelines/k1")
        try files.write("token_keys: [{id: k1, file: k1}]\n", to: "pipelines/collector.yaml")
        let made = try Program.run(
            "weir",
            ["token", "make", "--read", "--where", "campaign=5240", "--pipelines", pipelines])
        #expect(made.status == 0, "\(made.error)")
        let token = made.output.trimmingCharacters(in: .newlines)
        let (program, port) = try start([
            "--listen", "0.0.0.0:0", "--data", try DemoStores.shared.get().data, "--pipelines",
            pipelines,
        ])
        let closed = try ask(port, "GET /campaigns HTTP/1.1\r\nHost: weir.example")
        #expect(closed.status == 303)
        #expect(closed.headers["location"] == "/sign-in")
        let form = try ask(port, "GET /sign-in HTTP/1.1\r\nHost: weir.example")
        let formCookie = try #require(form.headers["set-cookie"]?.split(separator: ";").first)
        let value = try #require(form.text.firstMatch(of: #/name="form" value="([0-9a-f]+)"/#)?.1)
        func post(
            _ path: String, _ body: String, _ cookie: some StringProtocol, _ more: String = ""
        ) throws -> Answer {
            try ask(
                port,
                "POST \(path) HTTP/1.1\r\nHost: weir.example\r\nCookie: \(cookie)\(more)\r\nContent-Type: application/x-www-form-urlencoded",
                body: body)
        }
        // A page elsewhere has not the value of the form.
        #expect(try post("/sign-in", "token=\(token)&form=0", formCookie).status == 403)
        #expect(try post("/sign-in", "token=x&form=\(value)", formCookie).status == 403)
        let signed = try post(
            "/sign-in", "token=\(token)&form=\(value)", formCookie, "\r\nX-Forwarded-Proto: https")
        #expect(signed.status == 303)
        let cookie = try #require(signed.headers["set-cookie"])
        for attribute in ["HttpOnly", "SameSite=Strict", "Secure", "Path=/"] {
            #expect(cookie.contains(attribute), "\(attribute)")
        }
        let session = try #require(cookie.split(separator: ";").first)
        let page = try ask(
            port, "GET /campaigns HTTP/1.1\r\nHost: weir.example\r\nCookie: \(session)")
        #expect(page.status == 200)
        #expect(page.text.contains("5240") && !page.text.contains("5239"))
        let bearer = try ask(
            port,
            "GET /dump/bids.csv?by=campaign&measures=bids HTTP/1.1\r\nHost: weir.example\r\nAuthorization: Bearer \(token)"
        )
        #expect(bearer.text == "campaign,bids\r\n5240,96\r\n")
        let out = try #require(page.text.firstMatch(of: #/name="form" value="([0-9a-f]+)"/#)?.1)
        #expect(try post("/sign-out", "form=\(out)", session).status == 303)
        #expect(
            try ask(port, "GET / HTTP/1.1\r\nHost: weir.example\r\nCookie: \(session)").status
                == 303)
        #expect(try program.stop() == 0)
    }

    @Test("without a key to sign in by it is not served to other machines")
    func noKeys() throws {
        let refused = try Program.run(
            "weir",
            [
                "dashboard", "--listen", "0.0.0.0:0", "--data", try DemoStores.shared.get().data,
                "--pipelines", Repository.path("pipelines"),
            ])
        #expect(refused.status == 1)
        #expect(refused.error.contains("token_keys"))
        #expect(try Program.run("weir", ["dashboard", "--listen", "here"]).status == 64)
    }
}

@Suite("What the dashboard looks like")
struct StylesheetTests {
    /// The colours of the variables, first those of light paper, then those of dark.
    private func palettes() -> [[String: [Double]]] {
        let blocks = Stylesheet.text.split(
            separator: ":root {", omittingEmptySubsequences: false
        ).dropFirst()
        return blocks.map { block in
            Dictionary(
                block.matches(of: #/--([a-z0-9]+): #([0-9a-f]{6})/#).map { match in
                    let digits = Array(match.2)
                    let parts = stride(from: 0, to: 6, by: 2).map { place in
                        Double(Int(String(digits[place...place + 1]), radix: 16) ?? 0) / 255
                    }
                    return (String(match.1), parts)
                }, uniquingKeysWith: { first, _ in first })
        }
    }

    /// WCAG 2.2, relative luminance.
    private func luminance(_ colour: [Double]) -> Double {
        let linear = colour.map { $0 <= 0.04045 ? $0 / 12.92 : pow(($0 + 0.055) / 1.055, 2.4) }
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    }

    @Test(
        "every text has a contrast of 4.5 at least, and every line one of 3, on light paper and dark"
    )
    func contrast() throws {
        let palettes = palettes()
        #expect(palettes.count == 2)
        for palette in palettes {
            func contrast(_ one: String, _ other: String) throws -> Double {
                let both = [
                    luminance(try #require(palette[one])), luminance(try #require(palette[other])),
                ]
                return ((both.max() ?? 0) + 0.05) / ((both.min() ?? 0) + 0.05)
            }
            for paper in ["paper", "fill"] {
                for text in ["ink", "soft", "door", "bad", "good"] {
                    #expect(try contrast(text, paper) >= 4.5, "\(text) on \(paper)")
                }
            }
            for line in ["s0", "s1", "s2", "s3"] {
                #expect(try contrast(line, "paper") >= 3, "\(line)")
            }
        }
    }

    @Test(
        "every field has a label, every table a header, every chart words, and pages say their language"
    )
    func labels() throws {
        let asker = PageAsker(source: try DemoStores.source())
        for path in DashboardPage.allCases.map(\.path) {
            let text = try asker.page(path).text
            #expect(text.hasPrefix("<!doctype html><html lang=\"en\">"), "\(path)")
            #expect(text.contains("<h1>") && text.contains("<main id=\"content\">"), "\(path)")
            for field in text.matches(of: #/<(input|select)[^>]*>/#)
            where !field.0.contains("hidden") {
                let before = text[..<field.range.lowerBound]
                let opened =
                    before.ranges(of: "<label>").count - before.ranges(of: "</label>").count
                #expect(opened == 1, "\(path): \(field.0)")
            }
            #expect(text.ranges(of: "<table>").count == text.ranges(of: "<thead>").count, "\(path)")
            #expect(
                text.ranges(of: "<svg ").count
                    == text.ranges(of: "role=\"img\" aria-label=\"").count,
                "\(path)")
        }
    }
}
