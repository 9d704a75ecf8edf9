import Reports
import Streams
import Wording

// Silent hours of streams in the days of a page.

extension PageWriter {
    private static let mostOutages = 5
    /// Hours to show before and after an outage.
    private static let hoursAround: Int64 = 3

    /// The outages that overlap the days of the page.
    private func outagesOfDays() throws -> [StreamOutage] {
        let now = try source.installation.present.milliseconds
        let since = days.since.flatMap(context.timeZone.milliseconds(text:)) ?? .min
        let until = days.until.flatMap(context.timeZone.milliseconds(text:)) ?? .max
        return try source.stores.outages(nowMilliseconds: now).filter { outage in
            outage.first.startMilliseconds < until
                && outage.end.map { $0.startMilliseconds > since } ?? true
        }
    }

    /// The silent hours of each stream in the days of the page.
    func silentHours() throws -> [String: Int64] {
        try outagesOfDays().reduce(into: [:]) { $0[$1.stream, default: 0] += $1.hours }
    }

    /// The hours of compared days without records of a stream: its outages, and the time before its first record.
    private func missingHours(
        of streams: Set<String>, in days: PageContext.Days
    ) throws -> [String: Int64] {
        guard let since = days.since.flatMap(context.timeZone.milliseconds(text:)),
            let until = days.until.flatMap(context.timeZone.milliseconds(text:))
        else { return [:] }
        let now = try source.installation.present.milliseconds
        let outages = try source.stores.outages(nowMilliseconds: now).map {
            ($0.stream, $0.first.startMilliseconds, $0.end?.startMilliseconds ?? now)
        }
        // Costs are not reported by the hour.
        let beginnings = try source.standings().filter { $0.stream != CostsFold.streamName }
            .compactMap { standing in
                standing.firstMilliseconds.map { (standing.stream, Int64.min, $0) }
            }
        return (outages + beginnings).reduce(into: [:]) { missing, silence in
            let (stream, first, end) = silence
            let hours = (min(end, until) - max(first, since)) / Hour.milliseconds
            if streams.contains(stream), hours > 0 { missing[stream, default: 0] += hours }
        }
    }

    /// Says how many hours of records compared days lack.
    mutating func writeMissingHours(
        _ compared: PageContext.Compared, of measures: [(request: ReportAddress, measure: String)]
    ) {
        let streams = Set(
            measures.filter { compared.compares($0.measure) }
                .flatMap { $0.request.report?.streams(of: $0.measure) ?? [] })
        let ranges = [
            (compared.earlierDays, compared.before), (compared.days, compared.now),
        ]
        let sentences = ranges.compactMap { name, days -> String? in
            guard let missing = try? missingHours(of: streams, in: days), !missing.isEmpty else {
                return nil
            }
            let words = missing.sorted { $0.key < $1.key }.map { stream, hours in
                "\(counted(hours, "hour")) of \(Self.name(of: stream))"
            }
            return "Missing in \(name): \(words.joined(separator: ", "))."
        }
        guard !sentences.isEmpty else { return }
        paragraph(
            "\(sentences.joined(separator: " ")) Part of a change can come from this.",
            class: "note")
    }

    /// The outages with their streams. Streams that were silent in the same hours share one.
    private func sharedOutages() throws -> [(streams: [String], outage: StreamOutage)] {
        try outagesOfDays().reduce(into: []) { all, outage in
            if let index = all.firstIndex(where: { $0.outage.bounds == outage.bounds }) {
                all[index].streams.append(outage.stream)
            } else {
                all.append(([outage.stream], outage))
            }
        }
    }

    /// One line for each outage, with a link.
    mutating func writeOutages() throws {
        let lines = try sharedOutages().map { streams, outage in
            let names = streams.map(Self.name).joined(separator: ", ")
            return "No \(names) \(words(outage.bounds)). \(Self.meaning(of: streams)) "
        }
        let address = addressWithDays(DashboardPage.streams.path)
        for line in lines.prefix(Self.mostOutages) {
            write { html in
                html.element("p", ["class": "state"]) { html in
                    html.text(line)
                    html.link("Silent periods", to: address)
                }
            }
        }
        let more = lines.count - Self.mostOutages
        guard more > 0 else { return }
        write { html in
            html.element("p", ["class": "state"]) {
                $0.link("\(counted(more, "more silent period"))", to: address)
            }
        }
    }

