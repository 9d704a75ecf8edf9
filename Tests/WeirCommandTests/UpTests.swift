import ConfigurationValues
import EmbeddedLog
import Engine
import EventLog
import Foundation
import GRDB
import History
import Program
import Reports
import Store
import Streams
import Synchronization
import TestKit
import Testing

@testable import weir

@Suite("weir up", .serialized)
struct UpTests {
    private static let notification = """
        {"notification_type":"INITIAL_BUY","password":"sesame","bid":"com.example.app",\
        "environment":"PROD","auto_renew_product_id":"month","unified_receipt":{\
        "latest_receipt_info":[{"transaction_id":"10","original_transaction_id":"10",\
        "product_id":"month","purchase_date_ms":"1700000000000"}]}}
        """

    private static func postback(_ id: String) -> String {
        """
        {"version":"4.0","ad-network-id":"example.skadnetwork","transaction-id":"\(id)",\
        "source-identifier":"5239","app-id":525463029,"did-win":true,"fidelity-type":1,\
        "postback-sequence-index":0,"redownload":false,"conversion-value":20,\
        "attribution-signature":"bm9uZQ=="}
        """
    }

    @Test(
        "what is posted is counted and delivered within seconds, and SIGTERM leaves nothing undone")
    func wholeWay() throws {
        let workspace = try UpWorkspace()
        let partner = try ScriptedPartner()
        try workspace.addPartner("acme", port: partner.port)
        let up = try workspace.start()
        let signedByApple = try ExampleDay.records(of: "postbacks")
        for record in signedByApple.prefix(2) {
            let body = String(decoding: record.value ?? [], as: UTF8.self)
            #expect(try up.post("/v1/postbacks/skadnetwork", body) == 200)
        }
        #expect(try up.post("/v1/postbacks/skadnetwork", Self.postback("a")) == 200)
        #expect(try up.post("/v1/store-notifications", Self.notification) == 200)
        #expect(
            try up.post(
                "/v1/events/impressions?ce_type=skoverlay.presented", #"{"impression_id":"i"}"#)
                == 200)
        #expect(
            try up.post("/v1/events/bids", #"{"request":{"id":"r","imp":[{"id":"1"}]}}"#) == 200)
        #expect(try up.post("/v1/events/overlay-clicks", Self.click("i")) == 200)
        #expect(try up.get("/readyz")?.status == 200)

        let counts = [
            "postbacks": 3, "store-notifications": 1, "impressions": 1, "bids": 1,
            "overlay-clicks": 1,
        ]
        for (topic, count) in counts {
            #expect(
                Wait.until { workspace.outcome("accepted", of: topic) == count },
                "\(topic): \(workspace.outcome("accepted", of: topic))")
        }
        let verdicts = try workspace.dump("postbacks", by: "verdict")
        #expect(Set(verdicts.compactMap { $0["verdict"] as? String }) == ["valid", "invalid"])
        #expect(Wait.until { partner.keys.count == 3 })
        #expect(partner.requests.allSatisfy { $0.body.contains(#""partner":"acme""#) })

        #expect(try up.post("/v1/postbacks/skadnetwork", Self.postback("last")) == 200)
        #expect(up.stop() == 0, "\(up.said)")
        #expect(up.said.split(separator: "\n").count == 1, "\(up.said)")
        #expect(workspace.outcome("accepted", of: "postbacks") == 4)
        // What is not delivered yet is so by the next start.
        let again = try workspace.start()
        #expect(Wait.until { partner.keys.count == 4 })
        #expect(again.stop() == 0, "\(again.said)")
    }

