import ArgumentParser
import ConfigurationFiles
import ConfigurationValues
import Engine
import EventLog
import Foundation
import History
import Logging
import Program
import Reports
import Store
import Streams

/// What a store costs as it grows: folding, files, memory, restart, and each kind of reading.
struct GrowthBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "growth",
        abstract: "Folds many impressions, then restarts, dumps and explains: the cost by size.",
        discussion: """
            The impressions are made while they are read, so that no log needs disk. Run it once for each size; a \
            store of 100 million needs some gigabytes in TMPDIR.
            """)

    @Option(help: "Number of impressions.") var count: Int64 = 1_000_000
    @Option(help: "Days of event time that they are spread over.") var days: Int64 = 60
    @Option(help: "Partitions of the topic.") var partitions: Int32 = 4

    func validate() throws {
        guard count > 0, days > 0, partitions > 0 else {
            throw ValidationError("numbers have to be above 0")
        }
    }

    func run() throws {
        LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
        let directory = NSTemporaryDirectory() + "weir-benchmark-\(getpid())"
        let pipelines = "\(directory)/pipelines"
        try FileManager.default.createDirectory(
            atPath: pipelines, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try Data().write(to: URL(fileURLWithPath: "\(pipelines)/impressions.yaml"))
        let place = GrowthPlace(
            directory: directory, pipelines: PipelineDirectory(pipelines),
            topic: GeneratedTopic(count: count, days: days, partitions: partitions))
        try fold(place)
        try restart(place)
        try read(place)
    }

    private func fold(_ place: GrowthPlace) throws {
        var folding = Stopwatch()
        let written = Stopwatch.bytesWritten
        let reader = GeneratedReader(place.topic)
        try folding.measure { try place.work(reader) }
        let cpu = folding.cpuSeconds - reader.generatingSeconds
        print(
            String(
                format: """
                    fold: %.2f CPU microseconds a record beside making it, %.0f s in all, \
                    %.0f bytes written a record, peak memory %d MiB
                    """,
                cpu * 1e6 / Double(count), folding.wallSeconds,
                Double(Stopwatch.bytesWritten - written) / Double(count),
                Stopwatch.peakMemoryMiB))
        let path = "\(place.directory)/impressions.sqlite"
        let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
        print("store: \(size >> 20) MiB")
    }

    private func restart(_ place: GrowthPlace) throws {
        var restarting = Stopwatch()
        try restarting.measure { try place.work(GeneratedReader(place.topic)) }
        print(String(format: "restart without new records: %.2f s", restarting.wallSeconds))
    }

    private func read(_ place: GrowthPlace) throws {
        let stores = try OpenStores(directories: [place.directory])
        var request = ReportRequest(name: "impressions")
        request.grouping = .columns(["day"])
        try time("dump by day") { _ = try stores.dump(request) }
        var campaign = ReportRequest(
            name: "impressions", grouping: .total,
            conditions: [.init(column: "campaign", value: "5207")])
        try time("dump of a campaign") { _ = try stores.dump(campaign) }
        try time("funnel by day") {
            var request = ReportRequest(name: Funnel.name)
            request.grouping = .columns(["day"])
            _ = try stores.funnel(request, ReportConfiguration(place.pipelines, isNamed: true))
        }
        try time("digest") { _ = try stores.digest() }
        try explain("a campaign", campaign, stores, place)
        campaign.conditions.append(.init(column: "day", value: place.topic.middleDay))
        try explain("a day of a campaign", campaign, stores, place)
        try explain(
            "everything", ReportRequest(name: "impressions", grouping: .total), stores, place)
    }

    private func explain(
        _ what: String, _ request: ReportRequest, _ stores: OpenStores, _ place: GrowthPlace
    ) throws {
        let explainer = Explainer(
            stores: stores, openReader: { _ in GeneratedReader(place.topic) },
            address: "the benchmark", rules: .pipelines(place.pipelines))
        var (counted, listed, isVerified) = (Int64(0), 0, false)
        try time("explain \(what)") {
            let explanation = try explainer.explain(
                DumpFigure(request), measures: { _ in ["presented"] }, limit: 100
            ) { _ in listed += 1 }
            (counted, isVerified) = (explanation.counted, explanation.isVerified)
        }
        print(
            "  \(counted) records, \(listed) listed, \(isVerified ? "folded again" : "by the index")"
        )
    }

    private func time(_ what: String, _ body: () throws -> Void) throws {
        var watch = Stopwatch()
        try watch.measure(body)
        print(String(format: "%@: %.2f s, %.2f CPU s", what, watch.wallSeconds, watch.cpuSeconds))
    }
}

/// The store and the topic of a run.
private struct GrowthPlace {
    let directory: String
    let pipelines: PipelineDirectory
    let topic: GeneratedTopic

