import Reports
import Streams
import TestKit
import Testing

@Suite("Signals of fraud")
struct FraudSignalsTests {
    private let stores = FunnelStores()

    /// A campaign of the network `net`, the publisher 7 and the app 1.
    private func row(_ more: [String: Any]) -> [String: Any] {
        ["ad_network_id": "net", "source_app_id": 7, "app_id": 1, "campaign": "5239"]
            .merging(more) { $1 }
    }

    private func signals(
        by columns: String? = nil, _ signal: String? = nil
    ) throws -> [[String]] {
        var query = ReportRequest(name: FraudSignals.name)
        if let columns { query.grouping = try .init(columns) }
        if let signal { query.conditions = [.init(column: "signal", value: signal)] }
        return try stores.sample.stores("data")
            .fraudSignals(query).table.rows
            .map { $0.map(\.plainText) }
    }

    @Test("a share has its counts and Wilson's interval, right for one case as for many")
    func intervals() throws {
        try stores.postbacks(
            row(["verdict": "invalid", "postbacks": 1]), row(["postbacks": 9]),
            row(["app_id": 2, "postbacks": 1]))
        #expect(
            try signals(by: "app_id", "invalid_postbacks").filter { $0[0] != "525463029" } == [
                ["1", "invalid_postbacks", "1", "10", "0.100000", "0.017876", "0.404150"],
                // Nothing was found, and that says little of one postback.
                ["2", "invalid_postbacks", "0", "1", "0.000000", "0.000000", "0.793451"],
            ])
    }

    @Test("clicks that an SDK made or that came before the ad are shares of all that came")
    func clicks() throws {
        try stores.store(
            "overlay-clicks", row(["clicks": 5, "automatic_clicks": 3, "early": 2]))
        #expect(
            try signals().filter { $0[3].hasSuffix("_clicks") }.map { $0.prefix(6) } == [
                ["net", "7", "1", "automatic_clicks", "3", "10"],
                ["net", "7", "1", "early_clicks", "2", "10"],
            ])
    }

    @Test(
        "an install is without an ad where none of its campaign was seen in the 30 days before it")
    func unseen() throws {
        try stores.postbacks(
            row([:]), row(["campaign": "39"]), row(["campaign": "1111"]),
            row(["campaign": "2222", "postbacks": 4]), row(["conversion_type": "redownload"]),
            row(["verdict": "invalid", "campaign": "1111"]))
        // Postbacks came at 2026-11-21T05: an ad of the day before may have led to 5239, which ends with 39, one of
        // October to nothing any more, and one of the hour of the postback is too late.
        try stores.store(
            "impressions", row(["hour": "2026-11-19T05:00:00Z", "presented": 1]),
            row(["hour": "2026-10-01T05:00:00Z", "campaign": "1111", "presented": 1]),
            row(["hour": "2026-11-21T05:00:00Z", "campaign": "2222", "presented": 1]))
        #expect(
            try signals(by: "ad_network_id", "installs_without_ad").map { $0.prefix(4) }
                .filter { $0[0] == "net" } == [["net", "installs_without_ad", "5", "7"]])
    }

    @Test("of a network whose ads nobody reports, installs without an ad are not known")
    func unknown() throws {
        try stores.postbacks(row([:]))
        try stores.store("impressions", row(["ad_network_id": "other", "presented": 1]))
        #expect(
            try signals(by: "ad_network_id", "installs_without_ad").filter { $0[0] == "net" }
                == [["net", "installs_without_ad", "", "", "", "", ""]])
    }

    @Test("repetitions are known of everything together alone")
    func replayed() throws {
        try stores.postbacks(row([:]))
        #expect(
            try signals(by: "total", "replayed_ids").first?.prefix(3) == ["replayed_ids", "0", "1"])
        #expect(
            try signals(by: "ad_network_id", "replayed_ids").allSatisfy { $0[2].isEmpty })
    }

    @Test("a signal that there is not names those that there are")
    func faults() {
        #expect(throws: InspectionError.self) { try signals(by: nil, "fraud") }
        #expect(throws: InspectionError.self) { try signals(by: "campaign") }
    }
}
