import EventLog
import Foundation
import Simulation
import Testing
import Worker

@Suite("--metrics of workers", .serialized)
struct MetricsTests {
    /// A worker that serves metrics on a port that it picked.
    private struct Served {
        let worker: WorkerProcess
        let port: UInt16

        init(_ name: String, _ place: Workplace) throws {
            worker = try WorkerProcess(
                name, place: place, data: "data", arguments: ["--metrics", "127.0.0.1:0"],
                log: "worker.log")
            var found: UInt16?
            Wait.until { [worker] in
                let rest = worker.logged.components(separatedBy: "http://127.0.0.1:").dropFirst()
                found = rest.first?.split(separator: "/").first.flatMap { UInt16($0) }
                return found != nil
            }
            port = try #require(found, "the log names the port: \(worker.logged)")
        }

        func get(_ path: String) throws -> HTTPAnswer { try HTTPAnswer(path, port: port) }

        /// The values by name and labels.
        func values() throws -> [String: Double] {
            var values: [String: Double] = [:]
            for line in try get("/metrics").body.split(separator: "\n") where line.first != "#" {
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
        _ values: [String: Double], of stream: String, _ place: Workplace
    ) throws {
        let names = [
            "accepted": "accepted", "duplicates": "duplicate", "conflicts": "conflict",
            "untrusted": "untrusted", "rejected": "rejected",
        ]
        for (column, outcome) in names {
            let stored = try place.integer("SELECT sum(\(column)) FROM outcomes", stream: stream)
            let counted = values["weir_records_total{outcome=\"\(outcome)\",topic=\"\(stream)\"}"]
            #expect(counted == stored.map(Double.init), "\(outcome)")
        }
        let reasons = values.filter { $0.key.hasPrefix("weir_rejected_total{") }
        #expect(reasons.count == 10)
        for (name, count) in reasons {
            let reason = try #require(name.split(separator: "\"").dropFirst().first)
            let stored = try place.integer(
                "SELECT count(*) FROM refused WHERE reason = '\(reason)'", stream: stream)
            #expect(Int64(count) == stored, "\(reason)")
        }
    }

    @Test("Bids: what is counted is what the store holds, and the lag falls to 0")
    func bids() throws {
        let place = try Workplace()
        // Nothing is too old to be remembered.
        try place.write("bids.yaml", "batch_records: 100\ndedupe_window_seconds: 604800\n")
        try place.publish("bids", Samples.bids(1000, seed: 21))
        let served = try Served("weir-bids", place)
        defer { served.worker.kill() }
        var values = try served.values {
            lag($0) == 0 && $0["weir_batch_records_sum{topic=\"bids\"}"] == 1000
                && $0["weir_outbox_depth{topic=\"bids\"}"] == 0
        }
        try expectOutcomes(values, of: "bids", place)
        let ids = values["weir_dedupe_ids{topic=\"bids\"}"]
        #expect(ids == values["weir_records_total{outcome=\"accepted\",topic=\"bids\"}"])
        #expect(values["weir_partitions_assigned{topic=\"bids\"}"] == 4)
        for partition in 0..<4 {
            let next = try place.integer(
                "SELECT next_offset FROM partitions WHERE partition = \(partition)", stream: "bids")
            let labels = "consumergroup=\"weir-bids\",partition=\"\(partition)\",topic=\"bids\""
            #expect(
                values["kafka_consumergroup_current_offset{\(labels)}"] == next.map(Double.init))
            #expect(values["weir_lag_seconds{partition=\"\(partition)\",topic=\"bids\"}"] == 0)
        }
        let batches = try #require(values["weir_batch_records_count{topic=\"bids\"}"])
        for duration in ["fold", "commit"] {
            #expect(values["weir_\(duration)_duration_seconds_count{topic=\"bids\"}"] == batches)
        }
        #expect((values["process_resident_memory_bytes"] ?? 0) > 1_000_000)
        // Records that come later are counted too.
        try place.publish("bids", Samples.bids(300, seed: 22))
        values = try served.values { $0["weir_batch_records_sum{topic=\"bids\"}"] == 1300 }
        try expectOutcomes(values, of: "bids", place)
    }

    @Test("Postbacks: verdicts are counted, and what was published is no longer in the outbox")
    func postbacks() throws {
        let place = try Workplace()
        try place.write("postbacks.yaml", "batch_records: 50\n" + Samples.trustedKeys)
        try place.write("partners/acme.yaml", Samples.partner)
        try place.publish("postbacks", try Samples.postbacks(400, seed: 23))
        let served = try Served("weir-postbacks", place)
        defer { served.worker.kill() }
        let values = try served.values {
            lag($0) == 0 && $0["weir_batch_records_sum{topic=\"postbacks\"}"] == 400
                && $0["weir_outbox_depth{topic=\"postbacks\"}"] == 0
        }
        try expectOutcomes(values, of: "postbacks", place)
        let rejected = try #require(
            values["weir_records_total{outcome=\"rejected\",topic=\"postbacks\"}"])
        #expect(values["weir_verifications_total{topic=\"postbacks\"}"] == 400 - rejected)
        #expect(try !place.records("partner-postbacks").isEmpty)
    }

