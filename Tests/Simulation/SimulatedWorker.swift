import CSimulatedSystem
import ConfigurationFiles
import ConfigurationValues
import Deliveries
import EmbeddedLog
import Engine
import EventLog
import Foundation
import Logging
import Program
import Store
import Streams

/// A program that runs as a process and gets turns.
protocol Turning {
    /// Nil while there is more to do.
    func takeTurn() throws -> WorkerEnd?
    /// Whether it knows of nothing that it has not taken from its reader.
    var isCaughtUp: Bool { get }
}

extension Turning {
    var isCaughtUp: Bool { true }
}

extension Worker: Turning {
    func takeTurn() throws -> WorkerEnd? {
        defer { quiesce() }
        return try runOnce()
    }
}

extension DeliveryLoop: Turning {
    func takeTurn() throws -> WorkerEnd? { try runOnce() ? nil : .stopped }
}

/// The part of the machine that a process of a program has.
struct ProcessContext {
    let name: String
    let number: Int32
    let lanes: Int
    let directory: String
    let options: WorkerOptions
    let log: any LogBackend
    let stop: StopSignal
    /// Whether the process was given reason to fail.
    let hasDiskFaults: Bool
    let logger: Logger
}

extension SnapshotPacing {
    /// As soon and as often as possible.
    fileprivate static var dense: SnapshotPacing {
        var pacing = SnapshotPacing()
        pacing.interval = .milliseconds(500)
        pacing.share = 1
        pacing.worthwhileRecords = 3
        return pacing
    }
}

/// Covers what a worker logs of snapshots.
///
/// `@unchecked Sendable`: a run has one thread.
private struct CoveringLogHandler: LogHandler, @unchecked Sendable {
    let cover: (Transition) -> Void
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.debug

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let text = "\(event.message)"
        if text.hasPrefix("partition restored from a snapshot") { cover(.continuedSnapshot) }
        if text.hasPrefix("partition of another worker copied") { cover(.copiedSnapshot) }
        if text.hasPrefix("no snapshot of partition") { cover(.snapshotFailed) }
        if text.contains(" is not used: ") || text.contains(" is not copied: ") {
            cover(.refusedSnapshot)
        }
    }
}

/// A log that processes open.
protocol LogOfProcesses: AnyObject {
    func open(for process: Int32, in directory: String) throws -> any LogBackend
    /// A process has ended as it was asked to.
    func end(_ process: Int32)
    /// Stores were moved away.
    func forget(_ directory: String)
}

extension LogOfProcesses {
    func end(_: Int32) {}
    func forget(_: String) {}
}

extension SimulatedCluster: LogOfProcesses {
    func open(for process: Int32, in directory: String) -> any LogBackend {
        publications.begin(process, in: directory)
        return SimulatedLog(self, process: process)
    }

    func end(_ process: Int32) { publications.end(process) }

    func forget(_ directory: String) { publications.forget(directory) }
}

/// A program, which a worker starts again and again.
protocol SimulatedProgram {
    var topic: String { get }
    /// - Returns: the program, and what it reads; nil where it keeps that to itself.
    func open(_ context: ProcessContext) throws -> (program: any Turning, reader: (any LogReader)?)
}

struct FoldProgram<Fold: StreamFold>: SimulatedProgram {
    var topic: String { Fold.streamName }

    func open(_ context: ProcessContext) throws -> (program: any Turning, reader: (any LogReader)?)
    {
        guard
            !PromotionRequest.isMade(in: context.directory)
                || !PromotionRequest.isHeld(in: context.directory)
        else { throw SimulationFault("a promotion is under way in \(context.directory)") }
        let sets = try PromotionJournal(directory: context.directory)
        _ = try sets.presentPath(of: topic)
        let configuration = try Fold.readConfiguration(
            PipelineDirectory(context.options.pipelinesDirectory))
        var reader = try context.log.reader(
            topic: configuration.stream.topic, group: configuration.stream.group)
        if let path = try context.options.archivePath {
            reader = try ArchivedLogReader(path: path, before: reader)
        }
        do {
            let worker = try Fold.makeWorker(
                context.options, configuration, lanes: context.lanes, in: sets.directory(of: topic),
                log: context.log, reader: reader, stop: context.stop,
                logger: context.logger, snapshotPacing: .dense)
            guard let worker else {
                throw SimulationFault("\(context.name): its store was replaced")
            }
            return (worker, reader)
        } catch {
            reader.close()
            throw error
        }
    }
}

struct DeliveryProgram: SimulatedProgram {
    let partners: SimulatedPartners

