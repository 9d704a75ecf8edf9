import ConfigurationFiles
import ConfigurationValues
import EventLog
import Foundation
import History
import Program
import Reports
import Store
import Streams
import Wording

// Pages for operators: streams, stores, and deliveries to partners.

extension PageWriter {
    /// The newest folded record of each stream, with its age.
    mutating func writeStreams() throws {
        let now = try source.installation.present.milliseconds
        let waiting = waitingRecords()
        let columns: [ReportColumn<StreamStanding>] = [
            .text("stream") { $0.stream },
            .text("newest_record") { standing in
                if let newest = standing.newestMilliseconds {
                    return UTC.text(milliseconds: newest)
                }
                return standing.records > 0 ? "no record up to \(UTC.text(milliseconds: now))" : nil
            },
            .text("age") { $0.newestMilliseconds.map { Age.text(milliseconds: now - $0) } },
            .text("state") { standing in
                guard standing.newestMilliseconds != nil else { return "no records" }
                if standing.isSilent(at: now) { return "silent" }
                return standing.isQuiet(at: now) ? "quiet" : "receiving"
            },
            .text("complete") { standing in
                waiting[standing.stream].map { count in
                    count == 0 ? "yes" : "no, \(counted(count, "record")) wait"
                }
            },
            .number("records") { $0.records }, .number("dated_ahead") { $0.ahead },
        ]
        let standings = try source.standings()
        write { ReportView.write(ReportTable(standings, columns), to: &$0) }
    }

    /// The number of records in the log that are not counted yet, by stream. Empty for a log on other machines: its
    /// answer can take long, and the page Streams has it.
    private func waitingRecords() -> [String: Int64] {
        let installation = source.installation
        guard installation.isLogLocal,
            let report = try? LagReport(
                directories: installation.directories, log: installation.openLog(),
                nowMilliseconds: nil)
        else { return [:] }
        return report.streams.reduce(into: [:]) { $0[$1.stream, default: 0] += $1.lag }
    }

    mutating func writeOperation() throws {
        try section("Streams") { try $0.writeStreams() }
        try section("Lag", "Backlog of each store and partition, as in weir lag.") { page in
            let report = try LagReport(
                directories: page.source.installation.directories,
                log: page.source.installation.openLog(),
                groups: page.source.installation.configuration.groups(),
                nowMilliseconds: WallClock.milliseconds)
            let rows = report.streams.flatMap { stream in
                stream.partitions.map { (stream.topic, $0) }
            }
            let columns: [ReportColumn<(String, PartitionLag)>] = [
                .text("topic") { $0.0 }, .number("partition") { $0.1.partition },
                .number("next_offset") { $0.1.nextOffset }, .number("end") { $0.1.endOffset },
                .number("lag") { $0.1.lag }, .number("lag_seconds") { $0.1.lagSeconds },
                .text("note") { $0.1.note },
            ]
            page.write { ReportView.write(ReportTable(rows, columns), to: &$0) }
            page.write { $0.element("pre", text: "weir lag") }
        }
        try section(
            "Configuration in force",
            "The configuration under which the newest records of each stream were folded. It contains no secrets."
        ) { page in
            for entry in try page.source.configurations() {
                page.write { html in
                    html.element("details") { html in
                        html.element(
                            "summary",
                            text: "\(entry.stream): partitions \(entry.partitions), \(entry.hash)")
                        html.element("pre", text: entry.text)
                    }
                }
            }
        }
        try section(
            "Stores",
            "Two sets of stores with the same digest have the same content. weir digest computes it from all rows."
        ) { page in
            let columns: [ReportColumn<StoreFile>] = [
                .text("store") { $0.path }, .number("bytes") { $0.bytes },
                .text("last_commit") { $0.changedMilliseconds.map { UTC.text(milliseconds: $0) } },
            ]
            let files = page.source.storeFiles()
            page.write { ReportView.write(ReportTable(files, columns), to: &$0) }
            page.write { $0.element("pre", text: "weir digest") }
        }
    }

