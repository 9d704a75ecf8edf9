import ConfigurationFiles
import ConfigurationValues
import Foundation
import History
import Reports
import TestKit
import Testing
import Tokens

@testable import Dashboard
@testable import weir

@Suite("Who reads the dashboard", .timeLimit(.minutes(10)))
struct DashboardAccessTests {
    /// A reader of one campaign of an app.
    private func reader() throws -> PageAsker {
        PageAsker(
            source: try ExampleStores.source(),
            scope: [ReportRequest.Condition(column: "campaign", value: "5240")])
    }

    @Test("whoever may see one campaign sees nothing of another, by no address")
    func scope() throws {
        let asker = try reader()
        var seen: Set<String> = []
        var waiting = DashboardPage.allCases.map(\.path)
        waiting += DumpDescription.all.map { "/dump/\($0.name)?by=\($0.columns[0].name)" }
        waiting += [
            "/dump/funnel?by=campaign", "/dump/funnel?campaign=5239", "/explain/bids?measure=bids",
        ]
        waiting += [
            "/dump/bids?by=campaign&campaign=5239", "/dump/bids.csv?by=campaign",
            "/explain/bids.csv?measure=bids", "/dump/click-rates?by=campaign,placement",
            "/record?topic=bids&partition=0&offset=0",
        ]
        waiting += [
            "/changes/funnel?from=2026-11-01", "/evidence/funnel", "/delivery?id=1",
            "/explain/funnel?measure=app_refunds",
        ]
        while let address = waiting.popLast(), seen.count < 400 {
            guard seen.insert(address).inserted, address != "/dashboard.css" else { continue }
            let page = try asker.page(address)
            for other in ["5239", "3342", "Rides, launch", "mj797d8u6f", "example123"] {
                // What was asked for may be named again in a refusal.
                guard !address.contains(other) else { continue }
                #expect(!page.text.contains(other), "\(address) shows \(other)")
            }
            guard page.status == 200 else { continue }
            waiting += page.links.map(\.address).filter {
                !$0.hasPrefix("/explain/") || seen.count < 60
            }
        }
        for path in [
            "/warnings", "/records", "/partners", "/streams", "/live",
            "/record?topic=bids&partition=0&offset=0",
            "/evidence/funnel",
        ] {
            #expect(try asker.page(path).status == 403, "\(path)")
        }
        let records = try asker.page("/explain/bids.json?measure=bids")
        #expect(records.status == 200 && records.text.contains("\"untold\":[]"))
        #expect(try asker.page("/dump/null-estimates").text.contains("null-estimates cannot be"))
        #expect(try asker.page("/changes/bids.csv?from=2026-11-01").status == 403)
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
        let access = DashboardAccess(keys: keys, isOpen: false)
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
            let decision = access.decision(
                host: "h", cookies: cookies, bearer: nil, address: "1", nowSeconds: now)
            return "\(decision)"
        }
        #expect(decision(id, 1999).contains("5240"))
        #expect(decision(id, 2000) == "signIn")
        #expect(decision(token, 1000) == "signIn")
        access.signOut(id)
        #expect(decision(id, 1000) == "signIn")
        let bearer = access.decision(
            host: "h", cookies: [:], bearer: token, address: "1", nowSeconds: 1000)
        #expect("\(bearer)".contains("5240"))
        // A token of an event reads nothing.
        let event = try keys.sign(
            EventToken(
                use: .impression, type: "skadn.impression", event: "{}", openMembers: [],
                target: "", expiresAtSeconds: 2000))
        #expect(access.signIn(try #require(event), address: "1", nowSeconds: 1000) == nil)
    }

    @Test("a token has twenty sessions: one more ends its oldest, and none of another token")
    func manySessions() throws {
        let (files, keys) = try Self.keys()
        defer { withExtendedLifetime(files) {} }
        let access = DashboardAccess(keys: keys, isOpen: false)
        func token(_ campaign: String) throws -> String {
            let condition = ReadToken.Condition(column: "campaign", value: campaign)
            return try #require(
                try keys.sign(ReadToken(conditions: [condition], expiresAtSeconds: 90_000)))
        }
        func reads(_ id: String) -> Bool {
            let cookies = [DashboardAccess.cookie: id]
            let decision = access.decision(
                host: "h", cookies: cookies, bearer: nil, address: "1", nowSeconds: 1000)
            if case .reads = decision { return true }
            return false
        }
        func signIn(_ token: String) throws -> String {
            try #require(access.signIn(token, address: "1", nowSeconds: 1000))
        }
        let (greedy, other) = (try token("1"), try token("2"))
        let first = try signIn(other)
        let own = try (0..<10_050).map { _ in try signIn(greedy) }
        #expect(own.filter(reads) == Array(own.suffix(DashboardAccess.mostSessionsOfToken)))
        #expect(reads(first))
        #expect(reads(try signIn(other)), "others sign in")
    }

    @Test("after ten refused tokens an address waits for a minute, and others do not")
    func throttling() throws {
        let (files, keys) = try Self.keys()
        defer { withExtendedLifetime(files) {} }
        let access = DashboardAccess(keys: keys, isOpen: false)
        let token = try #require(
            try keys.sign(ReadToken(conditions: [], expiresAtSeconds: 9000)))
        for second in 0..<10 {
            #expect(access.signIn("x", address: "1", nowSeconds: 1000 + Int64(second)) == nil)
        }
        #expect(access.signIn(token, address: "1", nowSeconds: 1010) == nil)
        #expect(access.signIn(token, address: "2", nowSeconds: 1010) != nil)
        #expect(access.signIn(token, address: "1", nowSeconds: 1075) != nil)
    }

    @Test("tokens of the header and of the form are counted together, and sessions go on")
    func throttledBearers() throws {
        let (files, keys) = try Self.keys()
        defer { withExtendedLifetime(files) {} }
        let access = DashboardAccess(keys: keys, isOpen: false)
        let token = try #require(
            try keys.sign(ReadToken(conditions: [], expiresAtSeconds: 9000)))
        let session = try #require(access.signIn(token, address: "1", nowSeconds: 1000))
        func decision(
            _ bearer: String?, _ cookies: [String: String] = [:], from address: String = "1",
            at now: Int64
        ) -> String {
            let decision = access.decision(
                host: "h", cookies: cookies, bearer: bearer, address: address, nowSeconds: now)
            return "\(decision)"
        }
        for second in 0..<5 {
            #expect(access.signIn("x", address: "1", nowSeconds: 1000 + Int64(second)) == nil)
        }
        for second in 5..<10 { #expect(decision("x", at: 1000 + Int64(second)) == "signIn") }
        #expect(decision("x", at: 1010) == "throttled(seconds: 50)")
        #expect(decision(token, at: 1059) == "throttled(seconds: 1)")
        #expect(access.signIn(token, address: "1", nowSeconds: 1059) == nil)
        #expect(decision(token, at: 1060) == "reads([])")
        #expect(decision(token, from: "2", at: 1010) == "reads([])")
        #expect(decision(nil, [DashboardAccess.cookie: session], at: 1010) == "reads([])")
    }

    @Test("open to this machine only, it answers no request that names another host")
    func hosts() {
        let access = DashboardAccess(keys: nil, isOpen: true)
        func reads(_ host: String) -> Bool {
            if case .reads = access.decision(
                host: host, cookies: [:], bearer: nil, address: "1", nowSeconds: 0)
            {
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

    @Test("on this machine it is open, and no page may run a foreign script or ask another host")
    func open() throws {
        let (program, port) = try start([
            "--listen", "127.0.0.1:0", "--data", try ExampleStores.shared.get().data, "--pipelines",
            Repository.path("pipelines"),
        ])
        let page = try ask(port, "GET / HTTP/1.1\r\nHost: localhost:\(port)")
        #expect(page.status == 200)
        let policy = try #require(page.headers["content-security-policy"])
        #expect(policy.hasPrefix("default-src 'none'; script-src 'self'; style-src 'self'"))
        #expect(!policy.contains("unsafe") && !policy.contains("http"))
        #expect(!page.text.contains("style=\""))
        #expect(page.text.ranges(of: "<script").count == 1)
        #expect(page.text.contains("<script src=\"/dashboard.js\"></script>"))
        #expect(page.headers["x-content-type-options"] == "nosniff")
        #expect(page.headers["cache-control"] == "no-store")
        let other = try ask(port, "GET / HTTP/1.1\r\nHost: evil.example")
        #expect(other.status == 421)
        #expect(!other.text.contains("Spend"))
        for (method, path) in [("DELETE", "/"), ("POST", "/campaigns"), ("PUT", "/dump/bids")] {
            let refused = try ask(port, "\(method) \(path) HTTP/1.1\r\nHost: localhost")
            #expect(refused.status == 405)
            #expect(refused.headers["allow"] == "GET, HEAD")
            #expect(refused.text == "use GET\n")
        }
        #expect(
            try ask(port, "GET /sign-out HTTP/1.1\r\nHost: localhost").text == "use POST\n")
        #expect(try ask(port, "GET //campaigns/ HTTP/1.1\r\nHost: localhost").status == 200)
        for path in ["/nowhere", "/campaigns/x", "/evidence/bids.csv", "/sign-in"] {
            let missing = try ask(port, "GET \(path) HTTP/1.1\r\nHost: localhost")
            #expect(missing.status == 404)
            #expect(missing.text.contains("there is no page \(path)"))
        }
        let large = try ask(
            port, "POST /sign-in HTTP/1.1\r\nHost: localhost",
            body: String(repeating: "x", count: 16_385))
        #expect(large.status == 413)
        #expect(large.text == "the form is larger than 16384 bytes\n")
        let script = try ask(port, "GET /dashboard.js HTTP/1.1\r\nHost: localhost")
        #expect(script.headers["content-type"] == "text/javascript; charset=utf-8")
        let style = try ask(port, "GET /dashboard.css HTTP/1.1\r\nHost: localhost")
        #expect(style.headers["content-type"] == "text/css; charset=utf-8")
        let file = try ask(port, "GET /dump/bids.csv?by=campaign HTTP/1.1\r\nHost: localhost")
        #expect(file.headers["content-type"] == "text/csv; charset=utf-8")
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
            "--listen", "0.0.0.0:0", "--data", try ExampleStores.shared.get().data, "--pipelines",
            pipelines, "--trusted-proxies", "127.0.0.2",
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
        let wrong = try post("/sign-in", "token=x&form=\(value)", formCookie)
        #expect(wrong.status == 401 && wrong.text.contains("The read token is invalid"))
        let signed = try post(
            "/sign-in", "token=\(token)&form=\(value)", formCookie, "\r\nX-Forwarded-Proto: https")
        #expect(signed.status == 303)
        let cookie = try #require(signed.headers["set-cookie"])
        for attribute in ["HttpOnly", "SameSite=Strict", "Path=/"] {
            #expect(cookie.contains(attribute), "\(attribute)")
        }
        // Anyone can say that, and only 127.0.0.2 is a proxy.
        #expect(!cookie.contains("Secure"))
        let proxy = try RawConnection(port: port, from: "127.0.0.2")
        proxy.send(
            "GET /sign-in HTTP/1.1\r\nHost: weir.example\r\nX-Forwarded-Proto: https\r\nConnection: close\r\n\r\n"
        )
        #expect(proxy.answer()?.headers["set-cookie"]?.contains("; Secure") == true)
        let session = try #require(cookie.split(separator: ";").first)
        let page = try ask(
            port, "GET /campaigns HTTP/1.1\r\nHost: weir.example\r\nCookie: \(session)")
        #expect(page.status == 200)
        // The value of the form is random, and may have any four digits.
        let shown = page.text.replacing(#/name="form" value="[0-9a-f]+"/#, with: "")
        #expect(shown.contains("5240") && !shown.contains("5239"))
        let bearer = try ask(
            port,
            "GET /dump/bids.csv?by=campaign&measures=bids HTTP/1.1\r\nHost: weir.example\r\nAuthorization: Bearer \(token)"
        )
        #expect(bearer.text == "campaign,bids\r\n5240,96\r\n")
        let refused = try ask(
            port,
            "GET /dump/bids.json HTTP/1.1\r\nHost: weir.example\r\nAuthorization: Bearer x")
        #expect(refused.status == 401 && refused.headers["www-authenticate"] == "Bearer")
        #expect(refused.error == "the read token is not valid, or it has expired")
        let out = try #require(page.text.firstMatch(of: #/name="form" value="([0-9a-f]+)"/#)?.1)
        #expect(try post("/sign-out", "form=\(out)", session).status == 303)
        #expect(
            try ask(port, "GET / HTTP/1.1\r\nHost: weir.example\r\nCookie: \(session)").status
                == 303)
        #expect(try program.stop() == 0)
    }

    @Test("slow connections of one address leave room for others")
    func slowConnections() throws {
        let (program, port) = try start([
            "--listen", "127.0.0.1:0", "--data", try ExampleStores.shared.get().data, "--pipelines",
            Repository.path("pipelines"),
        ])
        let slow = try (0..<520).map { number in
            let connection = try RawConnection(port: port)
            if number.isMultiple(of: 2) { connection.send("GET / HTTP/1.1\r\nX: ") }
            return connection
        }
        let begun = Date()
        let other = try RawConnection(port: port, from: "127.0.0.2")
        other.send("GET /reports HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        #expect(other.answer()?.status == 200)
        #expect(Date().timeIntervalSince(begun) < 8)
        let same = try RawConnection(port: port)
        same.send("GET /reports HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(same.answer().map { $0.status == 429 } ?? true)
        withExtendedLifetime(slow) {}
        #expect(try program.stop() == 0)
    }

    @Test("a form that is too large is answered 413, and a connection of HTTP/1.0 is closed")
    func rulesOfHTTP() throws {
        let (program, port) = try start([
            "--listen", "127.0.0.1:0", "--data", try ExampleStores.shared.get().data, "--pipelines",
            Repository.path("pipelines"),
        ])
        let form = try ask(
            port, "POST /sign-in HTTP/1.1\r\nHost: localhost",
            body: "token=" + String(repeating: "x", count: 20_000))
        #expect(form.status == 413 && form.text.contains("16384"))
        for page in ["/reports", "/dump/bids.csv?by=seat"] {
            let old = try RawConnection(port: port)
            old.send("GET \(page) HTTP/1.0\r\nHost: localhost\r\n\r\n")
            #expect(old.isClosed())
        }
        let noHost = try RawConnection(port: port)
        noHost.send("GET / HTTP/1.1\r\n\r\n")
        #expect(noHost.answer()?.status == 400)
        #expect(try program.stop() == 0)
    }

    @Test("wrong tokens are counted by reader, and not by the proxy that is trusted")
    func proxy() throws {
        let files = try TemporaryDirectory()
        try files.write(String(repeating: "k", count: 43) + "\n", to: "k1")
        try files.write(
            "token_keys: [{id: k1, file: k1}]\ntrusted_proxies: [127.0.0.0/8]\n",
            to: "collector.yaml")
        let made = try Program.run(
            "weir", ["token", "make", "--read", "--pipelines", files.path])
        let token = made.output.trimmingCharacters(in: .newlines)
        for arguments in [[], ["--trusted-proxies", "127.0.0.1, 10.0.0.0/8"]] {
            let (program, port) = try start(
                [
                    "--listen", "0.0.0.0:0", "--data", try ExampleStores.shared.get().data,
                    "--pipelines", files.path,
                ] + arguments)
            func signIn(_ token: String, from client: String) throws -> Answer {
                let head = "HTTP/1.1\r\nHost: weir.example\r\nX-Forwarded-For: \(client)"
                let form = try ask(port, "GET /sign-in \(head)")
                let cookie = try #require(form.headers["set-cookie"]?.split(separator: ";").first)
                let value = try #require(
                    form.text.firstMatch(of: #/name="form" value="([0-9a-f]+)"/#)?.1)
                return try ask(
                    port, "POST /sign-in \(head)\r\nCookie: \(cookie)",
                    body: "token=\(token)&form=\(value)")
            }
            for _ in 0..<10 { #expect(try signIn("x", from: "203.0.113.7").status == 401) }
            let throttled = try signIn(token, from: "203.0.113.7")
            #expect(throttled.status == 429 && throttled.text.contains("Wait a minute"))
            let seconds = throttled.headers["retry-after"].flatMap { Int($0) }
            #expect(seconds.map { (1...60).contains($0) } == true)
            let bearer = try ask(
                port,
                "GET / HTTP/1.1\r\nHost: weir.example\r\nX-Forwarded-For: 203.0.113.7\r\nAuthorization: Bearer \(token)"
            )
            #expect(bearer.status == 429 && bearer.headers["retry-after"] != nil)
            #expect(try signIn(token, from: "203.0.113.8").status == 303)
            #expect(try program.stop() == 0)
        }
        let wrong = try Program.run(
            "weir", ["dashboard", "--listen", "127.0.0.1:0", "--trusted-proxies", "here"])
        #expect(wrong.status == 64 && wrong.error.contains("--trusted-proxies 'here'"))
    }

    @Test("without a key to sign in by it is not served to other machines")
    func noKeys() throws {
        let refused = try Program.run(
            "weir",
            [
                "dashboard", "--listen", "0.0.0.0:0", "--data", try ExampleStores.shared.get().data,
                "--pipelines", Repository.path("pipelines"),
            ])
        #expect(refused.status == 1)
        #expect(refused.error.contains("token_keys"))
        #expect(try Program.run("weir", ["dashboard", "--listen", "here"]).status == 64)
    }
}