    @Test("Records that are rejected because a sum overflows are counted as rejected, once")
    func overflow() throws {
        let place = try Workplace()
        func publish(_ auctions: [(id: String, price: String)]) throws {
            try place.publish(
                "bids",
                auctions.map { auction in
                    Samples.record(
                        "bids", Samples.auction(auction.id, price: auction.price), partition: 0)
                })
        }
        try publish([("first", "1")])
        try place.foldBids()
        try place.execute(
            """
            UPDATE bids_sums SET price_micros = 9223372036854775807 - 2600000
            WHERE row IN (SELECT row FROM bids WHERE seat = 'dsp-1')
            """,
            stream: "bids")
        try publish([("a", "1.25"), ("b", "2"), ("c", "1.25"), ("a", "1.25"), ("d", "0.2")])
        let served = try Served("weir-bids", place)
        defer { served.worker.kill() }
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
        let place = try Workplace()
        try place.publish("bids", Samples.bids(10, seed: 24))
        let served = try Served("weir-bids", place)
        defer { served.worker.kill() }
        _ = try served.values { lag($0) == 0 }
        let metrics = try served.get("/metrics?name=x")
        #expect(metrics.status == 200)
        #expect(metrics.head.contains("content-type: text/plain; version=0.0.4; charset=utf-8"))
        #expect(metrics.head.contains(/date: ..., [0-9]{2} ... [0-9]{4} [0-9:]{8} gmt/))
        for path in ["/livez", "/readyz"] {
            let answer = try served.get(path)
            #expect(answer.status == 200)
            #expect(answer.body == "ok\n")
        }
        #expect(try served.get("/").status == 404)
        #expect(try served.get("/metrics/x").status == 404)
        let post = try HTTPAnswer("/metrics", port: served.port, method: "POST")
        #expect(post.status == 405)
        #expect(post.head.contains("allow: get"))
        // Serving does not hold a worker back that is asked to stop.
        kill(served.worker.process.processIdentifier, SIGTERM)
        try served.worker.waitForExit()
        #expect(served.worker.process.terminationStatus == 0)
        #expect(!served.worker.logged.contains(" error "))
    }

    @Test("A port that is taken fails with one line that says what to do; no address is bad usage")
    func badAddresses() throws {
        let place = try Workplace()
        try place.publish("bids", Samples.bids(10, seed: 25))
        let served = try Served("weir-bids", place)
        defer { served.worker.kill() }
        func end(_ address: String) throws -> (status: Int32, log: String) {
            let worker = try WorkerProcess(
                "weir-bids", place: place, data: "other",
                arguments: ["--until-end", "--metrics", address], log: "other.log")
            try worker.waitForExit()
            return (worker.process.terminationStatus, worker.logged)
        }
        let taken = try end("127.0.0.1:\(served.port)")
        #expect(taken.status == 1)
        #expect(
            taken.log == """
                weir-bids: metrics: cannot listen on 127.0.0.1:\(served.port): Address already in use: \
                give another --metrics HOST:PORT, port 0 for any free one

                """)
        #expect(try end("9464").status == 64)
        #expect(try end("127.0.0.1:0").status == 0)
        #expect(try end("[::1]:0").log.contains("http://[::1]:"))
        #expect(try !end("off").log.contains("serving metrics"))
    }

    @Test("The end of a worker that served metrics says nothing but that it stopped")
    func quietEnd() throws {
        let place = try Workplace()
        try place.write("bids.yaml", "commit_interval_ms: 20\n")
        try place.publish("bids", Samples.bids(10, seed: 3))
        let served = try Served("weir-bids", place)
        #expect(try served.get("/livez").status == 200)
        served.worker.signal(SIGTERM)
        try served.worker.waitForExit()
        let lines = served.worker.logged.split(separator: "\n")
        #expect(lines.allSatisfy { $0.contains(" info weir-bids: ") }, "\(served.worker.logged)")
        #expect(lines.last?.contains("stopped") == true)
    }

    @Test("Metrics take one thread, and without --metrics none")
    func threads() throws {
        let place = try Workplace()
        // Nothing of it is rejected: publishing dead letters would take threads too.
        try place.publish(
            "bids",
            (0..<10).map { Samples.record("bids", Samples.auction("a\($0)"), partition: 0) })
        func threads(_ worker: WorkerProcess) throws -> [String] {
            let path = "/proc/\(worker.process.processIdentifier)/task"
            // One that has ended since it was listed has no name any more.
            return try FileManager.default.contentsOfDirectory(atPath: path).compactMap { task in
                try? String(contentsOfFile: "\(path)/\(task)/comm", encoding: .utf8)
            }
        }
        let served = try Served("weir-bids", place)
        defer { served.worker.kill() }
        _ = try served.values { lag($0) == 0 }
        let plain = try WorkerProcess("weir-bids", place: place, data: "plain")
        defer { plain.kill() }
        Wait.until {
            let folded = try? place.integer(
                "SELECT sum(next_offset) FROM partitions", stream: "bids", data: "plain")
            return folded == 10
        }
        #expect(try threads(served.worker).filter { $0.hasPrefix("NIO") }.count == 1)
        // The commits' threads come and go, and bear the program's name.
        let names = try (Set(threads(served.worker)), Set(threads(plain)))
        #expect(names.0.filter { !$0.hasPrefix("NIO") } == names.1)
    }
}
