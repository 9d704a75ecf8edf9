import ArgumentParser
import Foundation
import Logging
import Simulation

/// Runs simulations of Weir by seed.
@main
struct WeirSimulate: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "weir-simulate",
        abstract: "Tries what production will: crashes, faults and interleavings, by seed.",
        discussion: """
            Each seed is one run in one thread: workers with their stores over simulated brokers, disks and a
            clock, disturbed in ways that the seed draws, then compared with a fold from scratch and with
            models of the contract. What is found ends the command with 1, with the line that repeats it.
            """)

    @Option(help: "The first seed.") var seed: UInt64 = 1
    @Option(help: "How many seeds.") var count: UInt64 = 100
    @Option(help: "Steps of a run before faults cease.") var steps = 300
    @Option(
        help: ArgumentHelp(
            "Kinds of faults that are left out, by comma: \(FaultKind.allCases.map(\.rawValue).joined(separator: ", ")).",
            valueName: "kinds"))
    var without: String = ""
    @Flag(help: "Go on after a finding, and count them.") var keepGoing = false
    @Flag(help: "Print the last steps of every run.") var trace = false

    func validate() throws {
        guard count > 0, steps > 0 else { throw ValidationError("numbers have to be above 0") }
        _ = try options()
    }

    private func options() throws -> Simulation.Options {
        var options = Simulation.Options()
        options.steps = steps
        for name in without.split(separator: ",") {
            guard let kind = FaultKind(rawValue: String(name)) else {
                throw ValidationError("no kind of fault is named '\(name)'")
            }
            options.without.insert(kind)
        }
        return options
    }

    func run() throws {
        LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
        let root = try Self.makeRoot()
        defer { try? FileManager.default.removeItem(atPath: root) }
        let begin = Date()
        var met: [String: Int] = [:]
        var findings = 0
        var (records, steps, seconds) = (0, 0, 0.0)
        for seed in seed..<seed + count {
            let report = Simulation(seed: seed, root: root, options: try options()).run()
            for (event, times) in report.met { met[event, default: 0] += times }
            records += report.records
            steps += report.steps
            seconds += report.simulatedSeconds
            if trace || report.finding != nil {
                for line in report.trace { Self.say(line) }
            }
            guard let finding = report.finding else { continue }
            findings += 1
            Self.say("seed \(seed): \(finding)")
            Self.say("again: weir-simulate --seed \(seed) --count 1 --steps \(self.steps)")
            guard keepGoing else { break }
        }
        let took = Date().timeIntervalSince(begin)
        for (event, times) in met.sorted(by: { $0.key < $1.key }) { Self.say("\(event): \(times)") }
        Self.say(
            String(
                format:
                    "%d findings; %d records, %d steps, %.0f simulated seconds in %.1f s: %.1f seeds a second",
                findings, records, steps, seconds, took, Double(count) / took))
        if findings > 0 { throw ExitCode.failure }
    }

    /// At once, so that what was found is seen although the run is ended from outside.
    private static func say(_ line: String) {
        FileHandle.standardOutput.write(Data((line + "\n").utf8))
    }

    /// In memory where there is room for that: disks are simulated, and nothing has to last.
    private static func makeRoot() throws -> String {
        let base =
            FileManager.default.isWritableFile(atPath: "/dev/shm")
            ? "/dev/shm" : NSTemporaryDirectory()
        let root = URL(fileURLWithPath: "\(base)/weir-simulate-\(getpid())")
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        return root.resolvingSymlinksInPath().path
    }
}
