import EventLog
import Foundation
import Store

/// Conversion values: the next value that an install should report to SKAdNetwork or AdAttributionKit.
///
/// `ConversionEngine` is the pure part: it answers a request from the state of its install and the app's model. The
/// answer is an event of the topic `conversion-updates`. `InstallState` is folded from that topic. `InstallStore`
/// keeps the states in one SQLite file, which can be rebuilt from the log. This service runs all of it.
///
/// ```swift
/// let service = try ConversionService(
///     log: log, storePath: "data/conversions.sqlite", apps: ConversionApps(models: models))
/// let answer = try await service.answer(request, nowMilliseconds: now)
/// ```
///
/// One thread answers all requests one after the other, so that two requests of one install never race. Requests that
/// wait at the same time become one durable append.
package final class ConversionService: Sendable {
    /// The pause before a log that could not be read is tried again.
    private static let rereadSeconds = 1.0
    /// How often the topic is read without requests: it may contain an erasure.
    private static let idleSeconds = 5.0

    static let mostWaiting = 8192
    private static let mostAtOnce = 1024

    private let commits: GroupCommit<AnswerContent, ConversionAnswer, ConversionServiceError>

    /// Reads what is new in the topic `conversion-updates`, and then answers. Requests wait for
    /// that, or get `behind`. A file that is damaged or follows another log is set aside and made
    /// again.
    ///
    /// - Parameters:
    ///   - log: only the service uses it from now on.
    ///   - storePath: the file of states, `conversions.sqlite`.
    ///   - deadlineSeconds: how long a request waits for its answer.
    ///   - warn: called when the file was set aside.
    /// - Throws: the fault of the log or the file, for example if another program uses it.
    package init(
        log: sending any LogBackend, storePath: String, apps: ConversionApps,
        deadlineSeconds: Double = 10, warn: @escaping @Sendable (String) -> Void = { _ in }
    ) throws(ConversionServiceError) {
        commits = GroupCommit(
            .init(
                queuedRecords: Self.mostWaiting, groupRecords: Self.mostAtOnce,
                deadlineSeconds: deadlineSeconds),
            .init(full: .busy, late: .late, stopped: .stopped))
        let box = LedgerBox(
            try InstallLedger(log: log, storePath: storePath, models: apps, warn: warn))
        commits.hinder(.behind)
        commits.start { [self] in run(box) }
    }

    /// Answers a request after its event is durable in the log. The event of a request that got `late` may be in the
    /// log anyway; a repeated request is then the same update.
    ///
    /// - Parameter nowMilliseconds: the instant of the answer, in milliseconds since 1970.
    package func answer(
        _ request: ConversionRequest, nowMilliseconds: Int64
    ) async throws(ConversionServiceError) -> ConversionAnswer {
        try await commits.submit(
            AnswerContent(request: request, nowMilliseconds: nowMilliseconds))
    }

    /// The reason why the service is unreliable; nil if it is reliable.
    package var unreadiness: String? { commits.fault?.explanation }

    /// After this time all waits end: requests without an answer get `stopped`.
    package func endWaits(inSeconds seconds: Double) { commits.endWaits(inSeconds: seconds) }

    /// Accepts no more requests, answers the waiting ones, and returns after that or after a timeout.
    ///
    /// - Parameter withinSeconds: the timeout; nil for the longest wait of a request.
    package func stop(withinSeconds: Double? = nil) { commits.stop(withinSeconds: withinSeconds) }

    /// The ledger, and with it the lock on its file, is freed before this returns.
    private func run(_ box: LedgerBox) {
        guard let ledger = box.take() else { return }
        while true {
            if ledger.isBehind, !catchUp(ledger) {
                if commits.isStopped { break }
                Thread.sleep(forTimeInterval: Self.rereadSeconds)
                continue
            }
            guard let group = commits.nextGroup(within: Self.idleSeconds) else { break }
            guard !group.isEmpty else {
                ledger.doubt()
                continue
            }
            answer(group, ledger)
        }
        ledger.close()
    }

    /// Whether the ledger has reached the end of the log.
    private func catchUp(_ ledger: InstallLedger) -> Bool {
        do throws(ConversionServiceError) {
            try ledger.catchUp()
            commits.hinder(nil)
            return true
        } catch {
            commits.setFault(error)
            commits.refuseAll(error)
            return false
        }
    }

    /// Rebuilds an unusable file before other requests are answered.
    private func renew(_ ledger: InstallLedger, _ reason: ConversionServiceError) {
        commits.hinder(.behind)
        do throws(ConversionServiceError) {
            try ledger.recreate(reason)
        } catch {
            commits.setFault(error)
        }
    }

    private func answer(_ group: [PendingAnswer], _ ledger: InstallLedger) {
        do throws(ConversionServiceError) {
            let answers = try ledger.answer(
                group.map { ($0.content.request, $0.content.nowMilliseconds) })
            commits.endGroup()
            commits.setFault(nil)
            for (pending, answer) in zip(group, answers) { pending.answer(.success(answer)) }
        } catch {
            commits.endGroup()
            commits.setFault(error)
            for pending in group { pending.answer(.failure(error)) }
            if error.isOfFile { renew(ledger, error) }
        }
    }
}

/// Passes the ledger to its thread.
///
/// `@unchecked Sendable`: only that thread uses the ledger.
private final class LedgerBox: @unchecked Sendable {
    private var ledger: InstallLedger?

    init(_ ledger: InstallLedger) {
        self.ledger = ledger
    }

    func take() -> InstallLedger? {
        defer { ledger = nil }
        return ledger
    }
}

typealias PendingAnswer = PendingRequest<AnswerContent, ConversionAnswer, ConversionServiceError>

struct AnswerContent: GroupedContent {
    var recordCount: Int { 1 }
    var byteCount: Int { 0 }

    let request: ConversionRequest
    /// The instant of the answer, in milliseconds since 1970.
    let nowMilliseconds: Int64
}

/// Why a request has no answer.
package enum ConversionServiceError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Too many requests wait.
    case busy
    /// Not answered in time. Whether the event is in the log is unknown.
    case late
    /// The topic is still being read.
    case behind
    case stopped
    case log(LogError)
    case store(StoreError)
    /// The file of states follows another log, or a truncated one.
    case otherLog(path: String, detail: String)
    case unwritable(detail: String)

    package var description: String {
        switch self {
        case .busy: "too many records are waiting for the log: try again"
        case .late: "the log has not acknowledged in time: try again"
        case .behind: "the state of installs is being read from the log: try again"
        case .stopped: "the collector is stopping: try again"
        case .log(let error): error.description
        case .store(let error): error.description
        case .otherLog(let path, let detail):
            "\(path) does not belong to this log (\(detail)): move the file away, so that the collector "
                + "reads the state of installs from the log again"
        case .unwritable(let detail): "the answer could not be encoded as an event: \(detail)"
        }
    }

    /// The reason in words for the client, without the places of the log and the file.
    package var explanation: String {
        switch self {
        case .busy, .late, .behind, .stopped: description
        case .log: "the log has not acknowledged: try again"
        case .store, .otherLog, .unwritable: "the collector cannot answer now: try again"
        }
    }

    /// Whether the file is unusable and can be rebuilt from the log.
    package var isOfFile: Bool {
        switch self {
        case .otherLog, .store(.notAStore), .store(.damaged), .store(.newerVersion): true
        case .busy, .late, .behind, .stopped, .log, .store, .unwritable: false
        }
    }
}
