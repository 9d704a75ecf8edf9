import CSimulatedSystem
import ConfigurationFiles
import ConfigurationValues
import ConversionModels
import ConversionValues
import Engine
import EventLog
import Foundation
import Program
import TestKit

/// Installs that ask a collector for their conversion values, and what it has answered.
final class SimulatedInstalls {
    private struct Ask {
        let request: ConversionRequest
        let nowMilliseconds: Int64
        /// Whether it may have been answered without what another collector had answered just before.
        let mayLag: Bool
        /// Nil while it was not answered: nobody knows whether it is in the log.
        var answer: ConversionAnswer?
    }

    let apps: ConversionApps
    private let models: [Int64: ConversionModel]
    private let cluster: SimulatedCluster
    private var random: SeededGenerator
    /// By number, which each request carries as the version of its app.
    private var asks: [Ask] = []
    /// Windows last for weeks, in which a simulation does not come.
    private var aheadMilliseconds: Int64 = 0
    /// Each knows within a second what the others have answered.
    var hasSeveralCollectors = false
    /// The data directories that lost power since their file of states was made: its commits are not synced.
    private var mayBeDamaged: Set<String> = []
    /// The first thing that a collector should not have said.
    private(set) var fault: SimulationFault?

    init(_ cluster: SimulatedCluster, seed: UInt64) throws {
        self.cluster = cluster
        random = SeededGenerator(seed: seed)
        let models = try PipelineDirectory(Repository.path("pipelines")).conversionModels()
        apps = ConversionApps(models: models, apps: [Self.appWithoutModel])
        self.models = Dictionary(uniqueKeysWithValues: models.map { ($0.app, $0) })
    }

    private static let appWithoutModel: Int64 = 7

    func losePower(in directory: String) { mayBeDamaged.insert(directory) }

    /// A file is made again where it was damaged, and for no other reason: its topic stays the same.
    fileprivate func warn(_ reason: String, in context: ProcessContext) {
        guard !weir_sim_is_dead(context.number) else { return }
        cluster.cover(.statesRecreated)
        guard mayBeDamaged.remove(context.directory) == nil else { return }
        fault = fault ?? SimulationFault(reason)
    }

    /// A collector goes on after an error: that of a log that is away, or of a disk that fails.
    fileprivate func judge(_ error: ConversionServiceError, of context: ProcessContext) {
        guard !weir_sim_is_dead(context.number) else { return }
        switch error {
        case .log(.unavailable): return
        case .log(.disk) where context.hasDiskFaults, .store(.disk) where context.hasDiskFaults:
            return
        default: fault = fault ?? SimulationFault("a collector could not answer: \(error)")
        }
    }

    var askCount: Int { asks.count }

    /// The first of the requests from a number on that has no answer.
    func unanswered(from first: Int) -> Int? {
        asks.indices[first...].first { asks[$0].answer == nil }
    }

    /// Has a few requests answered by a process.
    func ask(_ ledger: InstallLedger, of process: Int32) throws(ConversionServiceError) {
        aheadMilliseconds += passedMilliseconds()
        let mayLag = hasSeveralCollectors && number(below: 2) == 0
        if hasSeveralCollectors, !mayLag { weir_sim_pass(1_100_000_000) }
        let now = weir_sim_now() / 1_000_000 + aheadMilliseconds
        let first = asks.count
        for _ in 0...number(below: 4) {
            guard let request = makeRequest(at: now) else { continue }
            asks.append(Ask(request: request, nowMilliseconds: now, mayLag: mayLag))
        }
        let answers = try ledger.answer(asks[first...].map { ($0.request, $0.nowMilliseconds) })
        guard !weir_sim_is_dead(process) else { return }
        for (index, answer) in answers.enumerated() {
            asks[first + index].answer = answer
            cluster.cover(.installAnswered)
        }
    }

    private func passedMilliseconds() -> Int64 {
        let hour = 3_600_000
        switch number(below: 60) {
        case 0: return Int64(number(below: 100 * 24 * hour))
        case 1..<10: return Int64(number(below: 30 * hour))
        default: return Int64(number(below: 60_000))
        }
    }

    // MARK: Requests

