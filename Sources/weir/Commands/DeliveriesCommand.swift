import ArgumentParser
import ConfigurationValues
import Deliveries
import EventLog
import Foundation
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

extension PipelineDirectory {
    /// Throws if a partner does not have a file or deliveries.
    func checkPartner(_ name: String, in stores: [DeliveryStore]) throws {
        var valid = Set(try stores.flatMap { try $0.storedPartners() })
        guard !valid.contains(name) else { return }
        if exists { valid.formUnion(try partners().map(\.name)) }
        guard !valid.contains(name) else { return }
        throw CommandError.failure(
            "no partner '\(name)': \(UnknownName(name, valid: valid.sorted()))")
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

extension [DeliveryStore] {
    /// The most recently changed deliveries, at most `limit` per store.
    fileprivate func latest(
        _ limit: Int, partner: String? = nil, state: DeliveryState? = nil
    ) throws -> [Delivery] {
        try flatMap { try $0.deliveries(partner: partner, state: state, limit: limit) }
            .sorted { $0.changedMilliseconds > $1.changedMilliseconds }
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

    /// The number of known deliveries that an error lists.
    private static let namedCount = 3

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
        let stores = try data.deliveryStores()
        let unknown = try partnersWithoutFile(in: stores)
        switch selection {
        case .id(let id): try checkID(id, in: stores, unknown)
        case .partner(let name):
            try checkFile(of: name, unknown)
            try pipelines.directory(of: data).checkPartner(name, in: stores)
        case .allDead: break
        }
        let now = WallClock.milliseconds
        let retried = try stores.reduce(RetriedDeliveries()) { sum, store in
            let left =
                selection == .allDead
                ? try unknown + store.disabledPartners().map(\.name) : []
            return sum.adding(try store.retry(selection, leaving: left, nowMilliseconds: now))
        }
        var lines = try Self.lines(retried, of: selection, in: stores)
        if selection == .allDead { lines += try linesOfLeft(in: stores, unknown) }
        return lines.map { $0 + "\n" }.joined()
    }

    /// Partners with deliveries but without a file with a url; empty without a configuration.
    private func partnersWithoutFile(in stores: [DeliveryStore]) throws -> [String] {
        guard pipelines.directory(of: data).exists else { return [] }
        let valid = Set(
            try pipelines.directory(of: data).partners().filter { !$0.delivery.isOff }.map(\.name))
        let found = try stores.flatMap { try $0.storedPartners() }
        return Set(found).subtracting(valid).sorted()
    }

    /// Lines about partners with dead deliveries that are left unchanged.
    private func linesOfLeft(in stores: [DeliveryStore], _ unknown: [String]) throws -> [String] {
        let dead = Set(
            try stores.flatMap { try $0.counts() }.filter { $0.state == .dead }.map(\.partner))
        let disabled = try stores.flatMap { try $0.disabledPartners() }
        return dead.sorted().compactMap { name in
            if unknown.contains(name) { return "skipped \(name): \(withoutFile(name))" }
            guard let disabled = disabled.first(where: { $0.name == name }) else { return nil }
            return
                "skipped \(name): it \(disabled.explanation); see weir deliveries retry --partner \(name)"
        }
    }

    private func withoutFile(_ partner: String) -> String {
        "there is no file \(pipelines.directory(of: data).path)/partners/\(partner).yaml with a url"
    }

    private func checkFile(of partner: String, _ unknown: [String]) throws {
        guard unknown.contains(partner) else { return }
        throw CommandError.failure(
            "\(withoutFile(partner)), so its deliveries were skipped. Restore the file; a running weir-partner-postbacks reads it at once"
        )
    }

    private static func lines(
        _ retried: RetriedDeliveries, of selection: DeliverySelection, in stores: [DeliveryStore]
    ) throws -> [String] {
        var lines = ["\(retried.retried) to be sent now, \(retried.left) unchanged"]
        if case .partner(let name) = selection, retried.retried + retried.left == 0 {
            lines = ["\(name) has no pending, dead or held deliveries"]
        }
        lines += retried.enabled.map { "\($0) is enabled again" }
        lines += retried.awakened.map { "\($0) is tried again at once" }
        guard case .id(let id) = selection else { return lines }
        for store in stores {
            let named = Set(try store.history(of: id).map(\.delivery.partner))
            lines += try store.disabledPartners().filter { named.contains($0.name) }.map {
                "\($0.name) \($0.explanation): see weir deliveries retry --partner \($0.name)"
            }
        }
        return lines
    }

    private func checkID(_ id: String, in stores: [DeliveryStore], _ unknown: [String]) throws {
        let found = try stores.flatMap { try $0.history(of: id) }.map(\.delivery)
        guard !found.isEmpty else {
            let last = try stores.latest(Self.namedCount).prefix(Self.namedCount).map(\.id)
            let valid =
                last.isEmpty
                ? "there are no deliveries" : "the last are \(last.joined(separator: ", "))"
            throw CommandError.failure(
                "no delivery of '\(id)' in \(data.listed): \(valid); see weir deliveries list"
            )
        }
        let isOpen = found.contains { $0.state != .delivered && $0.state != .superseded }
        guard isOpen, found.contains(where: { !$0.partner.isEmpty }) else {
            let states = found.map { "revision \($0.revision) is \($0.state.rawValue)" }
            throw CommandError.failure(
                "'\(id)' has no delivery to retry: \(states.joined(separator: ", "))")
        }
        for partner in found.map(\.partner) { try checkFile(of: partner, unknown) }
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
