import Foundation
import TestKit
import Testing

/// A directory in which `weir up` works, removed with the value: a configuration that takes events without
/// keys, and knows the shared secret of one app.
final class UpWorkspace {
    let files: TemporaryDirectory
    var data: String { files.path + "/data" }
    var pipelines: String { files.path + "/pipelines" }
    var log: String { data + "/log.sqlite" }

    init() throws {
        files = try TemporaryDirectory()
        for stream in [
            "bids", "impressions", "overlay-clicks", "postbacks", "conversion-updates", "costs",
            "partner-postbacks",
        ] {
            try files.write("commit_interval_ms: 20\n", to: "pipelines/\(stream).yaml")
        }
        try files.write(
            """
            commit_interval_ms: 20
            apps:
              - {bundle_id: com.example.app, app_apple_id: 7, shared_secrets: [sesame]}

            """, to: "pipelines/store-notifications.yaml")
        try files.write("require_keys: false\n", to: "pipelines/collector.yaml")
    }

    /// Adds a partner of this machine that is sent every postback, whatever its verdict.
    func addPartner(_ name: String, port: UInt16) throws {
        try files.write(
            """
            name: \(name)
            trust: [valid, development, invalid, unverifiable]
            delivery: {url: "http://127.0.0.1:\(port)/postbacks", allow_private: true}

            """, to: "pipelines/partners/\(name).yaml")
    }

    func start(_ arguments: String...) throws -> UpProcess { try UpProcess(self, arguments) }

    func weir(_ arguments: String...) throws -> Program { try Program.run("weir", arguments) }

    func weir(_ arguments: [String]) throws -> Program { try Program.run("weir", arguments) }

    /// The rows of a dump, a row's columns and measures by their names.
    func dump(_ name: String, by columns: String) throws -> [[String: Any]] {
        let found = try weir("dump", name, "--by", columns, "--data", data, "--format", "json")
        guard found.status == 0 else { throw DumpRefused(explanation: found.error) }
        let rows = try JSONSerialization.jsonObject(with: Data(found.output.utf8))
        return try #require(rows as? [[String: Any]])
    }

    /// A measure of `outcomes`, by topic; 0 while there is no store.
    func outcome(_ measure: String, of topic: String) -> Int {
        let rows = (try? dump("outcomes", by: "topic")) ?? []
        return rows.first { $0["topic"] as? String == topic }?[measure] as? Int ?? 0
    }

    /// Thrown, not recorded as an issue: `outcome` asks while a worker may not have made its store yet.
    struct DumpRefused: Error { let explanation: String }
}

final class UpProcess {
    let program: Program
    let port: UInt16

    init(_ workspace: UpWorkspace, _ arguments: [String] = []) throws {
        program = try Program(
            "weir",
            [
                "up", "--listen", "127.0.0.1:0", "--data", workspace.data, "--pipelines",
                workspace.pipelines, "--topics", Repository.path("topics"),
            ] + arguments)
        port = try program.port(after: "up: http://127.0.0.1:")
    }

    var said: String { program.error }

    func stop() -> Int32 { (try? program.stop()) ?? -1 }

    /// Posts JSON over a connection of its own; the status, nil without an answer.
    func post(_ target: String, _ body: String) throws -> Int? {
        let connection = try RawConnection(port: port)
        connection.send(Self.request(target, body))
        return connection.answer()?.status
    }

    func get(_ target: String) throws -> Answer? { try Requests(port: port).get(target) }

    static func request(_ target: String, _ body: String) -> [UInt8] {
        Requests.text(
            "POST", target, headers: ["Content-Type": "application/json"], body: Array(body.utf8))
    }
}
