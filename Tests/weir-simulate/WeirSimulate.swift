import ArgumentParser
import Foundation
import Logging
import Program
import Simulation

/// Runs simulations of Weir by seed.
@main
struct WeirSimulate: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "weir-simulate",
        abstract: "Tries what production will: crashes, faults and interleavings, by seed.",
        discussion: """
            Each seed is one run in one thread: workers with their stores over simulated brokers, disks and a \
            clock, disturbed in ways that the seed draws, then compared with a fold from scratch and with \
            models of the contract. What is found ends the command with 1, with the line that repeats it, and \
            the line of a smaller run that finds something too.

            At the end it says how often everything came up that can happen. With \(WeirSimulate.seedsThatMeetMost) \
            seeds or more of all streams and faults it says what never did, and with \(WeirSimulate.seedsThatMeetAll) \
            or more that ends it with 1 as well.

            SIGINT or SIGTERM ends it after the seed at hand with 1: with what was found and met so far, and what \
            goes on from there. A second one ends it at once.
            """)

    static func main() {
        do {
            var command = try parseAsRoot()
            try command.run()
        } catch {
            guard exitCode(for: error) == .success else { exit(withError: error) }
            StandardStream.output.write(HelpText.text(error, of: self) + "\n")
        }
    }

    /// So many meet everything.
    private static let seedsThatMeetAll: UInt64 = 1000
    /// With fewer, what was not met says nothing.
    private static let seedsThatMeetMost: UInt64 = 100

    @Option(help: "The first seed.") var seed: UInt64 = 1
    @Option(help: "How many seeds.") var count: UInt64 = 100
    @Option(help: "Steps of a run before faults cease.") var steps = Simulation.Options().steps
    @Option(help: "Workers of a stream, at most.") var workers = Simulation.Options().mostWorkers
    @Option(
        help: ArgumentHelp(
            "Streams that a run may have, by comma: \(Simulation.streamNames.joined(separator: ", ")). Default: all.",
            valueName: "names"))
    var streams: String?
    @Option(
        help: ArgumentHelp(
            "Kinds of faults that are left out, by comma: \(FaultKind.allCases.map(\.rawValue).joined(separator: ", ")).",
            valueName: "kinds"))
    var without: String?
    @Flag(
        inversion: .prefixedNo,
        help:
            "Turn kinds of faults on and off by seed, so that rare combinations come up; else a run has all that it can have."
    )
    var swarm = true
    @Option(help: "How long a finding may be made smaller.") var shrinkSeconds = 60.0
    @Flag(help: "Go on after a finding, and count them.") var keepGoing = false
    @Flag(help: "Print the last steps of every run, and what it met.") var trace = false

    func validate() throws {
        guard count > 0, steps > 0, workers > 0 else {
            throw ValidationError("numbers have to be above 0")
        }
        guard shrinkSeconds >= 0, shrinkSeconds.isFinite else {
            throw ValidationError("--shrink-seconds is \(shrinkSeconds): write 0 or more")
        }
        guard seed <= .max - count else {
            throw ValidationError("seed and count reach beyond \(UInt64.max)")
        }
        _ = try options()
    }

    private func options() throws -> Simulation.Options {
        var options = Simulation.Options()
        options.steps = steps
        options.mostWorkers = workers
        options.isSwarm = swarm
        for name in Self.names(streams) {
            guard Simulation.streamNames.contains(name) else {
                throw ValidationError("no stream is named '\(name)'")
            }
            options.streams.insert(name)
        }
        for name in Self.names(without) {
            guard let kind = FaultKind(rawValue: name) else {
                throw ValidationError("no kind of fault is named '\(name)'")
            }
            options.without.insert(kind)
        }
        return options
    }

    private static func names(_ list: String?) -> [String] {
        list?.split(separator: ",", omittingEmptySubsequences: false)
            .map { $0.trimmingCharacters(in: .whitespaces) } ?? []
    }

    func run() throws {
        LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
        let root = try Self.makeRoot()
        defer { try? FileManager.default.removeItem(atPath: root) }
        let options = try options()
        // What a simulation stops has signals of its own.
        StopSignal.listen()
        let begin = Date()
        var tally = Tally()
        var stoppedBefore: UInt64?
        for seed in seed..<seed + count {
            guard !StopSignal.ofProcess.isRequested else {
                stoppedBefore = seed
                break
            }
            show(seed: seed)
            let report = Simulation(seed: seed, root: root, options: options).run()
            tally.add(report)
            if trace || report.finding != nil { Self.sayTrace(of: report) }
            if trace { Self.say("met: \(report.eventsMet.joined(separator: ", "))") }
            guard let finding = report.finding else { continue }
            Self.say("seed \(seed): \(finding)")
            Self.say("again: \(options.command(seed: seed))")
            shrink(report, options, root)
            guard keepGoing else { break }
        }
        tally.say(seconds: Date().timeIntervalSince(begin))
        let isOfAll =
            options == Simulation.Options() && stoppedBefore == nil
            && count >= Self.seedsThatMeetMost
        let neverMet = isOfAll ? Coverage.everything.filter { tally.met[$0] == nil } : []
        for event in neverMet { Self.say("never met: \(event)") }
        let misses = count >= Self.seedsThatMeetAll && !neverMet.isEmpty
        if let next = stoppedBefore {
            let rest = self.seed + count - next
            Self.say(
                "stopped after \(count - rest) of \(count) seeds: "
                    + "\(options.command(seed: next, count: rest)) goes on")
        }
        if tally.findings > 0 || misses || stoppedBefore != nil { throw ExitCode.failure }
    }

    /// On a terminal only, until something else is said.
    private func show(seed: UInt64) {
        guard StandardError.isTerminal else { return }
        let progress = "seed \(seed), \(seed - self.seed + 1) of \(count)"
        StandardError.show(String(progress.prefix(StandardError.columns)))
    }

    private func shrink(
        _ report: Simulation.Report, _ options: Simulation.Options, _ root: String
    ) {
        guard shrinkSeconds > 0 else { return }
        let end = Date(timeIntervalSinceNow: shrinkSeconds)
        let smaller = Shrinking(
            report, options, while: { Date() < end && !StopSignal.ofProcess.isRequested }
        ) {
            Simulation(seed: report.seed, root: root, options: $0).run()
        }
        guard smaller.options != options, let finding = smaller.report.finding else { return }
        Self.sayTrace(of: smaller.report)
        Self.say("smaller, after \(smaller.tries) runs: \(finding)")
        Self.say("again: \(smaller.options.command(seed: report.seed))")
    }

    private static func sayTrace(of report: Simulation.Report) {
        for line in report.trace { say(line) }
    }

    /// At once, so that what was found is seen although the run is ended from outside.
    static func say(_ line: String) {
        StandardError.show("")
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }

    /// In memory where there is room for that: disks are simulated, and nothing has to last.
    private static func makeRoot() throws -> String {
        let base =
            FileManager.default.isWritableFile(atPath: "/dev/shm")
            ? "/dev/shm" : NSTemporaryDirectory()
        let name = "weir-simulate-"
        // What programs have left that were killed.
        for entry in (try? FileManager.default.contentsOfDirectory(atPath: base)) ?? [] {
            guard entry.hasPrefix(name), let process = Int32(entry.dropFirst(name.count)),
                kill(process, 0) != 0, errno == ESRCH
            else { continue }
            try? FileManager.default.removeItem(atPath: "\(base)/\(entry)")
        }
        // Of one length, since some files say where others are.
        let process = String(getpid())
        let padding = String(repeating: "0", count: 10 - process.count)
        let root = URL(fileURLWithPath: "\(base)/\(name)\(padding)\(process)")
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        return root.resolvingSymlinksInPath().path
    }
}

