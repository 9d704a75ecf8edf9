import EmbeddedLog
import EventLog
import Foundation
import KafkaLog
import Logging
import Monitoring
import Program
import Store
import Synchronization
import TestKit
import Testing

@testable import Deliveries

@Suite("The worker that delivers", .serialized)
struct DeliveringWorkerTests {
    @Test("until the end: takes over what is there, sends each once, and what failed is pending")
    func untilEnd() throws {
        let partner = try ScriptedPartner { request, _ in
            .answer(request.body.contains(Documents.id(3)) ? 500 : 200)
        }
        let workspace = try LogWorkspace(url: partner.url)
        try workspace.publish((0..<20).map { Documents.install(id: Documents.id($0)) })
        try workspace.deliver()
        #expect(partner.requests.count == 20)
        let store = try DeliveryStore(existing: DeliveryStore.path(in: workspace.files.path))
        #expect(try store.deliveries(state: .delivered, limit: 100).count == 19)
        let left = try store.deliveries(state: .pending, limit: 100)
        #expect(left.map(\.id) == [Documents.id(3)])
        #expect(left.first?.attempts == 1)
        try workspace.deliver()
        #expect(partner.requests.count == 20, "its next attempt is not due yet")
        #expect(try workspace.committed().values.reduce(0, +) == 20)
    }

