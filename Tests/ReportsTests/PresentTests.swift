import ConfigurationFiles
import ConfigurationValues
import Foundation
import Store
import Streams
import TestKit
import Testing

@testable import Reports

/// Records whose time is wrong, and streams of which nothing comes.
@Suite("The present of reports and warnings")
struct PresentTests {
    private let stores = SampleStores()
    private static let hour = SampleStores.hour
    /// 2026-11-21T14:30:00Z.
    private static let now = SampleStores.noon + 5 * hour / 2

    private func win(
        _ offset: Int64, at milliseconds: Int64, partition: Int32 = 0
    ) -> SampleStores.Record {
        SampleStores.Record(
            partition: partition, offset: offset, milliseconds: milliseconds, type: "openrtb.win",
            value: #"{"auction_id":"\#(partition)-\#(offset)","bid_id":"1","seat":"north"}"#)
    }

    private func opened(at milliseconds: Int64? = now) throws -> OpenStores {
        try OpenStores(
            directories: [stores.directory("data")],
            present: milliseconds.map { Present(milliseconds: $0) })
    }

    private func watch(
        _ yaml: String = "silence: [{name: seats, dump: bids, by: [seat], measures: [wins]}]"
    ) throws -> Watch {
        let workspace = try TemporaryDirectory()
        try workspace.write(yaml, to: "watch.yaml")
        return try Watch(PipelineDirectory(workspace.path).watch())
    }

    @Test("a record is dated ahead of the clock from more than five minutes on")
    func tolerance() {
        let present = Present(milliseconds: Self.now)
        #expect(!present.isAhead(Self.now) && !present.isAhead(Self.now + 300_000))
        #expect(present.isAhead(Self.now + 300_001) && present.isAhead(.max))
        #expect(!Present(milliseconds: .max).isAhead(.max))
    }

    @Test("the newest record is one that is not dated ahead of the clock")
    func newest() throws {
        try stores.foldBids([
            win(0, at: SampleStores.noon + 5), win(1, at: 1_900_000_000_000),
            win(0, at: SampleStores.noon - Self.hour, partition: 1),
        ])
        // Of its partition, the hour of the newest other record is known.
        #expect(try opened().newestMilliseconds(of: "bids") == SampleStores.noon)
        #expect(try opened(at: nil).newestMilliseconds(of: "bids") == 1_900_000_000_000)
        let ahead = try opened().withSlices(of: ["bids"]) { slices in
            try slices.reduce(0) { $0 + (try $1.aheadCount()) }
        }
        #expect(ahead == 1)
        try stores.foldBids([win(1, at: Self.now + 1000, partition: 1)])
        // A clock that differs by a second moves nothing beyond the present.
        #expect(try opened().newestMilliseconds(of: "bids") == Self.now)
    }

    @Test("a record that is dated ahead closes no window: maturity and curves are as without it")
    func maturity() throws {
        try stores.foldPostbacks([.postback(0)])
        var query = ReportRequest(name: "postbacks", grouping: .columns(["day"]))
        query.maturity = true
        func texts() throws -> [String] {
            [
                try opened().dump(query).withMaturity(forPeople: false).text(as: .csv),
                try opened().curves(
                    ReportRequest(name: "install-cohorts", grouping: .columns(["cohort"]))
                ).text(as: .csv),
            ]
        }
        let before = try texts()
        var ahead = SampleStores.Record.losingPostback(1)
        ahead.milliseconds = 1_900_000_000_000
        try stores.foldPostbacks([ahead])
        query.untilMilliseconds = Self.now
        let after = try texts()
        #expect(before[0].contains(",0.000000,") && after[0] == before[0])
        #expect(after[1] == before[1])
        // Without a clock the record of 2030 closes all windows.
        #expect(
            try OpenStores(directories: [stores.directory("data")]).dump(query).withMaturity(
                forPeople: false
            )
            .text(as: .csv) != before[0])
    }

    @Test("a stream of which nothing comes is a warning, also when no row is known for four weeks")
    func outage() throws {
        // Three days, a record an hour.
        let records = (0..<72).map { win($0, at: SampleStores.noon + $0 * Self.hour) }
        try stores.foldBids(records)
        let last = SampleStores.noon + 71 * Self.hour
        func open(_ hours: Int64) throws -> [WatchWarning] {
            try opened(at: last + hours * Self.hour).watch(watch()).open
        }
        // Hours that are over: the present one may still get a record.
        #expect(try open(24).isEmpty)
        let warnings = try open(25)
        #expect(warnings.map(\.seriesText) == ["topic=bids"])
        let warning = try #require(warnings.first)
        #expect(warning.kind == .silence && warning.rule == "streams")
        #expect(warning.openedMilliseconds == last + 25 * Self.hour)
        #expect(
            warning.words
                == "no records since 2026-11-24T11:00:00Z: silent for 24 h, usual gap less than 1 h"
        )
        // An outage of everything is never usual.
        #expect(try open(24 * 400).map(\.seriesText) == ["topic=bids"])
        // A record ends it.
        try stores.foldBids([win(72, at: last + 30 * Self.hour)])
        #expect(try open(31).isEmpty)
    }

    @Test("a stream that comes once a day is silent after one and a half of its usual gaps")
    func daily() throws {
        try stores.foldBids(
            (0..<10).map { win($0, at: SampleStores.noon + $0 * 24 * Self.hour) })
        let last = SampleStores.noon + 9 * 24 * Self.hour
        func isSilent(_ hours: Int64) throws -> Bool {
            try !opened(at: last + hours * Self.hour).watch(watch()).open.isEmpty
        }
        #expect(try !isSilent(35) && isSilent(36))
    }

    @Test("a record that is dated ahead hides no outage, and silences no warning")
    func aheadHidesNothing() throws {
        let records = (0..<72).map { win($0, at: SampleStores.noon + $0 * Self.hour) }
        try stores.foldBids(records + [win(72, at: 1_900_000_000_000)])
        let now = SampleStores.noon + (71 + 30) * Self.hour
        let report = try opened(at: now).watch(watch())
        #expect(report.nowMilliseconds == now)
        #expect(report.open.map(\.seriesText) == ["topic=bids"])
        #expect(
            report.open.first?.words.hasPrefix(
                "no records since 2026-11-24T11:00:00Z: silent for 29 h")
                == true)
    }

    @Test("streams that no rule of silence looks at are not judged")
    func unwatched() throws {
        try stores.foldBids((0..<72).map { win($0, at: SampleStores.noon + $0 * Self.hour) })
        let rates = """
            rates: [{name: losses, dump: bids, by: [seat], part: [losses], of: [wins, losses]}]
            """
        let report = try opened(at: SampleStores.noon + 400 * Self.hour).watch(watch(rates))
        #expect(report.warnings.isEmpty)
    }
}
