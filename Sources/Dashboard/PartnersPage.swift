import EventLog
import Foundation
import History
import Program
import Reports
import Store
import Streams
import Wording

// Partners, and the deliveries to them.

extension PageWriter {
    mutating func writePartners() throws {
        let stores = try source.installation.deliveryStores()
        let (standings, faults) = try PartnerStanding.all(source, stores)
        if let name = context.parameters["partner"].nonempty {
            return try writePartner(name, standings.first { $0.name == name }, stores)
        }
        for fault in faults {
            paragraph(
                "A partner is not shown, because its file is invalid: \(fault)", class: "warning")
        }
        try section(
            "Partners", "From pipelines/partners. A document waits, was delivered, or failed."
        ) {
            page in
            try page.writePartnerState(standings, stores, hasFaults: !faults.isEmpty)
            let shown = standings.filter { $0.partner != nil }
            guard !shown.isEmpty else { return }
            try page.write(shown, stores)
        }
        guard !stores.isEmpty else { return }
        try section("Deliveries by partner and state") { page in
            let counts = try stores.flatMap { try $0.counts() }
            let columns: [ReportColumn<(partner: String, state: DeliveryState, count: Int)>] = [
                .text("partner") { $0.partner.isEmpty ? "(no partner: unreadable)" : $0.partner },
                .text("state") { $0.state.rawValue }, .number("deliveries") { $0.count },
            ]
            page.write { ReportView.write(ReportTable(counts, columns), to: &$0) }
        }
        try section("Partners with stopped deliveries") { page in
            let unsent = standings.filter { $0.obstacle != nil || $0.held > 0 }
            guard !unsent.isEmpty else { return page.paragraph("None.", class: "empty") }
            for standing in unsent {
                page.paragraph(standing.explanation, class: "warning")
                page.write { $0.element("pre", text: standing.command) }
                guard standing.partner?.delivery.isOff == false else { continue }
                page.button(
                    "Retry deliveries for \(standing.name)…", .retry, [("partner", standing.name)])
            }
        }
        let rests = try PartnerStanding.rests(stores)
        if !rests.isEmpty {
            try section("Paused partners", "Weir tries them again after the pause.") { page in
                for rest in rests {
                    page.paragraph(rest.words)
                    page.button(
                        "End the pause of \(rest.name)…", .retry, [("partner", rest.name)])
                }
            }
        }
        try section(
            "Dead deliveries", "Weir no longer retries them. To retry one, open it."
        ) { page in
            let dead = try stores.flatMap { try $0.deliveries(state: .dead, limit: 50) }
            page.write { Self.write(dead, to: &$0) }
            guard !dead.isEmpty else { return }
            page.button("Retry all dead deliveries…", .retry, [("dead", "1")])
        }
        try section("Latest deliveries") { page in
            let last = try stores.flatMap { try $0.deliveries(limit: 50) }
            page.write { Self.write(last, to: &$0) }
        }
    }

    /// The deliveries of these states, as the table of partners counts them.
    private static let listedStates: [(name: String, states: [DeliveryState])] = [
        ("failed", [.dead]), ("waiting", [.pending, .held]), ("delivered", [.delivered]),
    ]
    private static let mostDeliveries = 200

    /// What reached one partner, and what did not and why.
    private mutating func writePartner(
        _ name: String, _ standing: PartnerStanding?, _ stores: [DeliveryStore]
    ) throws {
        let wanted = context.parameters["state"].nonempty
        guard wanted == nil || Self.listedStates.contains(where: { $0.name == wanted }) else {
            let valid = Self.listedStates.map(\.name).joined(separator: ", ")
            throw CommandError.usage("unknown state '\(wanted ?? "")': use one of \(valid)")
        }
        if let standing, standing.obstacle != nil || standing.held > 0 {
            paragraph(standing.explanation, class: "warning")
            write { $0.element("pre", text: standing.command) }
        }
        if let partner = standing?.partner {
            let networks = partner.filter.networks?.sorted().joined(separator: ", ") ?? "all"
            paragraph(
                "Only postbacks with the verdicts \(partner.trust.map(\.rawValue).sorted().joined(separator: ", ")) of the networks \(networks) become documents for \(name). Other postbacks are not sent.",
                class: "note")
        }
        for (title, states) in Self.listedStates where wanted == nil || title == wanted {
            try section("\(ShownValue.sentence(title)): \(name)") { page in
                let found = try states.flatMap {
                    try stores.latest(Self.mostDeliveries, partner: name, state: $0)
                }
                page.write { Self.write(found, to: &$0) }
                if found.count >= Self.mostDeliveries {
                    page.paragraph("The newest are shown.", class: "note")
                }
                page.write {
                    $0.element(
                        "pre",
                        text: ShellWords.text(["weir", "deliveries", "list", "--partner", name]))
                }
            }
        }
        write { html in
            html.element("p") { $0.link("All partners", to: PageAddress("/partners")) }
        }
    }

