import Store
import Testing

@testable import Reports

@Suite("Pictures of reports")
struct PlotTests {
    private func table(_ rows: [[ReportValue]]) -> ReportTable {
        ReportTable(
            columns: [
                .init("name"), .init("through_day", isNumber: true),
                .init("clicks", isNumber: true),
                .init("roas_min", isNumber: true), .init("roas_max", isNumber: true),
                .init("cost_micros", isNumber: true), .init("maturity", isNumber: true),
            ], rows: rows, keyCount: 2)
    }

    private func row(
        _ name: String, _ day: Int128, _ clicks: Int128, _ low: String, _ high: String?,
        _ micros: [StoredValue: Int128] = [:], maturity: String = "1.000000"
    ) -> [ReportValue] {
        [
            .text(name), .integer(day), .integer(clicks), .decimal(low),
            high.map { .decimal($0) } ?? .null, .money(MoneyByCurrency(micros)),
            .decimal(maturity),
        ]
    }

    @Test("bounds are a band, and what can still grow is marked")
    func band() throws {
        let chart = try Plot(
            table([
                row("a", 0, 1, "0.000000", "2.000000"),
                row("a", 30, 1, "1.000000", "4.000000", maturity: "0.500000"),
                row("b", 0, 1, "4.000000", "4.000000"), row("b", 30, 1, "1.000000", nil),
            ]), value: "roas", step: nil, of: "t")
        #expect(
            chart.text(columns: 32)
                == """
                a: roas
                  0   ▒▒▒▒▒▒▒▒         0 to 2
                  30  ███▊▒▒▒▒▒▒▒▒▒▒▒  1 to 4 *

                b: roas
                  0   ███████████████  4
                  30  ███▊             1 or more
                * not final: more can still arrive

                """)
        let svg = chart.svg
        #expect(svg.hasPrefix("<svg ") && svg.hasSuffix("</svg>\n"))
        #expect(svg.components(separatedBy: "<polygon").count == 3)
        #expect(svg.contains("fill=\"white\"><title>30: 1 to 4 *</title>"))
    }

    @Test("names that look alike are curves of their own")
    func namesThatLookAlike() throws {
        let names = ["caf\u{E9}", "cafe\u{301}"]
        let chart = try Plot(
            table(names.map { row($0, 0, 1, "0", "0") }), value: "clicks", step: nil, of: "t")
        #expect(chart.curves.map { Array($0.name.utf8) } == names.map { Array($0.utf8) })
    }

    @Test("money of several currencies is drawn apart, counts are not")
    func currencies() throws {
        let both = table([
            row("a", 0, 3, "0", "0", [.text("EUR"): 2_000_000, .text("USD"): 1_000_000])
        ])
        let money = try Plot(both, value: "cost_micros", step: nil, of: "t")
        #expect(money.curves.map(\.name) == ["a, EUR", "a, USD"])
        #expect(money.curves.map { $0.points[0].low } == [2, 1])
        #expect(try Plot(both, value: "clicks", step: nil, of: "t").curves.map(\.name) == ["a"])
    }

    @Test("an amount whose currency stands in a column is drawn")
    func currencyColumn() throws {
        let euros = MoneyByCurrency([.text("EUR"): 2_000_000])
        let table = ReportTable(
            columns: [.init("day"), .init("currency"), .init("cost_micros", isNumber: true)],
            rows: [[.text("2026-11-20"), .text("EUR"), .money(euros)]], keyCount: 2)
        let text = try Plot(table, value: "cost_micros", step: "day", of: "t").text(columns: 60)
        #expect(text.contains("2.00") && !text.contains("not known"), "\(text)")
    }

    @Test("a text from outside is no markup and moves no cursor")
    func texts() throws {
        let chart = try Plot(
            table([row("<b>\u{1B}[2J", 0, 1, "1.0", "1.0")]), value: "clicks", step: nil, of: "t")
        #expect(chart.svg.contains("&lt;b&gt;") && !chart.svg.contains("<b>"))
        #expect(!chart.svg.contains("\u{1B}") && !chart.text(columns: 40).contains("\u{1B}"))
    }

    @Test("what cannot be drawn is an error that says what there is")
    func faults() throws {
        let many = table((0..<13).map { row("\($0)", 0, 1, "1", "1") })
        #expect(throws: InspectionError.tooManyCurves(12)) {
            try Plot(many, value: "clicks", step: nil, of: "t")
        }
        for (value, step) in [("x", nil), ("name", nil), ("clicks", "roas_min")] {
            #expect(throws: InspectionError.self) {
                try Plot(table([]), value: value, step: step, of: "t")
            }
        }
        #expect(try Plot(many, value: "clicks", step: "name", of: "t").curves.count == 1)
    }
}