/// What all runs have met.
private struct Tally {
    private(set) var met: [String: Int] = [:]
    private(set) var findings = 0
    private var runs = 0
    private var (records, steps, simulatedSeconds) = (0, 0, 0.0)

    mutating func add(_ report: Simulation.Report) {
        for event in report.eventsMet { met[event, default: 0] += report.met[event] ?? 0 }
        runs += 1
        records += report.records
        steps += report.steps
        simulatedSeconds += report.simulatedSeconds
        if report.finding != nil { findings += 1 }
    }

    func say(seconds: Double) {
        for (event, times) in met.sorted(by: { $0.key < $1.key }) {
            WeirSimulate.say("\(event): \(times)")
        }
        WeirSimulate.say(
            String(
                format:
                    "%d findings; %d records, %d steps, %.0f simulated seconds in %.1f s: %.1f seeds a second",
                findings, records, steps, simulatedSeconds, seconds, Double(runs) / seconds))
    }
}

extension Simulation.Options {
    /// What is typed to run seeds with these options.
    fileprivate func command(seed: UInt64, count: UInt64 = 1) -> String {
        let usual = Simulation.Options()
        var command = "weir-simulate --seed \(seed) --count \(count) --steps \(steps)"
        if mostWorkers != usual.mostWorkers { command += " --workers \(mostWorkers)" }
        if !isSwarm { command += " --no-swarm" }
        if !streams.isEmpty { command += " --streams \(streams.sorted().joined(separator: ","))" }
        if !without.isEmpty {
            let kinds = FaultKind.allCases.filter(without.contains).map(\.rawValue)
            command += " --without \(kinds.joined(separator: ","))"
        }
        return command
    }
}