    /// Why documents are sent or not: no partner, no service, or nothing to send.
    private mutating func writePartnerState(
        _ standings: [PartnerStanding], _ stores: [DeliveryStore], hasFaults: Bool
    ) throws {
        let service = "weir-partner-postbacks"
        for failure in source.failures where failure.name == service {
            paragraph("\(service) has failed: \(failure.fault)", class: "warning")
        }
        let configured = standings.filter { $0.partner != nil }
        if configured.isEmpty, !hasFaults {
            paragraph(
                "No partner is configured, so decoded postbacks are sent to no one. Add a file to \(source.installation.pipelines.path)/partners; docs/guides/add-a-partner.md explains how.",
                class: "empty")
            write { $0.element("pre", text: "weir partners list") }
        } else if !configured.isEmpty, configured.allSatisfy({ $0.partner?.delivery.isOff == true })
        {
            paragraph(
                "All partners are off, because their files have no delivery.url. Their documents wait."
            )
        }
        guard !stores.isEmpty else {
            return paragraph(
                "No deliveries yet: \(service) has not run with these directories (\(source.installation.directories.joined(separator: ", "))). Start it to send documents (weir up runs it).",
                class: "empty")
        }
        let pending = try stores.flatMap { try $0.counts() }.filter { $0.state == .pending }
            .reduce(0) { $0 + $1.count }
        paragraph(
            pending == 0
                ? "Nothing is due: no document waits to be sent by \(service)."
                : "\(counted(pending, "document")) \(pending == 1 ? "waits" : "wait") to be sent by \(service)."
        )
    }

    private mutating func write(
        _ standings: [PartnerStanding], _ stores: [DeliveryStore]
    ) throws {
        let counts = try stores.flatMap { try $0.counts() }
        let last = try Dictionary(
            uniqueKeysWithValues: standings.map { standing in
                let found = try stores.flatMap {
                    try $0.deliveries(partner: standing.name, state: .delivered, limit: 1)
                }
                return (standing.name, found.map(\.changedMilliseconds).max())
            })
        @Sendable func count(_ name: String, _ states: [DeliveryState]) -> Int {
            counts.filter { $0.partner == name && states.contains($0.state) }
                .reduce(0) { $0 + $1.count }
        }
        let columns: [ReportColumn<PartnerStanding>] = [
            .text("partner") { $0.name },
            .text("trust") {
                $0.partner?.trust.map(\.rawValue).sorted().joined(separator: ", ")
            },
            .text("networks") {
                $0.partner?.filter.networks?.sorted().joined(separator: ", ") ?? "all"
            },
            .text("delivery_to") { $0.host ?? "off: no url" },
            .text("sent") { $0.obstacle.map { "no: \($0)" } ?? "yes" },
            .text("last_delivered") { standing in
                (last[standing.name] ?? nil).map { UTC.text(milliseconds: $0) } ?? "never"
            },
            .number("delivered") { count($0.name, [.delivered]) },
            .number("waiting") { count($0.name, [.pending, .held]) },
            .number("failed") { count($0.name, [.dead]) },
        ]
        write {
            ReportView.write(
                ReportTable(standings, columns), to: &$0,
                counts: Set(Self.listedStates.map(\.name)),
                link: { row, column in
                    let partner = [(name: "partner", value: standings[row].name)]
                    let name = columns[column].name
                    guard Self.listedStates.contains(where: { $0.name == name }) else {
                        return column == 0 ? PageAddress("/partners", partner) : nil
                    }
                    guard columns[column].value(standings[row]) != .integer(0) else { return nil }
                    return PageAddress("/partners", partner + [("state", name)])
                })
        }
    }

    static func write(_ deliveries: [Delivery], to html: inout HTML) {
        let columns: [ReportColumn<Delivery>] = [
            .text("id") { $0.idempotencyKey }, .text("partner") { $0.partner },
            .text("state") { $0.state.rawValue }, .number("attempts") { $0.attempts },
            .text("changed") { UTC.text(milliseconds: $0.changedMilliseconds) },
            .text("reason") { $0.reason },
            .text("origin") { "\($0.partition)/\($0.offset)" },
        ]
        ReportView.write(
            ReportTable(deliveries, columns), to: &html,
            link: { row, column in
                column == 0 ? PageAddress("/delivery", [("id", deliveries[row].id)]) : nil
            })
    }

    /// All revisions of a document, with every attempt.
    mutating func writeDelivery() throws {
        let id = context.parameters["id"] ?? ""
        let entries = try source.installation.deliveryStores().flatMap {
            try $0.history(of: id)
        }
        guard !entries.isEmpty else { throw DashboardError.notFound("/delivery of \(id)") }
        for entry in entries {
            try section(
                "\(entry.delivery.idempotencyKey) for \(entry.delivery.partner)",
                "\(entry.delivery.state.rawValue) \(entry.delivery.reason)"
            ) { page in
                let columns: [ReportColumn<StoredAttempt>] = [
                    .number("attempt") { $0.number },
                    .text("started") { UTC.text(milliseconds: $0.startedMilliseconds) },
                    .number("milliseconds") { $0.durationMilliseconds },
                    .number("status") { $0.status }, .text("fault") { $0.fault },
                ]
                page.write { html in
                    ReportView.write(ReportTable(entry.attempts, columns), to: &html)
                    html.json(of: entry.document)
                    html.element("pre", text: "weir deliveries retry \(entry.delivery.id)")
                }
                guard entry.delivery.isOpen, !entry.delivery.partner.isEmpty else { return }
                page.button("Retry this document…", .retry, [("id", entry.delivery.id)])
            }
        }
    }
}
