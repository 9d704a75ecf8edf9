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

// Pages for operators: streams, stores and warnings.

extension PageWriter {
    /// The newest folded record of each stream, with its age.
    mutating func writeStreams() throws {
        let now = try source.installation.present.milliseconds
        let (waiting, rejected) = (waitingRecords(), rejectedRecords())
        let silent = (try? silentHours()) ?? [:]
        let daysWithoutCosts = try daysWithoutCosts()
        let columns: [ReportColumn<StreamStanding>] = [
            .text("stream") { $0.stream },
            .text("complete") { standing in
                Self.completeness(
                    standing, waiting: waiting[standing.stream],
                    silentHours: silent[standing.stream] ?? 0,
                    daysWithoutCosts: standing.stream == CostsFold.streamName
                        ? daysWithoutCosts : [])
            },
            .text("state") { standing in
                guard standing.newestMilliseconds != nil else { return "no records" }
                if standing.isSilent(at: now) { return "silent" }
                return standing.isQuiet(at: now) ? "quiet" : "receiving"
            },
            .text("age") { $0.newestMilliseconds.map { Age.text(milliseconds: now - $0) } },
            .number(Self.rejectedInDays) { rejected[$0.stream] ?? 0 },
            .number("records") { $0.records }, .number("dated_ahead") { $0.ahead },
            .text("newest_record") { standing in
                if let newest = standing.newestMilliseconds {
                    return UTC.text(milliseconds: newest)
                }
                return standing.records > 0 ? "no record up to \(UTC.text(milliseconds: now))" : nil
            },
        ]
        let standings = try source.standings()
        let table = ReportTable(standings, columns)
        let records = addressWithDays(DashboardPage.records.path)
        write {
            ReportView.write(
                table, to: &$0, counts: ["records", "dated_ahead", Self.rejectedInDays],
                link: { row, column in
                    let isRejected = table.columns[column].name == Self.rejectedInDays
                    return isRejected && !table.rows[row][column].isZero ? records : nil
                })
        }
    }

    /// What is missing of a stream; nil if its log is not known.
    private static func completeness(
        _ standing: StreamStanding, waiting: Int64?, silentHours: Int64,
        daysWithoutCosts: [String]
    ) -> String? {
        guard standing.records > 0 else { return "no records" }
        guard let waiting else { return nil }
        let missing = [
            waiting > 0
                ? "\(ShownValue.grouped(Int128(waiting))) \(waiting == 1 ? "record waits" : "records wait")"
                : nil,
            silentHours > 0 ? "silent for \(counted(silentHours, "hour"))" : nil,
            daysWithoutCosts.first.map { first in
                "costs of \(PageContext.name(ofDay: first))"
                    + (daysWithoutCosts.count > 1
                        ? " and \(counted(daysWithoutCosts.count - 1, "other day"))" : "")
                    + " are missing"
            },
        ].compactMap(\.self)
        return missing.isEmpty ? "yes" : "no, \(missing.joined(separator: ", "))"
    }

    static let aboutCompleteness =
        "How fresh and how complete each stream is. A stream is complete if all its records in the log are counted, and no silent period is in these days. Costs are complete if each of these days between the first and the last reported one has some."

    /// The chosen days without reported costs, between the first and the last day with costs.
    private func daysWithoutCosts() throws -> [String] {
        var request = ReportAddress("costs", by: ["day"], measures: ["cost_micros"])
        (request.since, request.until) = days
        guard let answer = try? source.answer(request) else { return [] }
        let reported = Set(answer.rows.map { answer.value($0, "day").plainText })
        guard let first = reported.min().flatMap(UTC.milliseconds(text:)),
            let last = reported.max().flatMap(UTC.milliseconds(text:))
        else { return [] }
        return stride(from: first, through: last, by: Int(PageContext.dayMilliseconds))
            .map(UTC.day(milliseconds:)).filter { !reported.contains($0) }
    }

    private static let rejectedInDays = "rejected_in_these_days"

