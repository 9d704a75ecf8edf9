import Testing

@testable import Reports

@Suite("Tables on a terminal")
struct TerminalTableTests {
    /// Rows of two campaigns of one network, with as many measures as a funnel has.
    private let table = ReportTable(
        columns: [
            .init("day"), .init("ad_network_id"), .init("seat"),
        ] + (1...12).map { .init("overlay_click_tracked_\($0)", isNumber: true) },
        rows: ["a", "b"].map { seat in
            [.text("2026-11-20"), .text("com.example"), .text("\(seat)1234567890-long-seat-name")]
                + (1...12).map { .integer($0 == 12 ? 0 : Int128($0) * 1_000_000) }
        }, keyCount: 3)

    @Test(
        "no line is wider than the terminal, and every measure is shown",
        arguments: [40, 80, 120, 200])
    func everything(width: Int) {
        let lines = table.lines(within: width)
        #expect(
            lines.allSatisfy { $0.unicodeScalars.count <= width },
            "\(lines.joined(separator: "\n"))")
        for measure in 1...11 {
            #expect(lines.contains { $0.contains(" \(measure)000000") }, "\(measure) at \(width)")
        }
        // What all rows have in common stands above them, once.
        #expect(width < 50 || lines.first == "day: 2026-11-20, ad_network_id: com.example")
        #expect(lines.count { $0.contains("com.example") } == 1)
    }

    @Test("a table that fits, and one for a pipe, stay as they are")
    func whole() {
        #expect(table.lines(within: nil).count == 3)
        #expect(table.lines(within: 10_000) == table.lines(within: nil))
    }

    @Test(
        "identifiers are shortened in the middle as far as they stay different; times and sentences are not"
    )
    func shortening() {
        let ids = [
            "aaaaaaaaaaaaaaaa-1-zzzzzzzzzzzzzzzz", "aaaaaaaaaaaaaaaa-2-zzzzzzzzzzzzzzzz", "short",
        ]
        let table = ReportTable(
            columns: [.init("id"), .init("hour"), .init("n", isNumber: true)],
            rows: ids.enumerated().map {
                [.text($1), .text("2026-11-20T0\($0):00:00Z"), .integer(Int128($0))]
            },
            keyCount: 2)
        let lines = table.lines(within: 56)
        #expect(lines.allSatisfy { $0.unicodeScalars.count <= 56 })
        #expect(lines.contains { $0.contains("2026-11-20T02:00:00Z") })
        // Shorter than 34 characters the first two would look the same.
        let narrow = table.lines(within: 40)
        #expect(narrow.contains("id    \(ids[0])"), "\(narrow)")
    }

    @Test("one row that is too wide, and rows without keys, become lines of a name and a value")
    func vertical() {
        let one = ReportTable(columns: table.columns, rows: [table.rows[0]], keyCount: 3)
        #expect(one.lines(within: 80).contains("overlay_click_tracked_12  0"))
        let keyless = ReportTable(columns: table.columns, rows: table.rows)
        let lines = keyless.lines(within: 40)
        #expect(lines.contains("one line per value, without zero counts and empty values"))
        #expect(lines.contains("overlay_click_tracked_11  11000000"))
        #expect(!lines.contains { $0.hasPrefix("overlay_click_tracked_12") })
    }

    @Test("a table of columns without measures is shown at every width", arguments: [40, 60, 118])
    func noMeasures(width: Int) {
        let table = ReportTable(
            columns: ["topic", "reason", "detail"].map { .init($0) },
            rows: (1...3).map { row in
                [
                    .text("bids"), .text("missing_field"),
                    .text(
                        "a detail of many words, number \(row), so that no line has room for it all and for the rest of the row"
                    ),
                ]
            }, keyCount: 3)
        let text = table.lines(within: width).joined(separator: "\n")
        for row in 1...3 { #expect(text.contains("number \(row)"), "\(text)") }
    }

    @Test("only numbers of a measure are amounts, neither identifiers nor counts of rows")
    func amounts() {
        let table = ReportTable(
            columns: [
                .init("app_id", isNumber: true), .init("currency"), .init("measure"),
                .init("rows", isNumber: true), .init("a", isNumber: true),
            ],
            rows: [
                [
                    .integer(525_463_029), .text("USD"), .text("cost_micros"), .integer(2),
                    .integer(1_500_000),
                ]
            ])
        let line = table.lines(within: 200).last ?? ""
        #expect(
            line.contains("525463029  USD       cost_micros") && line.hasSuffix("2  USD 1.50"),
            "\(line)")
    }

    @Test("an unknown maturity of 0 and a lower bound of 0 are shown")
    func facts() {
        let table = ReportTable(
            columns: [
                .init("k"), .init("low_micros", isNumber: true), .init("maturity", isNumber: true),
                .init("n", isNumber: true),
            ],
            rows: [
                [
                    .text("x"), .money(MoneyByCurrency([.text("USD"): 0])), .decimal("0.000000"),
                    .integer(1),
                ]
            ],
            keyCount: 1)
        let (shown, _, _) = table.withoutZeros(keepsMeasures: false)
        #expect(shown.columns.map(\.name).contains("maturity"))
    }

    @Test("measures and rows of zeros are left out and named, unless the measures were asked for")
    func zeros() {
        let table = ReportTable(
            columns: [.init("k"), .init("a", isNumber: true), .init("b", isNumber: true)],
            rows: [
                [.text("x"), .integer(1), .integer(0)], [.text("y"), .integer(0), .null],
                [.text("z"), .decimal("0.500000"), .decimal("0.000000")],
            ], keyCount: 1)
        let (shown, measures, rowCount) = table.withoutZeros(keepsMeasures: false)
        #expect(shown.columns.map(\.name) == ["k", "a"])
        #expect(shown.rows.map { $0[0] } == [.text("x"), .text("z")])
        #expect(measures == ["b"])
        #expect(rowCount == 1)
        #expect(table.withoutZeros(keepsMeasures: true).table.columns == table.columns)
        // Rows that are not shown do not count.
        let two = table.withoutZeros(keepsMeasures: false, limit: 2)
        #expect(two.table.rows.map { $0[0] } == [.text("x"), .text("z")])
        #expect(two.rowCount == 1)
        #expect(table.withoutZeros(keepsMeasures: false, limit: 1).table.rows.count == 1)
        #expect(
            table.withoutZeroRows.rows.map { $0[0] } == [.text("x"), .text("y"), .text("z")],
            "what is not known is not zero")
        let nothing = ReportTable(
            columns: [.init("k"), .init("cost_micros", isNumber: true)],
            rows: [[.text("x"), .money(MoneyByCurrency([:]))], [.text("y"), .null]], keyCount: 1)
        #expect(nothing.withoutZeroRows.rows.map { $0[0] } == [.text("y")])
        let zero = ReportTable(columns: table.columns, rows: [table.rows[1]], keyCount: 1)
        #expect(zero.withoutZeros(keepsMeasures: false).table.rows.count == 1)
    }
}
