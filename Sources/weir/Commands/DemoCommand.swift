import ArgumentParser
import Engine
import EventLog
import Foundation
import Logging
import Program
import Streams

/// `weir demo`
struct DemoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Runs the whole pipeline on sample records and shows what came of it.",
        discussion: """
            Publishes a day of an app's advertising to an embedded log: auctions, impressions, clicks, \
            postbacks (those that verify were signed by Apple) and notifications of the store. Runs the \
            workers with the configuration of --pipelines, and prints the funnel, what was counted, \
            what was refused and why, and what partners get.
            """)

    @Option(help: "Where to leave log and stores: an empty directory. Default: a temporary one.")
    var data: String?
    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var topics: TopicsOptions

    func run() throws {
        LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
        let directory =
            data ?? NSTemporaryDirectory() + "weir-demo-\(UUID().uuidString.prefix(8))"
        let address = LogAddress.sqlite(path: directory + "/log.sqlite")
        guard !FileManager.default.fileExists(atPath: directory + "/log.sqlite") else {
            throw CommandError.failure(
                "\(directory) holds a log already: give --data an empty directory")
        }
        let log = try LogOptions.open(address, .create)
        for topic in try topics.directory(pipelines.directory).topics() {
            try log.createTopic(topic.name, partitionCount: topic.partitionCount)
        }
        let published = try DemoRecords.all()
        let writer = try log.writer()
        for (_, records) in published { try writer.append(records) }
        let options = WorkerOptions(
            log: address, data: directory, pipelines: pipelines.directory.path, untilEnd: true)
        for stream in allStreams { try stream.work(options, stop: .ofProcess) }

        let output = BufferedOutput()
        let counts = published.map { "\($0.records.count) of \($0.topic)" }
        try output.write(
            """
            Weir's demo: records published, verified, folded and stored
              \(counts.joined(separator: ", "))

            """)
        try DemoReport(directory: directory, pipelines: pipelines.directory, log: log).write(
            to: output)
        try output.flush()
    }
}
