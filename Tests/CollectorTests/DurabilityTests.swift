import EventLog
import Foundation
import Monitoring
import Synchronization
import TestKit
import Testing

@testable import Collector

@Suite("What is acknowledged is in the log")
struct DurabilityTests {
    private let path = "/v1/postbacks/skadnetwork"
    private let fault = LogError.disk(
        operation: "append to", address: "sqlite:/secret/place", detail: "full")

    private func scripted(
        change: (inout CollectorSettings) -> Void = { $0.limits.append.deadlineSeconds = 60 }
    ) throws -> (CollectorWorkspace, ScriptedLog) {
        var scripted: ScriptedLog?
        let workspace = try CollectorWorkspace(
            change: change,
            wrap: { log in
                let made = ScriptedLog(log)
                scripted = made
                return made
            })
        return (workspace, try #require(scripted))
    }

    @Test(
        "a log that refuses makes 503 with Retry-After and an unready collector, until it takes again"
    )
    func refusal() throws {
        let (workspace, log) = try scripted()
        #expect(try workspace.get("/readyz").status == 200)
        log.script.withLock { $0.fault = fault }
        for (method, target) in [("POST", path), ("GET", "/v1/notices/win?auction_id=a&bid_id=b")] {
            let answer = try workspace.send(
                method, target,
                headers: ["Authorization": "Bearer \(CollectorWorkspace.producerKey)"],
                body: method == "POST" ? Array(#"{"transaction-id":"t"}"#.utf8) : nil)
            #expect(answer.status == 503)
            #expect(answer.error == "not_acknowledged")
            #expect(Int(answer.headers["retry-after"] ?? "") ?? 0 > 0)
            #expect(!answer.text.contains("secret"), "where the log lies is nobody's business")
        }
        let unready = try workspace.get("/readyz")
        #expect(unready.status == 503)
        #expect(!unready.text.contains("secret"))
        #expect(try workspace.get("/livez").status == 200)
        log.script.withLock { $0.fault = nil }
        #expect(try workspace.post(path, #"{"transaction-id":"t"}"#).status == 200)
        #expect(try workspace.get("/readyz").status == 200)
        #expect(log.script.withLock { $0.openedWriters } == 3, "a writer that failed is replaced")
        #expect(try workspace.records("postbacks").count == 1)
    }

    @Test(
        "a collector whose log, or its -wal or -shm, is not there any more takes nothing into what is put in its place",
        arguments: [["", "-wal", "-shm"], ["-wal"], ["-shm"]])
    func movedLog(ends: [String]) throws {
        let workspace = try CollectorWorkspace()
        func post() throws -> Int { try workspace.post(path, #"{"transaction-id":"t"}"#).status }
        #expect(try post() == 200)
        let files = FileManager.default
        let (log, moved) = (workspace.path + "/log.sqlite", workspace.path + "/moved")
        for end in ends { try files.moveItem(atPath: log + end, toPath: moved + end) }
        #expect(try post() == 503)
        #expect(try workspace.get("/readyz").status == 503)
        for end in ends { try files.copyItem(atPath: moved + end, toPath: log + end) }
        #expect(try post() == 503)
        #expect(try post() == 503)
        // The very same files are the log.
        for end in ends {
            try files.removeItem(atPath: log + end)
            try files.moveItem(atPath: moved + end, toPath: log + end)
        }
        #expect(try post() == 200)
        #expect(try workspace.records("postbacks").count == 2)
    }

    @Test("a log that hangs makes 503 at the deadline, and a full queue 503 at once")
    func hanging() throws {
        let (workspace, log) = try scripted {
            $0.limits.append.deadlineSeconds = 8
            $0.limits.append.maxQueuedRecords = 2
        }
        log.script.withLock { $0.hangSeconds = Wait.seconds }
        let answers = Mutex<[(status: Int, seconds: Double)]>([])
        concurrently(6) { number in
            // Room for all but the first is in the queue.
            if number > 0 { Wait.until { log.script.withLock { !$0.appends.isEmpty } } }
            let begun = Date()
            let answer = try? workspace.post(path, #"{"transaction-id":"t"}"#)
            answers.withLock { $0.append((answer?.status ?? 0, Date().timeIntervalSince(begun))) }
        }
        let all = answers.withLock { $0 }
        #expect(all.allSatisfy { $0.status == 503 })
        // One is being appended and two wait: the other three are told before the deadline.
        #expect(all.count { $0.seconds < 7.9 } == 3, "\(all)")
        #expect(all.allSatisfy { $0.seconds < 40 }, "\(all)")
        #expect(try workspace.get("/readyz").status == 503)
        log.script.withLock { $0.hangSeconds = 0 }
    }

    @Test("requests at once share commits, and each acknowledged one is there")
    func groups() throws {
        let (workspace, log) = try scripted()
        // The first append is slow, so that all others wait for it.
        log.script.withLock { $0.hangSeconds = Wait.seconds }
        let count = 40
        let sent = Mutex(0)
        concurrently(count + 1) { number in
            if number == count {
                Wait.until { sent.withLock { $0 } == count }
                Wait.steadily(seconds: 0.3)
                return log.script.withLock { $0.hangSeconds = 0 }
            }
            guard let connection = try? RawConnection(port: workspace.port) else { return }
            connection.send(
                Requests.text(
                    "POST", path, headers: ["Content-Type": "application/json"],
                    body: Array(#"{"transaction-id":"t-\#(number)"}"#.utf8)))
            sent.withLock { $0 += 1 }
            #expect(connection.answer()?.status == 200)
        }
        let keys = try workspace.records("postbacks").compactMap(\.key)
        #expect(Set(keys) == Set((0..<count).map { "t-\($0)" }))
        #expect(keys.count == count)
        let appends = log.script.withLock { $0.appends }
        #expect(appends.count < count / 2, "\(appends)")
        #expect(appends.reduce(0, +) == count)
    }

    @Test("one request's fault is not the others'")
    func foreignFault() async throws {
        let (workspace, log) = try scripted()
        log.script.withLock { $0.hangSeconds = 0.2 }
        let statuses = Tally()
        let appender = workspace.collector.appender
        await withTaskGroup { group in
            for number in 0..<8 {
                group.addTask {
                    let topic = number % 4 == 3 ? "no-such-topic" : "postbacks"
                    let record = OutgoingRecord(topic: topic, key: [1], value: [2])
                    let isTaken = (try? await appender.append([record])) != nil
                    statuses.count("\(topic) \(isTaken)")
                }
            }
        }
        #expect(statuses.counts == ["postbacks true": 6, "no-such-topic false": 2])
        #expect(try workspace.records("postbacks").count == 6)
    }

    @Test("a stop answers what has begun and leaves nothing half done")
    func stopping() throws {
        let (workspace, log) = try scripted()
        log.script.withLock { $0.hangSeconds = Wait.seconds }
        let acknowledged = Mutex<Set<String>>([])
        concurrently(21) { number in
            if number == 20 {
                Wait.until { log.script.withLock { !$0.appends.isEmpty } }
                Wait.steadily(seconds: 0.1)
                Thread.detachNewThread {
                    Wait.steadily(seconds: 0.2)
                    log.script.withLock { $0.hangSeconds = 0 }
                }
                workspace.collector.stop()
                return
            }
            let answer = try? workspace.post(path, #"{"transaction-id":"t-\#(number)"}"#)
            if answer?.status == 200 { acknowledged.withLock { _ = $0.insert("t-\(number)") } }
        }
        let keys = Set(try workspace.records("postbacks").compactMap(\.key))
        let said = acknowledged.withLock { $0 }
        #expect(said.count > 0)
        #expect(said.isSubset(of: keys))
        #expect(throws: (any Error).self) { _ = try workspace.get("/livez") }
    }
}

/// How often each of some words was said.
private final class Tally: Sendable {
    private let said = Mutex<[String: Int]>([:])

    var counts: [String: Int] { said.withLock { $0 } }

    func count(_ word: String) { said.withLock { $0[word, default: 0] += 1 } }
}

@Suite("Services beside the collector")
struct ServiceTests {
    @Test("that fail are measured by their names, until they work again")
    func failed() throws {
        let registry = MetricRegistry(ServiceMetrics.descriptions)
        let metrics = ServiceMetrics(factory: registry)
        metrics.update([
            ServiceState("weir-bids", hasFailed: false, failures: 0),
            ServiceState("weir-impressions", hasFailed: true, failures: 2),
        ])
        #expect(registry.text.contains(#"weir_part_failed{part="weir-bids"} 0"#))
        #expect(registry.text.contains(#"weir_part_failed{part="weir-impressions"} 1"#))
        #expect(registry.text.contains(#"weir_part_failures_total{part="weir-bids"} 0"#))
        #expect(registry.text.contains(#"weir_part_failures_total{part="weir-impressions"} 2"#))
        metrics.update([ServiceState("weir-impressions", hasFailed: false, failures: 3)])
        #expect(registry.text.contains(#"weir_part_failed{part="weir-impressions"} 0"#))
        #expect(registry.text.contains(#"weir_part_failures_total{part="weir-impressions"} 3"#))
    }
}
