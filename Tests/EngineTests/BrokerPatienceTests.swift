import EventLog
import Foundation
import Logging
import Program
import Synchronization
import TestKit
import Testing

@testable import Engine

@Suite("Waiting for brokers")
struct BrokerPatienceTests {
    private let away = LogError.unavailable(operation: "read", address: "a", detail: "away")

    private func patience(
        seconds: Int, isStopped: @escaping () -> Bool = { false },
        report: @escaping (String?, Double) -> Void = { _, _ in }
    ) -> BrokerPatience {
        BrokerPatience(
            seconds: seconds, isStopped: isStopped,
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }),
            report: report)
    }

    @Test(
        "a log that answers again within the time is waited for, and what is reported ends with that"
    )
    func answersAgain() throws {
        var asked = 0
        var reports: [String?] = []
        let answer = try patience(seconds: 60, report: { reason, _ in reports.append(reason) }).wait
        {
            asked += 1
            guard asked == 4 else { throw away }
            return asked
        }
        #expect(answer == 4)
        #expect(reports == [away.description, away.description, away.description, nil])
    }

    @Test("after the time the error says how long was waited, and what bounds it")
    func timeIsOver() {
        let began = ContinuousClock.now
        #expect {
            try patience(seconds: 1).wait { throw away }
        } throws: {
            "\($0)".contains("waited 1 s, the limit of broker_patience_seconds")
        }
        #expect(began.duration(to: .now) >= .seconds(1))
        var asked = 0
        #expect(throws: LogError.self) {
            try patience(seconds: 0).wait {
                asked += 1
                throw away
            }
        }
        #expect(asked == 1)
    }

    @Test("an error that does not pass is thrown at once, and a stop ends the wait")
    func otherErrors() {
        var asked = 0
        #expect(throws: LogError.unknownTopic("t", address: "a")) {
            try patience(seconds: 60).wait {
                asked += 1
                throw LogError.unknownTopic("t", address: "a")
            }
        }
        #expect(asked == 1)
        #expect(throws: BrokerPatience.Stopped.self) {
            try patience(seconds: 60, isStopped: { asked > 3 }).wait {
                asked += 1
                throw away
            }
        }
    }

    /// The value of a metric that a worker serves.
    private func wait(at port: UInt16) -> Double? {
        let text = try? Requests(port: port).get("/metrics").text
        let line = text?.split(separator: "\n").first { $0.hasPrefix("weir_broker_wait_seconds{") }
        return line?.split(separator: " ").last.flatMap { Double($0) }
    }

    /// A worker whose brokers go while it reads.
    private func catchingUp(
        patience: Int, _ body: (ClusterWorkspace, Program, UInt16) throws -> Void
    ) throws {
        let workspace = try ClusterWorkspace(.mock)
        try workspace.makeTopic("bids")
        try workspace.workspace.write(
            "bids.yaml",
            """
            topic: \(workspace.topic("bids"))
            batch_records: 1000
            commit_interval_ms: 20
            broker_patience_seconds: \(patience)
            kafka: {fetch.message.max.bytes: 4000, queued.min.messages: 20}

            """)
        // None is rejected: publishing a dead letter has a patience of its own.
        try workspace.publish(
            (0..<6000).map { (number: Int) in
                OutgoingRecord(
                    topic: "bids", partition: Int32(number % 4),
                    timestampMilliseconds: 1_795_132_800_000 + Int64(number),
                    key: Array("\(number)".utf8),
                    headers: [.init("ce_type", "inapp.bid")],
                    value: Array(
                        #"{"auction_id":"\#(number)","adapter":"a","competition_type":"price","price":1,"currency":"USD"}"#
                            .utf8))
            })
        let worker = try workspace.worker(
            "weir-bids", data: "away", ["--partitions", "all", "--metrics", "127.0.0.1:0"])
        let port = try worker.port(after: "url=http://127.0.0.1:")
        try workspace.waitUntilFolded(20, "bids", data: ["away"])
        try workspace.cluster.setBroker(-1, isUp: false)
        try body(workspace, worker, port)
    }

    @Test(
        "a worker that catches up while all brokers are away for 45 s waits, shows it, and counts every record"
    )
    func catchUp() async throws {
        try await onThread {
            try catchingUp(patience: 600) { workspace, worker, port in
                let began = ContinuousClock.now
                var longest = 0.0
                while began.duration(to: .now) < .seconds(45) {
                    longest = max(longest, wait(at: port) ?? 0)
                    usleep(500_000)
                    try #require(worker.process.isRunning, "\(worker.error)")
                }
                #expect(longest > 5, "\(worker.error)")
                #expect(worker.error.contains("the log does not answer: waiting until it answers"))
                try workspace.cluster.setBroker(-1, isUp: true)
                #expect(
                    Wait.until { worker.error.contains("the log answers again") }, "\(worker.error)"
                )
                #expect(Wait.until { wait(at: port) == 0 })
                #expect(try worker.stop() == 0, "\(worker.error)")
                try workspace.foldAll("weir-bids", data: "away")
                #expect(
                    try workspace.contents("bids", data: "away")
                        == workspace.embeddedContents(of: "bids"))
            }
        }
    }

    @Test(
        "with a short patience it ends with 1 and says what bounds the wait, and a stop ends the wait with 0"
    )
    func bounds() async throws {
        try await onThread {
            try catchingUp(patience: 1) { _, worker, _ in
                try worker.waitForExit(seconds: 60)
                #expect(worker.status == 1)
                #expect(worker.error.contains("broker_patience_seconds"), "\(worker.error)")
            }
            try catchingUp(patience: 600) { _, worker, _ in
                #expect(
                    Wait.until(seconds: 60) { worker.error.contains("waiting until it answers") },
                    "\(worker.error)")
                let status = try worker.stop(seconds: 60)
                #expect(status == 0, "\(worker.error)")
            }
        }
    }
}
