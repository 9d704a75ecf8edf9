import ConfigurationValues
import EmbeddedLog
import Engine
import EventLog
import Foundation
import History
import Program
import Reports
import Streams
import TestKit
import Testing

@testable import weir

@Suite("Dead letters", .serialized)
struct DeadLettersTests {
    /// A data directory whose worker folds store notifications of one app, with a secret that can be mended.
    private final class Workspace {
        let files: TemporaryDirectory
        let log: any LogBackend
        let cluster: TestCluster?
        var data: String { files.path + "/data" }
        let topic: String

        init(on kind: TestCluster.Kind? = nil) throws {
            files = try TemporaryDirectory()
            cluster = try kind.map { try TestCluster($0) }
            topic = cluster?.name("store-notifications") ?? "store-notifications"
            if let cluster {
                log = try PipelineDirectory(Repository.path("pipelines")).openLog(
                    LogAddress(cluster.address), .existing)
                try cluster.mock?.createTopic(topic, partitionCount: 2)
                if cluster.mock == nil {
                    cluster.own(topic)
                    cluster.own("\(topic).dlq")
                    try log.createTopic(topic, partitionCount: 2)
                }
            } else {
                log = try EmbeddedLog(path: files.path + "/data/log.sqlite", mode: .create)
                try log.createTopic(topic, partitionCount: 2)
            }
            try configure(secret: "wrong")
        }

        func configure(secret: String) throws {
            try files.write(
                """
                topic: \(topic)
                apps:
                  - {bundle_id: com.example.app, app_apple_id: 7, shared_secrets: [\(secret)]}

                """, to: "pipelines/store-notifications.yaml")
        }

        func publish(
            _ value: [UInt8]?, key: String = "k", headers: [OutgoingRecord.Header] = []
        ) throws {
            try log.writer().append([
                OutgoingRecord(
                    topic: topic, partition: 1, timestampMilliseconds: 1_700_000_000_000,
                    key: Array(key.utf8), headers: headers, value: value)
            ])
        }

        func fold() throws {
            try StoreNotificationsFold.work(
                WorkerOptions(
                    log: LogAddress(log.address), data: data,
                    pipelines: files.path + "/pipelines", untilEnd: true), stop: StopSignal())
        }

        func letters(_ reasons: String...) throws -> [DeadLetter] {
            var query = DeadLetterQuery()
            query.reasons = Set(reasons)
            return try stores.deadLetters(query, limit: 100) { DeadLetter($0) }
        }

        var stores: OpenStores { get throws { try OpenStores(directories: [data]) } }

        /// Requeues letters, and returns the outcome of each.
        @discardableResult
        func requeue(
            _ letters: [DeadLetter], to log: (any LogBackend)? = nil, unchecked: Bool = false
        ) throws -> [Requeue.Outcome] {
            let stores = try stores
            var requeue = Requeue(to: log ?? self.log) { try stores.deadLetters(at: $0) }
            requeue.includesUnchecked = unchecked
            var outcomes = try requeue.plan(letters)
            let plan = outcomes
            try requeue.publish(letters, plan) { outcomes[$0] = $1 }
            return outcomes
        }

        func position(_ offset: Int64) -> TopicPosition {
            TopicPosition(topic: topic, partition: 1, offset: offset)
        }

        /// The lines of partition 1 from an offset on, as `weir read` prints them.
        func records(from offset: Int64) throws -> [[String: Any]] {
            var lines: [UInt8] = []
            var reading = try TopicReading(
                log.reader(topic: topic), partition: 1, from: .offset(offset), to: nil)
            try reading.readRange { RecordLine.append($0, to: &lines) }
            return try lines.split(separator: 0x0A).map { line in
                let object = try JSONSerialization.jsonObject(with: Data(line))
                return try #require(object as? [String: Any])
            }
        }

        /// A measure of the outcomes of all records.
        func outcome(_ measure: String) throws -> Int128 {
            var query = ReportRequest(name: "outcomes")
            query.grouping = .total
            let dump = try stores.dump(query)
            let index = try #require(dump.measures.firstIndex(of: measure))
            return dump.rows.first?.measures[index] ?? 0
        }
    }

    private static let type = OutgoingRecord.Header("ce_type", "appstore.notification.v1")
    private static let notification = """
        {"notification_type":"INITIAL_BUY","password":"sesame","bid":"com.example.app",\
        "environment":"PROD","auto_renew_product_id":"month","unified_receipt":{\
        "latest_receipt_info":[{"transaction_id":"10","original_transaction_id":"10",\
        "product_id":"month","purchase_date_ms":"1700000000000"}]}}
        """