    @Test("a record that is no document is dead with its reason, and the rest goes on")
    func unreadable() throws {
        let partner = try ScriptedPartner()
        let workspace = try LogWorkspace(url: partner.url)
        try workspace.publish(["{", Documents.install(), "{\"id\":1}"])
        try workspace.deliver()
        let store = try DeliveryStore(existing: DeliveryStore.path(in: workspace.files.path))
        let dead = try store.deliveries(state: .dead, limit: 10)
        #expect(dead.count == 2 && dead.allSatisfy { $0.reason.hasPrefix("unreadable: ") })
        #expect(dead.allSatisfy { $0.id.hasPrefix("partner-postbacks/") })
        #expect(
            dead.map(\.reason).contains("unreadable: a member's name is missing at byte 1"),
            "\(dead.map(\.reason))")
        #expect(partner.requests.count == 1)
        let retried = try store.retry(.allDead, nowMilliseconds: 0)
        #expect(retried == RetriedDeliveries(retried: 0, left: 2))
    }

    @Test(
        "a store that was emptied is refused and left as it is; remains of one that was not finished are not"
    )
    func emptied() throws {
        let partner = try ScriptedPartner()
        let workspace = try LogWorkspace(url: partner.url)
        let path = DeliveryStore.path(in: workspace.files.path)
        try workspace.publish([Documents.install()])
        for end in [".new", ".new-journal"] {
            try Data("x".utf8).write(to: URL(fileURLWithPath: path + end))
        }
        try workspace.deliver()
        #expect(partner.requests.count == 1)
        #expect(!FileManager.default.fileExists(atPath: path + ".new"))
        try Data().write(to: URL(fileURLWithPath: path))
        try workspace.publish([Documents.install(id: Documents.id(1))])
        #expect(throws: StoreError.emptied(path: path)) { try workspace.deliver() }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)).isEmpty)
        #expect(partner.requests.count == 1)
    }

    @Test("a store that is new begins where the group is, and sends nothing a second time")
    func freshStore() throws {
        let partner = try ScriptedPartner()
        let workspace = try LogWorkspace(url: partner.url)
        try workspace.publish([Documents.install()])
        try workspace.deliver()
        try FileManager.default.removeItem(atPath: DeliveryStore.path(in: workspace.files.path))
        try workspace.publish([Documents.install(id: Documents.id(1))])
        try workspace.deliver()
        #expect(partner.requests.count == 2)
    }

    @Test(
        "a copy of a store takes over again what came after it, and sends only the highest revision"
    )
    func olderCopy() throws {
        let partner = try ScriptedPartner()
        let workspace = try LogWorkspace(url: partner.url)
        let path = DeliveryStore.path(in: workspace.files.path)
        try workspace.publish([Documents.install()])
        try workspace.deliver()
        try FileManager.default.copyItem(atPath: path, toPath: path + ".copy")
        try workspace.publish([
            Documents.install(id: Documents.id(1)),
            Documents.install(id: Documents.id(1), revision: 2),
            Documents.install(id: Documents.id(2)),
        ])
        try workspace.deliver()
        #expect(partner.requests.count == 3)
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.moveItem(atPath: path + ".copy", toPath: path)
        try workspace.deliver()
        let keys = partner.requests.compactMap { $0.headers["idempotency-key"] }
        let once = "\(Documents.id):1"
        let twice = ["\(Documents.id(1)):2", "\(Documents.id(2)):1"]
        #expect(keys.sorted() == ([once] + twice + twice).sorted())
        try workspace.deliver()
        #expect(partner.requests.count == 5)
    }

    @Test("a failure between answer and mark sends the document again, under the same key")
    func unmarked() throws {
        let partner = try ScriptedPartner()
        let workspace = try DeliveryWorkspace(["acme": "url: \(partner.url)/\nallow_private: true"])
        try workspace.ingest(Documents.install())
        // Answered, and never noted.
        try workspace.dispatcher.runOnce()
        Wait.until { !partner.requests.isEmpty }
        let again = Dispatcher(
            store: workspace.store, routes: try workspace.files.routes(), sender: workspace.sender,
            clock: workspace.clock, parser: try #require(.init()), attemptsOnce: false)
        try again.runOnce()
        while again.inFlightCount > 0 { try again.collect(waitMilliseconds: 50) }
        #expect(
            partner.requests.map { $0.headers["idempotency-key"] }
                == [String](repeating: "\(Documents.id):1", count: 2))
        #expect(try workspace.delivery().state == .delivered)
    }

    @Test("killed between a partner's 200 and its mark, the program sends the document again")
    func killed() throws {
        let worker = Mutex<pid_t>(0)
        let partner = try ScriptedPartner { _, number in
            // Stopped, the program cannot mark what it is being answered.
            guard number == 0 else { return .answer(200) }
            var process: pid_t = 0
            while process == 0 {
                process = worker.withLock { $0 }
                usleep(1000)
            }
            kill(process, SIGSTOP)
            return .answer(200)
        }
        let workspace = try LogWorkspace(url: partner.url)
        try workspace.publish([Documents.install()])
        let first = try workspace.start()
        worker.withLock { $0 = first.process.processIdentifier }
        Wait.until { !partner.requests.isEmpty }
        usleep(200_000)
        first.kill()
        #expect(partner.requests.count == 1)
        let second = try workspace.start(["--until-end"])
        try second.waitForExit()
        #expect(second.status == 0)
        #expect(
            partner.requests.map { $0.headers["idempotency-key"] }
                == [String](repeating: "\(Documents.id):1", count: 2))
        #expect(partner.requests[0].body == partner.requests[1].body)
        let store = try DeliveryStore(existing: DeliveryStore.path(in: workspace.files.path))
        #expect(try store.history(of: Documents.id).first?.delivery.state == .delivered)
    }

    @Test("SIGTERM ends the program with 0, what was answered marked")
    func stops() throws {
        let partner = try ScriptedPartner()
        let workspace = try LogWorkspace(url: partner.url)
        try workspace.publish([Documents.install()])
        let process = try workspace.start(["--metrics", "127.0.0.1:0"])
        Wait.until { !partner.requests.isEmpty }
        #expect(try process.stop() == 0 && process.process.terminationReason == .exit)
        let store = try DeliveryStore(existing: DeliveryStore.path(in: workspace.files.path))
        #expect(try store.history(of: Documents.id).first?.delivery.state == .delivered)
    }

    @Test("a partner's file that cannot be used ends the program with 1 and its place")
    func badFile() throws {
        let workspace = try LogWorkspace(url: "https://{id}")
        try workspace.publish([Documents.install()])
        #expect(throws: (any Error).self) { try workspace.deliver() }
        let process = try workspace.start(["--until-end"])
        try process.waitForExit()
        #expect(process.status == 1)
    }
}

/// A log with the topic, and one partner.
private final class LogWorkspace {
    let files: PartnerFiles

    init(url: String) throws { files = try PartnerFiles("url: \(url)/\nallow_private: true") }

    private var address: LogAddress { .sqlite(path: files.path + "/log.sqlite") }

    func publish(_ documents: [String]) throws {
        let log = try EmbeddedLog(path: files.path + "/log.sqlite", mode: .create)
        try log.createTopic("partner-postbacks", partitionCount: 4)
        try log.writer().append(
            documents.map { text in
                OutgoingRecord(
                    topic: "partner-postbacks", key: Array(text.utf8.prefix(40)), headers: [],
                    value: Array(text.utf8))
            })
    }

