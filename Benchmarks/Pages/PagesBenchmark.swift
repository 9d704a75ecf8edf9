import ArgumentParser
import ConfigurationFiles
import ConfigurationValues
import Dashboard
import Demonstration
import EmbeddedLog
import EventLog
import Foundation
import Streams
import Synchronization

/// The pages of the dashboard over large stores, while nothing else runs and while a worker commits batches.
struct PagesBenchmark: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pages",
        abstract: "Every page of weir dashboard over large stores: cold, and again.")

    @Option(help: "Number of campaigns.") var campaigns = 1000
    @Option(help: "Number of days.") var days = 60
    @Option(
        help: "Multiplies what campaigns spend; at 1 they have about 10 million bids in 60 days.")
    var scale = 1.0
    @Option(help: "A directory of stores that an earlier run has made, or where to keep them.")
    var data: String?
    @Option(help: "The directory of weir; by default that of this program.") var programs: String?
    @Option(help: "Warm requests of each page.") var requests = 5
    @Option(help: "Only pages whose address contains this text.") var only: String?
    @Flag(help: "Leave out the part with a worker.") var still = false

    /// The midnight after the last day. The clock of the pages is noon of that day.
    private static let end: Int64 = 1_795_219_200_000

    func validate() throws {
        guard campaigns > 0, days > 0, scale > 0, requests > 0 else {
            throw ValidationError("numbers have to be above 0")
        }
    }

    func run() throws {
        let directory = data ?? NSTemporaryDirectory() + "weir-benchmark-\(getpid())"
        defer { if data == nil { try? FileManager.default.removeItem(atPath: directory) } }
        let pipelines = PipelineDirectory("\(directory)/pipelines")
        let market = try Demo.large(
            campaigns: campaigns, scale: scale, days: days, end: Self.end)
        if !FileManager.default.fileExists(atPath: "\(directory)/made") {
            try make(market, directory, pipelines)
        }
        let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let programs = programs ?? URL(fileURLWithPath: own).deletingLastPathComponent().path
        let noon = UTC.text(milliseconds: Self.end + 12 * 3_600_000)
        let visits = PageVisits(
            program: "\(programs)/weir", directory: directory, noon: noon,
            addresses: addresses(market).filter { only == nil || $0.contains(only ?? "") },
            requests: requests)
        print("without a worker")
        try visits.run()
        guard !still else { return }
        print("beside a worker")
        try withWorker(directory, pipelines) { try visits.run() }
    }

    /// Every page of the navigation, a campaign, a comparison, and each report.
    private func addresses(_ market: Demo) -> [String] {
        let assumptions = market.assumptions
        let middle = assumptions.campaigns.count / 2
        return DashboardAddresses.all(
            campaigns: assumptions.campaigns[middle...].prefix(2).map { campaign in
                [
                    assumptions.networks[campaign.network].id,
                    "\(assumptions.app(of: campaign).id)", campaign.source,
                ]
            })
    }

    // MARK: Stores

    private func make(
        _ market: Demo, _ directory: String, _ pipelines: PipelineDirectory
    ) throws {
        try Self.write(market.configuration, to: pipelines.path)
        let log = try EmbeddedLog(path: "\(directory)/log.sqlite", mode: .create)
        for stream in allStreams { try log.createTopic(stream.streamName, partitionCount: 4) }
        let folders = try self.folders(in: directory, pipelines)
        var counts: [String: Int] = [:]
        var watch = Stopwatch()
        try watch.measure {
            try market.forEachDay { day in
                for (stream, folder) in folders {
                    let records = day.records[stream] ?? []
                    counts[stream, default: 0] += records.count
                    try folder.fold(records)
                }
            }
        }
        for stream in counts.keys.sorted() {
            let path = "\(directory)/\(stream).sqlite"
            let size = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
            print("\(stream): \(counts[stream] ?? 0) records, \(size >> 20) MiB")
        }
        print(String(format: "made and folded in %.0f s", watch.wallSeconds))
        try Data().write(to: URL(fileURLWithPath: "\(directory)/made"))
    }

    private func folders(
        in directory: String, _ pipelines: PipelineDirectory
    ) throws -> [(stream: String, folder: any RecordFolder)] {
        try allStreams.map { ($0.streamName, try $0.folder(in: directory, pipelines)) }
    }

    private static func write(_ files: [DemoFile], to path: String) throws {
        try BuiltInFiles.copy("pipelines", to: path)
        for folder in ["conversion-models", "partners", "roots"] {
            try? FileManager.default.removeItem(atPath: "\(path)/\(folder)")
        }
        for file in files {
            let url = URL(fileURLWithPath: "\(path)/\(file.path)")
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try? FileManager.default.removeItem(at: url)
            try Data(file.text.utf8).write(to: url)
        }
    }

    // MARK: A worker

    private static let commitsASecond = 2.0
    private static let recordsACommit = 500

    /// Runs `body` while each stream commits batches of new records of the day after the last one.
    private func withWorker(
        _ directory: String, _ pipelines: PipelineDirectory, _ body: () throws -> Void
    ) throws {
        let seed = UInt64(Date().timeIntervalSince1970)
        let market = try Demo.large(
            campaigns: campaigns, scale: scale, seed: seed, days: 1, end: Self.end + 86_400_000)
        var today: [String: [OutgoingRecord]] = [:]
        try market.forEachDay { today = $0.records }
        let isOver = Mutex(false)
        let failure = Mutex<(any Error)?>(nil)
        let ended = DispatchSemaphore(value: 0)
        nonisolated(unsafe) let folders = try folders(in: directory, pipelines)
        let records = today
        let commits = Mutex(0)
        withExtendedLifetime(folders) {
            Thread.detachNewThread {
                defer { ended.signal() }
                var rest = records.mapValues { $0[...] }
                while !isOver.withLock({ $0 }) {
                    do {
                        for (stream, folder) in folders {
                            let batch = rest[stream]?.prefix(Self.recordsACommit) ?? []
                            rest[stream] = rest[stream]?.dropFirst(Self.recordsACommit)
                            guard !batch.isEmpty else { continue }
                            try folder.fold(Array(batch))
                            commits.withLock { $0 += 1 }
                        }
                    } catch {
                        return failure.withLock { $0 = error }
                    }
                    Thread.sleep(forTimeInterval: 1 / Self.commitsASecond)
                }
            }
        }
        defer {
            isOver.withLock { $0 = true }
            ended.wait()
        }
        try body()
        if let failure = failure.withLock({ $0 }) { throw failure }
        print("the worker made \(commits.withLock { $0 }) commits")
    }
}
