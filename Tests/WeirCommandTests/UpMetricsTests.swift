import Foundation
import TestKit
import Testing
import Yams

@testable import weir

@Suite("Metrics that alerts need", .serialized)
struct UpMetricsTests {
    private static let streams = "weir-postbacks"
    private static let deliveries = "weir-partner-postbacks"
    private static let collector = "weir-collector"

    /// The separate programs that serve each metric. Of the workers of streams, one is named for all.
    private static let programs: [String: Set<String>] = [
        "kafka_consumergroup_current_offset": [streams, deliveries],
        "kafka_consumergroup_lag": [streams, deliveries],
        "process_resident_memory_bytes": [streams, deliveries, collector],
        "process_start_time_seconds": [streams, deliveries, collector],
        "weir_broker_wait_seconds": [streams, deliveries],
        "weir_collector_append_failures_total": [collector],
        "weir_collector_queue_records": [collector],
        "weir_collector_records_total": [collector],
        "weir_collector_requests_total": [collector],
        "weir_commit_duration_seconds_bucket": [streams],
        "weir_delivery_attempts_total": [deliveries],
        "weir_delivery_breaker_open": [deliveries],
        "weir_delivery_oldest_pending_seconds": [deliveries],
        "weir_delivery_partner_disabled": [deliveries],
        "weir_lag_seconds": [streams],
        "weir_outbox_depth": [streams],
        "weir_part_failed": [],
        "weir_part_failures_total": [],
        "weir_partitions_assigned": [streams, deliveries],
        "weir_records_total": [streams, deliveries],
        "weir_snapshot_failures_total": [streams],
        "weir_snapshots_total": [streams],
        "weir_wal_bytes": [streams, deliveries, collector],
    ]

    private static let postback = """
        {"version":"4.0","ad-network-id":"example.skadnetwork","transaction-id":"a",\
        "source-identifier":"5239","app-id":525463029,"did-win":true,"fidelity-type":1,\
        "postback-sequence-index":0,"redownload":false,"conversion-value":20,\
        "attribution-signature":"bm9uZQ=="}
        """

    @Test(
        "weir up serves each metric of alerts.yml, with the labels and the values that it selects")
    func up() throws {
        let alerts = try Alert.all()
        #expect(alerts.count > 20)
        let workspace = try UpWorkspace()
        let partner = try ScriptedPartner()
        try workspace.addPartner("acme", port: partner.port)
        let up = try workspace.start("--metrics", "127.0.0.1:0")
        let requests = Requests(port: try up.program.port(after: "metrics http://127.0.0.1:"))
        #expect(try up.post("/v1/postbacks/skadnetwork", Self.postback) == 200)
        #expect(Wait.until { !partner.requests.isEmpty })
        var missing: [String] = []
        let isServed = try Wait.until {
            let series = try Self.series(of: requests)
            missing = alerts.flatMap { alert in alert.missing(from: series) }
            return missing.isEmpty
        }
        #expect(isServed, "\(missing)")

        let series = try Self.series(of: requests)
        let folded = series.filter {
            $0.name == "weir_records_total" && $0.labels["outcome"] == "accepted"
        }
        let workers = Set(folded.compactMap { $0.labels["worker"] })
        #expect(workers.count == 8 && workers.contains("partner-postbacks"), "\(workers)")
        #expect(
            folded.filter { $0.value == 1 }.compactMap { $0.labels["worker"] }.sorted()
                == ["partner-postbacks", "postbacks"])
        #expect(
            series.filter { $0.name.hasPrefix("weir_collector_") }
                .allSatisfy { $0.labels["worker"] == "collector" })
        #expect(up.stop() == 0, "\(up.said)")
    }

    @Test("separate programs serve each of them too, except those of weir up itself")
    func separatePrograms() throws {
        let workspace = try UpWorkspace()
        let partner = try ScriptedPartner()
        try workspace.addPartner("acme", port: partner.port)
        let up = try workspace.start()
        #expect(try up.post("/v1/postbacks/skadnetwork", Self.postback) == 200)
        #expect(up.stop() == 0, "\(up.said)")

        var found: [String: Set<String>] = [:]
        for name in Set(try Alert.all().flatMap(\.metrics)) { found[name] = [] }
        for name in [Self.streams, Self.deliveries, Self.collector] {
            let listening = name == Self.collector ? ["--listen", "127.0.0.1:0"] : []
            let program = try Program(
                name,
                [
                    "--metrics", "127.0.0.1:0", "--data", workspace.data, "--pipelines",
                    workspace.pipelines,
                ] + listening)
            let requests = Requests(port: try program.port(after: "http://127.0.0.1:"))
            #expect(try Wait.until { try requests.get("/readyz").status == 200 })
            // The collector counts a request once it was answered.
            if name == Self.collector {
                let port = try program.port(after: "listening address=127.0.0.1:")
                #expect(try Requests(port: port).get("/readyz").status == 200)
            }
            let served = { try Set(Self.series(of: requests).map(\.name)) }
            let expected = Set(Self.programs.filter { $0.value.contains(name) }.keys)
            #expect(try Wait.until { try served().isSuperset(of: expected) }, "\(name)")
            for metric in try served() { found[metric]?.insert(name) }
            #expect(try program.stop() == 0, "\(program.error)")
        }
        #expect(found == Self.programs)
    }

    private static func series(of requests: Requests) throws -> [Series] {
        try requests.get("/metrics").text.split(separator: "\n").compactMap { Series($0) }
    }
}

