import ConversionModels
import Foundation
import Reports
import Testing

@Suite("The funnel's days and maturity")
struct FunnelTimeTests {
    private let stores = FunnelStores()
    private static let hour = SampleStores.hour
    /// 2026-11-22T00:00:00Z, the end of the day of the rows.
    private static let dayEnd = SampleStores.noon + 12 * hour

    private func postback(_ more: [String: Any] = [:]) -> [String: Any] {
        ["ad_network_id": "net", "app_id": 1, "campaign": "1"].merging(more) { $1 }
    }

    /// A row of `install-cohorts` of one postback with revenue.
    private func cohort(_ day: String, _ more: [String: Any] = [:]) -> [String: Any] {
        postback(["day": day, "currency": "USD", "postbacks": 1, "revenue_max_micros": 1])
            .merging(more) { $1 }
    }

    @Test(
        "maturity is the share of the day's windows whose postbacks have come",
        arguments: [
            // 2 days and 36 hours
            (84 * hour - 1, "0.000000"), (84 * hour, "0.333333"),
            // 7 days and 84 hours
            (252 * hour - 1, "0.333333"), (252 * hour, "0.666667"),
            // 35 days and 84 hours
            (924 * hour - 1, "0.666667"), (924 * hour, "1.000000"),
        ])
    func windows(afterDayEnd: Int64, maturity: String) throws {
        try stores.postbacks(watermark: Self.dayEnd + afterDayEnd, postback())
        #expect(try stores.funnel().rows("maturity") == [[maturity]])
        #expect(try stores.funnel(by: "total").rows("maturity") == [[maturity]])
        // The last of them is the end of what can count on the day.
        #expect(
            try stores.funnel(date: .install).rows("day", "final_after")
                == [["2026-11-17", "2026-12-26T12:00:00Z"]])
    }

    @Test("up to 3.0 there is one window, of 36 hours; beside 4.0 there are four")
    func versions() throws {
        try stores.postbacks(
            watermark: Self.dayEnd + 36 * Self.hour, postback(["version": "3.0"]),
            postback(["campaign": "2", "version": "4.0"]),
            postback(["campaign": "3", "framework": "adattributionkit", "version": ""]))
        #expect(
            try stores.funnel(by: "campaign").rows("campaign", "maturity")
                == [["1", "1.000000"], ["2", "0.000000"], ["3", "0.000000"]])
        #expect(try stores.funnel(by: "total").rows("maturity") == [["0.250000"]])
        try stores.postbacks(watermark: Self.dayEnd + 36 * Self.hour - 1)
        #expect(try stores.funnel(where: [("campaign", "1")]).rows("maturity") == [["0.000000"]])
    }

    @Test("bids say what windows there will be; of unknown ones there are three")
    func bids() throws {
        try stores.bids(
            postback(["skan_version": "3.0", "bids": 1]),
            postback(["campaign": "2", "skan_version": "", "bids": 1]))
        try stores.postbacks(watermark: Self.dayEnd + 84 * Self.hour)
        #expect(try stores.funnel(by: "campaign").rows("maturity") == [["1.000000"], ["0.333333"]])
    }

    @Test("maturity of several days is over all their windows")
    func severalDays() throws {
        try stores.postbacks(
            watermark: Self.dayEnd + 84 * Self.hour, postback(),
            postback(["hour": "2026-11-22T01:00:00Z"]))
        #expect(try stores.funnel(by: "total").rows("maturity") == [["0.166667"]])
    }

    @Test("by install, a postback is put to the estimated day of its install")
    func installDays() throws {
        try stores.postbacks(
            postback(), postback(["sequence_index": 1]), postback(["sequence_index": 2]),
            postback(["version": "3.0"]))
        try stores.decoded("install-cohorts", cohort("2026-11-10", ["window": 1]))
        let funnel = try stores.funnel(by: "day", date: .install)
        #expect(
            funnel.rows("day", "postbacks", "install_earliest", "install_latest") == [
                // Index 2: 924 h before 2026-11-21T05; possible are 35 d + 144 h to 7 d + 24 h before it to 06.
                ["2026-10-13", "1", "2026-10-11T05:00:00Z", "2026-11-13T06:00:00Z"],
                // Index 1: 252 h; 7 d + 144 h to 2 d + 24 h.
                ["2026-11-10", "1", "2026-11-08T05:00:00Z", "2026-11-18T06:00:00Z"],
                // Index 0: 84 h; 96 h to 24 h.
                ["2026-11-17", "1", "2026-11-17T05:00:00Z", "2026-11-20T06:00:00Z"],
                // Up to 3.0: 36 h; a null value may hide timers that began anew.
                ["2026-11-19", "1", "", "2026-11-20T06:00:00Z"],
            ])
        #expect(funnel.rows("revenue_max_micros") == [[""], ["USD 0.000001"], [""], [""]])
        // A row has the time of the beginning of its day, and its revenue with it.
        let lastDay = Self.dayEnd - 72 * Self.hour
        #expect(
            try stores.funnel(by: "day", date: .install, since: lastDay + 1).rows("day").isEmpty)
        #expect(
            try stores.funnel(by: "day", date: .install, since: lastDay).rows("day")
                == [["2026-11-19"]])
        let ofRevenue = lastDay - 9 * 24 * Self.hour
        for (since, until, wanted) in [
            (ofRevenue, ofRevenue + 1, [["2026-11-10", "1", "USD 0.000001"]]),
            (ofRevenue + 1, ofRevenue + 24 * Self.hour, []),
        ] {
            #expect(
                try stores.funnel(by: "day", date: .install, since: since, until: until)
                    .rows("day", "postbacks", "revenue_max_micros") == wanted)
        }
    }

    @Test("a window that the recorded model locks ends there, for the day and for its maturity")
    func locks() throws {
        let model = try ConversionModel(
            app: 1,
            versions: [
                ConversionModelVersion(
                    id: "a", effectiveFromMilliseconds: 0, currency: "USD", fields: [],
                    lockHours: [0: 24, 1: 100])
            ])
        try stores.postbacks(
            watermark: Self.dayEnd, postback(), postback(["sequence_index": 1]),
            postback(["sequence_index": 2]), postback(["version": "3.0"]))
        try stores.decoded("install-cohorts", cohort("2026-11-13", ["window": 1]))
        try stores.record([model])
        let funnel = try stores.funnel(by: "day", date: .install)
        // 924, 184, 60 and 36 hours before 2026-11-21T05.
        #expect(
            funnel.rows("day", "revenue_max_micros") == [
                ["2026-10-13", ""], ["2026-11-13", "USD 0.000001"], ["2026-11-18", ""],
                ["2026-11-19", ""],
            ])
        try stores.postbacks(watermark: Self.dayEnd + 184 * Self.hour - 1)
        let day = [("day", "2026-11-21")]
        #expect(try stores.funnel(by: "day", where: day).rows("maturity") == [["0.500000"]])
        try stores.postbacks(watermark: Self.dayEnd + 184 * Self.hour)
        #expect(try stores.funnel(by: "day", where: day).rows("maturity") == [["0.750000"]])
    }

    @Test("up to 3.0 the earliest install is known when every value is 0")
    func earliest() throws {
        let old = ["version": "3.0", "postbacks": 2] as [String: Any]
        try stores.postbacks(postback(old))
        try stores.decoded(
            "conversion-values",
            postback([
                "framework": "skadnetwork", "version": "3.0", "conversion_type": "download",
                "did_win": 1, "verdict": "valid", "kind": "fine", "value": "0", "postbacks": 1,
            ]))
        func earliest() throws -> [[String]] {
            try stores.funnel(date: .install).rows("install_earliest")
        }
        #expect(try earliest() == [[""]])
        try stores.sample.change(
            "UPDATE conversion_values_sums SET postbacks = 2", stream: "postbacks")
        #expect(try earliest() == [["2026-11-19T05:00:00Z"]])
    }

    @Test("the value 0 in one partition says nothing of another")
    func earliestOverPartitions() throws {
        try stores.postbacks(
            postback(["version": "3.0"]), postback(["version": "3.0", "partition": 1]))
        try stores.sample.change(
            "INSERT INTO partitions VALUES (1, 0, 0, 1, 0, 0, 0, 0, 0, 0, '')", stream: "postbacks")
        try stores.decoded(
            "conversion-values",
            postback([
                "framework": "skadnetwork", "version": "3.0", "conversion_type": "download",
                "did_win": 1, "verdict": "valid", "kind": "fine", "value": "0", "postbacks": 1,
            ]))
        let rows = try stores.funnel(date: .install).rows("installs", "install_earliest")
        #expect(rows == [["2", ""]])
    }

    @Test("in whichever directories the partitions of a log lie, the funnel is the same")
    func directories() throws {
        try stores.setCatalog(
            """
            campaigns:
              - {name: old, network: net, app: 1, campaign_id: 39}
              - {name: new, network: net, app: 1, source_identifier: "39"}
            """)
        try stores.postbacks(
            postback(["campaign": "39", "version": "3.0", "conversion_type": "re-engagement"]),
            postback(["campaign": "39", "partition": 1]))
        let revenue = cohort("2026-11-17", ["campaign": "39"])
        try stores.decoded("install-cohorts", revenue, revenue.merging(["partition": 1]) { $1 })
        try stores.sample.change(
            "INSERT INTO partitions VALUES (1, 0, 0, 1, 0, 0, 0, 0, 0, 0, '')", stream: "postbacks")
        func lines(_ directories: String...) throws -> [String] {
            try stores.funnel(date: .install, directories: directories).lines
        }
        let together = try lines("data")
        for partition in [0, 1] {
            let name = "part-\(partition)"
            try FileManager.default.createDirectory(
                atPath: stores.sample.directory(name), withIntermediateDirectories: true)
            try FileManager.default.copyItem(
                atPath: try OpenStores.path(of: "postbacks", in: stores.sample.directory("data")),
                toPath: try OpenStores.path(of: "postbacks", in: stores.sample.directory(name)))
            try stores.sample.change(
                ["partitions", "slots", "hours"].map { table in
                    "DELETE FROM \(table) WHERE partition <> \(partition)"
                }.joined(separator: ";"), stream: "postbacks", in: name)
        }
        #expect(try lines("part-0", "part-1") == together)
        #expect(try lines("part-1", "part-0") == together)
        #expect(together.count > 1)
    }

    @Test("by install, revenue is of the days that have installs, whatever came in the same hour")
    func revenueOfOthers() throws {
        try stores.postbacks(postback(), postback(["conversion_type": "re-engagement"]))
        // Both were decoded in one hour; only the first of them has an install.
        try stores.decoded(
            "decoded-events", postback(["currency": "USD", "revenue_max_micros": 5]))
        try stores.decoded(
            "install-cohorts", cohort("2026-11-17", ["revenue_max_micros": 2]),
            cohort("", ["revenue_max_micros": 3]),
            // No postback of these has a value: there is no revenue in this currency.
            cohort("2026-11-17", ["currency": "EUR", "null_values": 1, "revenue_max_micros": 0]))
        #expect(
            try stores.funnel(by: "day", date: .install).rows("day", "revenue_max_micros")
                == [["", "USD 0.000003"], ["2026-11-17", "USD 0.000002"]])
        #expect(
            try stores.funnel(by: "total", date: .install, since: 0).rows("revenue_max_micros")
                == [["USD 0.000002"]])
    }

    @Test("what has no install has no day, and is in no stretch of time")
    func noInstall() throws {
        try stores.postbacks(
            postback(["conversion_type": "re-engagement"]),
            postback(["campaign": "2", "verdict": "development"]))
        try stores.decoded("install-cohorts", cohort(""))
        let funnel = try stores.funnel(by: "day,campaign", date: .install, trustsDevelopment: true)
        #expect(
            funnel.rows("day", "campaign", "revenue_max_micros", "maturity", "install_latest")
                == [["", "1", "USD 0.000001", "", ""], ["", "2", "", "", ""]])
        #expect(
            try stores.funnel(date: .install, since: 0, trustsDevelopment: true).rows("day").isEmpty
        )
    }
}
