import ArgumentParser
import EmbeddedLog
import EventLog
import Foundation
import GRDB
import Reports

/// `weir upgrade` of a store that lacks a measure, while a reader asks for a report.
struct UpgradeBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "upgrade",
        abstract: "weir upgrade of a large store: time, memory, and the longest gap of reads.")

    @Option(help: "Number of auctions in the embedded log.") var count = 1_000_000
    @Option(help: "The directory of weir and weir-bids; by default that of this program.")
    var programs: String?

    private static let pauseMicroseconds: UInt32 = 100_000

    func validate() throws {
        guard count > 0 else { throw ValidationError("--count is 1 or more") }
    }

    func run() throws {
        let directory = NSTemporaryDirectory() + "weir-benchmark-\(getpid())"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let programs = programs ?? URL(fileURLWithPath: own).deletingLastPathComponent().path
        let data = "\(directory)/data"
        let places = ["--log", "sqlite:\(data)/log.sqlite", "--data", data]
        try publish(to: "\(data)/log.sqlite")
        var folding = Stopwatch()
        try folding.measure("\(programs)/weir-bids", places + ["--until-end"])
        print(String(format: "weir-bids --until-end: %.1f s", folding.wallSeconds))
        try Self.forgetLosses("\(data)/bids.sqlite")
        let before = try Self.longest(reads: 20, of: data)
        print(String(format: "a read before it: at most %.2f s", before))
        let upgrade = Process()
        upgrade.executableURL = URL(fileURLWithPath: "\(programs)/weir")
        upgrade.arguments = ["upgrade"] + places
        try watch(upgrade, data)
    }

    private func publish(to path: String) throws {
        let log = try EmbeddedLog(path: path, mode: .create)
        try log.createTopic("bids", partitionCount: 4)
        let writer = try log.writer()
        var samples = SampleAuctions()
        var records: [OutgoingRecord] = []
        for number in 1...count {
            let (_, value) = samples.next()
            let (partition, _, timestamp) = samples.choices.position()
            records.append(
                OutgoingRecord(
                    topic: "bids", partition: partition, timestampMilliseconds: timestamp, key: nil,
                    headers: [], value: Array(value.utf8)))
            guard records.count == 10_000 || number == count else { continue }
            try writer.append(records)
            records.removeAll()
        }
    }

    /// Takes a measure from the store, as if an earlier version had folded it.
    private static func forgetLosses(_ path: String) throws {
        try DatabaseQueue(path: path).inDatabase {
            try $0.execute(
                sql: "DROP VIEW bids; ALTER TABLE bids_sums DROP COLUMN losses")
        }
    }

    /// Asks for the auctions every 100 ms until the upgrade has ended, and prints the results.
    private func watch(_ upgrade: Process, _ data: String) throws {
        var reading = Stopwatch()
        var (reads, failures, peak, longest) = (0, 0, 0, 0.0)
        var last = ContinuousClock.now
        try reading.measure {
            try upgrade.run()
            while upgrade.isRunning {
                peak = max(peak, Self.peakMemoryMiB(of: upgrade.processIdentifier))
                if (try? Self.auctions(in: data)) == count {
                    let now = ContinuousClock.now
                    longest = max(longest, last.duration(to: now) / .seconds(1))
                    last = now
                    reads += 1
                } else {
                    failures += 1
                }
                usleep(Self.pauseMicroseconds)
            }
        }
        guard upgrade.terminationStatus == 0 else {
            throw Stopwatch.Failure(program: "weir upgrade")
        }
        print(
            String(
                format: "weir upgrade: %.1f s, %.0f records a second, at most %d MiB",
                reading.wallSeconds, Double(count) / reading.wallSeconds, peak))
        print(
            String(
                format: "reads: %d, %d failed or wrong, at most %.2f s from one answer to the next",
                reads, failures, longest))
    }

    private static func auctions(in data: String) throws -> Int {
        let dump = try OpenStores(directories: [data]).dump(
            ReportRequest(name: "bids", grouping: .total))
        let index = dump.measures.firstIndex(of: "auctions") ?? 0
        return dump.rows.first?.measures[index].map { Int($0) } ?? 0
    }

    private static func longest(reads: Int, of data: String) throws -> Double {
        try (0..<reads).map { _ in
            var watch = Stopwatch()
            _ = try watch.measure { try auctions(in: data) }
            return watch.wallSeconds
        }.max() ?? 0
    }

    private static func peakMemoryMiB(of process: Int32) -> Int {
        let path = "/proc/\(process)/status"
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return (line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) / 1024
    }
}
