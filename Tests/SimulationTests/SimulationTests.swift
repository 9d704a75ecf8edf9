import Foundation
import Synchronization
import TestKit
import Testing

/// The program under test simulates its calls to the operating system. These tests call the real one.
@Suite struct SimulationTests {
    /// A busy machine takes some seconds for a seed.
    private static let patience = 600.0

    /// Several at a time, so that a machine's cores share them.
    @Test(
        "Whatever the seeds do to workers, disks, brokers and the clock, every number is that of the contract",
        arguments: SeedBlock.all)
    fileprivate func seeds(block: SeedBlock) throws {
        let run = try block.run()
        #expect(run.status == 0, "\(run.output.suffix(3000)) \(run.error.suffix(1000))")
        #expect(run.output.contains("\n0 findings; "))
    }

    @Test(
        "Seeds that have found something find nothing any more",
        arguments: [
            // A topic that was recreated between two looks of its worker.
            10_410,
            // The same, and hours with records of both topics.
            10_650,
            // A store that a full disk left empty, and an operator who replays it.
            10_699,
            // A loss of power right after a start.
            20_418, 20_831,
            // A topic that was recreated before its store had folded anything.
            30_046,
            // A disk that fails while the journal of deliveries is read.
            20_971, 21_383,
            // A set before a promotion that was never begun, and an operator who goes back to it.
            70_103,
            // Evidence of names that look alike; an explanation from an archive and what is left of its log.
            90_000, 43,
            // A topic that was recreated after its partition began late and before anything of it was folded.
            302_219,
            // A directory's sync that fails, and a loss of power right after.
            202_179,
            // A clock that was sometimes a millisecond behind, and a partner's pause.
            1_002_581,
            // Reading of an archive after its writer was killed.
            1_485,
            // Refused records in a year beyond 9999.
            301_187,
            // Topics that were recreated and trimmed between two looks.
            9_001_884, 10_002_338, 10_003_665,
            // Workers that were killed within a commit, and then lost power.
            10_101_356, 10_103_700,
            // A commit that was torn within the header of a frame.
            11_115_522,
            // The end of a journal that was not synced, and a loss of power after others had continued from it.
            13_002_423,
        ])
    func findings(seed: Int) throws {
        let run = try Program("weir-simulate", ["--seed", "\(seed)", "--count", "1"])
        try run.waitForExit(seconds: Self.patience)
        #expect(run.status == 0, "\(run.output.suffix(3000)) \(run.error.suffix(1000))")
    }

    @Test(
        "Options that cannot work are refused with what is wrong with them",
        arguments: [
            (["--streams", "costs, bidz"], "no stream is named 'bidz'"),
            (["--without", "rain"], "no kind of fault is named 'rain'"),
            (["--steps", "0"], "numbers have to be above 0"),
            (["--seed", "18446744073709551615"], "reach beyond 18446744073709551615"),
            (["--shrink-seconds", "nan"], "--shrink-seconds is nan: write 0 or more"),
        ])
    func wrongOptions(arguments: [String], words: String) throws {
        let run = try Program("weir-simulate", arguments)
        try run.waitForExit(seconds: Self.patience)
        #expect(run.status == 64)
        #expect(run.error.contains(words), "\(run.error)")
    }

    @Test(
        "A store of deliveries that is an older copy never sends a lower revision after a higher one"
    )
    func restoredDeliveries() throws {
        // A copy that was stopped while it caught up is the least of them.
        let run = try Program(
            "weir-simulate",
            ["--streams", "partner-postbacks", "--seed", "5301", "--count", "150"])
        try run.waitForExit(seconds: Self.patience)
        #expect(run.status == 0, "\(run.output.suffix(3000)) \(run.error.suffix(1000))")
        #expect(run.output.contains("\nrestore: "))
    }