    /// Apple sends these again if a delivery fails.
    private static let repeated = [PostbacksFold.streamName, StoreNotificationsFold.streamName]

    private static func name(of stream: String) -> String { stream.replacing("-", with: " ") }

    /// What a silence of streams means for numbers. A late record counts at its arrival, except in cohorts.
    static func meaning(of streams: [String]) -> String {
        let late = streams.filter(repeated.contains)
        let missing = late.count < streams.count ? "Numbers of these hours are missing, not 0." : ""
        guard !late.isEmpty else { return missing }
        let records =
            missing.isEmpty
            ? "Records" : ShownValue.sentence(late.map(name).joined(separator: " and "))
        let cohorts =
            late.contains(StoreNotificationsFold.streamName)
            ? ", and in cohorts of buyers at the time of the purchase" : ""
        let counted =
            "\(records) that were only late count in the hour in which they arrived\(cohorts)."
        return [missing, counted].filter { !$0.isEmpty }.joined(separator: " ")
    }

    /// `from 14 Nov 2026 03:00 to 09:00 UTC (6 hours)`.
    private func words(_ outage: StreamOutage.Bounds) -> String {
        let from = outage.first.startMilliseconds
        let hours = counted(outage.hours, "hour")
        let zone = context.timeZone.name
        guard let end = outage.end?.startMilliseconds else {
            return "since \(context.minute(from)) \(zone) (\(hours) so far)"
        }
        let isSameDay =
            context.timeZone.day(milliseconds: from)
            == context.timeZone.day(milliseconds: end)
        let last =
            isSameDay
            ? context.timeZone.clockText(milliseconds: end) : context.minute(end)
        return "from \(context.minute(from)) to \(last) \(zone) (\(hours))"
    }

    /// The same as a table: each row leads to the records of the hours around.
    mutating func writeOutageTable() throws {
        let outages = try sharedOutages()
        let context = context
        let columns: [ReportColumn<(streams: [String], outage: StreamOutage)>] = [
            .text("streams") { $0.streams.joined(separator: ", ") },
            .text("silent_from") { context.minute($0.outage.first.startMilliseconds) },
            .text("silent_until") { _, outage in
                outage.end.map { context.minute($0.startMilliseconds) } ?? "still silent"
            },
            .number("silent_hours") { $0.outage.hours },
        ]
        guard !outages.isEmpty else {
            return paragraph("No silent period in these days.", class: "good")
        }
        write { html in
            ReportView.write(
                ReportTable(outages, columns), named: "Silent periods", to: &html,
                counts: ["silent_hours"],
                link: { row, column in
                    let (streams, outage) = outages[row]
                    return column == 0 ? Self.hours(around: outage, of: streams) : nil
                })
        }
    }

    /// The records of streams by hour, around an outage.
    private static func hours(around outage: StreamOutage, of streams: [String]) -> PageAddress {
        var request = ReportAddress("outcomes", by: ["hour", "topic", "type"])
        if streams.count == 1 {
            request.by = ["hour", "type"]
            request.conditions = [.init(column: "topic", value: streams[0])]
        }
        let margin = hoursAround * Hour.milliseconds
        request.since = UTC.text(milliseconds: outage.first.startMilliseconds - margin)
        request.until = outage.end.map {
            UTC.text(milliseconds: $0.startMilliseconds + margin)
        }
        return request.address
    }
}

extension StreamOutage {
    /// Its hours, whatever the stream.
    fileprivate struct Bounds: Equatable {
        let first: Hour
        let end: Hour?
        let hours: Int64
    }

    fileprivate var bounds: Bounds { Bounds(first: first, end: end, hours: hours) }
}

extension PageContext {
    /// An instant as a day and a time on the zone's clock: `14 Nov 2026 03:00`.
    func minute(_ milliseconds: Int64) -> String {
        let day = Self.name(ofDay: timeZone.day(milliseconds: milliseconds))
        return "\(day) \(timeZone.clockText(milliseconds: milliseconds))"
    }
}
