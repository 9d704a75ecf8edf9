import ArgumentParser
import ConfigurationFiles
import ConfigurationValues
import Deliveries
import EventLog
import Foundation
import Logging
import Monitoring
import Program
import Reports
import Store
import Streams
import Wording

struct WatchCommand: InstallationCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Warns of silent rows, unusual rates and reached limits.",
        discussion: """
            watch.yaml of --pipelines defines what to watch: rows of dumps that are usually active, shares and \
            ratios, budgets, and failing deliveries. Weir learns the usual range from the same hours of earlier \
            weeks. It judges a row after four weeks. The command ends with 1 if a warning is open, and with 0 \
            otherwise. If it cannot judge, it ends with 1 and a line on standard error.

            Hours count by event time, and only complete hours count. The command judges up to the time of the \
            clock, so it also warns of a total outage. --at gives another time, for example for old records:

              weir watch
              weir watch --format json || mail -s 'weir watch' ops@example.com
              weir watch --at 2026-11-15T23:00:00Z
              weir watch --since 30d           the warnings of the last 30 days
              weir watch --follow --metrics 127.0.0.1:9470
              weir watch --follow --send       to the webhook of watch.yaml

            While workers catch up, hours are incomplete: see weir lag. docs/guides/watch-for-anomalies.md \
            describes the method and its error rate.
            """)

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Judge as of this time, with the stores that were in force then (default: now).",
            valueName: "time"))
    var asOf: String?
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Also print warnings of silence and of rates that closed after this time.",
            valueName: "time"))
    var since: String?
    @Flag(help: "Keep judging, and print warnings that open or close, until stopped.")
    var follow = false
    @Option(
        help: ArgumentHelp(
            "With --follow: how often to judge, 1 to 86400 (WEIR_WATCH_SECONDS; default: 60).",
            valueName: "seconds"))
    var everySeconds: Int?
    @Option(
        help: ArgumentHelp(
            "With --follow: serve open warnings at /metrics, and /livez and /readyz (WEIR_METRICS; default: off).",
            valueName: "host:port"))
    var metrics: String?
    @Flag(
        help:
            "Send open warnings, and with --follow those that open and close, to the webhook of watch.yaml (WEIR_WATCH_SEND)."
    )
    var send = false
    @OptionGroup var data: DataOptions
    @OptionGroup var log: LogOptions
    @OptionGroup var archive: ArchiveOptions
    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var clock: ClockOptions
    @OptionGroup var format: DumpFormatOptions
    @OptionGroup var csv: RawOptions

    func run() throws {
        let format = try format.chosen()
        let webhook = try webhook()
        guard asOf == nil || clock.at == nil else {
            throw CommandError.usage("--as-of and --at exclude each other: give one")
        }
        guard !follow || (asOf == nil && since == nil) else {
            throw CommandError.usage("--follow judges the present: remove --as-of and --since")
        }
        guard follow || (everySeconds == nil && metrics == nil) else {
            throw CommandError.usage("--every-seconds and --metrics need --follow: add it")
        }
        if follow {
            return try WatchFollowing(
                command: self, seconds: try seconds(), isJSON: format != .table,
                webhook: webhook
            ).run(metrics: try metricsAddress)
        }
        let report = try report()
        let table = format == .table ? report.table : report.all
        try BufferedOutput.print(
            table, as: format, isRaw: csv.isSet(),
            ifEmpty: since == nil ? "no warning is open\n" : "no warning opened\n")
        Console.write(report.summary)
        if let webhook {
            for warning in report.warnings {
                try webhook.add(
                    warning.document(change: warning.isOpen ? .opened : .closed, report))
            }
            // The next run by cron retries failed documents, with the same ids.
            if let (fault, _) = webhook.send(nowMilliseconds: WallClock.milliseconds) {
                throw CommandError.failure(
                    "\(counted(webhook.waitingCount, "warning")) \(webhook.waitingCount == 1 ? "is" : "are") not sent: \(fault)"
                )
            }
        }
        guard report.open.isEmpty else { throw CommandError.differs }
    }

    /// Nil when sending is not requested.
    private func webhook() throws -> WebhookSender? {
        guard try Environment().isSet("WEIR_WATCH_SEND", option: send) else { return nil }
        let directory = installation.pipelines
        guard let receiver = try directory.watch().webhook else {
            throw CommandError.usage(
                "--send needs a webhook in \(directory.path)/watch.yaml: add it, or remove --send"
            )
        }
        return try WebhookSender(to: receiver, directory: directory.path)
    }

    /// The report for now, or for the given time.
    func report() throws -> WatchReport {
        let file = try installation.pipelines.watch()
        let watch = try Watch(file)
        let since = try since.map { try LogTime.milliseconds($0, option: "--since") }
        let instant = try asOf.map { try LogTime.milliseconds($0, option: "--as-of") }
        if let instant, instant > WallClock.milliseconds {
            throw CommandError.usage(
                "--as-of \(UTC.text(milliseconds: instant)) is in the future: give an earlier time"
            )
        }
        // Partial hours are not judged, so none needs to be folded from the log.
        let asOf = try instant.map {
            AsOf(
                milliseconds: Hour(containing: $0).hoursSince1970 * Hour.milliseconds,
                hours: try installation.hours())
        }
        let present = try clock.present
        let stores = try OpenStores(
            directories: data.directories, asOf: asOf, present: present)
        var report = try stores.watch(
            watch, nowMilliseconds: instant ?? present.milliseconds, sinceMilliseconds: since)
        try report.add(file.failures, in: data.existingDeliveryStores())
        return report
    }

    private func seconds() throws -> Int {
        let seconds = try everySeconds ?? Environment().count("WEIR_WATCH_SECONDS") ?? 60
        guard (1...86_400).contains(seconds) else {
            throw CommandError.usage("--every-seconds is \(seconds): write 1 to 86400")
        }
        return seconds
    }

    private var metricsAddress: ListenAddress? {
        get throws {
            guard let text = metrics ?? Environment()["WEIR_METRICS"], text != Environment.off
            else { return nil }
            guard let address = ListenAddress(text) else {
                throw CommandError.usage(
                    "--metrics '\(text)' is not an address: write HOST:PORT, for example 127.0.0.1:9470"
                )
            }
            return address
        }
    }
}

