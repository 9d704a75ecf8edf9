import ArgumentParser
import ConfigurationValues
import Deliveries
import EventLog
import Foundation
import History
import JSON
import Program
import Reports
import Store
import Streams
import Wording

struct DeliveriesCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "deliveries",
        abstract: "Lists the deliveries to partners, and retries them.",
        subcommands: [
            DeliveriesListCommand.self, DeliveriesShowCommand.self, DeliveriesRetryCommand.self,
            DeliveriesResetCommand.self,
        ])
}

struct DeliveriesListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Lists deliveries, the latest change of state first.",
        discussion: """
            States: pending (to be sent, or sent again), delivered, dead (no longer sent, with the reason), held \
            (waits for your decision, with the reason), superseded (a higher revision arrived before it was \
            sent).

              weir deliveries list --state dead
              weir deliveries list --partner acme --limit 20 --format json
            """)

    @OptionGroup var data: DataOptions
    @Option(help: "Only deliveries of this partner.")
    var partner: String?
    @Option(help: "Only deliveries in this state: pending, delivered, dead, held or superseded.")
    var state: String?
    @Option(help: "The maximum number of deliveries (default: 100).")
    var limit = 100
    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var format: ReportFormatOptions

    func run() throws {
        let format = try format.chosen()
        try requirePositive(limit: limit)
        let state = try state.map { word in
            guard let state = DeliveryState(rawValue: word) else {
                let suggestion = UnknownName(word, valid: DeliveryState.allCases.map(\.rawValue))
                throw CommandError.usage("no state '\(word)': \(suggestion)")
            }
            return state
        }
        let stores = try data.deliveryStores()
        if let partner { try pipelines.directory(of: data).checkPartner(partner, in: stores) }
        let deliveries = try stores.latest(limit, partner: partner, state: state)
        try BufferedOutput.print(DeliveriesReport(deliveries: deliveries.prefix(limit)), as: format)
        Console.writeIfMore(than: deliveries.count, limit: limit)
    }
}

struct DeliveriesShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Shows all revisions of a document, every attempt and the document.")

    @Argument(help: "The document's id: 32 hex digits, or as weir deliveries list prints it.")
    var id: String
    @OptionGroup var data: DataOptions
    @OptionGroup var format: ReportFormatOptions

    func run() throws {
        let format = try format.chosen()
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
                "no delivery of '\(id)' in \(data.listed): see weir deliveries list")
        }
    }
}

extension DataOptions {
    /// The existing delivery stores; throws without any.
    func deliveryStores() throws -> [DeliveryStore] {
        let stores = try existingDeliveryStores()
        guard !stores.isEmpty else {
            throw CommandError.failure(
                "no deliveries.sqlite in \(listed): run weir-partner-postbacks first, or give --data"
            )
        }
        return stores
    }

    func existingDeliveryStores() throws -> [DeliveryStore] {
        try directories.compactMap { try DeliveryStore.existing(in: $0) }
    }
}

struct DeliveriesRetryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Retries deliveries now, from the start of the schedule.",
        discussion: """
            Dead and held deliveries become pending. Pending deliveries that wait for their next attempt are \
            sent at once, even if the partner could not be reached or asked for a pause. The worker may run \
            during the command and sends them at once.

            The command skips revisions that a higher revision replaced, and deliveries to a partner without a \
            file. A partner that answered 410, 401 or 403 is enabled again if you name it.

              weir deliveries retry 2d0136c18b5007e0d205543c5bf2f427
              weir deliveries retry --partner acme
              weir deliveries retry --all-dead
            """)

    @Argument(help: "The document's id.")
    var id: String?
    @Option(
        help:
            "All pending, dead and held deliveries of this partner. Enables it again after 410, 401 or 403."
    )
    var partner: String?
    @Flag(help: "All dead deliveries of all partners.")
    var allDead = false
    @OptionGroup var data: DataOptions
    @OptionGroup var pipelines: PipelinesOptions

    func run() throws {
        try BufferedOutput.print(text())
    }

    /// Retries the deliveries, and returns one line per result.
    func text() throws -> String {
        let selections =
            [id.map(DeliverySelection.id), partner.map(DeliverySelection.partner)]
            .compactMap(\.self) + (allDead ? [.allDead] : [])
        guard selections.count == 1, let selection = selections.first else {
            throw CommandError.usage(
                "select the deliveries: give one of an id, --partner NAME and --all-dead")
        }
        let retry = DeliveryRetry(
            selection, in: try data.deliveryStores(), of: data.directories,
            pipelines.directory(of: data))
        try retry.check()
        return try retry.run(by: .ofCommand).map { $0 + "\n" }.joined()
    }
}