    /// Runs the worker up to the end of the topic.
    func work(_ reader: GeneratedReader) throws {
        let configuration = try ImpressionsFold.readConfiguration(pipelines)
        let store = try AggregateStore(
            path: "\(directory)/impressions.sqlite", fold: ImpressionsFold.self,
            topic: reader.topic, logIdentity: reader.identity(),
            partitionCount: topic.partitions)
        let rules = try ImpressionsFold.rules(in: pipelines)
        let cores = ProcessInfo.processInfo.activeProcessorCount
        let lanes = try ImpressionsFold.makeLanes(
            cores, rules, topic: reader.topic, partitionCount: topic.partitions, memory: store,
            threadCount: cores)
        var settings = WorkerSettings(
            configuration.stream, assignment: .all, partitionCount: topic.partitions)
        settings.untilEnd = true
        settings.showsProgress = false
        _ = try Worker<ImpressionsFold>(
            lanes: lanes, store: store, reader: reader, emitter: nil, settings: settings,
            configuration: rules.configuration, stop: StopSignal(),
            logger: Logger(label: "growth")
        ).run()
    }
}

/// A topic of impressions, each of which follows from its position.
struct GeneratedTopic {
    let count: Int64
    let days: Int64
    let partitions: Int32

    private static let start: Int64 = 1_795_219_200_000

    var middleDay: String {
        UTC.day(milliseconds: Self.start + days / 2 * 86_400_000)
    }

    /// The end of a partition.
    func end(of partition: Int32) -> Int64 {
        (count - Int64(partition) + Int64(partitions) - 1) / Int64(partitions)
    }

    /// Appends a record to a batch.
    func append(_ partition: Int32, _ offset: Int64, to batch: RecordBatch) {
        let number = offset * Int64(partitions) + Int64(partition)
        var samples = SampleImpressions()
        samples.choices = SampleChoices(from: UInt64(number))
        let (type, value) = samples.next()
        let timestamp = Self.start + number * days * 86_400_000 / count
        var text = value
        text.withUTF8 { value in
            let headers = type.map { RecordHeaders.encode([.init("ce_type", $0)]) } ?? []
            headers.withUnsafeBytes { headers in
                batch.append(
                    partition: partition, offset: offset, timestampMilliseconds: timestamp,
                    key: nil, headers: headers, value: UnsafeRawBufferPointer(value))
            }
        }
    }
}

/// Reads a generated topic.
private final class GeneratedReader: LogReader {
    let topic = "impressions"
    private let records: GeneratedTopic
    private var positions: [Int32: Int64] = [:]
    private var toAssign: [Int32]?
    /// The CPU time of making records.
    private(set) var generatingSeconds = 0.0

    init(_ records: GeneratedTopic) { self.records = records }

    func identity() -> String { "generated" }

    func partitionCount() -> Int32 { records.partitions }

    func bounds(of partitions: [Int32]) -> [PartitionBounds] {
        partitions.sorted().map {
            PartitionBounds(partition: $0, earliestOffset: 0, endOffset: records.end(of: $0))
        }
    }

    func subscribe(_ assignment: LogAssignment) {
        positions = [:]
        if case .partitions(let partitions) = assignment {
            toAssign = partitions
        } else {
            toAssign = Array(0..<records.partitions)
        }
    }

    func seek(partition: Int32, to offset: Int64) { positions[partition] = offset }

    func read(
        into batch: RecordBatch, maxRecords: Int, maxBytes: Int, waitMilliseconds: Int
    ) -> LogReading {
        batch.removeAll()
        if let partitions = toAssign {
            toAssign = nil
            for partition in partitions { positions[partition] = 0 }
            return .assigned(partitions)
        }
        let start = Self.threadSeconds
        // In order of time, as far as the positions allow.
        while batch.count < maxRecords, batch.byteCount < maxBytes,
            let next = positions.filter({ $0.value < records.end(of: $0.key) })
                .min(by: { ($0.value, $0.key) < ($1.value, $1.key) })
        {
            let end = min(next.value + 500, records.end(of: next.key))
            for offset in next.value..<min(end, next.value + Int64(maxRecords - batch.count)) {
                records.append(next.key, offset, to: batch)
                positions[next.key] = offset + 1
            }
        }
        generatingSeconds += Self.threadSeconds - start
        return batch.isEmpty ? .idle : .records
    }

    var isCaughtUp: Bool { positions.allSatisfy { $0.value == records.end(of: $0.key) } }

    func position(partition: Int32) -> Int64? { positions[partition] }

    func pause(partition: Int32) {}

    func resume(partition: Int32) {}

    func offset(partition: Int32, atOrAfter timestampMilliseconds: Int64) -> Int64? { nil }

    func committedOffsets() -> [Int32: GroupOffset] { [:] }

    func commit(_ offsets: [Int32: GroupOffset]) {}

    func close() {}

    private static var threadSeconds: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
