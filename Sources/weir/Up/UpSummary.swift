import AggregateStore
import EventLog
import Foundation
import Monitoring
import PartnerPostbacks
import Synchronization

/// The line that tells how `weir up` is: written over at a terminal every two seconds, and logged once a
/// minute where there is none.
final class UpSummary: Sendable {
    private static let terminalSeconds = 2.0
    private static let logSeconds = 60.0

    private let directory: String
    private let log: LogAddress
    private let components: [Component]
    private let hasEnded = Atomic<Bool>(false)
    private let isTerminal = isatty(STDERR_FILENO) == 1

    init(directory: String, log: LogAddress, components: [Component]) {
        self.directory = directory
        self.log = log
        self.components = components
    }

    /// Says where the collector listens, and goes on to say what comes of it.
    func begin(listeningAt address: ListenAddress) {
        Notice.write("up: http://\(address)  log \(log)  stores \(directory)")
        let thread = Thread { [self] in
            let seconds = isTerminal ? Self.terminalSeconds : Self.logSeconds
            var shown = ContinuousClock.now
            while !hasEnded.load(ordering: .relaxed) {
                Thread.sleep(forTimeInterval: 0.1)
                guard shown.duration(to: .now) >= .seconds(seconds) else { continue }
                shown = .now
                show()
            }
        }
        thread.name = "summary"
        thread.start()
    }

    /// Ends the line.
    func end() {
        hasEnded.store(true, ordering: .relaxed)
        if isTerminal { FileHandle.standardError.write(Data("\r\u{1B}[K".utf8)) }
    }

    private func show() {
        guard isTerminal else { return Notice.write(line) }
        FileHandle.standardError.write(Data("\r\u{1B}[K\(line)".utf8))
    }

    /// What each stream has folded, how much is left, and what partners have been sent.
    var line: String {
        let parts = folded() + delivered() + faults()
        return parts.isEmpty ? "nothing has come in yet" : parts.joined(separator: "  ")
    }

    private func folded() -> [String] {
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        do {
            let report = try LagReport(
                directories: [directory], log: LogOptions.open(log, .existing), nowMilliseconds: now
            )
            return report.streams.compactMap { stream in
                let records = stream.furthest.reduce(0) { $0 + ($1.nextOffset ?? 0) }
                guard records + stream.lag > 0 else { return nil }
                let left = stream.lag > 0 ? " (+\(stream.lag))" : ""
                return "\(stream.stream) \(records)\(left)"
            }
        } catch {
            return ["log and stores cannot be read: \(error)"]
        }
    }

    private func delivered() -> [String] {
        guard let store = try? DeliveryStore(existing: DeliveryStore.path(in: directory)),
            let counts = try? store.counts()
        else { return [] }
        let states: [DeliveryState] = [.delivered, .pending, .held, .dead]
        return states.compactMap { state in
            let count = counts.reduce(0) { $0 + ($1.state == state ? $1.count : 0) }
            return count > 0 ? "\(state.rawValue) \(count)" : nil
        }
    }

    private func faults() -> [String] {
        components.filter { $0.fault != nil }.map { "FAILED \($0.name)" }
    }
}
