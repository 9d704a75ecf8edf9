import ArgumentParser
import EventLog

/// `weir topics`
struct TopicsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "topics",
        abstract: "Creates and checks the topics that the topics directory describes.",
        subcommands: [TopicsApplyCommand.self, TopicsListCommand.self])
}

/// `weir topics apply`
struct TopicsApplyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apply",
        abstract: "Creates the topics that are not there yet; never changes one that is.",
        discussion: """
            On Kafka each topic gets the partitions, replicas and settings that its file describes. Of \
            a topic that is there, every difference has a line that says what to do: partitions, \
            replicas, and each setting that is described. It is for a person to decide, and no \
            failure: weir check ends with 1 because of it. An embedded log has partitions only. The topic \
            for partners has the name that partner-postbacks.yaml of --pipelines gives it.

              weir topics apply
              weir topics apply --log kafka://localhost:9092
            """)

    @OptionGroup var topics: TopicsOptions
    @OptionGroup var log: LogOptions
    @OptionGroup var data: DataOptions
    @OptionGroup var pipelines: PipelinesOptions

    func run() throws {
        let described = try topics.directory(pipelines.directory).topics()
        let log = try log.open(.create, dataDirectories: data.directories)
        let application = try TopicsApplication(described, to: log)
        let output = BufferedOutput()
        try output.write(application.lines.map { $0 + "\n" }.joined())
        try output.flush()
        if !application.differing.isEmpty {
            Notice.write(
                "warning: \(application.differing.joined(separator: ", ")) in \(log.address) "
                    + "differ from \(topics.directory.path): see the lines above")
        }
        if !application.unknown.isEmpty {
            Notice.write(
                "warning: settings of \(application.unknown.joined(separator: ", ")) in "
                    + "\(log.address) could not be compared: see the lines above")
        }
    }
}

/// `weir topics list`
struct TopicsListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists the topics of the log, how many records they hold and who describes them.",
        discussion: """
            The last column says in what a topic differs from its description; weir topics apply says \
            what to do about it.
            """)

    @OptionGroup var topics: TopicsOptions
    @OptionGroup var log: LogOptions
    @OptionGroup var data: DataOptions
    @OptionGroup var pipelines: PipelinesOptions
    @Option(help: "table or json (WEIR_FORMAT; default: table).")
    var format: String?

    func run() throws {
        let format = try Environment().format(format, default: ReportFormat.table)
        let directory = topics.directory(pipelines.directory)
        let described = directory.exists ? try directory.topics() : []
        let log = try log.open(.existing, dataDirectories: data.directories)
        let output = BufferedOutput()
        let report = try TopicsReport(log, described)
        try output.write(report.text(format))
        try output.flush()
        report.notices.forEach(Notice.write)
    }
}
