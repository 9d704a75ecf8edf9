import ArgumentParser
import EventLog
import Foundation
import Logging
import Worker

/// `weir demo`
struct DemoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Runs the whole pipeline on sample records and shows what came of it.",
        discussion: """
            Publishes a day of auctions and postbacks (those that verify were signed by Apple) to an \
            embedded log, runs the workers with the configuration of --pipelines, and prints what they \
            counted, what they refused and why, and what partners get.
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
        guard let log = try address.openEmbedded(mode: .create) else { return }
        for topic in try topics.directory.topics() {
            try log.createTopic(topic.name, partitionCount: topic.partitionCount)
        }
        let auctions = DemoAuctions.records()
        let postbacks = DemoPostbacks.records()
        let writer = try log.writer()
        try writer.append(auctions)
        try writer.append(postbacks)
        let options = WorkerOptions(
            log: address, data: directory, pipelines: pipelines.directory.path, untilEnd: true)
        try BidsWorker.work(options, stop: .ofProcess)
        try PostbacksWorker.work(options, stop: .ofProcess)

        let output = BufferedOutput()
        try output.write(
            """
            Weir's demo: \(auctions.count) records of bids and \(postbacks.count) of postbacks, published, \
            verified, folded and stored.

            """)
        try DemoReport(directory: directory, log: log).write(to: output)
        try output.flush()
    }
}
