import ConfigurationFiles
import ConfigurationValues
import Foundation
import Store
import Streams
import TestKit
import Testing

@testable import Reports

@Suite("Warnings of stores")
struct WatchTests {
    private static let hour = SampleStores.hour
    /// 2026-10-05, a Monday.
    private static let start: Int64 = 1_791_158_400_000
    private static let weeks = 6

    private static let rules = """
        silence:
          - {name: seats, dump: bids, by: [seat], measures: [wins]}
        rates:
          - name: loss_share
            dump: bids
            by: [seat]
            part: [losses]
            of: [wins, losses]
        """

    @Test(
        "an outage is a silence longer than usual ones, however many there are, and nights are none"
    )
    func outages() {
        func found(_ active: [Int64], present: Int64) -> [String] {
            StreamOutage.all("bids", active: active, present: present).map {
                "\($0.first.hoursSince1970)+\($0.hours)\($0.end == nil ? ", open" : "")"
            }
        }
        let silent = [100..<106, 150..<174, 200..<202] as [Range<Int64>]
        let hourly = (0..<240).filter { hour in !silent.contains { $0.contains(hour) } }
        #expect(found(hourly, present: 240) == ["100+6", "150+24"])
        #expect(found(hourly, present: 245) == ["100+6", "150+24", "240+5, open"])
        let daily = (0..<480).filter { $0 % 24 < 16 } as [Int64]
        #expect(found(daily, present: 480).isEmpty)
        #expect(found(daily.filter { !(240..<264).contains($0) }, present: 480) == ["232+32"])
        // A stream begins with few records; a silence that goes on after its first four days counts.
        #expect(found([0, 20, 60] + (96..<400), present: 400).isEmpty)
        #expect(found([0, 20, 60] + (97..<400), present: 400) == ["61+36"])
        // A silence that still lasts is never of the beginning.
        #expect(found(Array(0..<24), present: 40) == ["24+16, open"])
        #expect(found([], present: 9).isEmpty && found([1], present: 90).isEmpty)
    }

    private func watch(_ yaml: String) throws -> Watch {
        let workspace = try TemporaryDirectory()
        try workspace.write(yaml, to: "watch.yaml")
        return try Watch(PipelineDirectory(workspace.path).watch())
    }

