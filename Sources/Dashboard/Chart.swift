import Reports
import Streams

/// A chart over days or steps, which the server draws as SVG: lines, and bands between bounds. Incomplete values are
/// dashed, so that a recent day does not look like a bad one.
struct Chart {
    struct Point {
        let label: String
        /// Equal to `high` for an exact value; nil for an unknown value, which is a gap in the line.
        let low: Double?
        let high: Double?
        /// Whether further records cannot change the value.
        let isComplete: Bool
    }

    struct Series {
        let name: String
        let points: [Point]
    }

    let title: String
    let series: [Series]
    /// Whether amounts are counts. Their scale has whole numbers only.
    var isOfCounts = false
    /// Events, by the index of their point.
    var marks: [(index: Int, text: String)] = []
    /// Formats an amount of the scale.
    let scale: (Double) -> String

    private static let width = 720.0
    private static let height = 220.0
    private static let left = 64.0
    private static let bottom = 26.0
    private static let top = 10.0
    /// Each series has its own colour, from the classes `s0` to `s3` of the stylesheet.
    private static let styles: [String] = ["s0", "s1", "s2", "s3"]

    func write(to html: inout HTML) {
        let points = series.map(\.points.count).max() ?? 0
        let highest = Self.roundedUp(
            series.flatMap(\.points).compactMap { $0.high ?? $0.low }.max() ?? 0,
            isOfCounts: isOfCounts)
        html.element("figure") { html in
            html.element("figcaption") { html in
                html.text(title)
                for (index, series) in series.enumerated() where self.series.count > 1 {
                    html.element(
                        "span", ["class": "key \(Self.style(index))"], text: series.name)
                }
            }
            html.element(
                "svg",
                [
                    "viewBox": "0 0 \(Int(Self.width)) \(Int(Self.height))", "role": "img",
                    "aria-label": description,
                ]
            ) { html in
                grid(highest, to: &html)
                for (index, series) in series.enumerated() {
                    draw(series, Self.style(index), highest, points, to: &html)
                }
                for mark in marks { draw(mark, points, to: &html) }
                labels(points, to: &html)
            }
        }
    }

    private static func style(_ index: Int) -> String { styles[index % styles.count] }

    /// Text for screen readers. The table next to the chart has all numbers.
    private var description: String {
        let ends = series.compactMap { series -> String? in
            guard let first = series.points.first(where: { $0.low != nil }),
                let last = series.points.last(where: { $0.low != nil })
            else { return nil }
            return
                "\(series.name): \(text(of: first)) at \(first.label), \(text(of: last)) at \(last.label)"
        }
        return ([title] + ends).joined(separator: ". ")
    }

    private func text(of point: Point) -> String {
        let (low, high) = (point.low ?? 0, point.high ?? point.low ?? 0)
        return low == high ? scale(low) : "\(scale(low)) to \(scale(high))"
    }

    private func grid(_ highest: Double, to html: inout HTML) {
        for part in 0...2 {
            let amount = highest * Double(part) / 2
            let y = Self.text(Self.y(amount, highest))
            html.element(
                "line",
                [
                    "class": "grid", "x1": Self.text(Self.left), "x2": Self.text(Self.width),
                    "y1": y, "y2": y,
                ])
            html.element(
                "text",
                ["class": "label end", "x": Self.text(Self.left - 6), "y": y, "dy": "4"],
                text: scale(amount))
        }
    }

    private func labels(_ count: Int, to html: inout HTML) {
        guard let points = series.first(where: { $0.points.count == count })?.points else { return }
        let step = max(1, (count + 6) / 7)
        for (index, point) in points.enumerated() where index % step == 0 {
            html.element(
                "text",
                [
                    // The middle of the last label would be at the edge.
                    "class": index == count - 1 ? "label last" : "label middle",
                    "x": Self.text(Self.x(index, count)),
                    "y": Self.text(Self.height - 6),
                ], text: point.label)
        }
    }