    @Test("partners and names are read again while it works, and what folding depends on is not")
    func filesRead() throws {
        let workspace = try UpWorkspace()
        let before = try ScriptedPartner()
        let after = try ScriptedPartner()
        try workspace.addPartner("acme", port: before.port)
        func name(_ name: String) throws {
            try workspace.files.write(
                "networks:\n  example.skadnetwork: {name: \(name)}\n", to: "pipelines/catalog.yaml")
        }
        try name("Old")
        let up = try workspace.start()
        #expect(try up.post("/v1/postbacks/skadnetwork", Self.postback("a")) == 200)
        #expect(Wait.until { before.requests.contains { $0.body.contains(#""network":"Old""#) } })

        try name("New")
        try workspace.addPartner("acme", port: after.port)
        #expect(Wait.until { up.said.contains("the partners were reloaded partners=acme") })
        #expect(Wait.until { up.said.contains("the names of the catalog were reloaded") })
        #expect(try up.post("/v1/postbacks/skadnetwork", Self.postback("b")) == 200)
        #expect(Wait.until { after.requests.contains { $0.body.contains(#""network":"New""#) } })
        #expect(!up.said.contains("restart to apply it"), "an address is no part of it")

        try workspace.files.write("name: [", to: "pipelines/partners/broken.yaml")
        #expect(Wait.until { up.said.contains("the previous configuration stays") })
        // Every service has looked by then.
        Thread.sleep(forTimeInterval: 4)
        #expect(
            up.said.split(separator: "\n").count { $0.contains("partners/broken.yaml") } == 1,
            "the parts of one process report a fault once: \(up.said)")
        try FileManager.default.removeItem(atPath: workspace.pipelines + "/partners/broken.yaml")
        // Whom it sends what is part of the fold.
        try workspace.addPartner("other", port: after.port)
        #expect(Wait.until { up.said.contains("restart to apply it") })
        #expect(
            up.said.contains("the fold has changed (partner other was added): restart"),
            "\(up.said)")
        #expect(Wait.until { up.said.contains("partners=acme,other") })
        #expect(try up.post("/v1/postbacks/skadnetwork", Self.postback("c")) == 200)
        #expect(Wait.until { workspace.outcome("accepted", of: "postbacks") == 3 })
        #expect(Wait.until { after.requests.count >= 2 })

        // What is removed by mistake does not take names and partners away.
        try FileManager.default.removeItem(atPath: workspace.pipelines + "/catalog.yaml")
        try FileManager.default.moveItem(
            atPath: workspace.pipelines + "/partners", toPath: workspace.files.path + "/partners")
        for name in ["catalog.yaml", "partners"] {
            #expect(
                Wait.until { up.said.contains("\(name): no longer exists: ") }, "\(up.said)")
        }
        #expect(try up.post("/v1/postbacks/skadnetwork", Self.postback("d")) == 200)
        #expect(
            Wait.until { after.requests.count { $0.body.contains(#""network":"New""#) } >= 3 },
            "\(up.said)")
        #expect(
            up.said.split(separator: "\n").count { $0.contains("partners: no longer exists") } == 1)
        #expect(!after.requests.contains { $0.body.contains(#""partner":"other""#) })
        #expect(up.stop() == 0, "\(up.said)")
    }

    @Test(
        "a key that is put where new-producer says lets its producer in, without a restart",
        arguments: [
            nil, "keys: []\n",
            "# of somebody\nkeys: # all\n- name: other\n  sha256: DIGEST\n  topics: [bids]\n",
        ])
    func newProducer(_ present: String?) throws {
        let workspace = try UpWorkspace()
        let file = workspace.pipelines + "/collector.yaml"
        let shipped = try Repository.text("pipelines/collector.yaml")
        let digest = String(repeating: "ab", count: 32)
        let keys = present?.replacing("DIGEST", with: digest) ?? ""
        try workspace.files.write(shipped + keys, to: "pipelines/collector.yaml")
        let up = try workspace.start()
        let made = try workspace.weir(
            "token", "new-producer", "--name", "bidder", "--topics", "impressions",
            "--pipelines", workspace.pipelines)
        #expect(made.status == 0, "\(made)")
        let header = made.error.trimmingCharacters(in: .whitespacesAndNewlines)
        let says = try #require(made.output.split(separator: "\n").first)
        var text = try String(contentsOfFile: file, encoding: .utf8)
        switch present {
        case nil:
            #expect(says.contains("at the end of \(file)"))
            text += made.output
        case "keys: []\n":
            #expect(says.contains("in place of the line `keys: []`"))
            text.replace("\nkeys: []\n", with: "\n\(made.output)")
        default:
            #expect(says.contains("directly below the line `keys:`"))
            text.replace("\nkeys: # all\n", with: "\nkeys: # all\n\(made.output)")
        }
        try Data(text.utf8).write(to: URL(fileURLWithPath: file))
        let event = #"{"impression_id":"i"}"#
        func status() throws -> Int? {
            let connection = try RawConnection(port: up.port)
            connection.send(
                "POST /v1/events/impressions?ce_type=skoverlay.presented HTTP/1.1\r\nHost: localhost\r\n\(header)\r\nContent-Type: application/json\r\nContent-Length: \(event.utf8.count)\r\n\r\n\(event)"
            )
            return connection.answer()?.status
        }
        #expect(try Wait.until { try status() == 200 }, "\(up.said)")
        #expect(up.stop() == 0)
    }

    @Test("what the log has when SIGTERM comes is folded before the end, much as it is")
    func backlog() throws {
        let workspace = try UpWorkspace()
        try workspace.files.write(
            "commit_interval_ms: 20\nbatch_records: 50\n", to: "pipelines/impressions.yaml")
        let up = try workspace.start()
        let log = try EmbeddedLog(path: workspace.log, mode: .existing)
        let count = 1000
        try log.writer().append(
            (0..<count).map { number in
                OutgoingRecord(
                    topic: "impressions", key: Array("i-\(number)".utf8),
                    headers: [OutgoingRecord.Header("ce_type", "skoverlay.presented")],
                    value: Array(#"{"impression_id":"i-\#(number)"}"#.utf8))
            })
        #expect(up.stop() == 0, "\(up.said)")
        #expect(workspace.outcome("accepted", of: "impressions") == count)
    }

    @Test("an address that is taken, or a bad file, ends it in one line within seconds")
    func refusals() throws {
        let workspace = try UpWorkspace()
        let other = try ScriptedPartner()
        func up() throws -> Program {
            try workspace.weir(
                "up", "--listen", "127.0.0.1:\(other.port)", "--data", workspace.data,
                "--pipelines",
                workspace.pipelines, "--topics", Repository.path("topics"))
        }
        let taken = try up()
        #expect(taken.status == 1)
        #expect(taken.error.split(separator: "\n").count == 1, "\(taken.error)")
        #expect(taken.error.contains("cannot listen on 127.0.0.1:\(other.port)"))

        try workspace.files.write("topic: bids\nbatch_records: many\n", to: "pipelines/bids.yaml")
        let bad = try up()
        #expect(bad.status == 1)
        #expect(bad.error.split(separator: "\n").count == 1, "\(bad.error)")
        #expect(bad.error.contains("pipelines/bids.yaml:2: batch_records"), "\(bad.error)")
        #expect(try workspace.weir("up", "--listen", "nowhere").status == 64)
        #expect(try workspace.weir("up", "--no-such-option").status == 64)
        let unmade = try workspace.weir(
            "up", "--data", workspace.pipelines + "/bids.yaml", "--topics",
            Repository.path("topics"),
            "--pipelines", try UpWorkspace().pipelines)
        #expect(unmade.status == 1)
    }

    @Test("a directory that is in use is no fault of the command line: 1, in one line")
    func inUse() throws {
        let workspace = try UpWorkspace()
        try FileManager.default.copyItem(
            atPath: Repository.path("pipelines/conversion-models"),
            toPath: workspace.pipelines + "/conversion-models")
        let up = try workspace.start()
        let second = try workspace.weir(
            "up", "--listen", "127.0.0.1:0", "--data", workspace.data, "--pipelines",
            workspace.pipelines,
            "--topics", Repository.path("topics"))
        #expect(second.status == 1)
        #expect(second.error.contains("conversions.sqlite is in use"), "\(second.error)")
        #expect(second.error.split(separator: "\n").count == 1, "\(second.error)")
        #expect(!second.error.contains("--help"), "\(second.error)")
        #expect(up.stop() == 0, "\(up.said)")
    }

    @Test("a service whose fault passes is begun again, and folds what came in meanwhile")
    func passingFault() throws {
        let tries = Mutex(0)
        let stop = StopSignal()
        let service = Service("weir-test", stop: stop) { stop in
            if tries.withLock({ count -> Int in
                count += 1; return count
            }) == 1 {
                throw LogError.busy(operation: "read", address: "sqlite:x")
            }
            while !stop.isRequested { usleep(10_000) }
        }
        #expect(Wait.until { tries.withLock { $0 } == 2 })
        // Named until it has worked for a while.
        #expect(service.fault != nil)
        stop.request()
        service.join()
        #expect(tries.withLock { $0 } == 2)
    }

    @Test("a service whose file was moved away or replaced is not begun again, and stays failed")
    func movedFile() throws {
        let moved = "was moved away"
        let errors: [any Error & Sendable] = [
            StoreError.moved(operation: "write", path: "x", detail: moved),
            WorkerError.store(.moved(operation: "write", path: "x", detail: moved)),
            LogError.moved(operation: "read", address: "x", detail: moved),
            WorkerError.log(.moved(operation: "read", address: "x", detail: moved)),
        ]
        let tries = Mutex(0)
        let stop = StopSignal()
        let services = errors.map { error in
            Service("weir-test", stop: stop) { _ in
                tries.withLock { $0 += 1 }
                throw error
            }
        }
        #expect(Wait.until { services.allSatisfy { $0.fault != nil } })
        // Others are begun again after two seconds.
        Wait.steadily(seconds: 3)
        #expect(tries.withLock { $0 } == errors.count)
        for service in services {
            let fault = try #require(service.fault)
            #expect(fault.contains("x: was moved away. It restarts only with weir up"), "\(fault)")
        }
        stop.request()
        for service in services { service.join() }
    }

    @Test("a service that fails is named, and what comes in is still taken, counted and delivered")
    func failingService() throws {
        let workspace = try UpWorkspace()
        let partner = try ScriptedPartner()
        try workspace.addPartner("acme", port: partner.port)
        let up = try workspace.start("--dashboard", "127.0.0.1:0", "--metrics", "127.0.0.1:0")
        let pages = Requests(port: try up.program.port(after: "dashboard http://127.0.0.1:"))
        let metrics = Requests(port: try up.program.port(after: "metrics http://127.0.0.1:"))
        let impressions = "/v1/events/impressions?ce_type=skoverlay.presented"
        #expect(try !pages.get("/streams").text.contains("has failed"))
        #expect(try metrics.get("/readyz").status == 200)
        #expect(try up.post(impressions, #"{"impression_id":"i-1"}"#) == 200)
        #expect(Wait.until { workspace.outcome("accepted", of: "impressions") == 1 })
        let store = try DatabaseQueue(path: workspace.data + "/impressions.sqlite")
        try store.write { try $0.execute(sql: "DROP TABLE outcomes_sums") }
        try store.close()
        #expect(try up.post(impressions, #"{"impression_id":"i-2"}"#) == 200)
        #expect(
            Wait.until {
                (try? up.get("/readyz")?.text)?.hasPrefix("ok\nfailed: weir-impressions\n") == true
            })
        #expect(try up.get("/readyz")?.text.contains("The status is 200 because") == true)
        #expect(try up.get("/readyz")?.status == 200, "records are taken all the same")
        // Pages and monitoring show it.
        for path in ["/", "/streams", "/campaigns", "/reports", "/dump/outcomes", "/none"] {
            let page = try pages.get(path).text
            #expect(page.contains("weir-impressions has failed, and"), "\(path): \(page)")
            #expect(page.contains("impressions.sqlite"), "the reason is there")
        }
        #expect(Wait.until { (try? metrics.get("/readyz").status) == 503 })
        #expect(try metrics.get("/readyz").text == "failed: weir-impressions\n")
        let text = try metrics.get("/metrics").text
        #expect(text.contains(#"weir_part_failed{part="weir-impressions"} 1"#))
        #expect(text.contains(#"weir_part_failed{part="weir-bids"} 0"#))
        #expect(!text.contains(#"weir_part_failures_total{part="weir-impressions"} 0"#))
        #expect(text.contains(#"weir_part_failures_total{part="weir-bids"} 0"#))
        let assigned = #"weir_partitions_assigned{topic="TOPIC",worker="TOPIC"} "#
        #expect(text.contains(assigned.replacing("TOPIC", with: "bids") + "4"))
        #expect(
            Wait.until {
                // While it waits for its next start.
                (try? metrics.get("/metrics").text)?.contains(
                    assigned.replacing("TOPIC", with: "impressions") + "0") == true
            })
        #expect(text.contains(#"weir_wal_bytes{file="impressions.sqlite"} "#))
        #expect(up.said.contains("weir: weir-impressions: "), "\(up.said)")
        #expect(try up.get("/livez")?.status == 200)

        #expect(try up.post(impressions, #"{"impression_id":"i-3"}"#) == 200)
        #expect(try up.post("/v1/postbacks/skadnetwork", Self.postback("a")) == 200)
        #expect(Wait.until { !partner.requests.isEmpty })
        #expect(up.stop() == 1)
        let last = try #require(up.said.split(separator: "\n").last)
        #expect(last.hasPrefix("weir: weir-impressions failed: "), "\(up.said)")
    }

    @Test(
        "killed under load, it counts each record of its log once, no acknowledged one missing")
    func killedUnderLoad() throws {
        let workspace = try UpWorkspace()
        let partner = try ScriptedPartner { _, number in .answer(number % 5 == 0 ? 503 : 200) }
        try workspace.addPartner("acme", port: partner.port)
        let acknowledged = Mutex<[String: Set<String>]>([:])
        let killed = try workspace.start()
        let (port, processID) = (killed.port, killed.program.process.processIdentifier)
        concurrently(25) { client in
            if client == 24 {
                Wait.until { acknowledged.withLock { Self.count($0) } > 150 }
                kill(processID, SIGKILL)
                return
            }
            guard let connection = try? RawConnection(port: port) else { return }
            for number in 1... {
                let id = "c\(client)-n\(number)"
                let (topic, target, body) = Self.record(id, number)
                connection.send(UpProcess.request(target, body))
                guard let answer = connection.answer() else { return }
                guard answer.status == 200 else { continue }
                acknowledged.withLock { _ = $0[topic, default: []].insert(id) }
            }
        }
        try killed.program.waitForExit()
        let up = try workspace.start()
        let said = acknowledged.withLock { $0 }
        #expect(Self.count(said) > 150, "the load was one")
        let log = try EmbeddedLog(path: workspace.log, mode: .existing)
        for topic in ["postbacks", "impressions", "overlay-clicks"] {
            let keys = try Self.keys(of: topic, in: log)
            #expect(Set(keys).count == keys.count, "no client sent anything twice")
            #expect(said[topic, default: []].subtracting(keys).isEmpty)
            #expect(
                Wait.until { workspace.outcome("accepted", of: topic) == keys.count },
                "\(topic): \(workspace.outcome("accepted", of: topic)) of \(keys.count)")
            #expect(workspace.outcome("duplicates", of: topic) == 0)
        }
        #expect(Wait.until { !partner.requests.isEmpty })
        #expect(up.stop() == 0, "\(up.said)")
        try expectSameAsAfresh(workspace)
    }

    private static func count(_ ids: [String: Set<String>]) -> Int {
        ids.values.reduce(0) { $0 + $1.count }
    }

    private static func click(_ id: String) -> String {
        """
        {"impression_id":"\(id)","sdk_version":"3.1.0","presented_at_ms":1,"clicked_at_ms":5,\
        "initiated_by":"user"}
        """
    }

    private static func record(
        _ id: String, _ number: Int
    ) -> (topic: String, target: String, body: String) {
        switch number % 3 {
        case 0: ("postbacks", "/v1/postbacks/skadnetwork", postback(id))
        case 1:
            (
                "impressions", "/v1/events/impressions?ce_type=skoverlay.presented",
                #"{"impression_id":"\#(id)"}"#
            )
        default: ("overlay-clicks", "/v1/events/overlay-clicks", click(id))
        }
    }

    private static func keys(of topic: String, in log: EmbeddedLog) throws -> [String] {
        var lines: [UInt8] = []
        var reading = try TopicReading(log.reader(topic: topic), partition: nil, from: nil, to: nil)
        try reading.readRange { RecordLine.append($0, to: &lines) }
        return try lines.split(separator: UInt8(ascii: "\n")).map { line in
            let record = try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any]
            return record?["key"] as? String ?? ""
        }
    }

    /// The stores are what the log gives when it is folded without any disturbance.
    private func expectSameAsAfresh(_ workspace: UpWorkspace) throws {
        let afresh = workspace.files.path + "/afresh"
        let options = WorkerOptions(
            log: .sqlite(path: workspace.log), data: afresh, pipelines: workspace.pipelines,
            untilEnd: true)
        for stream in allStreams { try stream.work(options, stop: StopSignal()) }
        let digests = try [workspace.data, afresh].map {
            try workspace.weir("digest", "--data", $0).output
        }
        #expect(digests[0].hasPrefix("sha256:"))
        #expect(digests[0] == digests[1])
    }
}
