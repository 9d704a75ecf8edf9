import Collector
import Dashboard
import Engine
import EventLog
import Foundation
import Program
import Reports
import Store
import Synchronization

/// The services of `weir up` other than the collector.
final class Services: Sendable {
    /// The name of a service, and what it does until it is asked to stop.
    typealias Work = (name: String, work: @Sendable (StopSignal) throws -> Void)

    /// How long services may take at shutdown to fold what is in the log.
    private static let catchUpSeconds = 10.0
    private static let pollSeconds = 0.05

    private let directory: String
    private let address: LogAddress
    private let signal = StopSignal()
    private let all = Mutex<[Service]>([])

    init(directory: String, log address: LogAddress) {
        self.directory = directory
        self.address = address
    }

    func start(_ services: [Work]) {
        all.withLock { all in
            all += services.map { service in Service(service.name, stop: signal, work: service.work)
            }
        }
    }

    /// The services that failed, and why.
    var failures: [ServiceFailure] {
        all.withLock { all in
            all.compactMap { service in
                service.fault.map { ServiceFailure(name: service.name, fault: $0) }
            }
        }
    }

    /// Which services failed, without the reasons: anybody may ask for this by HTTP.
    var states: [ProgramPart] {
        all.withLock { all in
            all.map { ProgramPart($0.name, hasFailed: $0.fault != nil) }
        }
    }

    /// Waits until the working services have folded all of the log, for some seconds at most. A
    /// cluster has other writers and workers: there it waits for nothing.
    func catchUp() {
        guard case .sqlite = address else { return }
        let deadline = ContinuousClock.now + .seconds(Self.catchUpSeconds)
        while ContinuousClock.now < deadline, isBehind {
            Thread.sleep(forTimeInterval: Self.pollSeconds)
        }
    }

    private var isBehind: Bool {
        let failed = failures.map(\.name)
        guard
            let report = try? LagReport(
                directories: [directory], log: LogOptions.open(address, .existing),
                nowMilliseconds: nil)
        else { return true }
        let services = all.withLock { all in all.map(\.name) }
        // A store that is being made is behind too.
        let streams = OpenStores.streams.filter { services.contains("weir-\($0)") }
        return report.streams.contains { $0.lag > 0 && !failed.contains("weir-\($0.stream)") }
            || streams.contains { stream in
                !failed.contains("weir-\(stream)")
                    && !report.streams.contains { $0.stream == stream }
            }
    }

    func stop() {
        signal.request()
        for service in all.withLock({ $0 }) { service.join() }
    }
}

/// A service of `weir up`, on its own thread.
final class Service: Sendable {
    /// Pauses before a failed service is started again: the cause may pass, as a lock on a file does.
    private static let pauseSeconds = [2.0, 5, 10, 30, 60]
    /// A service that failed counts as failed until it has worked for this long.
    private static let provedSeconds = 10.0
    private static let pollSeconds = 0.05

    private struct State {
        /// Why it last failed.
        var fault: String?
        /// When it was last started; nil while it does not run.
        var begin: ContinuousClock.Instant?
    }

    /// The name of the service's own program.
    let name: String
    private let state = Mutex(State())
    private let ended = DispatchSemaphore(value: 0)

    /// Starts the service. A failure is written to standard error at once. The other services go on, so
    /// that records are still taken by HTTP, and this one is started again after a pause.
    init(_ name: String, stop: StopSignal, work: @escaping @Sendable (StopSignal) throws -> Void) {
        self.name = name
        let thread = Thread { [self] in
            var failures = 0
            while true {
                state.withLock { $0.begin = .now }
                do {
                    try work(stop)
                    break
                } catch  where Self.isOfMovedFile(error) {
                    // Begun again, it would make another file in its place, and write over what is put back.
                    note("\(error); it is not begun again until weir up is started again")
                    break
                } catch {
                    failures = hasProved ? 1 : failures + 1
                    note("\(error)")
                }
                guard !stop.isRequested, rest(failures, stop) else { break }
            }
            ended.signal()
        }
        thread.name = name
        thread.stackSize = 8 << 20
        thread.start()
    }

    private static func isOfMovedFile(_ error: any Error) -> Bool {
        switch error {
        case StoreError.moved, WorkerError.store(.moved), LogError.moved, WorkerError.log(.moved):
            true
        default: false
        }
    }

    /// Why it failed; nil when it did not, or has worked well since.
    var fault: String? {
        state.withLock { state in hasProved(state) ? nil : state.fault }
    }

    private var hasProved: Bool { state.withLock { hasProved($0) } }

    private func hasProved(_ state: State) -> Bool {
        state.begin.map { $0.duration(to: .now) > .seconds(Self.provedSeconds) } ?? false
    }

    /// The same words are not written twice in a row.
    private func note(_ fault: String) {
        let isNew = state.withLock { state in
            let isNew = state.fault != fault || hasProved(state)
            state.fault = fault
            state.begin = nil
            return isNew
        }
        if isNew { Console.write("\(name): \(fault)") }
    }

    /// Waits before the next try; false when a stop was requested meanwhile.
    private func rest(_ failures: Int, _ stop: StopSignal) -> Bool {
        let seconds = Self.pauseSeconds[min(failures, Self.pauseSeconds.count) - 1]
        let end = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < end {
            if stop.isRequested { return false }
            Thread.sleep(forTimeInterval: Self.pollSeconds)
        }
        return true
    }

    /// Waits until it has ended.
    func join() {
        ended.wait()
        // For whoever waits again.
        ended.signal()
    }
}