    var topic: String { SimulatedDocuments.topic }

    func open(_ context: ProcessContext) throws -> (program: any Turning, reader: (any LogReader)?)
    {
        let configuration = try DeliveryConfiguration(context.options)
        let reader = try context.log.reader(
            topic: configuration.stream.topic, group: configuration.stream.group)
        do {
            let loop = try PartnerPostbacksWorker.makeLoop(
                context.options, configuration, log: context.log, reader: reader,
                sender: SimulatedSender(partners, process: context.number, of: context.name),
                stop: context.stop, logger: context.logger)
            return (loop, reader)
        } catch {
            reader.close()
            throw error
        }
    }
}

/// One start of a worker, until it ends or is killed.
private final class Incarnation {
    let number: Int32
    let worker: any Turning
    let reader: (any LogReader)?
    let stop: StopSignal

    var isCaughtUp: Bool { reader?.isCaughtUp ?? true && worker.isCaughtUp }

    /// Nil for a log without groups.
    var member: SimulatedReader? { reader as? SimulatedReader }

    init(number: Int32, worker: any Turning, reader: (any LogReader)?, stop: StopSignal) {
        self.number = number
        self.worker = worker
        self.reader = reader
        self.stop = stop
    }
}

/// A worker on a machine of its own: a data directory that stays, and the processes that work on it one after the
/// other.
final class SimulatedWorker {
    enum Turn {
        case goesOn
        case ended
        case died
        case failed(any Error)
    }

    let name: String
    let directory: String
    let program: any SimulatedProgram
    private let log: any LogOfProcesses
    private let pipelines: String
    private var incarnation: Incarnation?
    private(set) var isPaused = false
    /// Whether the present process was given reason to fail.
    private(set) var hasDiskFaults = false
    /// The archive that is read before the log.
    var archivePath: String?
    /// The promotions that its operator was told were done, or that a process of it went on from.
    private var promotions: [StorePromotion] = []
    /// Whether it keeps copies of the partitions of others.
    var isStandby = false
    /// The number of partitions that its operator has accepted.
    var acceptedPartitionCount: Int32?
    /// Whether its operator accepts that a new store lacks records that the log has lost.
    var acceptsMissingRecords = false
    /// How long ids were remembered when its store was folded, by partition; empty where that never changes.
    var windows: [Int32: WindowsInForce] = [:]

    init(
        _ name: String, _ program: any SimulatedProgram, log: any LogOfProcesses,
        directory: String, pipelines: String
    ) {
        self.name = name
        self.program = program
        self.log = log
        self.directory = directory
        self.pipelines = pipelines
    }

    var isRunning: Bool { incarnation != nil }
    /// The number of the process that runs.
    var process: Int32? { incarnation?.number }
    var isCaughtUp: Bool {
        guard let incarnation else { return false }
        return incarnation.isCaughtUp
    }

    /// A promotion that was done stays; so does one that a process goes on from.
    func checkPromotions() throws {
        weir_sim_enter(0)
        let found = try PromotionJournal(directory: directory).promotions
        guard found.starts(with: promotions) else {
            throw SimulationFault("a promotion of \(name) was done, and is gone")
        }
        promotions = found
    }

    /// Starts a process. Throws what the program would end with.
    func start(as number: Int32, lanes: Int, chances: weir_sim_chances, seed: UInt64) throws {
        weir_sim_enter(number)
        weir_sim_set_chances(number, chances, seed)
        hasDiskFaults = chances.isAny
        isPaused = false
        do {
            incarnation = try open(
                as: number, lanes: lanes, in: directory, isMember: true,
                accepting: acceptedPartitionCount)
        } catch {
            weir_sim_kill(number)
            throw error
        }
    }

    private func open(
        as number: Int32, lanes: Int, in directory: String, isMember: Bool,
        accepting partitionCount: Int32?
    ) throws -> Incarnation {
        let log = try log.open(for: number, in: directory)
        // Reading them from arguments would be a third of all work.
        var options = WorkerOptions(
            log: try LogAddress(log.address), data: directory, pipelines: pipelines,
            untilEnd: false, archive: archivePath.map { "sqlite:\($0)" })
        if isMember { options.partitions = nil }
        options.acceptPartitionCount = partitionCount
        options.acceptMissingRecords = acceptsMissingRecords
        options.standby = isMember && isStandby
        let logger = Logger(label: name) { [sink = self.log as? any RecordSink] _ in
            CoveringLogHandler { sink?.cover($0) }
        }
        let stop = StopSignal()
        let (worker, reader) = try program.open(
            ProcessContext(
                name: name, number: number, lanes: lanes, directory: directory, options: options,
                log: log, stop: stop, hasDiskFaults: hasDiskFaults, logger: logger))
        return Incarnation(number: number, worker: worker, reader: reader, stop: stop)
    }