    @Test("Each fault that the documentation lists is met by the run of its seed")
    func faults() throws {
        let text = try String(
            contentsOfFile: Repository.path("docs/concepts/simulation.md"), encoding: .utf8)
        var met: [String: [String]] = [:]
        var rows = 0
        for row in text.matches(of: /(?m)^\| \d+\. [^|]+ \| ([\d, ]+) \| (.+) \|$/) {
            let seeds = row.1.components(separatedBy: ", ")
            for seed in seeds where met[seed] == nil {
                let line = try SeedBlock.trace(of: #require(Int(seed))).last ?? ""
                met[seed] = line.dropFirst("met: ".count).components(separatedBy: ", ")
            }
            for name in row.2.matches(of: /`([^`]+)`/).map({ String($0.1) })
            where !name.hasSuffix("Tests") {
                let isMet = seeds.contains { met[$0]?.contains(name) == true }
                #expect(isMet, "\(name) in \(row.1)")
            }
            rows += 1
        }
        #expect(rows == 29, "all but 5 and 28, which have no seed of their own")
    }

    @Test("A seed repeats exactly, whatever the program ran before it")
    func repeats() throws {
        let run = try Program.run("weir-simulate", ["--seed", "76", "--count", "5", "--trace"])
        #expect(run.status == 0)
        let again = run.output.split(separator: "\n").map(String.init)
        let before = try (76...80).flatMap { try SeedBlock.trace(of: $0) }
        #expect(before.count > 20)
        #expect(Array(again.prefix(before.count)) == before)
    }

    @Test("Asked to stop, it ends after the seed at hand, with its summary and where to go on")
    func stopped() throws {
        let run = try Program("weir-simulate", ["--count", "1000000", "--workers", "2", "--trace"])
        #expect(Wait.until(seconds: Self.patience) { run.output.contains("\nmet: ") })
        #expect(try run.stop(seconds: Self.patience) == 1)
        #expect(run.process.terminationReason == .exit)
        #expect(run.output.contains("\n0 findings; "), "\(run.output.suffix(1000))")
        let last = try #require(run.output.split(separator: "\n").last)
        let match = last.wholeMatch(
            of:
                /stopped after (\d+) of 1000000 seeds: weir-simulate --seed (\d+) --count (\d+) --steps 300 --workers 2 goes on/
        )
        let words = try #require(match, "\(last)")
        let done = try #require(Int(words.1))
        #expect(done > 0)
        #expect(Int(words.2) == done + 1)
        #expect(Int(words.3) == 1_000_000 - done)
        #expect(!run.error.contains("seed "), "only a terminal is shown how far it is")
    }

    @Test("What cannot be asked for is bad usage")
    func badUsage() throws {
        #expect(try Program.run("weir-simulate", ["--count", "0"]).status == 64)
        #expect(try Program.run("weir-simulate", ["--without", "rain"]).status == 64)
        #expect(try Program.run("weir-simulate", ["--streams", "rivers"]).status == 64)
    }
}

/// Seeds that one program runs, once for all tests that look at them.
private final class SeedBlock: Sendable, CustomTestStringConvertible {
    struct Run {
        let status: Int32
        let output: String
        let error: String
    }

    static let all = (0..<3).map { SeedBlock(first: count * $0 + 1) }
    private static let count = 40

    private let first: Int
    private let count: Int
    private let finished = Mutex<Run?>(nil)

    private init(first: Int, count: Int = count) {
        self.first = first
        self.count = count
    }

    var testDescription: String { "\(first)" }

    func run() throws -> Run {
        try finished.withLock { finished in
            if let finished { return finished }
            let program = try Program(
                "weir-simulate", ["--seed", "\(first)", "--count", "\(count)", "--trace"])
            // A busy machine takes some seconds for a seed.
            try program.waitForExit(seconds: 600)
            let run = Run(
                status: program.status, output: program.output, error: program.error)
            finished = run
            return run
        }
    }

    /// The last steps of a seed, and what it met.
    static func trace(of seed: Int) throws -> [String] {
        let block =
            all.first { $0.first <= seed && seed < $0.first + count }
            ?? SeedBlock(first: seed, count: 1)
        let lines = try block.run().output.split(separator: "\n").map(String.init)
        let seeds = lines.split { $0.hasPrefix("met: ") }
        let ends = lines.filter { $0.hasPrefix("met: ") }
        let index = seed - block.first
        try #require(ends.count == block.count)
        return seeds[index] + [ends[index]]
    }
}
