import ArgumentParser
import Engine
import EventLog
import Foundation
import JSON
import KafkaLog
import Logging
import Program
import Streams
import TestKit

/// Auctions from Kafka in one run: raw consume, consume and parse, and the whole worker with committed aggregates.
struct KafkaBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "kafka",
        abstract: "Auctions from Kafka: consume, consume + parse, and the whole of weir-bids.",
        discussion: """
            Without --brokers a child process runs librdkafka's mock brokers, which hold 5 MiB a \
            partition: so many partitions, each with the auctions of one publisher, so that a batch \
            touches about as many rows as on four; and zstd. CPU time is that of the reading process.
            """)

    @Option(help: "HOST:PORT[,HOST:PORT] of a real cluster.") var brokers: String?
    @Option(help: "Number of records.") var count = 600_000
    @Option(help: "Partitions of the topic; by default 4, on mock brokers 48.") var partitions:
        Int32?
    @Option(help: "How often Weir, and the program without it, fold the topic in turns.")
    var rounds = 3
    @Option(help: "Memory for fetched records, in MiB.") var memory = 64
    @Option(help: "A topic of a real cluster that an earlier run has filled.") var topic: String?

    func run() throws {
        LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
        if let brokers {
            let addresses = brokers.split(separator: ",").map(String.init)
            let log = try Self.open(addresses, memory)
            let name = try topic ?? fill(log)
            try measure(addresses, topic: name)
        } else {
            let child = try MockBrokers(count: count, partitions: partitions ?? 48)
            defer { child.stop() }
            try measure(child.addresses, topic: MockBrokers.topic)
        }
    }

    private func fill(_ log: KafkaLog) throws -> String {
        let name = "benchmark-\(UUID().uuidString.prefix(8).lowercased())"
        try log.createTopic(name, partitionCount: partitions ?? 4, settings: [:])
        try SampleAuctions.publish(count, to: log, topic: name, partitions: partitions ?? 4)
        print("filled topic \(name): --topic \(name) measures it again")
        return name
    }

    private func measure(_ addresses: [String], topic: String) throws {
        let log = try Self.open(addresses, memory)
        let raw = try consume(log, topic) { $0.value?.count ?? 0 }
        print("bytes a record           \(raw.sum / max(raw.count, 1))")
        print("records                  \(raw.count)")
        report("raw consume", raw.count, raw.time)
        guard let parser = JSONParser() else { return }
        let parsed = try consume(log, topic) { record in
            record.value.flatMap { try? parser.parse($0) }?.isObject == true ? 1 : 0
        }
        guard parsed.sum == parsed.count else { throw ValidationError("a sample does not parse") }
        report("consume + parse", parsed.count, parsed.time)
        // Alternating, so that both run under the same conditions.
        let rounds = try (0..<rounds).map { _ in
            (whole: try fold(addresses, topic), bare: try runBare(addresses, topic))
        }
        let whole = rounds.map(\.whole).median
        report("the whole worker", raw.count, whole)
        print(
            "share of raw consume     "
                + String(format: "%.2f", raw.time.wallSeconds / whole.wallSeconds)
                + " by wall time, "
                + String(format: "%.2f", raw.time.cpuSeconds / whole.cpuSeconds) + " by CPU time")
        print("peak memory              \(Stopwatch.peakMemoryMiB) MiB")
        let bare = rounds.compactMap(\.bare)
        guard !bare.isEmpty else {
            return print("weir-bare-auctions is not built: swift build -c release builds it")
        }
        report("without Weir", raw.count, bare.median, isThisProcess: false)
        print(
            "Weir beside that         "
                + String(format: "%.2f", whole.wallSeconds / bare.median.wallSeconds)
                + " of its wall time, "
                + String(format: "%.2f", whole.cpuSeconds / bare.median.cpuSeconds)
                + " of its CPU time, medians of \(bare.count) rounds in turns")
    }

    /// The same job without Weir, by a separate program next to this one; nil if that is not built.
    private func runBare(_ addresses: [String], _ topic: String) throws -> Stopwatch? {
        let programs = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
            .deletingLastPathComponent().path
        let program = "\(programs)/weir-bare-auctions"
        guard FileManager.default.isExecutableFile(atPath: program) else { return nil }
        let directory = NSTemporaryDirectory() + "weir-bare-\(getpid())"
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        var time = Stopwatch()
        try time.measure(
            program, [addresses.joined(separator: ","), topic, "\(directory)/bids.sqlite"])
        return time
    }

    /// Reads a topic from its beginning to its end.
    private func consume(
        _ log: KafkaLog, _ topic: String, _ work: (RecordView) -> Int
    ) throws -> (count: Int, sum: Int, time: Stopwatch) {
        let reader = try log.reader(topic: topic)
        defer { reader.close() }
        let ends = try reader.bounds()
        let batch = RecordBatch()
        var time = Stopwatch()
        var (count, sum) = (0, 0)
        try time.measure {
            try reader.subscribe(.all)
            while ends.contains(where: {
                (reader.position(partition: $0.partition) ?? 0) < $0.endOffset
            }) {
                _ = try reader.read(
                    into: batch, maxRecords: 10_000, maxBytes: 32 << 20, waitMilliseconds: 200)
                for index in 0..<batch.count { sum += work(batch[index]) }
                count += batch.count
            }
        }
        return (count, sum, time)
    }

    private func fold(_ addresses: [String], _ topic: String) throws -> Stopwatch {
        let directory = NSTemporaryDirectory() + "weir-benchmark-\(getpid())"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let pipelines = directory + "/pipelines"
        try FileManager.default.createDirectory(
            atPath: pipelines, withIntermediateDirectories: true)
        try "topic: \(topic)\n".write(
            toFile: pipelines + "/bids.yaml", atomically: true, encoding: .utf8)
        try "memory_mib: \(memory)\n".write(
            toFile: pipelines + "/kafka.yaml", atomically: true, encoding: .utf8)
        let options = WorkerOptions(
            log: .kafka(addresses), data: directory, pipelines: pipelines, untilEnd: true)
        var time = Stopwatch()
        try time.measure { try BidsFold.work(options, stop: StopSignal()) }
        return time
    }

    private func report(
        _ name: String, _ count: Int, _ time: Stopwatch, isThisProcess: Bool = true
    ) {
        let name = name.padding(toLength: 24, withPad: " ", startingAt: 0)
        print(
            "\(name) \(Int(Double(count) / time.wallSeconds)) records a second, "
                + "\(Int(Double(count) / time.cpuSeconds)) a CPU second"
                + (isThisProcess ? ", memory \(Stopwatch.memoryMiB) MiB" : ""))
    }

    static func open(_ addresses: [String], _ memory: Int) throws -> KafkaLog {
        try KafkaLog(
            KafkaSettings(brokers: addresses, memoryBytes: memory << 20),
            logger: Logger(label: "benchmark"))
    }
}

