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
            is left as it is. A partner that answered 410 is asked again once it is named.

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
            "All pending, dead and held ones of this partner, which is enabled when it answered 410."
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
        switch selection {
        case .id(let id): try checkID(id, in: stores)
        case .partner(let name): try checkPartner(name, in: stores)
        case .allDead: break
        }
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        let retried = try stores.reduce(RetriedDeliveries()) {
            $0.adding(try $1.retry(selection, nowMilliseconds: now))
        }
        return try Self.lines(retried, of: selection, in: stores).map { $0 + "\n" }.joined()
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
            lines += try store.disabledPartners().filter(named.contains).map {
                "\($0) is disabled, since it answered 410: see weir deliveries retry --partner \($0)"
            }
        }
        return lines
    }

    private func checkID(_ id: String, in stores: [DeliveryStore]) throws {
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
    }

    private func checkPartner(_ name: String, in stores: [DeliveryStore]) throws {
        var known = Set(try stores.flatMap { try $0.knownPartners() })
        guard !known.contains(name) else { return }
        if pipelines.directory.exists {
            known.formUnion(try pipelines.directory.partners().map(\.name))
        }
        guard !known.contains(name) else { return }
        let names = known.sorted().joined(separator: ", ")
        throw CommandError.failure(
            "no partner '\(name)': \(known.isEmpty ? "there are none" : "there are \(names)")")
    }
}