    /// The current warnings of `weir watch`.
    mutating func writeWarnings() throws {
        try section(
            "Open warnings",
            "Silent streams, unusual rates and limits that are nearly reached, as configured in watch.yaml. Checks cover all hours up to the current time."
        ) { page in
            let installation = page.source.installation
            guard installation.pipelines.hasWatch else {
                let path = installation.pipelines.path
                return page.paragraph(
                    "Nothing is watched, because \(path)/watch.yaml does not exist. Copy the file that comes with Weir "
                        + "and configure what to watch.",
                    class: "empty")
            }
            let report = try page.openWarnings()
            let table = report.table
            let series = report.warnings.map(page.seriesInWords)
            page.write { html in
                ReportView.write(table, to: &html) { row, column in
                    table.columns[column].name == "series"
                        ? series[row] : table.rows[row][column].plainText
                }
            }
            page.paragraph(report.summary, class: "note")
            let words = ["weir", "watch"] + page.source.clockWords
            page.write { $0.element("pre", text: ShellWords.text(words)) }
        }
    }

    mutating func writePartners() throws {
        let stores = try source.installation.deliveryStores()
        let (standings, faults) = try PartnerStanding.all(source, stores)
        for fault in faults {
            paragraph(
                "A partner is not shown, because its file is invalid: \(fault)", class: "warning")
        }
        let configured = standings.filter { $0.partner != nil }
        if !configured.isEmpty {
            try section("Configured partners", "From pipelines/partners.") { page in
                let columns: [ReportColumn<PartnerStanding>] = [
                    .text("partner") { $0.name },
                    .text("trust") {
                        $0.partner?.trust.map(\.rawValue).sorted().joined(separator: ", ")
                    },
                    .text("networks") {
                        $0.partner?.filter.networks?.sorted().joined(separator: ", ") ?? "all"
                    },
                    .text("sent") { $0.obstacle.map { "no: \($0)" } ?? "yes" },
                ]
                page.write { ReportView.write(ReportTable(configured, columns), to: &$0) }
            }
        }
        guard !stores.isEmpty else {
            return paragraph(
                "No deliveries yet. Start weir-partner-postbacks to send decoded postbacks to the partners in pipelines/partners (weir up starts it).",
                class: "empty")
        }
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
            "Dead deliveries", "Weir has given them up. To retry one, open it."
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
                    html.element("pre", ["class": "record"]) { html in
                        for line in JSONLines.indented(entry.document) {
                            html.text(line)
                            html.element("br")
                        }
                    }
                    html.element("pre", text: "weir deliveries retry \(entry.delivery.id)")
                }
                guard entry.delivery.isOpen, !entry.delivery.partner.isEmpty else { return }
                page.button("Retry this document…", .retry, [("id", entry.delivery.id)])
            }
        }
    }
}

/// The fold progress of a stream.
struct StreamStanding {
    let stream: String
    /// The beginning of the day of its first record; nil without a folded record.
    let firstMilliseconds: Int64?
    /// Nil without a folded record.
    let newestMilliseconds: Int64?
    let records: Int64
    /// The number of records dated ahead of the clock.
    let ahead: Int64
    /// The topic with the next offset of each partition, for example `bids 0:120 1:118`.
    let position: String
}

extension [StreamStanding] {
    /// The beginning of the first day with events.
    var firstMilliseconds: Int64? {
        filter { OpenStores.eventStreams.contains($0.stream) }
            .compactMap(\.firstMilliseconds).min()
    }

    /// The end of the default period: the time of the newest event. Other streams count only without events.
    var newestMilliseconds: Int64? {
        let events = filter { OpenStores.eventStreams.contains($0.stream) }
        return events.compactMap(\.newestMilliseconds).max()
            ?? compactMap(\.newestMilliseconds).max()
    }
}

struct StoreFile {
    let path: String
    let bytes: Int64
    let changedMilliseconds: Int64?
}

/// The age of something, in one unit.
enum Age {
    static func text(milliseconds: Int64) -> String {
        guard milliseconds >= 0 else { return "ahead of the clock" }
        let seconds = milliseconds / 1000
        return switch seconds {
        case ..<120: "\(seconds) s"
        case ..<7200: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3600) h"
        default: "\(seconds / 86_400) days"
        }
    }
}
