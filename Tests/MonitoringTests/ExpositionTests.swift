import CoreMetrics
import Testing

@testable import Monitoring

@Suite("Metrics in Prometheus's text format")
struct ExpositionTests {
    private let registry = MetricRegistry([
        MetricDescription("weir_records_total", "Records read,\nby \"outcome\" \\ topic."),
        MetricDescription("weir_batch_records", "Records in a batch.", bounds: [1, 10, 2.5e6]),
        MetricDescription("weir_lag_seconds", "Age of the newest record."),
        MetricDescription("weir_commit_duration_seconds", "Commits.", bounds: [0.005, 1]),
    ])

    @Test("The text is the golden one, whatever the order in which metrics and labels were made")
    func golden() {
        Gauge(
            label: "weir_lag_seconds", dimensions: [("topic", "bids"), ("partition", "1")],
            factory: registry
        ).record(0.25)
        for outcome in ["rejected", "accepted"] {
            Counter(
                label: "weir_records_total", dimensions: [("topic", "bids"), ("outcome", outcome)],
                factory: registry
            ).increment(by: outcome.utf8.count)
        }
        Counter(
            label: "weir_records_total", dimensions: [("outcome", "accepted"), ("topic", "bids")],
            factory: registry
        ).increment(by: 9_007_199_254_740_993)
        let sizes = Recorder(label: "weir_batch_records", factory: registry)
        for size in [1, 10, 11, 3_000_000] { sizes.record(size) }
        let commits = CoreMetrics.Timer(
            label: "weir_commit_duration_seconds", dimensions: [("topic", "bids")],
            factory: registry)
        commits.recordMilliseconds(5)
        commits.recordMilliseconds(1500)
        Meter(label: "weir_lag_seconds", dimensions: [("topic", "a\\b\"c\nd")], factory: registry)
            .set(Double.infinity)
        FloatingPointCounter(label: "process cpu.seconds", factory: registry).increment(by: 1.5)
        #expect(
            registry.text == """
                # TYPE process_cpu_seconds counter
                process_cpu_seconds 1.5
                # HELP weir_batch_records Records in a batch.
                # TYPE weir_batch_records histogram
                weir_batch_records_bucket{le="1"} 1
                weir_batch_records_bucket{le="10"} 2
                weir_batch_records_bucket{le="2500000"} 3
                weir_batch_records_bucket{le="+Inf"} 4
                weir_batch_records_sum 3000022
                weir_batch_records_count 4
                # HELP weir_commit_duration_seconds Commits.
                # TYPE weir_commit_duration_seconds histogram
                weir_commit_duration_seconds_bucket{topic="bids",le="0.005"} 1
                weir_commit_duration_seconds_bucket{topic="bids",le="1"} 1
                weir_commit_duration_seconds_bucket{topic="bids",le="+Inf"} 2
                weir_commit_duration_seconds_sum{topic="bids"} 1.505
                weir_commit_duration_seconds_count{topic="bids"} 2
                # HELP weir_lag_seconds Age of the newest record.
                # TYPE weir_lag_seconds gauge
                weir_lag_seconds{partition="1",topic="bids"} 0.25
                weir_lag_seconds{topic="a\\\\b\\"c\\nd"} +Inf
                # HELP weir_records_total Records read,\\nby "outcome" \\\\ topic.
                # TYPE weir_records_total counter
                weir_records_total{outcome="accepted",topic="bids"} 9007199254741001
                weir_records_total{outcome="rejected",topic="bids"} 8

                """)
    }

    @Test("A metric that is asked for as another kind is not mixed into the first")
    func kinds() {
        Counter(label: "a", factory: registry).increment(by: 2)
        Gauge(label: "a", factory: registry).record(7)
        FloatingPointCounter(label: "a", factory: registry).increment(by: 7)
        CoreMetrics.Timer(label: "a", dimensions: [("x", "y")], factory: registry).recordSeconds(7)
        #expect(registry.text == "# TYPE a counter\na 2\n")
    }

    @Test("A metric that is destroyed is printed no more, and its family with the last of it")
    func destroyed() {
        let first = Gauge(label: "g", dimensions: [("p", "1")], factory: registry)
        let second = Gauge(label: "g", dimensions: [("p", "2")], factory: registry)
        first.destroy()
        #expect(registry.text == "# TYPE g gauge\ng{p=\"2\"} 0\n")
        second.destroy()
        #expect(registry.text.isEmpty)
    }

    @Test("Counters never fall, and stay at the largest number; values that are none are left out")
    func bounds() {
        let counter = Counter(label: "c", factory: registry)
        counter.increment(by: Int64.max)
        counter.increment(by: 5)
        counter.increment(by: -5)
        let recorder = Recorder(label: "h", factory: registry)
        recorder.record(Double.nan)
        recorder.record(Double.infinity)
        #expect(registry.text.contains("c 9223372036854775807\n"))
        #expect(registry.text.contains("h_sum 0\nh_count 0\n"))
    }

    @Test("What many threads count while others print adds up")
    func concurrent() async {
        let registry = registry
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<8 {
                group.addTask {
                    for number in 0..<2000 {
                        Counter(label: "n", factory: registry).increment()
                        FloatingPointCounter(label: "f", factory: registry).increment(by: 0.5)
                        Recorder(label: "r", factory: registry).record(number % 2)
                        Meter(
                            label: "m", dimensions: [("t", "\(thread)-\(number % 10)")],
                            factory: registry
                        ).increment()
                    }
                }
                group.addTask {
                    for _ in 0..<50 where registry.text.contains("\n\n") {
                        Issue.record("an empty line")
                    }
                }
            }
        }
        let text = registry.text
        #expect(text.contains("\nn 16000\n"))
        #expect(text.contains("\nf 8000\n") || text.hasPrefix("# TYPE f counter\nf 8000\n"))
        #expect(text.contains("\nr_sum 8000\nr_count 16000\n"))
        #expect(text.split(separator: "\n").filter { $0.hasPrefix("m{") }.count == 80)
        #expect(
            text.split(separator: "\n").filter { $0.hasPrefix("m{") }.allSatisfy {
                $0.hasSuffix(" 200")
            })
    }

    @Test("The process's memory, time and start are those of this process")
    func process() throws {
        let registry = MetricRegistry(ProcessMetrics.descriptions)
        let process = ProcessMetrics(factory: registry)
        func value(_ name: String) throws -> Double {
            let line = registry.text.split(separator: "\n").first { $0.hasPrefix(name + " ") }
            return try #require(line?.split(separator: " ").last.flatMap { Double($0) })
        }
        let before = try value("process_cpu_seconds_total")
        var sum = 0.0
        for number in 0..<2_000_000 { sum += Double(number).squareRoot() }
        #expect(sum > 0)
        process.update()
        #expect(try value("process_cpu_seconds_total") > before)
        #expect(try value("process_resident_memory_bytes") > 1_000_000)
        #expect(try value("process_start_time_seconds") > 1_700_000_000)
    }
}

