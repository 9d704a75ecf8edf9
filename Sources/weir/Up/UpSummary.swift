import AggregateStore
import EventLog
import Foundation
import Monitoring
import PartnerPostbacks
import Synchronization
import Worker

/// Tells how `weir up` is: in a line that is written over at a terminal every two seconds, and logged once
/// a minute where there is none.
final class UpSummary: Sendable {
    private static let terminalSeconds = 2.0
    private static let logSeconds = 60.0
    private static let pollSeconds = 0.1

    private let directory: String
    private let address: LogAddress
    private let components: Components
    private let isOver = Mutex(false)

    init(directory: String, log address: LogAddress, components: Components) {
        self.directory = directory
        self.address = address
        self.components = components
    }

    /// Says where the collector listens, and goes on to say what comes of it.
    func begin(listeningAt listening: ListenAddress) {
        Notice.write("up: http://\(listening)  log \(address)  stores \(directory)")
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

    /// Takes the line away; none is shown any more when it returns.
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
                Notice.write(line.text)
            }
        }
    }

    private func line() -> SummaryLine {
        var line = SummaryLine(failed: components.failures.map(\.name))
        do {
            let report = try LagReport(
                directories: [directory], log: LogOptions.open(address, .existing),
                nowMilliseconds: nil)
            line.streams = report.streams.compactMap { stream in
                let folded = stream.furthest.reduce(0) { $0 + ($1.nextOffset ?? 0) }
                let isShown = folded + stream.lag > 0 && stream.waiting == nil
                return isShown ? (stream.stream, folded, stream.lag) : nil
            }
            line.deliveries = try delivered()
        } catch {
            line.fault = "log and stores cannot be read: \(error)"
        }
        return line
    }

    private func delivered() throws(StoreError) -> [(state: String, count: Int)] {
        let path = DeliveryStore.path(in: directory)
        guard FileManager.default.fileExists(atPath: path) else { return [] }
        let counts = try DeliveryStore(existing: path).counts()
        let states: [DeliveryState] = [.delivered, .pending, .held, .dead]
        return states.compactMap { state in
            let count = counts.reduce(0) { $0 + ($1.state == state ? $1.count : 0) }
            return count > 0 ? (state.rawValue, count) : nil
        }
    }
}
