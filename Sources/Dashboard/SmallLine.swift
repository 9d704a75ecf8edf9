/// A line without axes, for cards and cells. Bounds are a band.
struct SmallLine {
    /// Nil for an unknown amount, which is a gap in the line.
    struct Point {
        let low: Double?
        let high: Double?
    }

    let title: String
    let points: [Point]
    var width = 120.0
    var height = 28.0

    func write(to html: inout HTML) {
        let most = points.compactMap { $0.high ?? $0.low }.max() ?? 0
        guard points.count > 1, most > 0 else { return }
        func at(_ index: Int, _ amount: Double) -> String {
            let x = 2 + (width - 4) * Double(index) / Double(points.count - 1)
            let y = 2 + (height - 4) * (1 - max(0, amount) / most)
            return "\(Chart.text(x)),\(Chart.text(y))"
        }
        let known = points.indices.filter { points[$0].low != nil }
        html.element(
            "svg",
            [
                "class": "small", "viewBox": "0 0 \(Int(width)) \(Int(height))", "role": "img",
                "aria-label": title, "preserveAspectRatio": "none",
            ]
        ) { html in
            for run in Chart.runs(of: known) {
                // A line needs two points to be visible.
                let run = run.count == 1 ? run + run : run
                let highs = run.map { at($0, points[$0].high ?? points[$0].low ?? 0) }
                let lows = run.map { at($0, points[$0].low ?? 0) }
                if highs != lows {
                    html.element(
                        "polygon",
                        [
                            "class": "band s0",
                            "points": (highs + lows.reversed()).joined(separator: " "),
                        ])
                }
                html.element(
                    "polyline", ["class": "line s0", "points": highs.joined(separator: " ")])
            }
        }
    }
}