    /// Nil for one that is refused before it is answered.
    private func makeRequest(at now: Int64) -> ConversionRequest? {
        let app = one(of: models.keys.sorted() + [Self.appWithoutModel])
        var values = [
            "app_id": "\(app)", "idfv": "install-\(number(below: 5))", "app_v": "\(asks.count)",
            "n": one(of: ["", "ride", "order", "purchase", "registration", "level_completed"]),
            "total_revenue_by_currency":
                "{\"\(one(of: ["USD", "EUR", "GBP"]))\":\(number(below: 60)).5}",
        ]
        if number(below: 4) == 0 { values["update_id"] = "update-\(number(below: 30))" }
        let isOfAdAttributionKit = number(below: 4) == 0
        if isOfAdAttributionKit {
            values["framework"] = "adattributionkit"
            if number(below: 2) == 0 {
                values["conversion_type"] = "re-engagement"
                values["conversion_tag"] = one(of: ["", "a", "b"])
            }
        }
        // A few weeks back, so that all windows come up.
        let firstCall = now - Int64(number(below: 40 * 86_400_000))
        if number(below: 2) == 0 { values["skan_first_call_timestamp"] = "\(firstCall / 1000)" }
        if number(below: 3) == 0 {
            values["skan_last_call_timestamp"] =
                "\((now - Int64(number(below: 86_400_000))) / 1000)"
        }
        if number(below: 3) == 0 { values["skan_conversion_value"] = "\(number(below: 64))" }
        for window in 0...2 where number(below: 6) == 0 {
            values["p\(window)_coarse"] = "\(number(below: 3))"
            values["p\(window)_window_lock"] = one(of: ["0", "1"])
        }
        return try? ConversionRequest(
            one(of: [.conversionValue, .conversionValue, .launch, .event]),
            ConversionParameters(
                values.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }),
            apps: apps, nowMilliseconds: now)
    }

    private func number(below bound: Int) -> Int { Int(random.next() % UInt64(bound)) }

    private func one<Element>(of elements: [Element]) -> Element {
        elements[number(below: elements.count)]
    }

    // MARK: What was answered

    /// Each answer is in the log, and is the one that follows from the records before it.
    func compare(with topic: SimulatedCluster.Topic) throws {
        var found: Set<Int> = []
        for (partition, records) in topic.partitions.enumerated() {
            try compare(records.records, of: "\(topic.name)/\(partition)", &found)
        }
        if let lost = asks.indices.first(where: { asks[$0].answer != nil && !found.contains($0) }) {
            throw SimulationFault("request \(lost) was answered, and is not in the log")
        }
    }

    private func compare(
        _ records: [SimulatedCluster.Record], of partition: String, _ found: inout Set<Int>
    ) throws {
        var seen = SeenInstalls()
        for record in records {
            let update = record.value.flatMap { bytes in
                bytes.withUnsafeBytes { ConversionUpdate.read($0) }
            }
            guard let update, let number = update.appVersion.flatMap({ Int($0) }),
                asks.indices.contains(number)
            else { throw SimulationFault("\(partition) has another record at \(record.offset)") }
            // What the brokers have appended twice was asked once.
            guard found.insert(number).inserted else {
                guard record.isRepetition else {
                    throw SimulationFault(
                        "\(partition) has request \(number) once more at \(record.offset)")
                }
                continue
            }
            let ask = asks[number]
            let wanted = ConversionEngine.answer(
                ask.request,
                state: seen.state(of: update.install, at: ask.nowMilliseconds),
                model: models[ask.request.appID], nowMilliseconds: ask.nowMilliseconds)
            let isRight = wanted.update == update && ask.answer ?? wanted.answer == wanted.answer
            guard isRight || ask.mayLag else {
                throw SimulationFault(
                    "\(partition) at \(record.offset): request \(number) was told \(update), and by what the log had, \(wanted.update)"
                )
            }
            seen.add(update)
        }
    }
}

/// The states of installs that follow from a partition's records.
private struct SeenInstalls {
    private var states: [InstallKey: InstallState] = [:]
    private var latestMilliseconds = Int64.min

    /// Nil for an install that is not known, or was silent for so long that it is forgotten.
    func state(of install: InstallKey, at milliseconds: Int64) -> InstallState? {
        states[install].flatMap {
            max(latestMilliseconds, milliseconds) < $0.expiryMilliseconds ? $0 : nil
        }
    }

    mutating func add(_ update: ConversionUpdate) {
        states[update.install] = InstallState.after(
            update, state(of: update.install, at: update.receivedAtMilliseconds))
        latestMilliseconds = max(latestMilliseconds, update.receivedAtMilliseconds)
    }
}

/// The part of a collector that answers installs. What waits for it, and its HTTP, are left out.
struct CollectorProgram: SimulatedProgram {
    let installs: SimulatedInstalls

    /// No topic, but its name among what a run may have.
    static let name = "collector"
    var topic: String { Self.name }

    func open(_ context: ProcessContext) throws -> (program: any Turning, reader: (any LogReader)?)
    {
        do throws(ConversionServiceError) {
            nonisolated(unsafe) let (installs, context) = (installs, context)
            try? FileManager.default.createDirectory(
                atPath: context.directory, withIntermediateDirectories: true)
            let ledger = try InstallLedger(
                log: context.log,
                storePath: "\(context.directory)/\(ConversionStoreProgress.fileName)",
                models: installs.apps, warn: { installs.warn($0, in: context) })
            return (CollectorTurns(ledger: ledger, installs: installs, context: context), nil)
        } catch {
            throw error.cause
        }
    }
}

private final class CollectorTurns: Turning {
    private let ledger: InstallLedger
    private let installs: SimulatedInstalls
    private let context: ProcessContext

    init(ledger: InstallLedger, installs: SimulatedInstalls, context: ProcessContext) {
        self.ledger = ledger
        self.installs = installs
        self.context = context
    }

    var isCaughtUp: Bool { !ledger.isBehind }

    /// As the collector does: what cannot be answered is asked again, and a file that cannot be used is made again.
    func takeTurn() throws -> WorkerEnd? {
        guard !context.stop.isRequested else {
            ledger.close()
            return .stopped
        }
        do throws(ConversionServiceError) {
            try ledger.catchUp()
            try installs.ask(ledger, of: context.number)
        } catch {
            do throws(ConversionServiceError) {
                guard error.isOfFile else { throw error }
                try ledger.recreate(error)
            } catch {
                installs.judge(error, of: context)
            }
        }
        if let fault = installs.fault { throw fault }
        return nil
    }
}

extension ConversionServiceError {
    /// What a program ends with that cannot begin to answer.
    fileprivate var cause: any Error {
        switch self {
        case .log(let error): error
        case .store(let error): error
        default: self
        }
    }
}
