import Foundation
import Testing
import Yams

@Suite("What Weir is watched with")
struct MonitoringTests {
    private let ops = OpsDirectory()
    private let metrics: Set = [
        "weir_records_total", "weir_rejected_total", "weir_batch_records",
        "weir_fold_duration_seconds", "weir_commit_duration_seconds", "kafka_consumergroup_lag",
        "kafka_consumergroup_current_offset", "weir_lag_seconds", "weir_outbox_depth",
        "weir_verifications_total", "weir_dedupe_ids", "weir_partitions_assigned",
        "weir_build_info", "weir_delivery_attempts_total", "weir_delivery_duration_seconds",
        "weir_deliveries_pending", "weir_delivery_oldest_pending_seconds",
        "weir_delivery_breaker_open", "weir_delivery_partner_disabled",
        "weir_collector_requests_total", "weir_collector_request_duration_seconds",
        "weir_collector_records_total", "weir_collector_append_duration_seconds",
        "weir_collector_append_records", "weir_collector_append_failures_total",
        "weir_collector_queue_records", "weir_collector_connections",
        "weir_collector_cut_off_total", "weir_part_failed", "weir_part_failures_total",
        "weir_broker_wait_seconds", "weir_wal_bytes",
        "weir_snapshots_total", "weir_snapshot_failures_total", "weir_standby_partitions",
        "process_resident_memory_bytes", "process_cpu_seconds_total", "process_start_time_seconds",
    ]

    @Test("alerts and dashboard ask only for metrics that programs have, and for all of them")
    func names() throws {
        let alerts = try rules().compactMap { $0["expr"]?.string }
        let panels = try queries()
        #expect(alerts.count > 10 && panels.count > 20)
        let used = Set((alerts + panels).flatMap(Self.metrics))
        #expect(used.subtracting(metrics).isEmpty)
        #expect(metrics.subtracting(panels.flatMap(Self.metrics)).isEmpty)
    }

    @Test("every metric of the collector is one that it has")
    func metricsOfTheCollector() throws {
        let source = try ops.text("Sources/Collector/CollectorMetrics.swift")
        for metric in metrics where metric.hasPrefix("weir_collector_") {
            #expect(source.contains("\"\(metric)\""), "\(metric)")
        }
        let had = Set(source.matches(of: /"(weir_collector_[a-z_]+[a-z])"/).map { String($0.1) })
        #expect(had.isSubset(of: metrics))
    }

    @Test("every metric that is asked for is documented")
    func documentation() throws {
        let documented = try ops.text("docs/reference/metrics.md")
        for metric in metrics.sorted() {
            #expect(documented.contains(metric), "\(metric)")
        }
    }

    @Test("every alert says what it means and names a page that is there")
    func alerts() throws {
        for rule in try rules() {
            let name = try #require(rule["alert"]?.string)
            let annotations = try #require(rule["annotations"], "\(name)")
            #expect(annotations["summary"]?.string?.isEmpty == false, "\(name)")
            #expect(annotations["description"]?.string?.isEmpty == false, "\(name)")
            #expect(["page", "ticket"].contains(rule["labels"]?["severity"]?.string), "\(name)")
            #expect(ops.exists(try #require(annotations["runbook"]?.string, "\(name)")), "\(name)")
        }
    }

    @Test(
        "the target of weir up keeps the labels of its services, and differs from separate workers")
    func oneMachine() throws {
        func job(_ file: String) throws -> Node {
            let jobs = try ops.document("ops/prometheus/\(file)")["scrape_configs"]?.sequence
            return try #require(jobs?.first { $0["job_name"]?.string == "weir" }, "\(file)")
        }
        let one = try job("one-machine.yml")
        #expect(one["honor_labels"]?.bool == true)
        #expect(one.values(ofKey: "worker").map(\.string) == ["up"])
        let separate = try job("prometheus.yml").values(ofKey: "worker").compactMap(\.string)
        #expect(separate.count == 9 && !separate.contains("up"))
    }

    @Test("every panel has its place, its words and the data source that is provisioned")
    func dashboard() throws {
        let source = try ops.document("ops/grafana/provisioning/datasources/prometheus.yaml")
            .values(ofKey: "uid").first?.string
        let panels = try panels()
        #expect(Set(panels.compactMap { $0["id"]?.int }).count == panels.count)
        for panel in panels where panel["type"]?.string != "row" {
            let title = try #require(panel["title"]?.string)
            #expect(panel["description"]?.string?.isEmpty == false, "\(title)")
            #expect(panel["datasource"]?["uid"]?.string == source, "\(title)")
        }
    }

    private func rules() throws -> [Node] {
        try ops.document("ops/prometheus/alerts.yml").values(ofKey: "rules")
            .flatMap { $0.sequence.map(Array.init) ?? [] }
    }

    /// The dashboard's panels. It has to be JSON, and JSON is YAML.
    private func panels() throws -> [Node] {
        let path = "ops/grafana/dashboards/weir.json"
        _ = try JSONSerialization.jsonObject(with: Data(ops.text(path).utf8))
        return try #require(try ops.document(path)["panels"]?.sequence.map(Array.init))
    }

    private func queries() throws -> [String] {
        try panels().flatMap { $0.values(ofKey: "expr") }.compactMap(\.string)
    }

    /// The metrics of a query; those of a histogram by its name.
    private static func metrics(_ query: String) -> [String] {
        query.matches(of: /(?:weir|kafka|process)_[a-z_]+/).map { match in
            String(match.output).replacing(/_(bucket|sum|count)$/, with: "")
        }
    }
}
