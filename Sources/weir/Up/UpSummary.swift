import ConfigurationValues
import Deliveries
import Engine
import EventLog
import Foundation
import Monitoring
import Program
import Reports
import Store
import Synchronization

/// Reports the state of `weir up`: on a terminal in a line that is updated every two seconds, otherwise in a log line
/// each minute.
final class UpSummary: Sendable {
    private static let terminalSeconds = 2.0
    private static let logSeconds = 60.0
    private static let pollSeconds = 0.1

    private let directory: String
    private let address: LogAddress
    private let pipelines: PipelineDirectory
    private let services: Services
    private let isOver = Mutex(false)

    init(
        directory: String, log address: LogAddress, pipelines: PipelineDirectory,
        services: Services
    ) {
        self.directory = directory
        self.address = address
        self.pipelines = pipelines
        self.services = services
    }

    /// Reports the addresses of the collector and the dashboard, then starts the reporting thread.
    func begin(
        listeningAt listening: ListenAddress, pagesAt pages: ListenAddress?,
        metricsAt metrics: ListenAddress?
    ) {
        let dashboard = pages.map { "  dashboard http://\($0)" } ?? ""
        let metrics = metrics.map { "  metrics http://\($0)/metrics" } ?? ""
        Console.write(
            "up: http://\(listening)\(dashboard)\(metrics)  log \(address)  stores \(directory)")
        let thread = Thread { [self] in
            let seconds = StandardError.isTerminal ? Self.terminalSeconds : Self.logSeconds
            var shown = ContinuousClock.now
            while !isOver.withLock({ $0 }) {
                Thread.sleep(forTimeInterval: Self.pollSeconds)
                guard shown.duration(to: .now) >= .seconds(seconds) else { continue }
                show(line())
                shown = .now
            }
        }
        thread.name = "summary"
        thread.start()
    }

    /// Removes the line permanently.
    func end() {
        isOver.withLock { isOver in
            isOver = true
            if StandardError.isTerminal { StandardError.show("") }
        }
    }

    private func show(_ line: SummaryLine) {
        isOver.withLock { isOver in
            guard !isOver else { return }
            if StandardError.isTerminal {
                StandardError.show(line.text(columns: StandardError.columns - 1))
            } else {
                Console.write(line.text)
            }
        }
    }

    private func line() -> SummaryLine {
        var line = SummaryLine(failed: services.failures.map(\.name))
        do {
            let report = try LagReport(
                directories: [directory], log: pipelines.openLog(address, .existing),
                nowMilliseconds: nil)
            line.streams = report.streams.compactMap { stream in
                let folded = stream.furthest.reduce(0) { $0 + ($1.nextOffset ?? 0) }
                let isShown = folded + stream.lag > 0 && stream.waiting == nil
                return isShown ? (stream.stream, folded, stream.lag) : nil
            }
            line.deliveries = try delivered()
        } catch {
            line.fault = "cannot read log and stores: \(error)"
        }
        return line
    }

    private func delivered() throws(StoreError) -> [(state: String, count: Int)] {
        guard let counts = try DeliveryStore.existing(in: directory)?.counts() else { return [] }
        let states: [DeliveryState] = [.delivered, .pending, .held, .dead]
        return states.compactMap { state in
            let count = counts.reduce(0) { $0 + ($1.state == state ? $1.count : 0) }
            return count > 0 ? (state.rawValue, count) : nil
        }
    }
}

struct SummaryLine {
    var failed: [String] = []
    /// The folded and the remaining records of each stream, in display order.
    var streams: [(name: String, folded: Int64, left: Int64)] = []
    /// Documents for partners by state.
    var deliveries: [(state: String, count: Int)] = []
    /// Why the state is not known; nil when it is.
    var fault: String?

    /// The line with whole numbers.
    var text: String {
        line(
            streams: { name, folded, left in
                left > 0 ? "\(name) \(folded) (+\(left))" : "\(name) \(folded)"
            }, count: { "\($0)" }
        )
        .joined(separator: "  ")
    }

    /// The line with short numbers, truncated to this many characters.
    func text(columns: Int) -> String {
        let parts = line(
            streams: { name, folded, left in
                let name = Self.shortNames[name] ?? name
                let behind = left > 0 ? " (+\(Self.short(left)))" : ""
                return "\(name) \(Self.short(folded))\(behind)"
            }, count: { Self.short(Int64($0)) })
        let whole = parts.joined(separator: "  ")
        guard whole.count > columns else { return whole }
        return whole.prefix(max(columns - 1, 0)) + "…"
    }

    private func line(
        streams stream: (String, Int64, Int64) -> String, count: (Int) -> String
    ) -> [String] {
        let parts =
            failed.map { "FAILED \($0)" } + (fault.map { [$0] } ?? [])
            + streams.map { stream($0.name, $0.folded, $0.left) }
            + deliveries.map { "\($0.state) \(count($0.count))" }
        return parts.isEmpty ? ["no records yet"] : parts
    }

    private static let shortNames = [
        "overlay-clicks": "clicks", "store-notifications": "notifications",
        "conversion-updates": "updates",
    ]

    /// At most five characters: 9999, 12.3k, 999k, 1.23M.
    static func short(_ number: Int64) -> String {
        guard number >= 10_000 else { return "\(number)" }
        var scaled = Double(number)
        var unit = ""
        for next in ["k", "M", "G", "T", "P"] where scaled >= 1000 {
            scaled /= 1000
            unit = next
        }
        let fractionDigits = scaled < 10 ? 2 : scaled < 100 ? 1 : 0
        let factor = [1.0, 10, 100][fractionDigits]
        // Truncated, so that a number is never shown before it is reached.
        let cut = (scaled * factor).rounded(.down) / factor
        return fractionDigits == 0 ? "\(Int(cut))\(unit)" : "\(cut)\(unit)"
    }
}
