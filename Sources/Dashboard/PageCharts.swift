import Foundation
import Reports
import Streams

// The charts of a page, and their days.

extension PageWriter {
    /// A chart of measures over the days of a request that is grouped by day; pairs are bounds.
    mutating func chart(
        _ title: String, _ request: ReportAddress,
        _ lines: [(name: String, low: String, high: String)]
    ) throws {
        var request = request
        request.by = ["day"]
        request.measures = nil
        try chart(title, answer(request), lines, over: days)
    }

    /// - Parameter days: the days of the answer.
    mutating func chart(
        _ title: String, _ answer: PageAnswer,
        _ lines: [(name: String, low: String, high: String)], over days: PageContext.Days,
        marks: [TrendMark]? = nil
    ) throws {
        let recordDays = try self.recordDays(of: lines.flatMap { [$0.low, $0.high] }, in: answer)
        draw(
            title, answer, answer.rows, by: "day", lines, recordDays: recordDays, over: days,
            marks: marks)
    }

    /// A chart over the days in a column of some rows.
    ///
    /// - Parameter recordDays: the days with records, if rows are grouped by the day of their records; nil if a day
    ///   without a row is 0.
    mutating func draw(
        _ title: String, _ answer: PageAnswer, _ rows: [[ReportValue]], by column: String,
        _ lines: [(name: String, low: String, high: String)], recordDays: RecordDays? = nil,
        over shownDays: PageContext.Days? = nil, marks: [TrendMark]? = nil
    ) {
        guard let day = answer.index(of: column) else { return }
        func streams(_ column: String) -> [String] {
            answer.request.report?.streams(of: column) ?? []
        }
        let allStreams = lines.flatMap { streams($0.low) + streams($0.high) }
        let names = chartDays(
            rows.map { $0[day].plainText }, firstOfData: recordDays?.first(of: allStreams),
            isByRecord: recordDays != nil, over: shownDays ?? days)
        guard names.count > 1 else { return }
        let indices = lines.flatMap { [$0.low, $0.high] }.compactMap(answer.index)
        let currencies = Set(rows.flatMap { row in indices.flatMap { row[$0].currencies } })
        guard currencies.count < 2 else {
            return paragraph(
                "\(title): no chart is shown, because amounts in \(currencies.sorted().joined(separator: ", ")) have no common scale. See the tables.",
                class: "note")
        }
        guard Set(rows.map { $0[day].plainText }).count == rows.count else {
            return paragraph(
                "\(title): no chart is shown, because a day has several rows. See the tables.",
                class: "note")
        }
        let title = currencies.first.map { $0.isEmpty ? title : "\(title), \($0)" } ?? title
        let rows = Dictionary(
            rows.map { ($0[day].plainText, $0) }, uniquingKeysWith: { first, _ in first })
        let maturity = answer.index(of: "maturity")
        // Rows by arrival change only until their day is over, whatever their installs add later.
        let newestDay = answer.request.isByArrival ? self.newestDay : nil
        func amount(_ column: String, _ day: String) -> Double? {
            answer.amount(column, of: rows[day], on: day, recordDays)
        }
        let series = lines.map { name, low, high in
            // A cost without a known amount on any day is not 0.
            let isUnknownCost =
                low == "cost_micros" && !names.contains { (amount(low, $0) ?? 0) != 0 }
            return Chart.Series(
                name: name,
                points: names.map { name in
                    let row = rows[name]
                    let share = maturity.flatMap { index in
                        row.flatMap { ShownValue.amount($0[index], in: "maturity") }
                    }
                    return Chart.Point(
                        label: PageContext.name(ofDay: name, hasYear: false),
                        low: isUnknownCost ? nil : amount(low, name),
                        high: isUnknownCost ? nil : amount(high, name),
                        isComplete: newestDay.map { name < $0 } ?? ((share ?? 1) >= 1))
                })
        }
        guard series.contains(where: { $0.points.contains { $0.low != nil } }) else { return }
        let isOfCounts = !lines.contains {
            MoneyByCurrency.isMoney($0.low) || ShownValue.isShare($0.low)
        }
        let outages = marks == nil ? [] : outages(of: names, Set(allStreams).sorted(), recordDays)
        let shown = ((marks ?? []) + outages).filter { names.contains($0.day) }
            .sorted { ($0.day, $0.text) < ($1.day, $1.text) }
        let chart = Chart(
            title: title, series: series, isOfCounts: isOfCounts,
            marks: shown.compactMap { mark in
                names.firstIndex(of: mark.day).map { ($0, mark.text) }
            },
            scale: {
                $0 >= 10 || $0 == $0.rounded()
                    ? ShownValue.grouped(Int128($0.rounded())) : "\(($0 * 100).rounded() / 100)"
            })
        write { chart.write(to: &$0) }
        writeMarks(shown)
        let hasGap = series.contains { line in
            Set(line.points.map { $0.low == nil }).count == 2
        }
        if recordDays != nil, hasGap {
            paragraph(
                "A gap in a line means that its streams have no records of that day.", class: "note"
            )
        }
    }

