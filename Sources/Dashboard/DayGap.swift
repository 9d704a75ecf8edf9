import Reports
import Streams

/// The days without a row between the days of two rows. A table and a line show them, because a missing row looks like
/// a complete table.
enum DayGap {
    static let column = "day"
    static let noRecords = "no records"
    /// A table leaves out rows of zeros.
    static let onlyZeros = "only zeros"

    private static let most: Int64 = 800

    /// The days between two others, in their direction; none for texts that are not days.
    static func days(between first: String, and last: String) -> [String] {
        guard first.count == 10, last.count == 10, let start = UTC.milliseconds(text: first),
            let end = UTC.milliseconds(text: last),
            (end - start).magnitude < UInt64(most * PageContext.dayMilliseconds)
        else { return [] }
        let step = start < end ? PageContext.dayMilliseconds : -PageContext.dayMilliseconds
        return stride(from: start + step, to: end, by: Int(step)).map {
            UTC.day(milliseconds: $0)
        }
    }

    /// The same between the keys of two rows. None unless both have the same columns before the day.
    static func days(between first: [String], and last: [String], at index: Int) -> [String] {
        guard first.prefix(index) == last.prefix(index) else { return [] }
        return days(between: first[index], and: last[index])
    }
}

extension PageAnswer {
    /// The index of the day in keys; nil without one.
    var dayKey: Int? {
        index(of: DayGap.column).flatMap { $0 < keyCount ? $0 : nil }
    }

    /// The points of a line over rows of ascending days, and over the days between them.
    func points(
        _ rows: [[ReportValue]], _ low: String, _ high: String, _ recordDays: RecordDays?
    ) -> [SmallLine.Point] {
        guard let day = dayKey else { return [] }
        var points: [SmallLine.Point] = []
        func add(_ name: String, _ row: [ReportValue]?) {
            points.append(
                SmallLine.Point(
                    low: amount(low, of: row, on: name, recordDays),
                    high: amount(high, of: row, on: name, recordDays)))
        }
        var previous: String?
        for row in rows {
            let name = row[day].plainText
            if let previous {
                for gap in DayGap.days(between: previous, and: name) { add(gap, nil) }
            }
            add(name, row)
            previous = name
        }
        return points
    }
}

extension HTML {
    /// The cell of a day without a row.
    mutating func gap(_ day: String, _ reason: String) {
        text(day)
        element("small", text: reason)
    }

    /// The cell of a number of such a day.
    mutating func gapNumber(_ reason: String) {
        element("td", ["class": "number"]) {
            $0.element("span", ["class": "unknown", "title": reason], text: "–")
        }
    }
}
