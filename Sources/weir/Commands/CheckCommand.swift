import ArgumentParser
import EventLog
import Inspection
import Pipelines

/// `weir check`
struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Says what is wrong with the configuration, the log and the stores.",
        discussion: """
            One line each. Ends with 1 when anything is wrong, a partner that answered 410 and \
            deliveries that nobody tries any more among it. Every page of the stores, of the deliveries \
            and of an embedded log is held against its checksum, and so is every record of that log, \
            which takes as long as reading them; --quick leaves that out.
            """)

    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var log: LogOptions
    @OptionGroup var data: DataOptions
    @OptionGroup var topics: TopicsOptions
    @Flag(help: "Do not read all of the stores and of the log.")
    var quick = false

    func run() throws {
        var report = CheckReport()
        let directory = pipelines.directory
        report.check(directory)
        let stores = try data.directories.flatMap { data in
            try StoreSet.streams.compactMap { try StoreCheck($0, in: data) }
        }
        let deliveries = data.directories.compactMap { DeliveryCheck(in: $0) }
        var damaged: Set<String> = []
        if !quick {
            let address = Environment().log(self.log.log, dataDirectories: data.directories)
            let pages = try PageCheck(dataDirectories: data.directories, logAddress: address)
            damaged = pages.run(into: &report)
        }
        let log = try openLog(isNeeded: !stores.isEmpty || !deliveries.isEmpty, &report)
        let configured = [
            "bids": try? directory.bids().stream.topic,
            "conversion-updates": try? directory.conversionUpdates().stream.topic,
            "impressions": try? directory.impressions().stream.topic,
            "overlay-clicks": try? directory.overlayClicks().stream.topic,
            "postbacks": try? directory.postbacks().stream.topic,
            "store-notifications": try? directory.storeNotifications().stream.topic,
        ]
        for store in stores where !damaged.contains(store.path) {
            store.run(log, topic: configured[store.stream] ?? nil, into: &report)
        }
        let delivered = try? directory.partnerPostbacks().stream.topic
        for store in deliveries where !damaged.contains(store.path) {
            store.run(log, topic: delivered, into: &report)
        }
        if stores.isEmpty, deliveries.isEmpty {
            report.note(right: "no stores yet in \(data.directories.joined(separator: ", "))")
        }
        let output = BufferedOutput()
        try output.write(report.text)
        try output.flush()
        guard report.wrongCount == 0 else {
            throw CommandError.failure(
                "\(report.wrongCount) of \(report.findings.count) findings are wrong: see above")
        }
    }

    /// Opens the log and checks its topics; nil when it cannot be read. A log that nobody named and
    /// nobody has written to need not be there.
    private func openLog(isNeeded: Bool, _ report: inout CheckReport) throws -> (any LogBackend)? {
        let environment = Environment()
        do {
            let log = try self.log.open(.existing, dataDirectories: data.directories)
            try report.check(log, against: topics.directory)
            return log
        } catch LogError.noLog(let address)
            where !isNeeded && self.log.log == nil && environment["WEIR_LOG"] == nil
        {
            report.note(right: "no log yet at \(address)")
        } catch let error as LogError {
            guard CommandError(error)?.exitCode != 64 else { throw error }
            report.note(wrong: error.description)
        } catch let error as CommandError {
            report.note(wrong: error.words ?? "")
        }
        return nil
    }
}
