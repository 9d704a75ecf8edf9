import ConversionModels
import Signatures
import Streams
import TestKit
import Testing

@Suite("Cohorts of installs")
struct InstallCohortTests {
    private static let day: Int64 = 86_400_000
    private static let hour: Int64 = 3_600_000

    private func fold(
        _ records: [TestRecord], trustsDevelopment: Bool = false, model: ConversionModel? = nil,
        batching: Batching = .together
    ) throws -> FoldResult {
        let result = try foldPostbacks(
            records, batching,
            PostbackPipeline(
                trustsDevelopment: trustsDevelopment, models: [model ?? Models.model()]))
        #expect(result.refused.isEmpty, "\(result.refused)")
        return result
    }

    private func cohorts(
        _ records: [TestRecord], trustsDevelopment: Bool = false, model: ConversionModel? = nil
    ) throws -> Set<Row> {
        try fold(records, trustsDevelopment: trustsDevelopment, model: model)
            .rows("install-cohorts")
    }

    /// Revenue bucket 2 and the event 2, received on 2026-11-21.
    private let postback = Postbacks.v40.with(["conversion-value": 18])

    private func row(_ cohort: String, _ measures: Row, currency: String = "EUR") -> Row {
        let row: Row = [
            "cohort": .text(cohort), "ad_network_id": "net.skadnetwork", "campaign": "0239",
            "app_id": 22, "source_app_id": 11, "currency": .text(currency), "postbacks": 1,
        ]
        return row.merging(measures) { $1 }.filter { !$0.value.isDefault }
    }