/// A line of metrics.
private struct Series {
    let name: String
    let labels: [String: String]
    let value: Double

    /// Nil for a comment.
    init?(_ line: Substring) {
        guard let match = line.wholeMatch(of: /([a-z_]+)(?:\{(.*)\})? ([^ ]+)/),
            let value = Double(match.3)
        else { return nil }
        name = String(match.1)
        self.value = value
        // The target's label, for series without one.
        labels = (match.2 ?? "").matches(of: /([a-z_]+)="([^"]*)"/)
            .reduce(into: ["worker": "up"]) { $0[String($1.1)] = String($1.2) }
    }
}

/// An alert, and the series that its expression selects.
private struct Alert {
    /// Labels that Prometheus adds: of the job, of the target, and of a histogram's buckets.
    private static let added: Set = ["job", "instance", "le"]

    let name: String
    private let selectors: [(metric: String, matchers: [(label: String, values: [String])])]
    /// The labels that the expression groups by, or that a text names.
    private let labels: Set<String>

    var metrics: [String] { selectors.map(\.metric) }

    /// The alerts of ops/prometheus/alerts.yml.
    static func all() throws -> [Alert] {
        let file = try #require(
            try Yams.compose(yaml: Repository.text("ops/prometheus/alerts.yml")))
        let groups = try #require(file["groups"]?.sequence)
        return try groups.flatMap { try #require($0["rules"]?.sequence).map(Alert.init) }
    }

    private init(_ rule: Node) throws {
        name = try #require(rule["alert"]?.string)
        let expression = try #require(rule["expr"]?.string, "\(name)")
        let selected = expression.matches(of: /((?:weir|kafka|process)_[a-z_]+)(?:\{([^}]*)\})?/)
        selectors = selected.map { match in
            let matchers = (match.2 ?? "").matches(of: /([a-z_]+)(=~|!~|!=|=)"([^"]*)"/)
            return (
                metric: String(match.1),
                matchers: matchers.map { matcher in
                    // A pattern with other characters, and a negation, need only the label.
                    let isList =
                        matcher.2.hasPrefix("=")
                        && matcher.3.allSatisfy { $0.isLetter || $0 == "|" }
                    let values = isList ? matcher.3.split(separator: "|").map(String.init) : []
                    return (label: String(matcher.1), values: values)
                }
            )
        }
        let grouping = expression.matches(of: /by \(([a-z_, ]*)\)/)
            .flatMap { $0.1.split { $0 == "," || $0 == " " }.map(String.init) }
        let texts = rule["annotations"]?.mapping?.compactMap { $0.value.string } ?? []
        let named = texts.flatMap { text in
            text.matches(of: /\$labels\.([a-z_]+)/).map { String($0.1) }
        }
        labels = Set(grouping + named)
    }

    /// What the alert needs and these series lack.
    func missing(from series: [Series]) -> [String] {
        selectors.flatMap { selector in
            let series = series.filter { $0.name == selector.metric }
            let needed = labels.union(selector.matchers.map(\.label)).subtracting(Self.added)
            let isLabelled = series.contains { series in
                needed.allSatisfy { series.labels[$0] != nil }
            }
            let values = selector.matchers.flatMap { matcher in
                matcher.values.filter { value in
                    !Self.added.contains(matcher.label)
                        && !series.contains { $0.labels[matcher.label] == value }
                }
            }
            return (isLabelled ? [] : ["\(name): \(selector.metric) by \(needed.sorted())"])
                + values.map { "\(name): \(selector.metric) of \($0)" }
        }
    }
}