/// Repeats the watch and prints the changes.
private struct WatchFollowing {
    let command: WatchCommand
    let seconds: Int
    let isJSON: Bool
    let webhook: WebhookSender?

    private static let pollSeconds = 0.2

    func run(metrics address: ListenAddress?) throws {
        StopSignal.listen()
        LoggingSystem.bootstrap { ConsoleLogHandler(label: $0, level: .notice) }
        let monitor = try address.map { try WatchMonitor(at: $0, seconds: seconds) }
        defer { monitor?.stop() }
        var open: [String: WatchWarning] = [:]
        while !StopSignal.ofProcess.isRequested {
            let report = try command.report()
            monitor?.show(report)
            var now: [String: WatchWarning] = [:]
            for warning in report.open { now[warning.id] = warning }
            for (id, warning) in now.sorted(by: { $0.key < $1.key }) where open[id] == nil {
                try show(warning, .opened, report)
            }
            for (id, warning) in open.sorted(by: { $0.key < $1.key }) where now[id] == nil {
                try show(warning, .closed, report)
            }
            open = now
            let end = ContinuousClock.now + .seconds(seconds)
            while ContinuousClock.now < end, !StopSignal.ofProcess.isRequested {
                if let (fault, next) = webhook?.send(nowMilliseconds: WallClock.milliseconds) {
                    Console.write("\(fault): \(next)")
                }
                Thread.sleep(forTimeInterval: Self.pollSeconds)
            }
        }
    }