    @Test("a postback counts on the estimated day of its install, by window, with what it is worth")
    func windows() throws {
        let revenue: Row = ["revenue_min_micros": 5_490_000, "revenue_max_micros": 11_000_000]
        for (index, cohort, installs) in [
            (0, "2026-11-17", 1), (1, "2026-11-10", 0), (2, "2026-10-13", 0),
        ] as [(Int64, String, Int64)] {
            let record = try Postbacks.record(
                postback.with(["postback-sequence-index": .raw("\(index)")]))
            let measures: Row = ["window": .integer(index), "installs": .integer(installs)]
            #expect(
                try cohorts([record]) == [row(cohort, revenue.merging(measures) { $1 })])
        }
    }

    @Test("a day begins at midnight of the instant 84 hours before, at either end of it")
    func days() throws {
        let noon = TestRecord.halfPastFive + 6 * Self.hour + 1_800_000
        for (received, cohort) in [
            (noon, "2026-11-18"), (noon - 1, "2026-11-17"),
            (noon + Self.day - 1, "2026-11-18"), (0, "1969-12-28"), (-1, "1969-12-28"),
            (.max, "292278994-08-13"),
        ] as [(Int64, String)] {
            let record = try Postbacks.record(postback).at(received)
            #expect(try cohorts([record]).compactMap { $0["cohort"] } == [.text(cohort)])
        }
    }

    @Test("up to 3.0 it is 36 hours before the arrival, and no lock changes that")
    func upTo3() throws {
        let noon = TestRecord.halfPastFive + 6 * Self.hour + 1_800_000
        let locked = try Models.model(locks: [0: 24])
        for (received, cohort) in [(noon, "2026-11-20"), (noon - 1, "2026-11-19")] {
            let record = try Postbacks.record(Postbacks.v30).at(received)
            #expect(try cohorts([record], model: locked).map { $0["cohort"] } == [.text(cohort)])
        }
    }

    @Test("a window that the version in effect at the latest setting locks ends at the lock")
    func locks() throws {
        func cohort(_ index: Int64, _ model: ConversionModel, at received: Int64) throws -> Int64 {
            let record = try Postbacks.record(
                postback.with(["postback-sequence-index": .raw("\(index)")])
            ).at(received)
            let found = try cohorts([record], model: model).compactMap { row -> Int64? in
                guard case .text(let day)? = row["cohort"] else { return nil }
                return UTC.milliseconds(text: day)
            }
            return try #require(found.first)
        }
        let midnight = TestRecord.halfPastFive - 5 * Self.hour - 1_800_000
        let locked = try Models.model(locks: [0: 24, 1: 100, 2: 839])
        for (index, delay) in [(0, 24 + 36), (1, 100 + 84), (2, 839 + 84)] as [(Int64, Int64)] {
            let received = midnight + delay * Self.hour
            #expect(try cohort(index, locked, at: received) == midnight)
            #expect(try cohort(index, locked, at: received - 1) == midnight - Self.day)
        }
        // The version that decodes decides: that of 24 hours before the arrival.
        let changing = try ConversionModel(
            app: Models.app,
            versions: [
                Models.version("v1", from: 0),
                Models.version("v2", from: midnight, locks: [0: 24]),
            ])
        let change = midnight + 24 * Self.hour
        #expect(try cohort(0, changing, at: change - 1) == midnight - 3 * Self.day)
        #expect(try cohort(0, changing, at: change) == midnight - 2 * Self.day)
    }

    @Test(
        "all postbacks of an install are of one cohort: half a day beside the first window's, two and a half beside the others'",
        arguments: [[:], [0: 12, 1: 60, 2: 400]] as [[Int: Int]])
    func oneCohort(_ locks: [Int: Int]) throws {
        var generator = SeededGenerator(seed: 41)
        let model = try Models.model(locks: locks)
        // Hours from the install: to the end of the window, and from there to the sending of its postback.
        let ends: [Int64] = [48, 168, 840]
        let sending: [ClosedRange<Int64>] = [24...48, 24...144, 24...144]
        var records: [TestRecord] = []
        var installs: [[Int64]] = [[], [], []]
        for install in 0..<40 {
            let time =
                TestRecord.halfPastFive + Int64.random(in: 0..<30 * Self.day, using: &generator)
            for index in 0...2 {
                let end = locks[index].map { Int64($0) } ?? ends[index]
                let range = sending[index]
                let wait = Int64.random(
                    in: range.lowerBound * Self.hour...range.upperBound * Self.hour,
                    using: &generator)
                let received = time + end * Self.hour + wait
                let document = postback.with([
                    "postback-sequence-index": .raw("\(index)"),
                    "transaction-id": .string("t-\(install)"),
                    "source-identifier": .string("\(1000 + install)"),
                ])
                records.append(try Postbacks.record(document).at(received))
                installs[index].append(time)
            }
        }
        let rows = try cohorts(records, model: model)
        #expect(rows.count == records.count)
        var offsets: [Int: [Int64]] = [:]
        for row in rows {
            guard case .text(let day)? = row["cohort"], let begin = UTC.milliseconds(text: day),
                case .text(let campaign)? = row["campaign"], let install = Int(campaign)
            else {
                Issue.record("no cohort in \(row)")
                continue
            }
            let index =
                if case .integer(let window)? = row["window"] { Int(window) } else { 0 }
            let time = installs[index][install - 1000]
            let tolerance = (index == 0 ? 12 : 60) * Self.hour
            let range = (time - tolerance)...(time + tolerance)
            #expect(range.overlaps(begin...begin + Self.day - 1), "\(index): \(day) of \(time)")
            offsets[index, default: []].append(begin + Self.day / 2 - time)
        }
        // The cohorts are beside the days of the installs, and not later than these.
        for (index, offsets) in offsets {
            let mean = offsets.reduce(0, +) / Int64(offsets.count)
            #expect(abs(mean) < 14 * Self.hour, "\(index): \(mean / Self.hour) hours")
        }
    }

    @Test("without an install window there is no cohort")
    func noWindow() throws {
        let development = try Postbacks.record(postback, by: .development)
        #expect(try cohorts([development]).isEmpty)
        let rows = try cohorts([development], trustsDevelopment: true)
        #expect(rows.count == 1)
        #expect(rows.first?["cohort"] == nil)
        #expect(rows.first?["installs"] == 1)
        let claims = Postbacks.claims.with(["conversion-type": "re-engagement"])
        let engaged = try cohorts([try Postbacks.record(claims: claims)])
        #expect(engaged.count == 1)
        #expect(engaged.first?["cohort"] == nil)
        #expect(engaged.first?["installs"] == nil)
    }

    @Test("only trusted, winning postbacks count, and only downloads are installs")
    func scope() throws {
        #expect(try cohorts([try Postbacks.record(postback, by: .stranger)]).isEmpty)
        #expect(try cohorts([try Postbacks.record(postback.with(["did-win": false]))]).isEmpty)
        #expect(try cohorts([TestRecord(postback.with(["version": "9.9"]))]).isEmpty)
        let again = try cohorts([try Postbacks.record(postback.with(["redownload": true]))])
        #expect(again.first?["installs"] == nil)
        #expect(again.first?["postbacks"] == 1)
    }

    @Test("a postback without a value is null, in the row of those that have one")
    func nullValues() throws {
        let null = try Postbacks.record(postback.with(["conversion-value": nil]))
        #expect(
            try cohorts([null]) == [row("2026-11-17", ["installs": 1, "null_values": 1])])
        let coarse = try Postbacks.record(
            postback.with(["conversion-value": nil, "coarse-conversion-value": "low"]))
        #expect(try cohorts([coarse]) == [row("2026-11-17", ["installs": 1])])
        // Without a value, the version in effect at the latest setting gives the currency, also where no install is known.
        let engaged = try Postbacks.record(
            claims: Postbacks.claims.with(["conversion-type": "re-engagement"]), unsigned: [:])
        let rows = try cohorts([engaged])
        #expect(rows.map { $0["currency"] } == ["EUR"] && rows.map { $0["cohort"] } == [nil])
        let early = try Models.model(from: Models.latest + Self.hour)
        #expect(try cohorts([null], model: early).map { $0["currency"] } == [nil])
        let unmodelled = try Postbacks.record(postback.with(["app-id": 23]))
        #expect(
            try cohorts([unmodelled])
                == [row("2026-11-17", ["installs": 1, "app_id": 23], currency: "")])
    }

    @Test("a better copy is accepted and counts anew, as everywhere; others count nothing")
    func copies() throws {
        let better = try Postbacks.record(postback)
        let weaker = try Postbacks.record(postback, by: .development)
        for batching in [Batching.together, .sizes([1])] {
            func sum(_ records: [TestRecord]) throws -> (Int64, Int64) {
                let result = try fold(records, trustsDevelopment: true, batching: batching)
                return (
                    result.sum("install-cohorts", "installs"),
                    result.sum("postbacks", "postbacks")
                )
            }
            #expect(try sum([better, weaker, better]) == (1, 1))
            #expect(try sum([weaker, better]) == (2, 2))
        }
        // Where development is not trusted only the better one counts.
        #expect(try cohorts([weaker, better]).map { $0["installs"] } == [1])
    }
}
