import EmbeddedLog
import Engine
import EventLog
import Foundation
import History
import Program
import Store
import TestKit
import Testing

@testable import weir

/// A place with a rejected record, a dead delivery, a paused partner, and keys to sign in with.
final class OperatorWorkspace {
    let files: TemporaryDirectory
    var data: String { files.path + "/data" }
    var pipelines: String { files.path + "/pipelines" }
    private(set) var program: Program
    private(set) var port: UInt16
    /// The dead delivery of acme.
    let id = "2d0136c18b5007e0d205543c5bf2f427"

    init() throws {
        files = try TemporaryDirectory()
        try files.write(
            "apps: [{bundle_id: com.example.app, app_apple_id: 7, shared_secrets: [s]}]\n",
            to: "pipelines/store-notifications.yaml")
        try files.write("commit_interval_ms: 5\n", to: "pipelines/partner-postbacks.yaml")
        try files.write(
            "name: acme\ntrust: [valid]\ndelivery: {url: \"http://10.0.0.1/\"}\n",
            to: "pipelines/partners/acme.yaml")
        try files.write(String(repeating: "k", count: 43) + "\n", to: "pipelines/k1")
        try files.write(
            "token_keys: [{id: k1, file: k1}]\n", to: "pipelines/collector.yaml")
        let log = try EmbeddedLog(path: files.path + "/data/log.sqlite", mode: .create)
        try log.createTopic("store-notifications", partitionCount: 1)
        try log.createTopic("partner-postbacks", partitionCount: 1)
        try log.writer().append([
            OutgoingRecord(
                topic: "store-notifications", partition: 0, key: [], headers: [],
                value: Array("{".utf8)),
            OutgoingRecord(
                topic: "partner-postbacks", key: Array(id.utf8), headers: [],
                value: Array(
                    #"{"id":"\#(id)","revision":1,"partner":"acme","postback":{"app_id":7}}"#.utf8)),
        ])
        (program, port) = try Self.start(files.path)
        for name in ["store-notifications", "partner-postbacks"] {
            let worker = try Program.run(
                "weir-\(name)", ["--until-end", "--data", data, "--pipelines", pipelines])
            try #require(worker.status == 0, "\(worker.error)")
        }
    }

    private static func start(_ path: String) throws -> (Program, UInt16) {
        let program = try Program(
            "weir",
            [
                "dashboard", "--listen", "127.0.0.1:0", "--data", "\(path)/data", "--pipelines",
                "\(path)/pipelines",
            ])
        return (program, try program.port(after: "dashboard: http://127.0.0.1:"))
    }

    func restart() throws {
        _ = try program.stop()
        (program, port) = try Self.start(files.path)
    }

    func token(_ arguments: String...) throws -> String {
        let made = try Program.run(
            "weir", ["token", "make"] + arguments + ["--pipelines", pipelines])
        try #require(made.status == 0, "\(made.error)")
        return made.output.trimmingCharacters(in: .newlines)
    }

    private func ask(_ head: String, cookie: String?, body: String?, host: String) throws -> Answer
    {
        let connection = try RawConnection(port: port)
        let cookie = cookie.map { "\r\nCookie: \($0)" } ?? ""
        let form = "\r\nContent-Type: application/x-www-form-urlencoded"
        let length = body.map { "\(form)\r\nContent-Length: \($0.utf8.count)" } ?? ""
        connection.send(
            "\(head) HTTP/1.1\r\nHost: \(host)\(cookie)\(length)\r\nConnection: close\r\n\r\n\(body ?? "")"
        )
        return try #require(connection.answer())
    }

    func get(_ path: String, as cookie: String? = nil) throws -> Answer {
        try ask("GET \(path)", cookie: cookie, body: nil, host: "localhost")
    }

    func post(
        _ path: String, _ fields: [String: String], as cookie: String? = nil,
        host: String = "localhost"
    ) throws -> Answer {
        let body = fields.map { "\($0)=\(Self.encoded($1))" }.joined(separator: "&")
        return try ask("POST \(path)", cookie: cookie, body: body, host: host)
    }

    private static func encoded(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }

    /// Signs in, and returns the session's cookie.
    func signIn(_ token: String) throws -> String {
        let form = try get("/sign-in")
        let cookie = try #require(form.headers["set-cookie"]?.split(separator: ";").first)
        let answer = try post(
            "/sign-in", Self.fields(of: form).merging(["token": token]) { $1 }, as: "\(cookie)")
        try #require(answer.status == 303, "\(answer.text)")
        return String(try #require(answer.headers["set-cookie"]?.split(separator: ";").first))
    }

    func operatorCookie() throws -> String {
        try signIn(token("--operate", "--name", "anna"))
    }

    /// The hidden fields of the form that a page confirms with.
    static func fields(of page: Answer) -> [String: String] {
        let form = page.text.split(separator: "<form ").last { $0.contains("method=\"post\"") }
        let main = page.text.split(separator: "class=\"confirm\"").dropFirst().first
        let pattern = #/type="hidden" name="([a-z]+)" value="([^"]*)"/#
        let text = String(main ?? form ?? "").split(separator: "</form>").first ?? ""
        return Dictionary(
            text.matches(of: pattern).map { (String($0.1), String($0.2)) },
            uniquingKeysWith: { first, _ in first })
    }

    func records(of topic: String) throws -> Int64 {
        let log = try EmbeddedLog(path: files.path + "/data/log.sqlite", mode: .existing)
        let reader = try log.reader(topic: topic)
        defer { reader.close() }
        return try reader.bounds()[0].endOffset
    }

    func delivery() throws -> Delivery? {
        try DeliveryStore(existing: DeliveryStore.path(in: data)).deliveries(limit: 1).first
    }

    func entries() throws -> [OperatorLog.Entry] {
        try OperatorLog(directories: [data]).entries().entries
    }
}

@Suite("Operators act in the browser", .timeLimit(.minutes(10)))
struct OperatorTests {
    private static let requeue = "/operate/requeue?topic=store-notifications&reason=malformed_json"
    private static let retry = "/operate/retry?partner=acme"

    @Test("nothing is done without a token, with a token that reads, or from another host")
    func refusals() throws {
        let place = try OperatorWorkspace()
        for path in [Self.requeue, Self.retry] {
            let open = try place.get(path)
            #expect(open.status == 403)
            #expect(open.text.contains("weir token make --operate --name YOUR-NAME"))
            #expect(open.text.contains("href=\"/sign-in\""))
            #expect(!open.text.contains("class=\"confirm\""))
        }
        let reader = try place.signIn(place.token("--read"))
        for cookie in [nil, reader, "weir_session=x"] {
            let fields = [
                "form": "0", "action": String(repeating: "a", count: 43), "partner": "acme",
            ]
            let refused = try place.post("/operate/retry", fields, as: cookie)
            #expect(refused.status == 403 && refused.text.contains("Nothing was done"))
        }
        #expect(try place.get(Self.retry, as: reader).text.contains("Your token only reads"))
        let anna = try place.operatorCookie()
        let fields = OperatorWorkspace.fields(of: try place.get(Self.retry, as: anna))
        #expect(
            try place.post("/operate/retry", fields, as: anna, host: "evil.example").status == 421)
        #expect(try place.entries().isEmpty)
        #expect(try place.delivery()?.state == .dead)
    }

    @Test("a form of another session, or without its value, does nothing")
    func otherForms() throws {
        let place = try OperatorWorkspace()
        let (anna, bert) = (
            try place.operatorCookie(),
            try place.signIn(place.token("--operate", "--name", "bert"))
        )
        var fields = OperatorWorkspace.fields(of: try place.get(Self.retry, as: anna))
        #expect(fields.keys.sorted() == ["action", "form", "partner"])
        #expect(try place.post("/operate/retry", fields, as: bert).status == 403)
        fields["form"] = "0"
        #expect(try place.post("/operate/retry", fields, as: anna).status == 403)
        fields["form"] = nil
        #expect(try place.post("/operate/retry", fields, as: anna).status == 403)
        #expect(try place.entries().isEmpty)
        #expect(try place.delivery()?.state == .dead)
    }

    @Test("a dead letter is shown, requeued once however often the form is sent, and noted")
    func requeued() throws {
        let place = try OperatorWorkspace()
        let anna = try place.operatorCookie()
        #expect(try place.get("/records", as: anna).text.contains("Requeue store-notifications: "))
        let page = try place.get(Self.requeue, as: anna)
        #expect(page.status == 200)
        #expect(page.text.contains("Dry run: 1 would be requeued, 0 requeued before, 0 impossible"))
        #expect(page.headers["content-security-policy"]?.contains("form-action 'self'") == true)
        #expect(try place.records(of: "store-notifications") == 1)
        let fields = OperatorWorkspace.fields(of: page)
        #expect(fields["records"] == "store-notifications/0/0")
        for _ in 0..<2 {
            let done = try place.post("/operate/requeue", fields, as: anna)
            #expect(done.status == 303)
            let result = try place.get(try #require(done.headers["location"]), as: anna)
            #expect(result.text.contains("Requeue by anna"))
            #expect(result.text.contains("1 requeued, 0 requeued before, 0 impossible"))
        }
        #expect(try place.records(of: "store-notifications") == 2)
        let entry = try #require(try place.entries().first)
        #expect(try place.entries().count == 1)
        #expect(entry.by.name == "anna" && entry.by.token.count == 12)
        #expect(entry.subject == "store-notifications/0/0")
        let listed = try Program.run("weir", ["actions", "--data", place.data, "--format", "csv"])
        #expect(
            listed.output.contains(",anna,\(entry.by.token),requeue,store-notifications/0/0,done,"))
        // After a restart the session has ended, and what was requeued stays so.
        try place.restart()
        #expect(try place.post("/operate/requeue", fields, as: anna).status == 403)
        let again = try place.get(Self.requeue, as: place.operatorCookie())
        #expect(again.text.contains("0 would be requeued, 1 requeued before"))
        #expect(again.text.contains("There is nothing to requeue."))
        #expect(try place.records(of: "store-notifications") == 2)
    }

    @Test("a delivery is retried once for a form, also after a restart, and a pause ends")
    func retried() throws {
        let place = try OperatorWorkspace()
        let anna = try place.operatorCookie()
        #expect(try place.get("/partners", as: anna).text.contains("Retry all dead deliveries…"))
        #expect(
            try place.get("/delivery?id=\(place.id)", as: anna).text.contains(
                "Retry this document…"))
        let page = try place.get("/operate/retry?id=\(place.id)", as: anna)
        #expect(page.text.contains("weir deliveries retry \(place.id)"))
        let fields = OperatorWorkspace.fields(of: page)
        let first = try place.post("/operate/retry", fields, as: anna)
        #expect(first.status == 303)
        let changed = try #require(try place.delivery())
        #expect(changed.state == .pending)
        try place.restart()
        let cookie = try place.operatorCookie()
        // The value of the present session with the action of the form before the restart.
        let other = OperatorWorkspace.fields(
            of: try place.get("/operate/retry?id=\(place.id)", as: cookie))
        let repeated = other.merging(["action": try #require(fields["action"])]) { $1 }
        let second = try place.post("/operate/retry", repeated, as: cookie)
        #expect(second.headers["location"] == first.headers["location"])
        #expect(try place.delivery() == changed)
        #expect(try place.entries().map(\.subject) == ["delivery \(place.id)"])
        #expect(try place.entries().first?.end?.result == "1 to be sent now, 0 unchanged")
    }

    @Test("what cannot be done is said, and what has no name is not found")
    func faults() throws {
        let place = try OperatorWorkspace()
        let anna = try place.operatorCookie()
        for (path, status) in [
            ("/operate/requeue", 400), ("/operate/requeue?topic=x&reason=y", 400),
            ("/operate/retry", 400), ("/operate/retry?partner=acme&dead=1", 400),
            ("/operate/retry?partner=nobody", 500), ("/operate/retry?colour=red", 400),
            ("/actions?id=nosuch", 404), ("/operate/delete", 404),
        ] {
            #expect(try place.get(path, as: anna).status == status, "\(path)")
        }
        #expect(try place.get("/actions", as: anna).text.contains("No actions yet."))
        var fields = OperatorWorkspace.fields(of: try place.get(Self.requeue, as: anna))
        fields["records"] = "store-notifications/0/7"
        #expect(try place.post("/operate/requeue", fields, as: anna).status == 500)
        fields["records"] = "store-notifications/0/0,"
        #expect(try place.post("/operate/requeue", fields, as: anna).status == 400)
        #expect(try place.entries().isEmpty)
    }

    @Test("commands are noted with their user, and a cut line costs no other")
    func commands() throws {
        let place = try OperatorWorkspace()
        let path = "\(place.data)/\(OperatorLog.fileName)"
        try Data("{\"id\":\"cut".utf8).write(to: URL(fileURLWithPath: path))
        let requeued = try Program.run(
            "weir", ["dead-letters", "requeue", "--all", "--data", place.data])
        #expect(requeued.status == 0, "\(requeued.error)")
        let entry = try #require(try place.entries().first)
        #expect(entry.by == .ofCommand && entry.kind == .requeue)
        #expect(try OperatorLog(directories: [place.data]).entries().damaged == 1)
        let failed = #expect(throws: CommandError.self) {
            try OperatorLog(directories: [place.data]).record(.retry, of: "x", by: .ofCommand) {
                throw CommandError.failure("no luck")
            }
        }
        #expect(failed?.explanation == "no luck")
        #expect(try place.entries().first?.end?.isDone == false)
    }

    @Test("positions of dead letters are written in short and read back", arguments: ["a-b.c/0/1"])
    func lists(_ one: String) throws {
        let text = "\(one),5,70 z/3/2"
        let positions = try #require(DeadLetterList.positions(text))
        #expect(positions.count == 4)
        #expect(DeadLetterList.text(positions) == text)
        for wrong in ["a/0", "a/0/1,", "a/0/1,x", "a/0/01"] {
            #expect(DeadLetterList.positions(wrong) == nil, "\(wrong)")
        }
    }
}
