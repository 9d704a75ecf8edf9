import Engine
import EventLog
import Foundation
import Streams
import TestKit
import Testing

@Suite("--metrics of workers", .serialized)
struct MetricsTests {
    /// A worker that serves metrics on a port that it picked.
    private struct Served {
        let worker: Program
        let requests: Requests

        init(_ name: String, _ workspace: Workspace) throws {
            worker = try workspace.start(name, ["--metrics", "127.0.0.1:0"])
            requests = Requests(port: try worker.port(after: "http://127.0.0.1:"))
        }

        func get(_ path: String) throws -> Answer { try requests.get(path) }

        /// The values by name and labels.
        func values() throws -> [String: Double] {
            var values: [String: Double] = [:]
            for line in try get("/metrics").text.split(separator: "\n") where line.first != "#" {
                let cut = try #require(line.lastIndex(of: " "))
                values[String(line[..<cut])] = Double(line[line.index(after: cut)...])
            }
            return values
        }

        /// Waits until the metrics are as they are to be, and returns them.
        func values(until isDone: ([String: Double]) -> Bool) throws -> [String: Double] {
            var values: [String: Double] = [:]
            let isInTime = try Wait.until {
                values = try self.values()
                return isDone(values)
            }
            #expect(isInTime)
            return values
        }
    }

    private func lag(_ values: [String: Double]) -> Double? {
        let lags = values.filter { $0.key.hasPrefix("kafka_consumergroup_lag{") }
        return lags.isEmpty ? nil : lags.values.reduce(0, +)
    }