struct DeliveriesResetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset",
        abstract: "Makes delivery read the topic of documents from its beginning.",
        discussion: """
            Use this command if the topic was deleted and created again, or if the log lost its end. First stop \
            all instances of weir-partner-postbacks. Delete the group's offsets of the topic, and give the \
            stores of all instances (ops/runbooks/topic-recreated.md). Deliveries are kept: pending documents \
            are sent. If a document arrives again, Weir recognises its id and revision and does not send it \
            twice.

              weir deliveries reset --data data
            """)

    @OptionGroup var data: DataOptions
    @OptionGroup var access: FileAccessOptions

    func run() throws {
        let stores = try data.deliveryStores()
        for path in stores.map(\.path) {
            let kept = try DeliveryStore.reset(path)
            try BufferedOutput.print(
                "\(path): the positions of \(counted(kept.partitions, "partition")) are reset; \(counted(kept.waiting.count, "delivery", plural: "deliveries")) \(kept.waiting.count == 1 ? "waits" : "wait") and \(kept.waiting.count == 1 ? "stays" : "stay")\n"
            )
        }
    }
}

struct DeliveriesReport: Report {
    let deliveries: ArraySlice<Delivery>

    var table: String {
        guard !deliveries.isEmpty else { return "no deliveries\n" }
        return TextTable(deliveries, Self.columns).text
    }

    private static let columns: [ReportColumn<Delivery>] = [
        .text("id") { $0.id }, .number("revision") { $0.revision },
        .text("partner") { $0.partner }, .text("state") { $0.state.rawValue },
        .number("attempts") { $0.attempts },
        .text("changed") { UTC.text(milliseconds: $0.changedMilliseconds) },
        .text("next_attempt") { $0.nextAttemptMilliseconds.map { UTC.text(milliseconds: $0) } },
        .text("reason") { $0.reason },
    ]

    func write(to json: inout JSONText) {
        json.objects(deliveries, Self.writeMembers)
    }

    static func writeMembers(of delivery: Delivery, to json: inout JSONText) {
        json.member("id", delivery.id)
        json.member("revision", delivery.revision)
        json.member("partner", delivery.partner)
        json.member("state", delivery.state.rawValue)
        json.member("reason", delivery.reason.isEmpty ? nil : delivery.reason)
        json.member("attempts", delivery.attempts)
        json.member("created_at", UTC.text(milliseconds: delivery.createdMilliseconds))
        json.member("changed_at", UTC.text(milliseconds: delivery.changedMilliseconds))
        json.member(
            "next_attempt_at", delivery.nextAttemptMilliseconds.map { UTC.text(milliseconds: $0) })
        json.member("partition", delivery.partition)
        json.member("offset", delivery.offset)
    }
}

struct DeliveryReport: Report {
    var delivery: Delivery
    var attempts: [StoredAttempt]
    var document: [UInt8]

    var table: String {
        let reason = delivery.reason.isEmpty ? "" : " (\(delivery.reason))"
        var lines = [
            "\(delivery.id):\(delivery.revision) for \(delivery.partner): \(delivery.state.rawValue)\(reason)",
            "partition \(delivery.partition), offset \(delivery.offset), received at \(UTC.text(milliseconds: delivery.createdMilliseconds))",
        ]
        if let next = delivery.nextAttemptMilliseconds {
            lines.append("next attempt at \(UTC.text(milliseconds: next))")
        }
        if !attempts.isEmpty {
            lines += TextTable(attempts, Self.columns(duration: "milliseconds")).shownLines
        }
        lines.append(String(decoding: document, as: UTF8.self))
        return lines.map(\.withoutControls).joined(separator: "\n") + "\n"
    }

    func write(to json: inout JSONText) {
        json.object { json in
            DeliveriesReport.writeMembers(of: delivery, to: &json)
            json.objects("history", attempts) {
                $1.members(of: $0, Self.columns(duration: "duration_ms"))
            }
            json.member("document", String(decoding: document, as: UTF8.self))
        }
    }

    private static func columns(duration: String) -> [ReportColumn<StoredAttempt>] {
        [
            .number("attempt") { $0.number },
            .text("at") { UTC.text(milliseconds: $0.startedMilliseconds) },
            .number(duration) { $0.durationMilliseconds }, .number("status") { $0.status },
            .text("fault") { $0.fault },
        ]
    }
}
