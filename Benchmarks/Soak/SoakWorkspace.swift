import Engine
import EventLog
import Foundation
import KafkaLog
import Logging
import Store
import Streams

/// The group of the disturbed workers.
enum BidsGroup {
    static let name = BidsFold.programName
}

/// The directory with stores and configuration, the programs, and the log.
final class SoakWorkspace {
    let path: String
    let topic: String
    private let programs: String
    private var addresses: [String] = []

    /// The session timeout of the group, in seconds.
    static let sessionSeconds = 6.0

    /// Whether workers take snapshots. A killed one then loses its store.
    let hasSnapshots: Bool

    init(programs: String?, topic: String, hasSnapshots: Bool) throws {
        self.hasSnapshots = hasSnapshots
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        self.programs = programs ?? URL(fileURLWithPath: own).deletingLastPathComponent().path
        self.topic = topic
        path = NSTemporaryDirectory() + "weir-" + topic
        for program in ["weir", "weir-bids"] {
            guard FileManager.default.isExecutableFile(atPath: self.programs + "/" + program)
            else {
                throw SoakFailure(
                    "there is no \(program) in \(self.programs): build it, or give --programs")
            }
        }
        try FileManager.default.createDirectory(
            atPath: pipelines, withIntermediateDirectories: true)
        // A record repeats one of the last thousand, so the window may be short. Memory is then bounded in a long run.
        try """
        topic: \(topic)
        batch_records: 2000
        commit_interval_ms: 100
        dedupe_window_seconds: 900
        \(hasSnapshots ? "snapshots: \(path)/snapshots" : "")

        """.write(toFile: pipelines + "/bids.yaml", atomically: true, encoding: .utf8)
        let milliseconds = Int(Self.sessionSeconds * 1000)
        try """
        memory_mib: 16
        settings:
          session.timeout.ms: \(milliseconds)
          heartbeat.interval.ms: 500
          max.poll.interval.ms: \(milliseconds + 4000)
          reconnect.backoff.max.ms: 500

        """.write(toFile: pipelines + "/kafka.yaml", atomically: true, encoding: .utf8)
    }

    var pipelines: String { path + "/pipelines" }

    var address: String { "kafka://" + addresses.joined(separator: ",") }

    /// Switches to these brokers.
    func use(_ addresses: [String]) { self.addresses = addresses }

    /// The log, with a separate client.
    func openLog() throws -> KafkaLog {
        try KafkaLog(
            KafkaSettings(
                brokers: addresses,
                written: [
                    "compression.type": "zstd", "linger.ms": "50",
                    "reconnect.backoff.max.ms": "500",
                ]),
            logger: Logger(label: "soak"))
    }

    func createTopic(partitionCount: Int32) throws {
        let log = try openLog()
        for name in [topic, topic + ".dlq"] {
            try log.createTopic(name, partitionCount: partitionCount, settings: [:])
        }
    }

    func start(_ program: String, _ arguments: [String], log: String) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: programs + "/" + program)
        process.arguments = arguments
        process.standardOutput = FileHandle.nullDevice
        if !FileManager.default.fileExists(atPath: log) {
            try Data().write(to: URL(fileURLWithPath: log))
        }
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
        try file.seekToEnd()
        process.standardError = file
        try process.run()
        try file.close()
        return process
    }

    /// The output of `weir`.
    func weir(_ arguments: [String]) throws -> String {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: programs + "/weir")
        process.arguments = arguments
        process.standardOutput = output
        try process.run()
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw SoakFailure(
                "weir \(arguments.joined(separator: " ")) ended with \(process.terminationStatus)")
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// The furthest next offset of each partition in the stores of these directories.
    func nextOffsets(_ directories: [String]) -> [Int32: Int64] {
        var furthest: [Int32: Int64] = [:]
        for directory in directories {
            // A store that is still being created has no offset.
            let states =
                (try? StoreReader(path: "\(path)/\(directory)/bids.sqlite").snapshot {
                    try $0.partitionStates()
                }) ?? []
            for state in states {
                furthest[state.partition] = max(
                    state.nextOffset, furthest[state.partition] ?? 0)
            }
        }
        return furthest
    }

    func remove() { try? FileManager.default.removeItem(atPath: path) }
}