    /// The number of rejected records in the days of the page, by topic. It does not depend on filters.
    private func rejectedRecords() -> [String: Int64] {
        var request = ReportAddress("outcomes", by: ["topic"], measures: ["rejected"])
        (request.since, request.until) = days
        guard let answer = try? source.answer(request) else { return [:] }
        return answer.rows.reduce(into: [:]) { counts, row in
            guard case .integer(let count) = answer.value(row, "rejected") else { return }
            counts[answer.value(row, "topic").plainText] = Int64(clamping: count)
        }
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
        try section(
            "Streams",
            "\(Self.aboutCompleteness) Click the number of rejected records to see them and why."
        ) { try $0.writeStreams() }
        try section(
            "Silent periods",
            "Whole hours of the chosen days without records of a stream. A silence is listed if it is more than twice as long as 99 of 100 silences of the stream, and at least three hours. A silence that ends within the first \(StreamOutage.startDays) days of the stream's records is not listed. Costs are reported by day, so they are not listed. Click the streams to see their records of the hours around."
        ) { try $0.writeOutageTable() }
        try section("Lag", "Backlog of each store and partition, as in weir lag.") { page in
            let report = try LagReport(
                directories: page.source.installation.directories,
                log: page.source.installation.openLog(),
                groups: page.source.installation.configuration.groups(),
                nowMilliseconds: WallClock.milliseconds)
            let all = report.streams.flatMap { stream in
                stream.partitions.map { (stream.topic, $0) }
            }
            let rows = all.filter { ($0.1.lag ?? 1) != 0 || $0.1.note?.isEmpty == false }
            let columns: [ReportColumn<(String, PartitionLag)>] = [
                .text("topic") { $0.0 }, .number("partition") { $0.1.partition },
                .number("next_offset") { $0.1.nextOffset }, .number("end") { $0.1.endOffset },
                .number("lag") { $0.1.lag }, .number("lag_seconds") { $0.1.lagSeconds },
                .text("note") { $0.1.note },
            ]
            if !rows.isEmpty {
                page.write {
                    ReportView.write(ReportTable(rows, columns), to: &$0, counts: ["lag"])
                }
            }
            let current = all.count - rows.count
            if current > 0 {
                page.paragraph(
                    "\(counted(current, "partition")) \(current == 1 ? "has" : "have") no lag.")
            }
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
            page.write {
                ReportView.write(ReportTable(files, columns), to: &$0, counts: ["bytes"])
            }
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
            var report = try page.warnings(ofDays: 0)
            report.warnings = report.open
            page.write(report)
            page.paragraph(report.summary, class: "note")
            page.writeCommand()
        }
        guard source.installation.pipelines.hasWatch else { return }
        try section(
            "Closed warnings",
            "Warnings of the last \(Self.daysOfClosedWarnings) days that have closed. Those that opened last come first. An outage of everything closes when records arrive again. Silences that ended in the same hour share a row, as do warnings of one rule about one series that follow each other within an hour. Click their number to see each."
        ) { page in
            let report = try page.warnings(ofDays: Self.daysOfClosedWarnings)
            let groups = ClosedWarnings.groups(report.warnings, page.seriesInWords)
            let table = ClosedWarnings.table(groups)
            page.write { html in
                ReportView.write(
                    table, named: "Closed warnings", to: &html,
                    items: { row, column in
                        table.columns[column].name == "warning" ? groups[row].items : []
                    })
            }
            page.writeCommand(["--since", "\(Self.daysOfClosedWarnings)d"])
        }
    }

    private static let daysOfClosedWarnings: Int64 = 30

    private mutating func write(_ report: WatchReport) {
        let table = report.table
        let series = report.warnings.map(seriesInWords)
        write { html in
            ReportView.write(table, to: &html) { row, column in
                table.columns[column].name == "series"
                    ? series[row] : table.rows[row][column].plainText
            }
        }
    }

    private mutating func writeCommand(_ options: [String] = []) {
        let words = ["weir", "watch"] + options + source.clockWords
        write { $0.element("pre", text: ShellWords.text(words)) }
    }
}

/// The fold progress of a stream.
struct StreamStanding {
    let stream: String
    /// The beginning of the hour of its first record; nil without a folded record.
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
    /// The beginning of the first hour with events.
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