    /// Three seats: one goes on, one falls silent 30 hours before the end, one loses all of its last day.
    private func stores() throws -> SampleStores {
        let stores = SampleStores()
        var records: [SampleStores.Record] = []
        let hours = Self.weeks * 168
        for hour in 0..<hours {
            for (seat, wins, losses) in [
                ("north", 3, 1), ("south", hour < hours - 30 ? 5 : 0, 0),
                ("west", hour < hours - 24 ? 9 : 1, hour < hours - 24 ? 1 : 9),
            ] {
                for number in 0..<wins + losses {
                    let isWin = number < wins
                    records.append(
                        SampleStores.Record(
                            offset: Int64(records.count),
                            milliseconds: Self.start + Int64(hour) * Self.hour + Int64(number),
                            type: isWin ? "openrtb.win" : "openrtb.loss",
                            value:
                                #"{"auction_id":"\#(hour)","bid_id":"\#(number)","seat":"\#(seat)""#
                                + (isWin ? "}" : #","loss_reason":102}"#)))
                }
            }
        }
        try stores.foldBids(records, atOnce: 1000)
        return stores
    }

    @Test(
        "what fell silent and what left its band is told by its row, from the hour on in which it could be known"
    )
    func openWarnings() throws {
        let stores = try stores()
        let report = try stores.stores("data").watch(watch(Self.rules))
        #expect(
            report.open.map { "\($0.kind.rawValue) \($0.rule) \($0.seriesText)" } == [
                "silence seats seat=south", "rate loss_share seat=west",
            ])
        let end = Self.start + Int64(Self.weeks * 168) * Self.hour
        // The last hour has a record, and is not over.
        #expect(report.nowMilliseconds == end - Self.hour + 9)
        #expect(report.judgedCount == 6)
        // Two hours of silence, after hours that all spoke.
        #expect(report.open[0].openedMilliseconds == end - 28 * Self.hour)
        #expect(report.open[0].words == "silent for 29 h, usual gap 1 h")
        let opened = try #require(report.open[1].openedMilliseconds)
        #expect(((end - 24 * Self.hour)...(end - 20 * Self.hour)).contains(opened))
        #expect(report.open[1].words.hasPrefix("0.900000 (54 of 60 in 6 h), outside 0.0"))
        #expect(
            report.open[0].look
                == "weir dump bids --by hour --since \(UTC.text(milliseconds: end - 31 * Self.hour)) --where 'seat=south'"
        )
    }

    @Test(
        "a kept judgement is that of the stored rows, also after a late record and at the next hour"
    )
    func keptJudgements() throws {
        let stores = try stores()
        let kept = ReportCache()
        let end = Self.start + Int64(Self.weeks * 168) * Self.hour
        func open(_ cache: ReportCache?, _ rules: String, _ instant: Int64) throws -> [String] {
            let opened = try OpenStores(directories: [stores.directory("data")])
            if let cache { try opened.keepPages(cache) }
            let report = try opened.watch(watch(rules), nowMilliseconds: instant)
            return [report.summary] + report.all.rows.map { "\($0.map(\.plainText))" }
        }
        func compare(
            _ rules: String = Self.rules, _ kept: ReportCache = kept
        ) throws -> [[String]] {
            try [0, 1, 59, 60, 27 * 60].map { minutes in
                let instant = end - Self.hour + minutes * 60_000
                let plain = try open(nil, rules, instant)
                for _ in 0..<2 { #expect(try open(kept, rules, instant) == plain, "\(minutes)") }
                return plain
            }
        }
        let first = try compare()
        #expect(try compare(Self.rules.replacing("seats", with: "buyers")) != first)
        let count = try stores.stores("data").view(of: ["bids"]) { view in
            view.slices[0].partitions[0].nextOffset
        }
        // The silent seat wins 20 hours before the end.
        try stores.foldBids([
            SampleStores.Record(
                offset: count, milliseconds: end - 20 * Self.hour, type: "openrtb.win",
                value: #"{"auction_id":"late","bid_id":"1","seat":"south"}"#)
        ])
        #expect(try compare() != first)
        // A store that is restored in place has fewer hours, with the same records.
        let path = try OpenStores.path(of: "bids", in: stores.directory("data"))
        let old = try Data(contentsOf: URL(fileURLWithPath: path))
        try stores.foldBids([
            SampleStores.Record(
                offset: count + 1, milliseconds: end, type: "openrtb.win",
                value: #"{"auction_id":"next","bid_id":"1","seat":"south"}"#)
        ])
        let later = ReportCache()
        let withNext = try compare(Self.rules, later)
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try file.truncate(atOffset: 0)
        try file.write(contentsOf: old)
        try file.close()
        #expect(try compare(Self.rules, later) != withNext)
    }

    @Test("what is said of an instant is the same whatever came after it")
    func asOf() throws {
        let stores = try stores()
        let watch = try watch(Self.rules)
        let end = Self.start + Int64(Self.weeks * 168) * Self.hour
        func open(_ instant: Int64, with asOf: Bool) throws -> [String] {
            let hours = Hour(containing: instant).hoursSince1970 * Self.hour
            let opened = try OpenStores(
                directories: [stores.directory("data")],
                asOf: asOf ? AsOf(milliseconds: hours, hours: NoHours()) : nil)
            return try opened.watch(watch, nowMilliseconds: instant).open.map {
                "\($0.kind) \($0.seriesText) \($0.openedMilliseconds ?? 0) \($0.words)"
            }
        }
        for hours: Int64 in [27, 26, 24, 20, 12, 3, 1] {
            let instant = end - hours * Self.hour + 5
            #expect(try open(instant, with: true) == open(instant, with: false))
        }
        #expect(try open(end - 29 * Self.hour, with: true).isEmpty)
        #expect(try open(end - 28 * Self.hour, with: true).count == 1)
        // Nobody speaks any more: what comes after the newest record is silence too.
        #expect(try open(end + 3 * Self.hour, with: true).count >= 3)
    }

    @Test(
        "of too many rows the largest are judged, and the others are told: anybody may name what they like"
    )
    func manyRows() throws {
        let stores = SampleStores()
        let most = WatchedRows.mostRows
        try stores.foldBids(
            (0...most + 1).map { number in
                SampleStores.Record(
                    offset: Int64(number), milliseconds: Self.start, type: "openrtb.win",
                    value:
                        #"{"auction_id":"\#(number)","bid_id":"1","seat":"\#(min(number, most))"}"#)
            }, atOnce: 2000)
        let report = try stores.stores("data").watch(
            watch("silence: [{name: seats, dump: bids, by: [seat], measures: [wins]}]"),
            nowMilliseconds: Self.start + 30 * 24 * Self.hour)
        #expect(report.judgedCount == most && report.leftOut == ["seats": 1])
        #expect(report.summary.contains("the 1 smallest of seats not judged"))
    }

    @Test("a row that is known for less than four weeks is not judged, and counted as young")
    func young() throws {
        let stores = SampleStores()
        try stores.foldBids([
            SampleStores.Record(
                offset: 0, milliseconds: Self.start, type: "openrtb.win",
                value: #"{"auction_id":"1","bid_id":"1","seat":"north"}"#)
        ])
        let report = try stores.stores("data").watch(
            watch(Self.rules), nowMilliseconds: Self.start + 27 * 24 * Self.hour)
        #expect(report.warnings.isEmpty && report.judgedCount == 0 && report.youngCount == 2)
    }

    @Test("what was silent for two weeks is the new usual: the warning closes")
    func forgotten() {
        let counts = Array(repeating: Int64(5), count: 6 * 168) + Array(repeating: 0, count: 500)
        let warnings = SilenceWatch.warnings(of: counts)
        #expect(warnings.count == 1)
        #expect(warnings[0].opened == 6 * 168 + 1)
        #expect(warnings[0].closed == 6 * 168 + 1 + 336)
        // And a rate that changed for good is learned anew.
        let part = (0..<12 * 168).map { Int64($0 < 8 * 168 ? 2 : 8) }
        let rates = RateWatch.warnings(
            ofPart: part, whole: part.map { _ in 10 }, .share)
        #expect(rates.map(\.closed) == [rates[0].opened + 336])
    }

    @Test("one outage in the weeks that are learned does not make the next one usual")
    func outageBefore() {
        var counts = Array(repeating: Int64(5), count: 10 * 168)
        for hour in 7 * 168..<7 * 168 + 40 { counts[hour] = 0 }
        for hour in 9 * 168 + 9..<10 * 168 { counts[hour] = 0 }
        let warnings = SilenceWatch.warnings(of: counts)
        #expect(warnings.map(\.opened) == [7 * 168 + 1, 9 * 168 + 10])
        #expect(warnings.map(\.closed) == [7 * 168 + 40, nil])
    }

    @Test(
        "what a rate subtracts is no part of it, also where an hour has more of it than of the part"
    )
    func subtracted() throws {
        let stores = SampleStores()
        let hours = Self.weeks * 168
        var records: [SampleStores.Record] = []
        func add(_ type: String, _ hour: Int, _ number: Int, _ more: String) {
            records.append(
                SampleStores.Record(
                    offset: Int64(records.count),
                    milliseconds: Self.start + Int64(hour) * Self.hour + Int64(number), type: type,
                    value:
                        #"{"auction_id":"\#(hour)","bid_id":"\#(number)","seat":"north"\#(more)}"#))
        }
        for hour in 0..<hours {
            for number in 0..<10 { add("openrtb.win", hour, number, "") }
            // Every second hour has what is subtracted from the one before it. In the last day nothing is.
            let isLast = hour >= hours - 24
            for number in 0..<(hour % 2 == 0 ? 8 : 2) {
                add("openrtb.loss", hour, number, ",\"loss_reason\":1")
            }
            for number in 0..<(hour % 2 == 0 || isLast ? 0 : 8) {
                add("openrtb.billing", hour, number, ",\"price\":0")
            }
        }
        try stores.foldBids(records, atOnce: 2000)
        func warnings(_ part: String) throws -> [String] {
            try stores.stores("data").watch(
                watch("rates: [{name: r, dump: bids, by: [seat], part: \(part), per: [wins]}]")
            ).open.map(\.words)
        }
        #expect(try warnings("[losses]").isEmpty)
        let net = try warnings("{measures: [losses], less: [billed]}")
        #expect(net.count == 1)
        // Of 30 losses and no billing in six hours all count; before, 6 did.
        #expect(net.first?.hasPrefix("0.500000 (30 of 60 in 6 h), outside 0.0") == true, "\(net)")
    }

    @Test(
        "a budget is a warning where a step is reached before as much of its period is over, and when it is spent"
    )
    func budgets() throws {
        let stores = SampleStores()
        // Billed on 2026-10-10, at 12:00, for a thousand impressions.
        let noon = Self.start + (5 * 24 + 12) * Self.hour
        try stores.foldBids(
            (0..<100).map { number in
                SampleStores.Record(
                    offset: number, milliseconds: noon + number, type: "openrtb.billing",
                    value:
                        #"{"auction_id":"\#(number)","bid_id":"1","seat":"a","price":600,"currency":"EUR"}"#
                )
            })
        func words(_ amount: String, _ period: String) throws -> [String] {
            let watch = try watch(
                "budgets: [{name: b, cost: billed, currency: EUR, amount: \(amount), period: \(period)}]"
            )
            let opened = try stores.stores("data")
            return try opened.watch(watch, nowMilliseconds: noon + Self.hour).open.map(\.words)
        }
        // Reached at 50 %, when more than that of the day was over.
        #expect(try words("100", "day") == [])
        #expect(
            try words("85", "day") == [
                "70 % of EUR 85.00 per day is spent: EUR 60.00 after 54 % of the day"
            ])
        #expect(
            try words("60", "day") == [
                "100 % of EUR 60.00 per day is spent: EUR 60.00 after 54 % of the day"
            ])
        #expect(
            try words("100", "month") == [
                "50 % of EUR 100.00 per month is spent: EUR 60.00 after 30 % of the month"
            ])
        #expect(try words("130", "month") == [])
    }

    @Test("a rule that names what there is not is an error with its place and what there is")
    func badRules() throws {
        for (yaml, words) in [
            ("silence: [{name: a, dump: bid, measures: [bids]}]", "silence[0].dump: no dump 'bid'"),
            (
                "silence: [{name: a, dump: bids, by: [sea], measures: [bids]}]",
                "silence[0].by[0]: no column 'sea' in bids: did you mean seat? There are hour, day, seat"
            ),
            (
                "silence: [{name: a, dump: bids, by: [day], measures: [bids]}]",
                "silence[0].by[0]: does not identify rows that continue from hour to hour"
            ),
            (
                "silence: [{name: a, dump: bids, measures: [bits]}]",
                "silence[0].measures[0]: no measure 'bits'"
            ),
            (
                "rates: [{name: a, dump: bids, part: {measures: [wins], less: [won]}, per: [bids]}]",
                "rates[0].part.less[0]: no measure 'won'"
            ),
            (
                "silence: [{name: a, dump: costs, measures: [cost_micros]}]",
                "silence[0].dump: has no column hour"
            ),
            (
                "rates: [{name: a, dump: postbacks, where: {did_win: yes}, part: [null_values], of: [postbacks]}]",
                "rates[0].where.did_win: did_win is never 'yes': give true or false"
            ),
            (
                "budgets: [{name: a, cost: billed, where: {country: US}, currency: USD, amount: 1, period: day}]",
                "budgets[0].where.country: no column 'country' in bids"
            ),
        ] {
            #expect {
                _ = try watch(yaml)
            } throws: { error in
                "\(error)".contains("watch.yaml:1: \(words)")
            }
        }
    }
}

/// Whole hours need no log.
private struct NoHours: HourFolding {
    func rows(
        of stream: String, in snapshot: StoreSnapshot, partitions: [PartitionState], hour: Hour?,
        beforeMilliseconds milliseconds: Int64
    ) throws -> [PartialRow] { throw CocoaError(.featureUnsupported) }
}
