import CoreMetrics
import EventLog
import Logging
import Monitoring
import Store

/// Metrics of delivery; docs/reference/metrics.md describes each.
package final class DeliveryMetrics {
    private let topic: String
    private let group: String
    private let factory: any MetricsFactory
    private let health: Health
    private let records: [(WritableKeyPath<IngestedRecords, Int>, Counter)]
    private let assigned: Meter
    private let brokerWait: Meter
    private var partners: [String: PartnerSeries] = [:]
    private var partitions: [Int32: (lag: Meter, offset: Meter)] = [:]

    init(
        topic: String, group: String, partners: [String], factory: any MetricsFactory,
        health: Health
    ) {
        self.topic = topic
        self.group = group
        self.factory = factory
        self.health = health
        let outcomes: [(String, WritableKeyPath<IngestedRecords, Int>)] = [
            ("accepted", \.ingested), ("duplicate", \.duplicates), ("rejected", \.rejected),
        ]
        records = outcomes.map { outcome, path in
            let labels = [("topic", topic), ("outcome", outcome)]
            return (
                path, Counter(label: "weir_records_total", dimensions: labels, factory: factory)
            )
        }
        assigned = Meter(
            label: "weir_partitions_assigned", dimensions: [("topic", topic)], factory: factory)
        brokerWait = Meter(
            label: "weir_broker_wait_seconds", dimensions: [("topic", topic)], factory: factory)
        brokerWait.set(0)
        setPartners(partners)
    }

    /// Sets the partners; new ones start at 0.
    func setPartners(_ names: [String]) {
        for name in partners.keys where !names.contains(name) {
            partners.removeValue(forKey: name)?.destroy()
        }
        for name in names where partners[name] == nil {
            partners[name] = PartnerSeries(
                labels: [("topic", topic), ("partner", name)], factory: factory)
        }
    }

    func beat() { health.beat() }

    /// The time without an answer of the log, and the reason; nil once it answers again.
    func wait(for reason: String?, seconds: Double) {
        health.beat()
        health.setReady(unless: reason)
        brokerWait.set(seconds)
    }

    func count(_ counts: IngestedRecords) {
        for (path, counter) in records { counter.increment(by: counts[keyPath: path]) }
    }

    func count(_ attempt: Attempt, partner: String) {
        partners[partner]?.count(attempt)
    }

    func setBreaker(isOpen: Bool, partner: String) {
        partners[partner]?.breaker.set(isOpen ? 1 : 0)
    }

    func setPending(
        _ pending: [String: (count: Int, oldestMilliseconds: Int64)], nowMilliseconds: Int64
    ) {
        for (name, series) in partners {
            series.pending.set(pending[name]?.count ?? 0)
            let oldest = pending[name]?.oldestMilliseconds ?? nowMilliseconds
            series.oldest.set(Double(max(0, nowMilliseconds - oldest)) / 1000)
        }
    }

    func setDisabled(_ disabled: [DisabledPartner]) {
        for (name, series) in partners {
            series.disabled.set(disabled.contains { $0.name == name } ? 1 : 0)
        }
    }

    func setPositions(_ nextOffsets: [Int32: Int64], ends: [Int32: Int64]) {
        for partition in partitions.keys where nextOffsets[partition] == nil {
            let series = partitions.removeValue(forKey: partition)
            series?.lag.destroy()
            series?.offset.destroy()
        }
        for (partition, offset) in nextOffsets {
            let labels = [
                ("consumergroup", group), ("topic", topic), ("partition", "\(partition)"),
            ]
            let series =
                partitions[partition]
                ?? (
                    Meter(label: "kafka_consumergroup_lag", dimensions: labels, factory: factory),
                    Meter(
                        label: "kafka_consumergroup_current_offset", dimensions: labels,
                        factory: factory)
                )
            partitions[partition] = series
            series.lag.set(max(0, (ends[partition] ?? offset) - offset))
            series.offset.set(offset)
        }
        assigned.set(nextOffsets.count)
    }

    /// The worker has ended: its partitions have no owner, and the state of its partners is unknown.
    func end() {
        setPositions([:], ends: [:])
        setPartners([])
        brokerWait.set(0)
    }

    /// Sets whether the worker is ready, with the fault if it is not.
    func setReady(unless fault: String?) { health.setReady(unless: fault) }
}

private struct PartnerSeries {
    private let attempts: [AttemptOutcome: Counter]
    private let duration: CoreMetrics.Timer
    let pending: Meter
    let oldest: Meter
    let breaker: Meter
    let disabled: Meter

    init(labels: [(String, String)], factory: any MetricsFactory) {
        attempts = Dictionary(
            uniqueKeysWithValues: AttemptOutcome.allCases.map { outcome in
                let labels = labels + [("outcome", outcome.rawValue)]
                let name = "weir_delivery_attempts_total"
                return (outcome, Counter(label: name, dimensions: labels, factory: factory))
            })
        duration = CoreMetrics.Timer(
            label: "weir_delivery_duration_seconds", dimensions: labels, factory: factory)
        func meter(_ name: String) -> Meter {
            Meter(label: name, dimensions: labels, factory: factory)
        }
        pending = meter("weir_deliveries_pending")
        oldest = meter("weir_delivery_oldest_pending_seconds")
        breaker = meter("weir_delivery_breaker_open")
        disabled = meter("weir_delivery_partner_disabled")
        for meter in meters { meter.set(0) }
    }

    private var meters: [Meter] { [pending, oldest, breaker, disabled] }

    func destroy() {
        for counter in attempts.values { counter.destroy() }
        duration.destroy()
        for meter in meters { meter.destroy() }
    }

    func count(_ attempt: Attempt) {
        attempts[AttemptOutcome(attempt.result)]?.increment()
        duration.recordMilliseconds(attempt.durationMilliseconds)
    }
}

extension DeliveryMetrics {
    package static let descriptions = [
        MetricDescription("weir_records_total", "Records read, by outcome."),
        MetricDescription(
            "weir_delivery_attempts_total", "Requests to partners, by result."),
        MetricDescription(
            "weir_delivery_duration_seconds", "Seconds from a request to its answer or failure."),
        MetricDescription(
            "weir_deliveries_pending", "Documents that a partner has not received yet."),
        MetricDescription(
            "weir_delivery_oldest_pending_seconds",
            "Seconds since the oldest pending document was ingested; 0 if there is none."),
        MetricDescription(
            "weir_delivery_breaker_open", "1 while a partner receives only probes, otherwise 0."),
        MetricDescription(
            "weir_delivery_partner_disabled",
            "1 while a partner is disabled because it answered 410, 401 or 403, otherwise 0."),
        MetricDescription(
            "kafka_consumergroup_lag", "Records between the next offset and the end of the log."),
        MetricDescription(
            "kafka_consumergroup_current_offset",
            "Offset of the first record that is not ingested yet."),
        MetricDescription("weir_partitions_assigned", "Partitions that this worker delivers."),
        MetricDescription(
            "weir_broker_wait_seconds",
            "Seconds of waiting for a log that does not answer; 0 while it answers."
        ),
    ]
}
