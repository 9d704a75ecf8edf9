import ArgumentParser
import ConfigurationFiles
import ConfigurationValues
import Demonstration
import Engine
import EventLog
import Foundation
import History
import Logging
import Program
import Reports
import Streams

struct DemoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Runs the whole pipeline on sixty days of sample records, and prints the funnel.",
        discussion: """
            Publishes auctions, impressions, clicks, postbacks, notifications and costs of two advertised apps, \
            four networks and twelve campaigns to an embedded log. Then it runs the workers. The log, the stores \
            and the configuration are in --data. Do not use this configuration for anything else: it trusts the \
            demo's own keys. Without --pipelines, the demo starts from the built-in configuration.

            The records follow from --days, --scale and --end. In sixty days, one campaign loses money, one \
            network reports clicks that its SDK made itself, and one network sends its postbacks late. The \
            collector was down for a day. The conversion model of the subscription app has a wrong price in its \
            first version.
            """)

    @Option(
        help:
            "An empty directory for log, stores and configuration. Default: a temporary one."
    )
    var data: String?
    @Option(help: "Number of days, from 1 to 400.")
    var days = 60
    @Option(
        help:
            "Multiplies what campaigns spend, and with it the number of records. From 0.01 to 100.")
    var scale = 1.0
    @Option(help: "The first day without data, as 2026-11-26 (UTC). Default: today.")
    var end: String?
    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var topics: TopicsOptions
    @OptionGroup var access: FileAccessOptions

    func validate() throws {
        guard (1...400).contains(days) else { throw ValidationError("--days is from 1 to 400") }
        guard (0.01...100).contains(scale) else {
            throw ValidationError("--scale is from 0.01 to 100")
        }
        guard end == nil || midnight != nil else {
            throw ValidationError("--end is a day, as 2026-11-26")
        }
    }

    /// The midnight that --end names, in milliseconds since 1970.
    private var midnight: Int64? {
        guard let end, end.utf8.count == 10 else { return nil }
        return UTC.milliseconds(text: end)
    }

    func run() throws {
        LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
        let directory =
            data ?? NSTemporaryDirectory() + "weir-demo-\(UUID().uuidString.prefix(8))"
        guard !FileManager.default.fileExists(atPath: directory + "/log.sqlite") else {
            throw CommandError.failure(
                "\(directory) contains a log already: give --data an empty directory")
        }
        let today = Int64(Date().timeIntervalSince1970) / 86_400 * 86_400_000
        Console.write("writing the demo's records to \(directory) and folding them: up to a minute")
        let demo = try Demo(days: days, scale: scale, end: midnight ?? today)
        let configuration = try writeConfiguration(of: demo, in: directory)
        try publish(demo, in: directory, configuration)
        let options = WorkerOptions(
            log: .sqlite(path: directory + "/log.sqlite"), data: directory,
            pipelines: configuration.path, untilEnd: true)
        for stream in allStreams { try stream.work(options, stop: .ofProcess) }
        let output = BufferedOutput()
        try DemoReport(demo: demo, directory: directory, pipelines: configuration).write(to: output)
        try output.flush()
    }

    /// Copies the built-in configuration, or that of --pipelines, and replaces the files that name other apps. Other
    /// configurations, such as that of the machine, are for other records.
    private func writeConfiguration(
        of demo: Demo, in directory: String
    ) throws -> PipelineDirectory {
        let files = FileManager.default
        let path = directory + "/pipelines"
        try files.createDirectory(atPath: directory, withIntermediateDirectories: true)
        if let given = pipelines.pipelines, BuiltInPath.inRepository(given) == nil {
            // A copied link would lead to the original files.
            let shipped = URL(fileURLWithPath: given).resolvingSymlinksInPath().path
            try files.copyItem(atPath: shipped, toPath: path)
        } else {
            try BuiltInFiles.copy("pipelines", to: path)
        }
        for folder in ["conversion-models", "partners", "roots"] {
            try? files.removeItem(atPath: "\(path)/\(folder)")
        }
        for file in demo.configuration {
            let url = URL(fileURLWithPath: "\(path)/\(file.path)")
            try files.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            try? files.removeItem(at: url)
            try Data(file.text.utf8).write(to: url)
        }
        return PipelineDirectory(path)
    }

    private func publish(
        _ demo: Demo, in directory: String, _ configuration: PipelineDirectory
    ) throws {
        let log = try configuration.openLog(
            .sqlite(path: directory + "/log.sqlite"), .create)
        for topic in try topics.directory(configuration).topics() { try log.create(topic) }
        let writer = try log.writer()
        try demo.forEachDay { day in
            for topic in day.records.keys.sorted() {
                try writer.append(day.records[topic] ?? [])
            }
        }
    }
}

/// What the demo prints: the funnel of its campaigns, and the next commands.
struct DemoReport {
    let demo: Demo
    let directory: String
    let pipelines: PipelineDirectory

    func write(to output: BufferedOutput) throws {
        // The stores are read with the configuration beside them, unless the environment names another one.
        let isOverridden = Environment()["WEIR_PIPELINES"] != nil
        let locations =
            ["--data", directory] + (isOverridden ? ["--pipelines", pipelines.path] : [])
        let (first, last) = (
            UTC.day(milliseconds: demo.firstMidnight), UTC.day(milliseconds: demo.end - 1)
        )
        let tables = [
            (
                "Campaigns, \(first) to \(last) (UTC)",
                [
                    "--by", "name", "--in", "USD", "--measures",
                    "installs,cost_micros,cpi,revenue_min_micros,revenue_max_micros,roas_min,roas_max,null_rate",
                    "--sort", "cost_micros:desc", "--limit", "12",
                ]
            ),
            (
                "Spend of the last day, \(last) (UTC)",
                ["--by", "total", "--day", last, "--in", "USD", "--measures", "cost_micros"]
            ),
        ]
        for (title, options) in tables {
            let words = ["dump", "funnel"] + options + locations
            try output.write("\(title):\n  weir \(words.joined(separator: " "))\n")
            var text: [UInt8] = []
            try DumpCommand.parse(Array(words.dropFirst())).writeTable { text += $0 }
            try output.write(String(decoding: text, as: UTF8.self) + "\n")
        }
        let digest = try OpenStores(directories: [directory]).digest()
        let place = locations.joined(separator: " ")
        try output.write(
            """
            Digest of the stores: \(digest)

            Look at it in a browser:
              weir dashboard \(place)
              open http://127.0.0.1:8090

            """)
    }
}