    @Test(
        "a record whose cause was mended counts once, at its new time, however often it is requeued",
        arguments: [nil] + TestCluster.Kind.available.map { Optional($0) })
    func countsOnce(_ kind: TestCluster.Kind?) throws {
        let workspace = try Workspace(on: kind)
        try workspace.publish(
            Array(Self.notification.utf8),
            headers: [Self.type, .init("a", "b"), .init("weir_old", "x")])
        try workspace.fold()
        #expect(try workspace.outcome("untrusted") == 1)
        #expect(try workspace.letters().isEmpty)
        let letters = try workspace.letters("untrusted")
        #expect(letters.map(\.position) == [workspace.position(0)])

        try workspace.configure(secret: "sesame")
        let before = Int64(Date().timeIntervalSince1970 * 1000)
        #expect(try workspace.requeue(letters) == [.requeued(workspace.position(1))])
        // Before it is folded, and after.
        #expect(try workspace.requeue(letters) == [.before(workspace.position(1))])
        try workspace.fold()
        #expect(
            try workspace.requeue(workspace.letters("untrusted")) == [
                .before(workspace.position(1))
            ])
        try workspace.fold()
        #expect(try workspace.outcome("accepted") == 1)
        #expect(try workspace.outcome("duplicates") == 0)

        let copies = try workspace.records(from: 1)
        #expect(copies.count == 1)
        #expect(copies.first?["key"] as? String == "k")
        #expect((copies.first?["timestamp_ms"] as? Int64 ?? 0) >= before)
        #expect(
            copies.first?["headers"] as? [String: String]
                == [
                    "ce_type": "appstore.notification.v1", "a": "b",
                    "weir_origin": "\(workspace.topic)/1/0",
                ])
    }

    @Test("a copy that is rejected is a dead letter of its own, and keeps the first origin")
    func rejectedAgain() throws {
        let workspace = try Workspace()
        try workspace.publish(Array("{".utf8))
        try workspace.fold()
        #expect(try workspace.requeue(workspace.letters()) == [.requeued(workspace.position(1))])
        try workspace.fold()
        let letters = try workspace.letters()
        #expect(letters.map(\.position) == [workspace.position(0), workspace.position(1)])
        #expect(letters.map(\.origin) == [nil, workspace.position(0)])
        #expect(
            try workspace.requeue(letters) == [
                .before(workspace.position(1)), .requeued(workspace.position(2)),
            ])
        #expect(
            try workspace.requeue(letters) == [
                .before(workspace.position(1)), .before(workspace.position(2)),
            ])
        let origins = try workspace.records(from: 1).map {
            ($0["headers"] as? [String: String])?["weir_origin"]
        }
        #expect(origins == ["\(workspace.topic)/1/0", "\(workspace.topic)/1/0"])
    }

    @Test(
        "a record of others that names a letter as its origin does not keep it from being requeued")
    func strangers() throws {
        let workspace = try Workspace()
        try workspace.publish(Array("{".utf8))
        let origin = OutgoingRecord.Header("weir_origin", workspace.position(0).description)
        try workspace.publish(Array("[".utf8), headers: [origin])
        try workspace.publish(Array("{".utf8), key: "other", headers: [origin])
        try workspace.fold()
        var letters = try workspace.letters()
        let up = try UpWorkspace()
        let arguments = [
            "dead-letters", "requeue", "\(workspace.position(0))", "--dry-run", "--data",
            workspace.data,
        ]
        let dry = try up.weir(arguments)
        #expect(dry.status == 0 && dry.output.contains("due"), "\(dry.error)")
        #expect(
            dry.error.contains(
                "\(workspace.position(1)) claims to be a copy of \(workspace.position(0)), but has another key, value or header"
            ),
            "\(dry.error)")
        // Each is its own: the strangers are letters too, and none is a copy of another.
        #expect(try workspace.requeue(letters) == (3...5).map { .requeued(workspace.position($0)) })
        #expect(try workspace.requeue(letters) == (3...5).map { .before(workspace.position($0)) })
        try workspace.fold()
        letters = try workspace.letters()
        #expect(
            try workspace.requeue(letters) == (3...5).map { .before(workspace.position($0)) }
                + (6...8).map { .requeued(workspace.position($0)) })
        // Whoever wrote the same bytes, they are there again.
        try workspace.publish(Array("]".utf8))
        try workspace.publish(
            Array("]".utf8), headers: [.init("weir_origin", workspace.position(9).description)])
        try workspace.fold()
        let last = try workspace.letters().filter { $0.position == workspace.position(9) }
        #expect(try workspace.requeue(last) == [.before(workspace.position(10))])
    }

    @Test(
        "a record of others with the key and value of a letter, and other headers, is no copy of it"
    )
    func otherHeaders() throws {
        let workspace = try Workspace()
        try workspace.publish(Array("{".utf8), headers: [Self.type, .init("weir_old", "x")])
        let origin = OutgoingRecord.Header("weir_origin", workspace.position(0).description)
        for headers in [
            [.init("ce_type", "appstore.notification.v2"), origin], [origin],
            [Self.type, Self.type, origin], [.init("ce_type", ""), origin],
        ] {
            try workspace.publish(Array("{".utf8), headers: headers)
        }
        try workspace.fold()
        let letters = try workspace.letters().filter { $0.position == workspace.position(0) }
        #expect(try workspace.requeue(letters) == [.requeued(workspace.position(5))])
        #expect(try workspace.requeue(letters) == [.before(workspace.position(5))])
    }

    @Test(
        "what is killed between the log and its own notes neither loses a record nor repeats one",
        arguments: [0, 1, 2])
    func killed(_ appended: Int) throws {
        let workspace = try Workspace()
        // Two batches: a batch has at most 8 MiB.
        let large = Array(repeating: UInt8(ascii: "x"), count: 900_000)
        for _ in 0..<12 { try workspace.publish(large) }
        try workspace.fold()
        let letters = try workspace.letters()
        #expect(letters.count == 12)
        let failing = WrappedLog(
            workspace.log, writer: { FailingWriter($0, appends: appended) })
        #expect(throws: LogError.self) { try workspace.requeue(letters, to: failing) }
        let published = try workspace.records(from: 12).count
        #expect([0, 9, 12][appended] == published)
        let outcomes = try workspace.requeue(letters)
        #expect(outcomes.count { if case .before = $0 { true } else { false } } == published)
        #expect(outcomes.count { if case .requeued = $0 { true } else { false } } == 12 - published)
        let origins = try workspace.records(from: 12).compactMap {
            ($0["headers"] as? [String: String])?["weir_origin"]
        }
        #expect(origins.count == 12)
        #expect(Set(origins) == Set((0..<12).map { workspace.position($0).description }))
    }

    @Test("what has no bytes, or is of another log, cannot be requeued, and the words say why")
    func impossible() throws {
        let workspace = try Workspace()
        try workspace.publish(nil)
        try workspace.publish(Array(repeating: UInt8(ascii: " "), count: 1_048_577))
        try workspace.publish(Array("{".utf8))
        try workspace.fold()
        let letters = try workspace.letters()
        #expect(letters.map(\.reason) == ["tombstone", "too_large", "malformed_json"])
        func words(_ outcomes: [Requeue.Outcome]) -> [String] {
            outcomes.map { if case .impossible(let words) = $0 { words } else { "" } }
        }
        let found = words(try workspace.requeue(Array(letters.prefix(2))))
        #expect(found[0].contains("tombstone") && found[1].contains("SHA-256"))

        let log = try #require(workspace.log as? EmbeddedLog)
        try log.trim(topic: workspace.topic, partition: 1, before: 3)
        #expect(words(try workspace.requeue([letters[2]]))[0].contains("--unchecked"))
        #expect(
            try workspace.requeue([letters[2]], unchecked: true) == [
                .requeued(workspace.position(3))
            ])
        #expect(try workspace.requeue([letters[2]]) == [.before(workspace.position(3))])

        try log.deleteTopic(workspace.topic)
        try log.createTopic(workspace.topic, partitionCount: 2)
        #expect(words(try workspace.requeue([letters[2]]))[0].contains("another topic"))
    }

    @Test("they are chosen by reason, topic, columns and time, and no more than asked for")
    func selection() throws {
        let workspace = try Workspace()
        try workspace.publish(Array("{".utf8))
        try workspace.publish(Array("[]".utf8), headers: [.init("ce_type", "appstore.other")])
        try workspace.publish(Array("{".utf8), headers: [.init("ce_type", "x")])
        try workspace.fold()
        func offsets(_ change: (inout DeadLetterQuery) -> Void, limit: Int = 9) throws -> [Int64] {
            var query = DeadLetterQuery()
            change(&query)
            return try workspace.stores.deadLetters(query, limit: limit) { $0.position.offset }
        }
        #expect(try offsets { _ in } == [0, 1, 2])
        #expect(try offsets({ _ in }, limit: 2) == [0, 1])
        #expect(try offsets { $0.reasons = ["malformed_json"] } == [0, 2])
        #expect(try offsets { $0.topics = ["bids"] } == [])
        #expect(try offsets { $0.conditions = [.init(column: "type", value: "x")] } == [2])
        #expect(try offsets { $0.untilMilliseconds = 1_700_000_000_000 } == [])
        #expect(try offsets { $0.sinceMilliseconds = 1_700_000_000_000 } == [0, 1, 2])
    }

    @Test("the commands list, show with secrets masked, try dry and requeue, each time with words")
    func commands() throws {
        let workspace = try Workspace()
        try workspace.publish(Array(Self.notification.utf8), headers: [Self.type])
        try workspace.fold()
        let up = try UpWorkspace()
        let at = ["--data", workspace.data]
        let listed = try up.weir(
            ["dead-letters", "list", "--reason", "untrusted", "--format", "json"] + at)
        let rows = try JSONSerialization.jsonObject(with: Data(listed.output.utf8))
        let row = try #require((rows as? [[String: Any]])?.first)
        #expect(row["timestamp"] as? Int64 == 1_700_000_000_000)
        #expect(row["reason"] as? String == "untrusted")
        #expect(row["bytes"] as? Int == Self.notification.utf8.count)

        let letter = "\(workspace.topic)/1/0"
        let shown = try up.weir(["dead-letters", "show", letter] + at)
        #expect(shown.output.contains("2023-11-14T22:13:20Z"))
        #expect(shown.output.contains(#""password":"***""#))
        #expect(!shown.output.contains("sesame"))
        let line = try up.weir(
            ["dead-letters", "show", letter, "--format", "ndjson", "--unmasked"] + at)
        #expect(line.output.contains(#""password":"sesame""#))
        let file = try workspace.files.write(line.output, to: "line.ndjson")
        let published = try up.weir(["publish", "--topic", workspace.topic, file] + at)
        #expect(published.status == 0, "\(published.error)")

        let dry = try up.weir(["dead-letters", "requeue", letter, "--dry-run"] + at)
        #expect(dry.status == 0 && dry.output.contains("due"), "\(dry.error)")
        #expect(try workspace.records(from: 2).isEmpty)
        let done = try up.weir(["dead-letters", "requeue", letter] + at)
        #expect(done.status == 0 && done.output.contains("\(workspace.topic)/1/2"))
        #expect(done.error.contains("1 requeued, 0 requeued before, 0 impossible"))
        let again = try up.weir(["dead-letters", "requeue", letter] + at)
        #expect(again.status == 0 && again.error.contains("0 requeued, 1 requeued before"))

        for (arguments, status, words) in [
            (["requeue"], 64, "select the records"),
            (["requeue", "--all", "--topic", "x"], 64, "select the records"),
            (["requeue", "x"], 64, "TOPIC/PARTITION/OFFSET"),
            (["requeue", "\(workspace.topic)/1/9"], 1, "no rejected record"),
            (["list", "--reason", "nonsense"], 64, "no reason 'nonsense'"),
            (["list", "--limit", "0"], 64, "--limit"),
            (["show", "\(workspace.topic)/0/0"], 1, "no rejected record"),
        ] as [([String], Int32, String)] {
            let said = try up.weir(["dead-letters"] + arguments + at)
            #expect(said.status == status && said.error.contains(words), "\(said.error)")
        }
    }
}

/// A writer that appends some times, and throws although the last of them was appended: what a process sees of its
/// log that is killed before it can note what it did. With 0 nothing is appended.
private final class FailingWriter: LogWriter {
    private let writer: any LogWriter
    private var left: Int

    init(_ writer: any LogWriter, appends: Int) {
        self.writer = writer
        left = appends
    }

    func append(
        _ records: [OutgoingRecord], while isWanted: () -> Bool
    ) throws(LogError) -> [RecordPosition] {
        guard left > 0 else {
            throw .unavailable(operation: "append to", address: "it", detail: "killed")
        }
        left -= 1
        let positions = try writer.append(records, while: isWanted)
        guard left > 0 else {
            throw .unavailable(operation: "append to", address: "it", detail: "killed")
        }
        return positions
    }
}