    /// The day of the newest event; nil without a store.
    private var newestDay: String? {
        context.newestMilliseconds.map(context.timeZone.day(milliseconds:))
    }

    /// All days from the first to the last, including days without a row, but not days before the first data.
    ///
    /// - Parameters:
    ///   - firstOfData: the first day with data.
    ///   - isByRecord: whether rows are grouped by the day of their records. Such a chart continues to the end of the
    ///     shown days, so that it shows a continuing outage.
    private func chartDays(
        _ texts: [String], firstOfData: String?, isByRecord: Bool, over days: PageContext.Days
    ) -> [String] {
        let found = texts.filter { $0.count == 10 }
        guard let oldest = (found + [firstOfData].compactMap(\.self)).min(),
            let last = (isByRecord ? lastShownDay(of: days) : nil) ?? lastDay(of: found)
        else { return [] }
        let since = days.since.flatMap(context.timeZone.milliseconds(text:))
        let first = max(oldest, since.map(context.timeZone.day(milliseconds:)) ?? oldest)
        guard let begin = UTC.milliseconds(text: first), let end = UTC.milliseconds(text: last),
            end >= begin, end - begin < 800 * 86_400_000
        else { return [] }
        return stride(from: begin, through: end, by: 86_400_000).map { UTC.day(milliseconds: $0) }
    }

    /// The last of the shown days, or the day of the newest event if that is earlier.
    private func lastShownDay(of days: PageContext.Days) -> String? {
        guard let newestDay else { return nil }
        let last = days.until.flatMap(context.timeZone.milliseconds(text:))
            .map { context.timeZone.day(milliseconds: $0 - 1) }
        return min(newestDay, last ?? newestDay)
    }

    /// The last day of a chart. Records dated ahead of the clock do not extend it.
    private func lastDay(of found: [String]) -> String? {
        let newest = newestDay
        return found.filter { day in newest.map { day <= $0 } ?? true }.max() ?? found.max()
    }
}

extension PageAnswer {
    /// The amount of a day in a line. Nil if it is unknown: on a day without records of the streams, 0 would be wrong.
    ///
    /// - Parameter row: nil for a day without a row.
    func amount(
        _ column: String, of row: [ReportValue]?, on day: String, _ recordDays: RecordDays?
    ) -> Double? {
        guard let index = index(of: column) else { return nil }
        let value = row?[index]
        if let value, let amount = ShownValue.amount(value, in: column), amount != 0 {
            return amount
        }
        let isKnown = recordDays?.have(day, request.report?.streams(of: column) ?? []) ?? true
        // A share without a row has nothing to divide by.
        guard isKnown, value != .null, value != nil || !ShownValue.isShare(column) else {
            return nil
        }
        return 0
    }
}

extension PageWriter {
    /// The days with records of the streams of some columns.
    func recordDays(of columns: [String], in answer: PageAnswer) throws -> RecordDays {
        let streams = Set(columns.flatMap { answer.request.report?.streams(of: $0) ?? [] })
        return try source.stores.recordDays(of: streams.sorted(), in: context.timeZone)
    }
}

extension ReportValue {
    var currencies: [String] {
        if case .money(let money) = self { money.amounts.map(\.currency) } else { [] }
    }
}
