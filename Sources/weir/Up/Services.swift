import Collector
import ConfigurationValues
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
    /// The name of a service, and its work until a stop is requested.
    typealias Work = (name: String, work: @Sendable (StopSignal) throws -> Void)

    /// The time limit at shutdown for services to fold the rest of the log.
    private static let catchUpSeconds = 10.0
    private static let pollSeconds = 0.05

    private let directory: String
    private let address: LogAddress
    private let pipelines: PipelineDirectory
    private let signal = StopSignal()
    private let all = Mutex<[Service]>([])

    init(directory: String, log address: LogAddress, pipelines: PipelineDirectory) {
        self.directory = directory
        self.address = address
        self.pipelines = pipelines
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

    /// The failed services without reasons, because this is public over HTTP.
    var states: [ServiceState] {
        all.withLock { all in all.map(\.report) }
    }

    /// Waits a few seconds for the running services to fold all of the log. On a cluster it does not wait, because it
    /// has other writers and workers.
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
                directories: [directory], log: pipelines.openLog(address, .existing),
                nowMilliseconds: nil)
        else { return true }
        let services = all.withLock { all in all.map(\.name) }
        // A store that is still being created also lags.
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
    /// Pauses before a failed service restarts: the cause may be temporary, such as a file lock.
    private static let pauseSeconds = [2.0, 5, 10, 30, 60]
    /// A failed service counts as failed until it has worked for this long.
    private static let provedSeconds = 10.0
    private static let pollSeconds = 0.05

    private struct State {
        var fault: String?
        /// How often it has failed.
        var failures = 0
        /// When it last started; nil while it does not run.
        var begin: ContinuousClock.Instant?
    }

    /// The name of the service's own program.
    let name: String
    private let state = Mutex(State())
    private let ended = DispatchSemaphore(value: 0)

    /// Starts the service. A failure is written to standard error at once. The other services continue, so that HTTP
    /// still accepts records, and this one restarts after a pause.
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
                    // After a restart, it would create a new file in place of the moved one and overwrite the file when
                    // it is moved back.
                    setFault("\(error). It restarts only with weir up")
                    break
                } catch {
                    failures = hasProved ? 1 : failures + 1
                    setFault("\(error)")
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

    /// Why it failed; nil if it did not, or has recovered.
    var fault: String? {
        state.withLock { state in hasProved(state) ? nil : state.fault }
    }

    /// The state without the reason of a failure.
    var report: ServiceState {
        state.withLock { state in
            ServiceState(
                name, hasFailed: state.fault != nil && !hasProved(state), failures: state.failures)
        }
    }

    private var hasProved: Bool { state.withLock { hasProved($0) } }

    private func hasProved(_ state: State) -> Bool {
        state.begin.map { $0.duration(to: .now) > .seconds(Self.provedSeconds) } ?? false
    }

    /// Does not write the same message twice in a row.
    private func setFault(_ fault: String) {
        let isNew = state.withLock { state in
            let isNew = state.fault != fault || hasProved(state)
            state.fault = fault
            state.failures += 1
            state.begin = nil
            return isNew
        }
        if isNew { Console.write("\(name): \(fault)") }
    }

    /// Waits before the next try; false when a stop is requested.
    private func rest(_ failures: Int, _ stop: StopSignal) -> Bool {
        let seconds = Self.pauseSeconds[min(failures, Self.pauseSeconds.count) - 1]
        let end = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < end {
            if stop.isRequested { return false }
            Thread.sleep(forTimeInterval: Self.pollSeconds)
        }
        return true
    }

    func join() {
        ended.wait()
        // For further waiting threads.
        ended.signal()
    }
}
