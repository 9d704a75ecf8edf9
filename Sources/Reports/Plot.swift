import Foundation
import Store
import Wording

/// A report as a picture: a value for each step of each curve, or a band between its bounds.
package struct Plot: Sendable {
    struct Point: Sendable {
        let label: String
        /// Equal bounds for a single value; nil when it is not known.
        let low: Double?
        let high: Double?
        /// Whether the value is complete; false while further records may change it.
        let isComplete: Bool
    }

    struct Curve: Sendable {
        let name: String
        var points: [Point]
    }

    let valueName: String
    private let isMoney: Bool
    private(set) var curves: [Curve] = []

    /// The maximum number of curves in a picture.
    private static let mostCurves = 12
    private static let microsInUnit = 1_000_000.0

    /// Splits a table into curves, one for each combination of its rows' keys except the steps.
    ///
    /// - Parameters:
    ///   - value: a measure, or the stem of `_min` and `_max` columns, with or without `_micros`: the bounds are then a
    ///     band.
    ///   - step: the column of the horizontal axis; nil for the last of the keys.
    ///   - newestDay: earlier days are complete, whatever their maturity; nil to use the maturity.
    ///   - name: of the dump, for errors.
    /// - Throws: `unknownColumn`, `unknownMeasure`, `tooManyCurves`.
    package init(
        _ table: ReportTable, value: String, step: String?,
        daysAreCompleteBefore newestDay: String? = nil, of name: String
    ) throws(InspectionError) {
        let measures = table.columns.dropFirst(table.keyCount).map(\.name)
        guard let names = Self.columns(of: value, in: measures) else {
            throw .unknownMeasure(value, known: measures)
        }
        let isMoney = MoneyByCurrency.isMoney(names.low)
        let table = isMoney ? table.toldApartByCurrency : table
        let columns = table.columns.map(\.name)
        guard let low = columns.firstIndex(of: names.low),
            let high = columns.firstIndex(of: names.high)
        else { throw .unknownMeasure(value, known: measures) }
        let keys = columns.prefix(table.keyCount)
        let along = step ?? keys.last { $0 != Dump.currency } ?? ""
        guard let stepPlace = keys.firstIndex(of: along) else {
            throw .unknownColumn(along, dump: name, known: Array(keys))
        }
        let maturity = columns.firstIndex(of: "maturity")
        func isComplete(_ row: [ReportValue]) -> Bool {
            if let newestDay { return along != "day" || row[stepPlace].plainText < newestDay }
            return maturity.map { [.null, .decimal("1.000000")].contains(row[$0]) } ?? true
        }
        func number(_ value: ReportValue) -> Double? {
            // Amounts with a currency.
            if case .money(let money) = value {
                guard money.amounts.count == 1, let amount = money.amounts.first else { return nil }
                return Double(amount.micros) / Self.microsInUnit
            }
            guard let number = Double(value.plainText) else { return nil }
            return isMoney ? number / Self.microsInUnit : number
        }
        self.isMoney = isMoney
        valueName = isMoney ? value.replacing("_micros", with: "") : value
        // Compared by bytes: names that look alike are different curves.
        var places: [StoredValue: Int] = [:]
        for row in table.rows {
            let name = keys.indices.filter { $0 != stepPlace }.map { row[$0].plainText }
                .filter { !$0.isEmpty }.joined(separator: ", ")
            let index = places[.text(name)] ?? curves.count
            if index == curves.count {
                guard curves.count < Self.mostCurves else {
                    throw .tooManyCurves(Self.mostCurves)
                }
                places[.text(name)] = index
                curves.append(Curve(name: name, points: []))
            }
            curves[index].points.append(
                Point(
                    label: row[stepPlace].plainText, low: number(row[low]),
                    high: number(row[high]),
                    isComplete: isComplete(row)))
        }
    }

    /// The columns of a measure or of its bounds; nil if they do not exist.
    package static func columns(
        of value: String, in names: [String]
    ) -> (low: String, high: String)? {
        if names.contains(value) { return (value, value) }
        return ["_micros", ""].map { ("\(value)_min\($0)", "\(value)_max\($0)") }
            .first { names.contains($0.0) && names.contains($0.1) }
    }

    private var largest: Double {
        max(curves.flatMap(\.points).compactMap { $0.high ?? $0.low }.max() ?? 0, 0)
    }

    /// Amounts and shares have decimals, counts do not.
    private func text(_ value: Double) -> String {
        guard value != 0 else { return "0" }
        if !isMoney, abs(value) >= 1, value == value.rounded() {
            return String(format: "%.0f", value)
        }
        return String(format: abs(value) >= 100 ? "%.0f" : abs(value) >= 1 ? "%.2f" : "%.4f", value)
    }

    // MARK: At a terminal

    private static let eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"]
    private static let note = "* not final: more can still arrive\n"

    /// Bars of Unicode blocks: filled up to the lower bound, shaded from there to the upper one.
    ///
    /// - Parameter width: of a line, in characters.
    package func text(columns width: Int) -> String {
        guard !curves.isEmpty else { return "no rows\n" }
        let points = curves.flatMap(\.points)
        let labelWidth = points.map { $0.label.escaped.unicodeScalars.count }.max() ?? 0
        let valueWidth = points.map { said($0).count }.max() ?? 0
        let barWidth = max(8, width - labelWidth - valueWidth - 6)
        let scale = largest > 0 ? Double(barWidth) / largest : 0
        var text = ""
        for (index, curve) in curves.enumerated() {
            if index > 0 { text += "\n" }
            text += [curve.name.escaped, valueName].filter { !$0.isEmpty }.joined(separator: ": ")
            text += "\n"
            for point in curve.points {
                let label = point.label.escaped
                let bar = Self.bar(point, scale)
                text += "  " + label
                text += String(
                    repeating: " ", count: labelWidth - label.unicodeScalars.count + 2)
                text += bar + String(repeating: " ", count: max(0, barWidth - bar.count) + 2)
                text += said(point) + "\n"
            }
        }
        return text + (points.allSatisfy(\.isComplete) ? "" : Self.note)
    }

    private func said(_ point: Point) -> String {
        let mark = point.isComplete ? "" : " *"
        guard let low = point.low else {
            return point.high.map { "up to \(text($0))\(mark)" } ?? "not known\(mark)"
        }
        guard let high = point.high else { return "\(text(low)) or more\(mark)" }
        return (low == high ? text(low) : "\(text(low)) to \(text(high))") + mark
    }

    private static func bar(_ point: Point, _ scale: Double) -> String {
        let low = Int((max(point.low ?? 0, 0) * scale * 8).rounded())
        let high = Int((max(point.high ?? point.low ?? 0, 0) * scale).rounded())
        let filled = String(repeating: "█", count: low / 8) + eighths[low % 8]
        return filled + String(repeating: "▒", count: max(0, high - filled.count))
    }

    // MARK: As a file

    /// The picture as SVG: a line for each curve, and a band where there are bounds. Incomplete values have an open
    /// dot.
    package var svg: String {
        let (width, height, left, top, bottom) = (860.0, 420.0, 70.0, 20.0, 50.0)
        let legend = 20.0 * Double(curves.count)
        let labels = curves.flatMap(\.points).reduce(into: [String]()) { labels, point in
            if !labels.contains(point.label) { labels.append(point.label) }
        }
        let most = largest > 0 ? largest : 1
        func x(_ label: String) -> Double {
            let place = Double(labels.firstIndex(of: label) ?? 0)
            let steps = Double(max(labels.count - 1, 1))
            return left + place / steps * (width - left - 30)
        }
        func y(_ value: Double) -> Double {
            top + (1 - max(value, 0) / most) * (height - top - bottom)
        }
        func spot(_ label: String, _ value: Double) -> String {
            String(format: "%.1f,%.1f", x(label), y(value))
        }
        var svg = """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Int(width)) \(Int(height + legend))" \
            font-family="sans-serif" font-size="12">
            <rect width="100%" height="100%" fill="white"/>

            """
        for part in 0...4 {
            let value = most * Double(part) / 4
            svg += String(
                format: "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>\n",
                left, width - 30, y(value), y(value))
            svg += String(
                format: "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">", left - 8, y(value) + 4)
            svg += "\(text(value))</text>\n"
        }
        for label in labels {
            svg += String(
                format: "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", x(label),
                height - bottom + 20)
            svg += "\(label.xml)</text>\n"
        }
        for (index, curve) in curves.enumerated() {
            let color = Self.colors[index % Self.colors.count]
            let banded = curve.points.filter { $0.low != nil && $0.high != nil }
            let upper = banded.map { spot($0.label, $0.high ?? 0) }
            let lower = banded.reversed().map { spot($0.label, $0.low ?? 0) }
            svg +=
                "<polygon points=\"\((upper + lower).joined(separator: " "))\" fill=\"\(color)\" fill-opacity=\"0.2\"/>\n"
            let line = curve.points.compactMap { point in point.low.map { spot(point.label, $0) } }
            svg +=
                "<polyline points=\"\(line.joined(separator: " "))\" fill=\"none\" stroke=\"\(color)\" stroke-width=\"2\"/>\n"
            for point in curve.points {
                guard let low = point.low else { continue }
                svg += String(
                    format: "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" stroke=\"%@\" fill=\"%@\">",
                    x(point.label), y(low), color, point.isComplete ? color : "white")
                svg += "<title>\(point.label.xml): \(said(point).xml)</title></circle>\n"
            }
            let name = curve.name.isEmpty ? valueName : "\(curve.name): \(valueName)"
            svg += String(
                format: "<text x=\"%.1f\" y=\"%.1f\" fill=\"%@\">", left,
                height + 20 * Double(index), color)
            svg += "\(name.xml)</text>\n"
        }
        return svg + "</svg>\n"
    }

    private static let colors = [
        "#1f6fb4", "#d9730d", "#2b8a3e", "#c92a2a", "#6741d9", "#866118", "#c2255c", "#5f6b76",
    ]
}

extension String {
    /// XML text without control characters.
    fileprivate var xml: String {
        withoutControls.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
            .replacing(">", with: "&gt;").replacing("\"", with: "&quot;")
    }
}
