import Testing

@testable import Dashboard
@testable import Reports

/// Changes against the compared days: their size, their words, and whether chance explains them.
@Suite("Changes on pages")
struct DashboardChangesTests {
    @Test("changes are relative, those of shares are points, and nothing is divided by 0")
    func changes() {
        func text(_ old: Double?, _ new: Double?, isShare: Bool = false) -> String? {
            Change(from: old, to: new, isShare: isShare).map { $0.symbol + $0.text }
        }
        #expect(text(100, 112.34) == "▲ +12.3 %")
        #expect(text(100, 50) == "▼ −50.0 %")
        #expect(text(100, 100) == "±0.0 %")
        #expect(text(10, 25) == "▲ +150 %")
        #expect(text(0, 5) == nil && text(nil, 5) == nil && text(5, nil) == nil)
        #expect(text(0, 0.025, isShare: true) == "▲ +2.5 points")
    }

    @Test("a range moved if both bounds did, and is above or below if the ranges do not overlap")
    func rangeChanges() {
        func usd(_ units: Int128?) -> ReportValue? {
            units.map { .money(MoneyByCurrency([.text("USD"): $0 * 1_000_000])) }
        }
        func text(_ old: [Int128?], _ new: [Int128?]) -> String? {
            Change(fromRange: old.map(usd), to: new.map(usd), of: "revenue_min_micros").map {
                "\($0.symbol)\($0.text), \($0.style(.good))"
            }
        }
        #expect(text([10, 40], [8, 30]) == "▼ both bounds fell, change")
        #expect(text([0, 40], [5, 50]) == "▲ both bounds rose, change")
        #expect(text([10, 40], [5, 9]) == "▼ below, change bad")
        #expect(text([10, 40], [41, 50]) == "▲ above, change good")
        // Apart, in one bound only, or unknown.
        let others: [[Int128?]] = [
            [8, 50], [12, 30], [10, 30], [0, 40], [10, 40], [nil, 30],
        ]
        for now in others {
            #expect(text([10, 40], now) == nil, "\(now)")
        }
        let euros = ReportValue.money(MoneyByCurrency([.text("EUR"): 1_000_000]))
        #expect(
            Change(fromRange: [usd(10), usd(40)], to: [euros, euros], of: "revenue_min_micros")?
                .text == nil)
    }

    @Test("a change begins with the day that separates the earlier days from the later ones best")
    func beginnings() {
        #expect(PageWriter.change(in: [5, 5, 6, 5, 20, 21, 19]) == 4)
        #expect(PageWriter.change(in: [9, 9, 9, 2, 2, 2, 2, 2]) == 3)
        #expect(PageWriter.change(in: [4, 4, 4, 4]) == nil)
    }

    private func funnel(_ columns: [String], _ rows: [[ReportValue]]) -> PageAnswer {
        PageAnswer(
            ReportAddress(Funnel.name, by: columns),
            ShownRows(
                table: ReportTable(
                    columns: columns.map { .init($0) } + [
                        .init("installs", isNumber: true), .init("cost_micros", isNumber: true),
                    ], rows: rows, keyCount: columns.count), keyCount: columns.count))
    }

    @Test("a campaign that ended moved as much as one that began")
    func ended() {
        let key = ["campaign"]
        let before = funnel(key, [[.text("a"), .integer(100), .integer(0)]])
        let now = funnel(key, [[.text("b"), .integer(100), .integer(0)]])
        let movers = PageWriter.movers(from: before, to: now)
        #expect(movers.map { $0.key.map(\.value) } == [["a"], ["b"]])
        #expect(movers[0].now == nil && movers[1].before == nil)
        #expect(movers[0].size == 1 && movers[1].size == 1)
    }

    @Test("a change is listed by its share of the total, and not if chance explains it")
    func sizes() throws {
        func answer(_ rows: [(String, Int128, Int128)]) -> PageAnswer {
            funnel(
                ["campaign"],
                rows.map { [.text($0.0), .integer($0.1), .integer($0.2 * 1_000_000)] })
        }
        let before = answer([
            ("large", 10_000, 50_000), ("small", 0, 0), ("noisy", 1000, 5000),
            ("spender", 400, 1000),
        ])
        let now = answer([
            ("large", 9000, 44_000), ("small", 60, 300), ("noisy", 1130, 5000),
            ("spender", 400, 2000),
        ])
        let movers = PageWriter.movers(from: before, to: now)
        // 60 installs from none are seven deviations, and half a percent of all.
        #expect(
            movers.map { "\($0.key[0].value) \($0.measure)" } == [
                "large cost_micros", "large installs", "spender cost_micros", "spender cpi",
            ])
        // Of 56,000 and of 11,400.
        #expect((movers[0].size * 56_000).rounded() == 6000)
        #expect((movers[1].size * 11_400).rounded() == 1000)
        #expect((movers[2].size * 56_000).rounded() == 1000)
    }

    @Test("revenue has moved only if both ranges rest on enough values above 0")
    func revenue() {
        func answer(_ units: Int128) -> PageAnswer {
            let columns = ["campaign", "revenue_min_micros", "revenue_max_micros"]
            return PageAnswer(
                ReportAddress(Funnel.name, by: ["campaign"]),
                ShownRows(
                    table: ReportTable(
                        columns: columns.map { .init($0, isNumber: $0 != "campaign") },
                        rows: [
                            [.text("a"), .integer(units), .integer(units)]
                        ], keyCount: 1), keyCount: 1))
        }
        func moved(_ before: Int128, _ now: Int128, values: Double) -> Bool {
            let movers = PageWriter.movers(
                from: answer(before * 1_000_000), to: answer(now * 1_000_000),
                values: { _ in values })
            return movers.map(\.measure) == ["revenue_max_micros"]
        }
        // A single sale, and one that ended.
        #expect(!moved(0, 100, values: 1) && !moved(100, 0, values: 1))
        #expect(!moved(0, 100, values: 17) && moved(0, 100, values: 18))
        #expect(moved(100, 0, values: 40))
        // A third of the sum needs 162 values.
        #expect(!moved(100, 200, values: 160) && moved(100, 200, values: 170))
    }

    @Test("a measure that is not compared takes no place from the others")
    func places() {
        func answer(_ installs: Int128, _ spend: Int128) -> PageAnswer {
            funnel(
                ["campaign"],
                (0..<9).map { index in
                    [
                        .text("c\(index)"), .integer(installs),
                        .integer(index == 0 ? spend : 1_000_000),
                    ]
                })
        }
        let (before, now) = (answer(100, 1_000_000), answer(300, 1_500_000))
        let all = PageWriter.movers(from: before, to: now)
        #expect(all.count == 8 && all.allSatisfy { $0.measure != "cost_micros" })
        let spend = PageWriter.movers(from: before, to: now) { $0 == "cost_micros" }
        #expect(spend.map { "\($0.key[0].value) \($0.measure)" } == ["c0 cost_micros"])
    }

    @Test("a day without a row counts as 0, and has no cost per install")
    func missingDays() {
        let answer = funnel(
            ["day"],
            [
                [.text("2026-11-20"), .integer(2), .integer(8_000_000)],
                [.text("2026-11-22"), .integer(4), .integer(2_000_000)],
            ])
        let compared = PageContext.Compared(
            now: ("2026-11-22", "2026-11-24"), before: ("2026-11-20", "2026-11-22"),
            isPartial: false, words: "")
        func amounts(_ measure: String) -> [String] {
            PageWriter.amounts(of: measure, answer, compared).map { "\($0.day) \($0.amount)" }
        }
        #expect(
            amounts("installs") == [
                "2026-11-20 2.0", "2026-11-21 0.0", "2026-11-22 4.0", "2026-11-23 0.0",
            ])
        #expect(amounts("cpi") == ["2026-11-20 4.0", "2026-11-22 0.5"])
    }

    @Test("compared days are named in few words: days, and the hour at which both ranges end")
    func comparedDays() {
        func words(_ since: String, _ until: String, isPartial: Bool = false) -> String {
            PageContext.Compared(
                now: (since, until), before: (since, until), isPartial: isPartial, words: ""
            ).earlierDays
        }
        #expect(words("2026-11-12", "2026-11-19") == "12–18 Nov")
        #expect(words("2026-10-27", "2026-11-26") == "27 Oct – 25 Nov")
        #expect(words("2025-12-28", "2026-01-04") == "28 Dec 2025 – 3 Jan 2026")
        #expect(words("2026-11-12", "2026-11-13") == "12 Nov")
        #expect(
            words("2026-11-12", "2026-11-13T05:00:00Z", isPartial: true)
                == "12–13 Nov until 05:00")
    }
}
