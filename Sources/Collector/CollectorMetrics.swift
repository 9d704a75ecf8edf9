import CoreMetrics
import EventLog
import Monitoring
import Synchronization

/// The metrics of the collector.
final class CollectorMetrics: ConnectionCounting {
    private struct Outcome: Hashable {
        let route: String
        let status: Int
    }

    static let unwatched = CollectorMetrics(factory: NOOPMetricsHandler.instance)

    static let descriptions = [
        MetricDescription(
            "weir_collector_requests_total", "Answered requests by route and status."),
        MetricDescription(
            "weir_collector_request_duration_seconds",
            "Seconds from the head of a request to its answer, by route."),
        MetricDescription(
            "weir_collector_append_duration_seconds",
            "Seconds to make a group of records durable."),
        MetricDescription(
            "weir_collector_append_records", "Records in a group that became durable together.",
            bounds: MetricDescription.countBounds),
        MetricDescription(
            "weir_collector_append_failures_total", "Groups of records that the log rejected."),
        MetricDescription("weir_collector_records_total", "Records acknowledged by the log."),
        MetricDescription("weir_collector_queue_records", "Records that are waiting for the log."),
        MetricDescription("weir_collector_connections", "Open connections."),
        MetricDescription(
            "weir_collector_cut_off_total", "Connections that the collector cut off, by reason."),
    ]

    private let factory: any MetricsFactory
    private let requests = Mutex<[Outcome: any CounterHandler]>([:])
    private let durations = Mutex<[String: any TimerHandler]>([:])
    private let appendDuration: any TimerHandler
    private let appendRecords: any RecorderHandler
    private let appendFailures: any CounterHandler
    private let records: any CounterHandler
    private let queue: any MeterHandler
    private let connections: any MeterHandler

    init(factory: any MetricsFactory) {
        self.factory = factory
        func name(_ name: String) -> String { "weir_collector_\(name)" }
        appendDuration = factory.makeTimer(label: name("append_duration_seconds"), dimensions: [])
        appendRecords = factory.makeRecorder(
            label: name("append_records"), dimensions: [], aggregate: true)
        appendFailures = factory.makeCounter(label: name("append_failures_total"), dimensions: [])
        records = factory.makeCounter(label: name("records_total"), dimensions: [])
        queue = factory.makeMeter(label: name("queue_records"), dimensions: [])
        connections = factory.makeMeter(label: name("connections"), dimensions: [])
    }

    func count(group: [PendingAppend], took duration: Duration, fault: LogError?) {
        appendDuration.recordNanoseconds(duration.nanoseconds)
        guard fault == nil else { return appendFailures.increment(by: 1) }
        let count = Int64(group.reduce(0) { $0 + $1.content.records.count })
        appendRecords.record(count)
        records.increment(by: count)
    }

    func count(route: String, status: Int, took duration: Duration) {
        counter(of: Outcome(route: route, status: status)).increment(by: 1)
        timer(of: route).recordNanoseconds(duration.nanoseconds)
    }

    private func counter(of outcome: Outcome) -> any CounterHandler {
        requests.withLock { requests in
            if let cached = requests[outcome] { return cached }
            let counter = factory.makeCounter(
                label: "weir_collector_requests_total",
                dimensions: [("route", outcome.route), ("status", "\(outcome.status)")])
            requests[outcome] = counter
            return counter
        }
    }

    private func timer(of route: String) -> any TimerHandler {
        durations.withLock { durations in
            if let cached = durations[route] { return cached }
            let timer = factory.makeTimer(
                label: "weir_collector_request_duration_seconds", dimensions: [("route", route)])
            durations[route] = timer
            return timer
        }
    }

    /// Without a route, because none was looked up.
    func countRefusal(status: Int) { count(route: "unknown", status: status, took: .zero) }

    func countCutOff(_ reason: String) {
        factory.makeCounter(
            label: "weir_collector_cut_off_total", dimensions: [("reason", reason)]
        ).increment(by: 1)
    }

    func connectionOpened() { connections.increment(by: 1) }

    func connectionClosed() { connections.decrement(by: 1) }

    /// Call it before the metrics are printed.
    func update(depth: Int) { queue.set(Int64(depth)) }
}

extension Duration {
    fileprivate var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds.multipliedReportingOverflow(by: 1_000_000_000).partialValue
            &+ attoseconds / 1_000_000_000
    }
}