extension [Stopwatch] {
    /// The run with the median CPU time.
    fileprivate var median: Stopwatch {
        sorted { $0.cpuSeconds < $1.cpuSeconds }[count / 2]
    }
}

/// Mock brokers in a child process, so that their work does not count as the reader's.
struct MockBrokers {
    static let topic = "benchmark"
    let addresses: [String]
    private let process = Process()
    private let input = Pipe()

    init(count: Int, partitions: Int32) throws {
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe")
        process.arguments = ["mock-brokers", "\(count)", "\(partitions)"]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        var line = Data()
        while !line.contains(10), let more = try output.fileHandleForReading.read(upToCount: 1),
            !more.isEmpty
        {
            line += more
        }
        addresses = String(decoding: line, as: UTF8.self)
            .trimmingCharacters(in: .whitespacesAndNewlines)
            .split(separator: ",").map(String.init)
    }

    func stop() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}

/// The child: fills mock brokers, prints their addresses, and runs until its input ends.
struct MockBrokersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mock-brokers", shouldDisplay: false)

    @Argument var count: Int
    @Argument var partitions: Int32

    func run() throws {
        LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
        let cluster = try MockCluster(brokerCount: 1)
        try cluster.createTopic(MockBrokers.topic, partitionCount: partitions)
        let log = try KafkaLog(
            KafkaSettings(
                brokers: cluster.brokers,
                written: ["compression.type": "zstd", "batch.size": "1000000", "linger.ms": "50"]),
            logger: Logger(label: "benchmark"))
        try SampleAuctions.publish(
            count, to: log, topic: MockBrokers.topic, partitions: partitions)
        print(cluster.brokers.joined(separator: ","))
        fflush(nil)
        while readLine() != nil {}
    }
}

extension SampleAuctions {
    /// Publishes this many auctions, round-robin over all partitions.
    static func publish(
        _ count: Int, to log: KafkaLog, topic: String, partitions: Int32
    ) throws {
        let writer = try log.writer()
        var samples = SampleAuctions()
        var published = 0
        while published < count {
            let records = (0..<min(50_000, count - published)).map { _ in
                let partition = samples.choices.number % UInt64(partitions)
                if partitions >= 48 {
                    let publisher = partition * 12 / UInt64(partitions)
                    samples.publishers = publisher..<publisher + 1
                }
                let value = samples.next().value
                let position = samples.choices.position()
                return OutgoingRecord(
                    topic: topic, partition: Int32(partition),
                    timestampMilliseconds: position.timestampMilliseconds, key: nil,
                    value: Array(value.utf8))
            }
            try writer.append(records)
            published += records.count
        }
    }
}
