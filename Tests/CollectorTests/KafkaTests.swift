import Dispatch
import EventLog
import Foundation
import Monitoring
import Program
import Synchronization
import TestKit
import Testing

@testable import Collector

@Suite("Over Kafka", .serialized)
struct KafkaTests {
    @Test(
        "what is answered 200 is on the topic; without brokers it is 503 in time, with them 200 again"
    )
    func brokers() throws {
        let cluster = try MockCluster()
        for topic in [
            "bids", "impressions", "overlay-clicks", "postbacks", "store-notifications",
            "conversion-updates", "costs",
        ] {
            try cluster.createTopic(topic, partitionCount: 4)
        }
        let program = try RunningCollector(log: cluster.address)
        defer { program.end() }
        let path = "/v1/postbacks/skadnetwork?via=relay"
        #expect(try program.requests.post(path, #"{"transaction-id":"6AAF"}"#).status == 200)
        let found = try PlainConsumer(cluster.brokers).readAll("postbacks", partitionCount: 4)
        #expect(found.map(\.key) == ["6aaf"])
        #expect(found.map(\.value) == [#"{"transaction-id":"6AAF"}"#])
        let headers = try #require(found.first?.headers)
        #expect(headers["ce_type"] == "skadnetwork.postback")
        #expect(headers["ce_via"] == "relay")

        cluster.setBroker(-1, isUp: false)
        let stopwatch = Stopwatch()
        let refused = try program.requests.post(path, #"{"transaction-id":"away"}"#)
        #expect(refused.status == 503)
        #expect(refused.headers["retry-after"] != nil)
        #expect(stopwatch.seconds < 30, "log_timeout_seconds is 8")
        #expect(try program.requests.get("/readyz").status == 503)

        cluster.setBroker(-1, isUp: true)
        let isTaken = try Wait.until {
            try program.requests.post(path, #"{"transaction-id":"back"}"#).status == 200
        }
        #expect(isTaken)
        let all = try PlainConsumer(cluster.brokers).readAll("postbacks", partitionCount: 4)
        #expect(all.contains { $0.key == "back" })
        #expect(try program.requests.get("/readyz").status == 200)
        #expect(program.fault == nil)
    }
}

/// The collector as the program runs it, on a thread of its own; ended with the value.
private final class RunningCollector: Sendable {
    private let files: TemporaryDirectory

    private let stop = StopSignal()
    private let port: Mutex<UInt16?>
    private let outcome: Mutex<String?>
    private let ended = DispatchGroup()

    init(log: String) throws {
        port = Mutex(nil)
        outcome = Mutex(nil)
        files = try TemporaryDirectory()
        try files.write("log_timeout_seconds: 8\nthreads: 1\n", to: "collector.yaml")
        try files.write("settings:\n  reconnect.backoff.max.ms: 300\n", to: "kafka.yaml")
        let path = files.path
        let address = try LogAddress(log)
        let listens = DispatchSemaphore(value: 0)
        ended.enter()
        Thread.detachNewThread { [self] in
            do {
                try CollectorProgram.work(
                    CollectorOptions(
                        listen: "127.0.0.1:0", log: address, data: path, pipelines: path,
                        metrics: "off"), stop: stop,
                    listening: { address, _ in
                        port.withLock { $0 = address.port }
                        listens.signal()
                    })
            } catch {
                outcome.withLock { $0 = "\(error)" }
                listens.signal()
            }
            ended.leave()
        }
        _ = listens.wait(timeout: .now() + Wait.seconds)
        _ = try #require(port.withLock { $0 }, "\(fault ?? "it does not listen")")
    }

    var requests: Requests { Requests(port: port.withLock { $0 ?? 0 }) }

    /// Why it ended; nil when it runs or was ended.
    var fault: String? { outcome.withLock { $0 } }

    func end() {
        stop.request()
        ended.wait()
    }
}
