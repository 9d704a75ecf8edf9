import ArgumentParser
import Foundation
import PartnerPostbacks
import Pipelines

/// `weir deliveries`
struct DeliveriesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deliveries",
        abstract: "What became of the documents for partners, and trying again.",
        subcommands: [
            DeliveriesListCommand.self, DeliveriesShowCommand.self, DeliveriesRetryCommand.self,
        ])
}

/// `weir deliveries list`
struct DeliveriesListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists deliveries, those first whose state changed last.",
        discussion: """
            States: pending (to be sent, or sent again), delivered, dead (not sent any more, with the \
            reason), held (waits for you, with the reason), superseded (a higher revision came before \
            it was sent).

              weir deliveries list --state dead
              weir deliveries list --partner acme --limit 20 --format json
            """)

    @OptionGroup var data: DataOptions
    @Option(help: "Only those of this partner.")
    var partner: String?
    @Option(help: "Only those in this state: pending, delivered, dead, held or superseded.")
    var state: String?
    @Option(help: "At most so many (default: 100).")
    var limit = 100
    @OptionGroup var pipelines: PipelinesOptions
    @Option(help: "table or json (WEIR_FORMAT; default: table).")
    var format: String?

    func run() throws {
        let format = try Environment().format(format, default: ReportFormat.table)
        guard limit > 0 else { throw CommandError.usage("--limit is \(limit): write 1 or more") }
        let state = try state.map { word in
            guard let state = DeliveryState(rawValue: word) else {
                let known = DeliveryState.allCases.map(\.rawValue).joined(separator: ", ")
                throw CommandError.usage("no state '\(word)': there are \(known)")
            }
            return state
        }
        let stores = try data.deliveryStores()
        if let partner { try pipelines.directory.checkPartner(partner, in: stores) }
        var deliveries: [Delivery] = []
        for store in stores {
            deliveries += try store.deliveries(partner: partner, state: state, limit: limit)
        }
        deliveries.sort { $0.changedMilliseconds > $1.changedMilliseconds }
        let output = BufferedOutput()
        try output.write(DeliveriesReport(Array(deliveries.prefix(limit))).text(format))
        try output.flush()
        if deliveries.count >= limit {
            Notice.write("there may be more than these \(limit): give --limit")
        }
    }
}

/// `weir deliveries show`
struct DeliveriesShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Shows all revisions of a document, every attempt, and the document itself.")

    @Argument(help: "The document's id, 32 hex digits, or what weir deliveries list names.")
    var id: String
    @OptionGroup var data: DataOptions
    @Option(help: "table or json (WEIR_FORMAT; default: table).")
    var format: String?

    func run() throws {
        let format = try Environment().format(format, default: ReportFormat.table)
        let output = BufferedOutput()
        var count = 0
        for store in try data.deliveryStores() {
            for entry in try store.history(of: id) {
                let report = DeliveryReport(
                    delivery: entry.delivery, attempts: entry.attempts, document: entry.document)
                try output.write((count > 0 && format == .table ? "\n" : "") + report.text(format))
                count += 1
            }
        }
        try output.flush()
        guard count > 0 else {
            throw CommandError.failure(
                "no delivery of '\(id)' in \(data.directories.joined(separator: ", ")): see weir deliveries list"
            )
        }
    }
}

extension PipelineDirectory {
    /// Throws that there is no such partner: none with a file, and none with deliveries.
    func checkPartner(_ name: String, in stores: [DeliveryStore]) throws {
        var known = Set(try stores.flatMap { try $0.knownPartners() })
        guard !known.contains(name) else { return }
        if exists { known.formUnion(try partners().map(\.name)) }
        guard !known.contains(name) else { return }
        let names = known.sorted().joined(separator: ", ")
        throw CommandError.failure(
            "no partner '\(name)': \(known.isEmpty ? "there are none" : "there are \(names)")")
    }
}

extension DataOptions {
    /// The stores of deliveries that are there, at least one.
    func deliveryStores() throws -> [DeliveryStore] {
        let paths = directories.map(DeliveryStore.path(in:)).filter {
            FileManager.default.fileExists(atPath: $0)
        }
        guard !paths.isEmpty else {
            throw CommandError.failure(
                "no deliveries.sqlite in \(directories.joined(separator: ", ")): run weir-partner-postbacks first, or give --data"
            )
        }
        return try paths.map { try DeliveryStore(existing: $0) }
    }
}