    private func show(
        _ warning: WatchWarning, _ change: WatchChange, _ report: WatchReport
    ) throws {
        try webhook?.add(warning.document(change: change, report))
        let output = BufferedOutput()
        if isJSON {
            try output.write(warning.row(change: change, report), as: .ndjson)
        } else {
            let parts = [
                UTC.text(milliseconds: report.nowMilliseconds), change.rawValue,
                warning.kind.rawValue,
                warning.rule, warning.seriesText, warning.words,
            ]
            try output.write(
                parts.filter { !$0.isEmpty }.joined(separator: "  ").withoutControls + "\n")
        }
        try output.flush()
    }
}

/// The change of a warning.
enum WatchChange: String { case opened, closed }

extension WatchWarning {
    /// Identifies a warning.
    fileprivate var id: String {
        "\(kind.rawValue) \(rule) \(seriesText)" + (step.map { " \($0)" } ?? "")
    }

    /// Its row, preceded by the change and its time.
    fileprivate func row(change: WatchChange, _ report: WatchReport) -> ReportTable {
        var one = report
        one.warnings = [self]
        let all = one.all
        return ReportTable(
            columns: [.init("change"), .init("at")] + all.columns,
            rows: all.rows.map {
                [.text(change.rawValue), .text(UTC.text(milliseconds: report.nowMilliseconds))] + $0
            })
    }

    /// Its row as a document for the webhook. The id stays the same for each attempt; for failing deliveries, it stays
    /// the same for a day. The revision is 1 while the warning is open, and 2 after it has closed.
    func document(change: WatchChange, _ report: WatchReport) -> [UInt8] {
        let row = row(change: change, report)
        // The first failure of the last hours moves as time passes.
        let opened =
            kind == .deliveries
            ? UTC.text(milliseconds: report.nowMilliseconds).prefix { $0 != "T" }.description
            : openedMilliseconds.map { "\($0)" } ?? ""
        let number = Array("\(id) \(opened)".utf8).withUnsafeBytes { HexDigest.sha256($0) }.prefix(
            32)
        let table = ReportTable(
            columns: [.init("id"), .init("revision", isNumber: true), .init("partner")]
                + row.columns,
            rows: row.rows.map {
                [
                    .text(String(number)), .integer(change == .opened ? 1 : 2), .text("watch"),
                ] + $0
            })
        var document: [UInt8] = []
        table.write(as: .ndjson) { document += $0 }
        return document
    }
}

/// Serves open warnings as metrics.
private final class WatchMonitor {
    private let registry = MetricRegistry([
        MetricDescription(
            "weir_watch_open", "1 while the warning is open, 0 after it has closed."),
        MetricDescription("weir_watch_rows", "Rows judged by the rules of watch.yaml."),
        MetricDescription(
            "weir_watch_now_seconds",
            "End of the judged time, in seconds since 1970."),
    ])
    private let health: Health
    private let endpoint: MonitoringEndpoint
    private var raised: Set<[String]> = []

    /// Listens when it returns.
    init(at address: ListenAddress, seconds: Int) throws(MonitoringError) {
        health = Health(waitMilliseconds: seconds * 1000)
        endpoint = try MonitoringEndpoint(
            at: address, registry: registry, health: health, logger: Logger(label: "weir"),
            update: {})
    }

    func show(_ report: WatchReport) {
        health.beat()
        health.setReady(unless: nil)
        registry.makeMeter(label: "weir_watch_rows", dimensions: [])
            .set(Int64(report.judgedCount))
        registry.makeMeter(label: "weir_watch_now_seconds", dimensions: [])
            .set(Int64(report.nowMilliseconds / 1000))
        let open = Set(report.open.map { [$0.kind.rawValue, $0.rule, $0.seriesText] })
        raised.formUnion(open)
        for labels in raised {
            registry.makeMeter(
                label: "weir_watch_open",
                dimensions: [("kind", labels[0]), ("rule", labels[1]), ("series", labels[2])]
            ).set(Int64(open.contains(labels) ? 1 : 0))
        }
    }

    func stop() { endpoint.stop() }
}
