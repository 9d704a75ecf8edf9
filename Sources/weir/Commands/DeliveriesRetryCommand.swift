import ArgumentParser
import Foundation
import PartnerPostbacks

/// `weir deliveries retry`
struct DeliveriesRetryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "retry",
        abstract: "Has deliveries sent now, from the beginning of the schedule.",
        discussion: """
            What is dead or held is pending again; what is pending and waits for its next attempt waits no \
            longer, and neither does the partner that could not be reached or asked for a pause. The \
            worker may run meanwhile, and sends them at once. A revision with a higher one beside it \
            is left as it is. A partner that answered 410, 401 or 403 is asked again once it is named. What is for a \
            partner without a file cannot be sent, and is left as it is.

              weir deliveries retry 2d0136c18b5007e0d205543c5bf2f427
              weir deliveries retry --partner acme
              weir deliveries retry --all-dead
            """)

    /// So many deliveries are named where one is not known.
    private static let namedCount = 3

    @Argument(help: "The document's id.")
    var id: String?
    @Option(
        help:
            "All pending, dead and held ones of this partner, which is enabled when it answered 410, 401 or 403."
    )
    var partner: String?
    @Flag(help: "All dead ones of all partners.")
    var allDead = false
    @OptionGroup var data: DataOptions
    @OptionGroup var pipelines: PipelinesOptions

    func run() throws {
        let output = BufferedOutput()
        try output.write(try text())
        try output.flush()
    }

    /// Does it, and says what became of it, a line each.
    func text() throws -> String {
        let selections =
            [id.map(DeliverySelection.id), partner.map(DeliverySelection.partner)]
            .compactMap(\.self) + (allDead ? [.allDead] : [])
        guard selections.count == 1, let selection = selections.first else {
            throw CommandError.usage("say which: an id, --partner NAME or --all-dead, one of them")
        }
        let stores = try data.deliveryStores()
        let unknown = try partnersWithoutFile(in: stores)
        switch selection {
        case .id(let id): try checkID(id, in: stores, unknown)
        case .partner(let name): try checkPartner(name, in: stores, unknown)
        case .allDead: break
        }
        let now = Int64(Date().timeIntervalSince1970 * 1000)
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

    /// Partners that deliveries have and the configuration has not, or has no address of; none where there is no configuration.
    private func partnersWithoutFile(in stores: [DeliveryStore]) throws -> [String] {
        guard pipelines.directory.exists else { return [] }
        let known = Set(
            try pipelines.directory.partners().filter { !$0.delivery.isOff }.map(\.name))
        let found = try stores.flatMap { try $0.knownPartners() }
        return Set(found).subtracting(known).sorted()
    }

    /// Whose dead deliveries are left as they are, and what to do.
    private func linesOfLeft(in stores: [DeliveryStore], _ unknown: [String]) throws -> [String] {
        let dead = Set(
            try stores.flatMap { try $0.counts() }.filter { $0.state == .dead }.map(\.partner))
        let disabled = try stores.flatMap { try $0.disabledPartners() }
        return dead.sorted().compactMap { name in
            if unknown.contains(name) { return "\(name) is left: \(withoutFile(name))" }
            guard let disabled = disabled.first(where: { $0.name == name }) else { return nil }
            return
                "\(name) is left: it \(disabled.words): see weir deliveries retry --partner \(name)"
        }
    }

    private func withoutFile(_ partner: String) -> String {
        "there is no file \(pipelines.directory.path)/partners/\(partner).yaml with a url"
    }

    /// Throws that nothing can be sent to a partner.
    private func checkFile(of partner: String, _ unknown: [String]) throws {
        guard unknown.contains(partner) else { return }
        throw CommandError.failure(
            "\(withoutFile(partner)): what is for \(partner) is left as it is; put it back, which a running weir-partner-postbacks sees at once"
        )
    }

    private static func lines(
        _ retried: RetriedDeliveries, of selection: DeliverySelection, in stores: [DeliveryStore]
    ) throws -> [String] {
        var lines = ["\(retried.retried) to be sent now, \(retried.left) left as they are"]
        if case .partner(let name) = selection, retried.retried + retried.left == 0 {
            lines = ["nothing for \(name) is pending, dead or held"]
        }
        lines += retried.enabled.map { "\($0) is enabled again" }
        lines += retried.awakened.map { "\($0) is asked again at once" }
        guard case .id(let id) = selection else { return lines }
        for store in stores {
            let named = Set(try store.history(of: id).map(\.delivery.partner))
            lines += try store.disabledPartners().filter { named.contains($0.name) }.map {
                "\($0.name) \($0.words): see weir deliveries retry --partner \($0.name)"
            }
        }
        return lines
    }

    private func checkID(
        _ id: String, in stores: [DeliveryStore], _ unknown: [String]
    ) throws {
        let found = try stores.flatMap { try $0.history(of: id) }.map(\.delivery)
        guard !found.isEmpty else {
            let last = try stores.flatMap { try $0.deliveries(limit: Self.namedCount) }
                .sorted { $0.changedMilliseconds > $1.changedMilliseconds }
                .prefix(Self.namedCount).map(\.id)
            let known =
                last.isEmpty ? "there are none" : "the last are \(last.joined(separator: ", "))"
            throw CommandError.failure(
                "no delivery of '\(id)' in \(data.directories.joined(separator: ", ")): \(known); see weir deliveries list"
            )
        }
        let isOpen = found.contains { $0.state != .delivered && $0.state != .superseded }
        guard isOpen, found.contains(where: { !$0.partner.isEmpty }) else {
            let states = found.map { "revision \($0.revision) is \($0.state.rawValue)" }
            throw CommandError.failure(
                "nothing of '\(id)' can be retried: \(states.joined(separator: ", "))")
        }
        for partner in found.map(\.partner) { try checkFile(of: partner, unknown) }
    }

    private func checkPartner(
        _ name: String, in stores: [DeliveryStore], _ unknown: [String]
    ) throws {
        try checkFile(of: name, unknown)
        try pipelines.directory.checkPartner(name, in: stores)
    }
}