    private func expectOutcomes(
        _ values: [String: Double], of stream: String, _ workspace: Workspace
    ) throws {
        let names: [(Outcome, String)] = [
            (.accepted, "accepted"), (.duplicates, "duplicate"), (.conflicts, "conflict"),
            (.untrusted, "untrusted"), (.rejected, "rejected"),
        ]
        for (outcome, name) in names {
            let counted = values["weir_records_total{outcome=\"\(name)\",topic=\"\(stream)\"}"]
            #expect(try counted == Double(workspace.outcome(outcome, stream)), "\(name)")
        }
        let reasons = values.filter { $0.key.hasPrefix("weir_rejected_total{") }
        #expect(reasons.count == 11)
        for (name, count) in reasons {
            let reason = try #require(name.split(separator: "\"").dropFirst().first)
            #expect(
                try Int(count) == workspace.refused(for: String(reason), stream).count, "\(reason)")
        }
    }

    @Test("Bids: what is counted is what the store holds, and the lag falls to 0")
    func bids() throws {
        let workspace = try Workspace()
        // Nothing is too old to be remembered.
        try workspace.write("bids.yaml", "batch_records: 100\ndedupe_window_seconds: 604800\n")
        try workspace.publish("bids", Samples.bids(1000, seed: 21))
        let served = try Served("weir-bids", workspace)

        var values = try served.values {
            lag($0) == 0 && $0["weir_batch_records_sum{topic=\"bids\"}"] == 1000
                && $0["weir_outbox_depth{topic=\"bids\"}"] == 0
        }
        try expectOutcomes(values, of: "bids", workspace)
        let ids = values["weir_dedupe_ids{topic=\"bids\"}"]
        #expect(ids == values["weir_records_total{outcome=\"accepted\",topic=\"bids\"}"])
        #expect(values["weir_partitions_assigned{topic=\"bids\"}"] == 4)
        for state in try workspace.states("bids") {
            let partition = state.partition
            let labels = "consumergroup=\"weir-bids\",partition=\"\(partition)\",topic=\"bids\""
            #expect(
                values["kafka_consumergroup_current_offset{\(labels)}"] == Double(state.nextOffset))
            #expect(values["weir_lag_seconds{partition=\"\(partition)\",topic=\"bids\"}"] == 0)
        }
        let batches = try #require(values["weir_batch_records_count{topic=\"bids\"}"])
        for duration in ["fold", "commit"] {
            #expect(values["weir_\(duration)_duration_seconds_count{topic=\"bids\"}"] == batches)
        }
        #expect((values["process_resident_memory_bytes"] ?? 0) > 1_000_000)
        // Records that come later are counted too.
        try workspace.publish("bids", Samples.bids(300, seed: 22))
        values = try served.values { $0["weir_batch_records_sum{topic=\"bids\"}"] == 1300 }
        try expectOutcomes(values, of: "bids", workspace)
    }

    @Test("Postbacks: verdicts are counted, and what was published is no longer in the outbox")
    func postbacks() throws {
        let workspace = try Workspace()
        try workspace.write("postbacks.yaml", "batch_records: 50\n" + Samples.trustedKeys)
        try workspace.write("partners/acme.yaml", Samples.partner)
        try workspace.publish("postbacks", try Samples.postbacks(400, seed: 23))
        let served = try Served("weir-postbacks", workspace)

        let values = try served.values {
            lag($0) == 0 && $0["weir_batch_records_sum{topic=\"postbacks\"}"] == 400
                && $0["weir_outbox_depth{topic=\"postbacks\"}"] == 0
        }
        try expectOutcomes(values, of: "postbacks", workspace)
        let rejected = try #require(
            values["weir_records_total{outcome=\"rejected\",topic=\"postbacks\"}"])
        #expect(values["weir_verifications_total{topic=\"postbacks\"}"] == 400 - rejected)
        #expect(try !workspace.records("partner-postbacks").isEmpty)
    }

    @Test("Records that are rejected because a sum overflows are counted as rejected, once")
    func overflow() throws {
        let workspace = try Workspace()
        try workspace.publish("bids", Samples.bid("first", price: "1"))
        try workspace.foldBids()
        try workspace.execute(
            """
            UPDATE bids_sums SET price_micros = 9223372036854775807 - 2600000
            WHERE number IN (SELECT number FROM bids WHERE seat = 'dsp-1')
            """, stream: "bids")
        try workspace.publish(
            "bids",
            [("a", "1.25"), ("b", "2"), ("c", "1.25"), ("a", "1.25"), ("d", "0.2")].map {
                Samples.bid($0.0, price: $0.1)
            })
        let served = try Served("weir-bids", workspace)

        let values = try served.values {
            lag($0) == 0 && $0["weir_batch_records_sum{topic=\"bids\"}"] == 5
        }
        let outcomes = [
            "accepted": 2, "duplicate": 1, "conflict": 0, "untrusted": 0, "rejected": 2,
        ]
        for (outcome, count) in outcomes {
            let name = "weir_records_total{outcome=\"\(outcome)\",topic=\"bids\"}"
            #expect(values[name] == Double(count), "\(outcome)")
        }
        #expect(values["weir_rejected_total{reason=\"overflow\",topic=\"bids\"}"] == 2)
    }

    @Test("Health is told at /livez and /readyz; other paths are 404 and other methods 405")
    func paths() throws {
        let workspace = try Workspace()
        try workspace.publish("bids", Samples.bids(10, seed: 24))
        let served = try Served("weir-bids", workspace)

        _ = try served.values { lag($0) == 0 }
        let metrics = try served.get("/metrics?name=x")
        #expect(metrics.status == 200)
        #expect(metrics.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
        #expect(
            metrics.headers["date"]?.wholeMatch(of: /..., [0-9]{2} ... [0-9]{4} [0-9:]{8} GMT/)
                != nil)
        for path in ["/livez", "/readyz"] {
            let answer = try served.get(path)
            #expect(answer.status == 200)
            #expect(answer.text == "ok\n")
        }
        #expect(try served.get("/").status == 404)
        #expect(try served.get("/metrics/x").status == 404)
        let post = try served.requests.send("POST", "/metrics")
        #expect(post.status == 405)
        #expect(post.headers["allow"]?.hasPrefix("GET") == true)
        // Serving does not hold a worker back that is asked to stop.
        #expect(try served.worker.stop() == 0)
        #expect(!served.worker.error.contains(" error "))
    }

    @Test("A port that is taken fails with one line that says what to do; no address is bad usage")
    func badAddresses() throws {
        let workspace = try Workspace()
        try workspace.publish("bids", Samples.bids(10, seed: 25))
        let served = try Served("weir-bids", workspace)

        func end(_ address: String) throws -> Program {
            try workspace.run("weir-bids", data: "other", ["--until-end", "--metrics", address])
        }
        let port = served.requests.port
        let taken = try end("127.0.0.1:\(port)")
        #expect(taken.status == 1)
        #expect(
            taken.error == """
                weir-bids: metrics: cannot listen on 127.0.0.1:\(port): Address already in use: \
                give another --metrics HOST:PORT, port 0 for any free one

                """)
        #expect(try end("9464").status == 64)
        #expect(try end("127.0.0.1:0").status == 0)
        #expect(try end("[::1]:0").error.contains("http://[::1]:"))
        #expect(try !end("off").error.contains("serving metrics"))
    }

    @Test("The end of a worker that served metrics says nothing but that it stopped")
    func quietEnd() throws {
        let workspace = try Workspace()
        try workspace.write("bids.yaml", "commit_interval_ms: 20\n")
        try workspace.publish("bids", Samples.bids(10, seed: 3))
        let served = try Served("weir-bids", workspace)
        #expect(try served.get("/livez").status == 200)
        _ = try served.worker.stop()
        let lines = served.worker.error.split(separator: "\n")
        #expect(lines.allSatisfy { $0.contains(" info weir-bids: ") }, "\(served.worker.error)")
        #expect(lines.last?.contains("stopped") == true)
    }

    @Test("Metrics take one thread, and without --metrics none")
    func threads() throws {
        let workspace = try Workspace()
        // Nothing of it is rejected: publishing dead letters would take threads too.
        try workspace.publish("bids", Samples.bids(0..<10))
        func threads(_ worker: Program) throws -> [String] {
            let path = "/proc/\(worker.process.processIdentifier)/task"
            // One that has ended since it was listed has no name any more.
            return try FileManager.default.contentsOfDirectory(atPath: path).compactMap { task in
                try? String(contentsOfFile: "\(path)/\(task)/comm", encoding: .utf8)
            }
        }
        let served = try Served("weir-bids", workspace)

        _ = try served.values { lag($0) == 0 }
        let plain = try workspace.start("weir-bids", data: "plain")
        try workspace.waitUntilFolded(10, "bids", data: "plain")
        #expect(try threads(served.worker).filter { $0.hasPrefix("NIO") }.count == 1)
        // The commits' threads come and go, and bear the program's name.
        let names = try (Set(threads(served.worker)), Set(threads(plain)))
        #expect(names.0.filter { !$0.hasPrefix("NIO") } == names.1)
    }
}