@Suite("Addresses and health")
struct HealthTests {
    @Test(
        "HOST:PORT is read and written alike",
        arguments: [
            "127.0.0.1:0", "localhost:9464", "[::1]:65535", "[fe80::1%eth0]:80", "a-b.c_d:1",
        ])
    func addresses(_ text: String) throws {
        #expect(try #require(ListenAddress(text)).description == text)
    }

    @Test(
        "What is no HOST:PORT is refused",
        arguments: [
            "", ":", ":9464", "localhost", "localhost:", "localhost:x", "localhost:+1",
            "localhost:65536", "localhost:-1", "::1:9464", "[]:1", "[::1]", "[host]:1",
            "http://localhost:1", "local host:1", "lo/cal:1", "a:1 ",
        ])
    func badAddresses(_ text: String) { #expect(ListenAddress(text) == nil) }

    @Test("A worker lives while its loop has turned within a minute beyond its wait for records")
    func liveness() {
        let start = ContinuousClock.now
        let health = Health(waitMilliseconds: 500, now: start)
        #expect(health.stall(now: start + .milliseconds(60_500)) == nil)
        #expect(
            health.stall(now: start + .seconds(61)) == "the worker's loop has been stuck for 61 s")
        health.turn(now: start + .seconds(61))
        #expect(health.stall(now: start + .seconds(121)) == nil)
    }

    @Test("A worker is not ready until it says so, and no more once it says why")
    func readiness() {
        let health = Health(waitMilliseconds: 0)
        #expect(health.unreadiness == "no partition is assigned yet")
        health.setReady(unless: nil)
        #expect(health.unreadiness == nil)
        health.setReady(unless: "the log cannot be read")
        #expect(health.unreadiness == "the log cannot be read")
    }
}