    func deliver() throws {
        try PartnerPostbacksWorker.work(
            WorkerOptions(log: address, data: files.path, pipelines: files.path, untilEnd: true),
            stop: StopSignal())
    }

    func committed() throws -> [Int32: Int64] {
        let log = try EmbeddedLog(path: files.path + "/log.sqlite", mode: .existing)
        return try log.reader(topic: "partner-postbacks", group: "weir-partner-postbacks")
            .committedOffsets().mapValues(\.next)
    }

    func start(_ arguments: [String] = []) throws -> Program {
        try Program(
            "weir-partner-postbacks",
            ["--log", address.description, "--data", files.path, "--pipelines", files.path]
                + arguments)
    }
}

@Suite("Delivering from Kafka", .serialized)
struct KafkaTests {
    @Test("documents of all partitions are sent once, and a new store begins where the group is")
    func kafka() throws {
        let partner = try ScriptedPartner()
        let workspace = try KafkaWorkspace(url: partner.url)
        try workspace.publish(0..<40)
        try workspace.deliver("one")
        #expect(partner.requests.count == 40)
        try workspace.deliver("one")
        try workspace.publish(40..<60)
        try workspace.deliver("other")
        let keys = partner.requests.compactMap { $0.headers["idempotency-key"] }
        #expect(keys.count == 60)
        #expect(Set(keys) == Set((0..<60).map { "\(Documents.id($0)):1" }))
    }

    @Test(
        "a copy of a store sends what its lost file had, although another instance has gone on after that"
    )
    func copyBehindAnother() throws {
        let isAway = Mutex(false)
        let partner = try ScriptedPartner { _, _ in .answer(isAway.withLock { $0 } ? 503 : 200) }
        let workspace = try KafkaWorkspace(url: partner.url)
        try workspace.publish(0..<20)
        try workspace.deliver("one")
        try FileManager.default.copyItem(
            atPath: workspace.path("one"), toPath: workspace.path("one") + ".copy")
        try workspace.publish(20..<40)
        isAway.withLock { $0 = true }
        try workspace.deliver("one")
        isAway.withLock { $0 = false }
        try FileManager.default.removeItem(atPath: workspace.path("one"))
        try workspace.publish(40..<60)
        try workspace.deliver("other")
        try FileManager.default.moveItem(
            atPath: workspace.path("one") + ".copy", toPath: workspace.path("one"))
        try workspace.deliver("one")
        let delivered = try DeliveryStore(existing: workspace.path("one"))
            .deliveries(state: .delivered, limit: 100).map(\.id)
        #expect(delivered.count == 60)
        #expect(Set(delivered) == Set((0..<60).map { Documents.id($0) }))
    }

    @Test("the metrics of a partner go with its file")
    func metricsOfPartners() throws {
        let registry = MetricRegistry(DeliveryMetrics.descriptions)
        let metrics = DeliveryMetrics(
            topic: "partner-postbacks", group: "g", partners: ["acme", "globex"],
            factory: registry, health: Health(waitMilliseconds: 100))
        metrics.setDisabled([DisabledPartner(name: "globex", status: 410)])
        #expect(registry.text.contains("globex"))
        metrics.setPartners(["acme"])
        #expect(registry.text.contains("acme"))
        #expect(!registry.text.contains("globex"))
    }
}

/// Four partitions on librdkafka's mock cluster, and instances of one group by the names of their data directories.
private struct KafkaWorkspace {
    private let cluster: MockCluster
    private let files: PartnerFiles
    private let log: KafkaLog

    init(url: String) throws {
        cluster = try MockCluster()
        try cluster.createTopic("partner-postbacks", partitionCount: 4)
        files = try PartnerFiles("url: \(url)/\nallow_private: true")
        log = try KafkaLog(
            KafkaSettings(brokers: cluster.brokers),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    func publish(_ numbers: Range<Int>) throws {
        try log.writer().append(
            numbers.map { number in
                let id = Documents.id(number)
                return OutgoingRecord(
                    topic: "partner-postbacks", key: Array(id.utf8), headers: [],
                    value: Array(Documents.install(id: id).utf8))
            })
    }

    func deliver(_ instance: String) throws {
        try PartnerPostbacksWorker.work(
            WorkerOptions(
                log: LogAddress("kafka://" + cluster.brokers.joined(separator: ",")),
                data: "\(files.path)/\(instance)", pipelines: files.path, untilEnd: true),
            stop: StopSignal())
    }

    func path(_ instance: String) -> String {
        DeliveryStore.path(in: "\(files.path)/\(instance)")
    }
}