    /// Gives the process a turn, in which it may die.
    func takeTurn() -> Turn {
        guard let incarnation, !isPaused else { return .goesOn }
        weir_sim_enter(incarnation.number)
        do {
            let end = try incarnation.worker.takeTurn()
            if weir_sim_is_dead(incarnation.number) { return bury() }
            guard end != nil else { return .goesOn }
            self.incarnation = nil
            incarnation.reader?.close()
            log.end(incarnation.number)
            return .ended
        } catch {
            if weir_sim_is_dead(incarnation.number) { return bury() }
            // The error names the files. The process has ended.
            self.incarnation = nil
            incarnation.reader?.close()
            return .failed(error)
        }
    }

    private func bury() -> Turn {
        kill()
        return .died
    }

    /// Kills the process. Its group goes on without it at once.
    func kill() {
        guard let incarnation else { return }
        weir_sim_enter(incarnation.number)
        weir_sim_kill(incarnation.number)
        isPaused = false
        self.incarnation = nil
        incarnation.member?.leave()
    }

    /// The machine is without power: what was not synced may be lost.
    func losePower(seed: UInt64, losesNames: Bool) {
        kill()
        weir_sim_lose_power(directory, seed, losesNames)
    }

    /// The operator moves the stores away, so that the worker begins again.
    func moveStoresAway() throws {
        kill()
        weir_sim_enter(0)
        guard FileManager.default.fileExists(atPath: directory) else { return }
        try FileManager.default.removeItem(atPath: directory)
        weir_sim_forget_names(directory)
        log.forget(directory)
        promotions = []
        windows = [:]
    }

    /// Kills the process at one of its next calls to the disk.
    func crash(after calls: Int64) {
        guard let incarnation else { return }
        weir_sim_crash_after(incarnation.number, calls)
    }

    var isAskedToStop: Bool { incarnation?.stop.isRequested ?? false }

    /// Asks for a stop, as SIGTERM does.
    func stop() { incarnation?.stop.request() }

    /// Stops the process where it is; the group takes it for dead.
    func pause() {
        guard isRunning else { return }
        isPaused = true
        incarnation?.member?.leave()
    }

    /// Lets a paused process go on, which does not know that anything happened.
    func goOn() {
        guard isPaused else { return }
        isPaused = false
        incarnation?.member?.joinAgain()
    }

    /// From now on the disk does what it is asked.
    func mendDisk() {
        guard let incarnation else { return }
        weir_sim_set_chances(incarnation.number, weir_sim_chances(), 0)
        weir_sim_crash_after(incarnation.number, -1)
    }

    /// Folds the whole log into a new store, by one process that nothing happens to.
    func refold(as number: Int32, in directory: String) throws {
        weir_sim_enter(number)
        let incarnation = try open(
            as: number, lanes: 1, in: directory, isMember: false, accepting: nil)
        defer { incarnation.reader?.close() }
        var idle = 0
        for _ in 0..<10_000 where idle < 3 {
            _ = try incarnation.worker.takeTurn()
            idle = incarnation.isCaughtUp ? idle + 1 : 0
        }
        incarnation.stop.request()
        guard try incarnation.worker.takeTurn() == .stopped else {
            throw SimulationFault("a fold of the whole log does not end")
        }
    }
}

/// How long ids were remembered while a partition was folded into a store, by the starts of its workers.
struct WindowsInForce {
    /// Each holds from its offset on until the next one does; nil for as long as the contract says.
    private var starts: [(offset: Int64, seconds: Int?)] = []

    mutating func begin(at offset: Int64, seconds: Int?) {
        starts.removeAll { $0.offset >= offset }
        starts.append((offset, seconds))
    }

    func milliseconds(at offset: Int64) -> Int64? {
        starts.last { $0.offset <= offset }?.seconds.map { Int64($0) * 1000 }
    }

    /// Whether all that comes before an offset was folded under the same.
    func isOnly(_ seconds: Int?, before offset: Int64) -> Bool {
        starts.allSatisfy { $0.offset >= offset || $0.seconds == seconds }
    }
}

/// A fault that a simulation finds.
struct SimulationFault: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

extension weir_sim_chances {
    /// Whether anything can happen.
    var isAny: Bool {
        write_error > 0 || disk_full > 0 || sync_error > 0 || read_error > 0 || short_read > 0
            || short_write > 0
    }
}
