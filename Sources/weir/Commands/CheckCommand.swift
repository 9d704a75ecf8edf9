import ArgumentParser
import ConfigurationFiles
import ConfigurationValues
import EventLog
import Program
import Reports
import Streams
import Wording

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Reports problems of the configuration, the log and the stores.",
        discussion: """
            Prints one line for each finding. The command runs the start checks of every program: the workers, \
            delivery, the collector with its keys and certificates, and weir up. weir up needs a file for each \
            program; with --separate, a missing file is allowed.

            It also checks what fails only later: it resolves the names of partners, compares their addresses \
            with the allowed ones, renders a document of each kind for each partner, and compares the \
            configuration with the stores. It compares every page of the stores, the deliveries and an embedded \
            log, and every record of that log, with its checksum. This takes as long as reading them; --quick \
            skips it.

            The command sends and writes nothing. It ends with 1 if anything is wrong, for example if a partner \
            answered 410, 401 or 403, or if deliveries are dead.

            Running programs reload keys, partners and the names of the catalog when their files change. Check \
            these files before you install them.
            """)

    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var log: LogOptions
    @OptionGroup var data: DataOptions
    @OptionGroup var topics: TopicsOptions
    @Flag(
        help:
            "The programs run separately, without weir up: a program without a file is not in use (WEIR_SEPARATE)."
    )
    var separate = false
    @OptionGroup var clock: ClockOptions
    @Flag(help: "Skip reading all pages and records of the stores and the log.")
    var quick = false

    func run() throws {
        var report = CheckReport()
        let directory = pipelines.directory(of: data)
        report.add(pipelines.place(of: data), topics.place)
        let address = log.text(data)
        if try Environment().isSet("WEIR_SEPARATE", option: separate) {
            report.checkSeparatePrograms(directory, log: try? LogAddress(address))
        } else {
            report.checkServices(
                directory, topics.directory(directory), log: try? LogAddress(address))
        }
        report.checkPartners(directory)
        for data in data.directories {
            report.checkPermissions(of: data)
            report.checkReaders(of: data, log: try? LogAddress(address))
            report.checkWriteAhead(of: data, log: try? LogAddress(address))
            try report.checkSets(in: data)
        }
        let stores = try data.directories.flatMap { data in
            try OpenStores.streams.compactMap { try StoreCheck($0, in: data) }
        }
        let deliveries = data.directories.compactMap { DeliveryCheck(in: $0) }
        var damaged: Set<String> = []
        if !quick {
            damaged = try PageCheck(dataDirectories: data.directories, logAddress: address)
                .run(into: &report)
        }
        let log = try openLog(isNeeded: !stores.isEmpty || !deliveries.isEmpty, &report)
        for store in stores where !damaged.contains(store.path) {
            // Errors in the file were already reported.
            let configured = try? directory.settings(of: store.stream).topic
            let groups = try? pipelines.configuration(of: data).groups()
            store.run(
                log, topic: configured, group: groups?[store.stream],
                pipelines: configured == nil ? nil : directory, present: try clock.present,
                into: &report)
        }
        let delivered = try? directory.partnerPostbacks()
        for store in deliveries where !damaged.contains(store.path) {
            store.run(log, topic: delivered?.topic, group: delivered?.group, into: &report)
        }
        let hasCosts = stores.contains { $0.stream == CostsFold.streamName }
        if hasCosts, damaged.isEmpty, report.wrongCount == 0 {
            report.checkCosts(in: data.directories, directory)
        }
        if stores.isEmpty, deliveries.isEmpty {
            report.add(right: "\(data.listed) has no stores yet")
        }
        try BufferedOutput.print(report.text)
        guard report.wrongCount == 0 else {
            throw CommandError.failure(
                "\(report.wrongCount) of \(counted(report.findings.count, "finding")) \(report.wrongCount == 1 ? "is" : "are") wrong: see above"
            )
        }
    }

    /// Opens the log and checks its topics; nil when it cannot be read. The default log may be missing while no store
    /// needs it.
    private func openLog(isNeeded: Bool, _ report: inout CheckReport) throws -> (any LogBackend)? {
        do {
            let log = try self.log.open(.existing, data, pipelines)
            try report.check(log, against: topics.directory(pipelines.directory(of: data)))
            return log
        } catch LogError.noLog(let address)
            where !isNeeded && self.log.log == nil && Environment()["WEIR_LOG"] == nil
        {
            report.add(right: "there is no log yet at \(address)")
        } catch let error as LogError {
            guard CommandError(error)?.exitCode != 64 else { throw error }
            report.add(wrong: error.description)
        } catch let error as CommandError {
            report.add(wrong: error.explanation ?? "")
        }
        return nil
    }
}
