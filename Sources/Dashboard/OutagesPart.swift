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

    /// One line for each outage, with a link. Streams that were silent in the same hours share a line.
    mutating func writeOutages() throws {
        let outages = try outagesOfDays()
        let bounds = outages.map(\.bounds).reduce(into: [StreamOutage.Bounds]()) { all, bounds in
            if !all.contains(bounds) { all.append(bounds) }
        }
        let lines = bounds.map { bounds in
            let streams = outages.filter { $0.bounds == bounds }.map {
                $0.stream.replacing("-", with: " ")
            }
            return "No \(streams.joined(separator: ", ")) \(words(bounds))"
        }
        let address = context.address(DashboardPage.streams.path)
        for line in lines.prefix(Self.mostOutages) {
            write { html in
                html.element("p", ["class": "state"]) { html in
                    html.text("\(line). Numbers of these hours are missing, not 0. ")
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

    /// The same as a table: each stream leads to its records of the hours around.
    mutating func writeOutageTable() throws {
        let outages = try outagesOfDays()
        let context = context
        let columns: [ReportColumn<StreamOutage>] = [
            .text("stream") { $0.stream },
            .text("silent_from") { context.minute($0.first.startMilliseconds) },
            .text("silent_until") { outage in
                outage.end.map { context.minute($0.startMilliseconds) } ?? "still silent"
            },
            .number("silent_hours") { $0.hours },
        ]
        guard !outages.isEmpty else {
            return paragraph("No silent period in these days.", class: "good")
        }
        write { html in
            ReportView.write(
                ReportTable(outages, columns), named: "Silent periods", to: &html,
                counts: ["silent_hours"],
                link: { row, column in column == 0 ? Self.hours(around: outages[row]) : nil })
        }
    }

    /// The records of a stream by hour, around an outage.
    private static func hours(around outage: StreamOutage) -> PageAddress {
        var request = ReportAddress("outcomes", by: ["hour", "type"])
        request.conditions = [.init(column: "topic", value: outage.stream)]
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