    private func draw(_ mark: (index: Int, text: String), _ count: Int, to html: inout HTML) {
        let x = Self.text(Self.x(mark.index, count))
        html.element(
            "line",
            [
                "class": "event", "x1": x, "x2": x, "y1": Self.text(Self.top),
                "y2": Self.text(Self.height - Self.bottom),
            ]
        ) { $0.element("title", text: mark.text) }
    }

    private func draw(
        _ series: Series, _ style: String, _ highest: Double, _ count: Int, to html: inout HTML
    ) {
        let indices = series.points.indices.filter { series.points[$0].low != nil }
        func at(_ index: Int, _ amount: Double?) -> String {
            "\(Self.text(Self.x(index, count))),\(Self.text(Self.y(amount ?? 0, highest)))"
        }
        func high(_ index: Int) -> Double? {
            series.points[index].high ?? series.points[index].low
        }
        for run in Self.runs(of: indices) {
            if run.contains(where: { series.points[$0].low != high($0) }) {
                let outline =
                    run.map { at($0, high($0)) }
                    + run.reversed().map { at($0, series.points[$0].low) }
                html.element(
                    "polygon",
                    ["class": "band \(style)", "points": outline.joined(separator: " ")])
            }
            for bound in [high, { series.points[$0].low }] {
                // A segment is dashed if either end is incomplete.
                for (from, to) in zip(run, run.dropFirst()) {
                    let isComplete = series.points[from].isComplete && series.points[to].isComplete
                    html.element(
                        "polyline",
                        [
                            "class": "line \(style)\(isComplete ? "" : " young")",
                            "points": "\(at(from, bound(from))) \(at(to, bound(to)))",
                        ])
                }
            }
        }
        for index in indices {
            let point = series.points[index]
            html.element(
                "circle",
                [
                    "class": "dot \(style)\(point.isComplete ? "" : " young")",
                    "cx": Self.text(Self.x(index, count)),
                    "cy": Self.text(Self.y(high(index) ?? 0, highest)), "r": "2.5",
                ]
            ) { html in
                html.element(
                    "title",
                    text:
                        "\(series.name), \(point.label): \(text(of: point))\(point.isComplete ? "" : ", not complete yet")"
                )
            }
        }
    }

    /// Consecutive indices. A line ends at a missing value, because nothing is known there.
    static func runs(of indices: [Int]) -> [[Int]] {
        var runs: [[Int]] = []
        for index in indices {
            if let last = runs.last?.last, last == index - 1 {
                runs[runs.count - 1].append(index)
            } else {
                runs.append([index])
            }
        }
        return runs
    }

    private static func x(_ index: Int, _ count: Int) -> Double {
        let inner = width - left - 24
        return left + 12 + (count > 1 ? inner * Double(index) / Double(count - 1) : inner / 2)
    }

    private static func y(_ amount: Double, _ highest: Double) -> Double {
        let inner = height - top - bottom
        return top + inner * (1 - (highest > 0 ? max(0, amount) / highest : 0))
    }

    /// A tenth of a unit is precise enough for a line.
    static func text(_ length: Double) -> String {
        let tenths = Int((length * 10).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
    }

    /// The smallest axis limit not below the amount: 1, 1.5, 2, 2.5, 3, 4, 5, 6 or 8 times a power of ten.
    ///
    /// - Parameter isOfCounts: whether half of it, which is also labelled, must be a whole number.
    private static func roundedUp(_ amount: Double, isOfCounts: Bool) -> Double {
        guard amount > (isOfCounts ? 2 : 0) else { return isOfCounts ? 2 : 1 }
        var power = 1.0
        while power * 10 <= amount { power *= 10 }
        while power > amount { power /= 10 }
        for step in [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8] where step * power >= amount {
            let half = step * power / 2
            if !isOfCounts || half == half.rounded() { return step * power }
        }
        return 10 * power
    }
}
