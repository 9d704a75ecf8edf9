import Reports
import Streams
import TestKit
import Testing

@Suite("Names in dumps")
struct NamesTests {
    private let stores = FunnelStores()

    private func lines(_ name: String, by: String) throws -> [String] {
        let dump = try stores.sample.stores("data").dump(
            ReportRequest(name: name, grouping: ReportRequest.Grouping(by)))
        let text = dump.named(by: stores.catalog, appsByBundle: [:]).text(as: .csv)
        return text.split(separator: "\r\n").map(String.init)
    }

    private func setCatalog() throws {
        try stores.setCatalog(
            """
            networks: {Net: Network}
            apps: {1: App}
            campaigns:
              - {name: one, network: net, app: 1, campaign_id: 39, media_source: video, partner: Agency}
              - {name: two, network: net, app: 1, source_identifier: "5239"}
              - {name: three, network: net, app: 1, source_identifier: "1140"}
              - {name: four, network: net, app: 1, source_identifier: "2240"}
            """)
    }

    @Test(
        "names stand behind the columns, before the measures, and are found by suffix and version")
    func postbacks() throws {
        try setCatalog()
        try stores.postbacks(
            ["ad_network_id": "net", "app_id": 1, "campaign": "39"],
            ["ad_network_id": "net", "app_id": 1, "campaign": "39", "version": "3.0"],
            ["ad_network_id": "net", "app_id": 1, "campaign": "40"],
            ["ad_network_id": "other", "app_id": 1, "campaign": "39"])
        #expect(
            try lines("postbacks", by: "framework,version,ad_network_id,campaign,app_id,did_win")
                .filter { !$0.contains("example123") } == [
                    "framework,version,ad_network_id,campaign,app_id,did_win,network,app,name,"
                        + "media_source,partner,postbacks,null_values",
                    "skadnetwork,3.0,net,39,1,true,Network,App,one,video,Agency,1,0",
                    "skadnetwork,4.0,net,39,1,true,Network,App,two,,,1,0",
                    "skadnetwork,4.0,net,40,1,true,Network,App,? of 2,,,1,0",
                    "skadnetwork,4.0,other,39,1,true,,App,,,,1,0",
                ])
        #expect(
            try lines("postbacks", by: "ad_network_id,campaign,app_id")
                .contains("net,39,1,Network,App,? of 2,,,2,0"), "either id")
    }

    @Test("an id is looked up as what it was in the records, whichever columns are shown")
    func hiddenKinds() throws {
        try setCatalog()
        func event(_ campaign: String, isIdentifier: Int) -> [String: Any] {
            [
                "ad_network_id": "net", "app_id": 1, "campaign": campaign, "event": "sale",
                "has_source_identifier": isIdentifier, "count_max": 1,
            ]
        }
        let by = "ad_network_id,campaign,app_id"
        func names() throws -> [String] {
            try lines("decoded-events", by: by).dropFirst().map { line in
                line.split(separator: ",", omittingEmptySubsequences: false)[5].description
            }
        }
        try stores.decoded("decoded-events", event("39", isIdentifier: 0))
        #expect(try names() == ["one"])
        try stores.decoded("decoded-events", event("39", isIdentifier: 1))
        #expect(try names() == ["? of 2"])
        // No identifier is 5239's campaign id, and none ends with 38.
        try stores.decoded(
            "decoded-events", event("5239", isIdentifier: 0), event("240", isIdentifier: 1),
            event("38", isIdentifier: 1))
        #expect(try names() == ["four", "", "? of 2", ""])
        try stores.postbacks(["ad_network_id": "net", "app_id": 1, "campaign": "39"])
        #expect(try lines("postbacks", by: by).contains("net,39,1,Network,App,two,,,1,0"))
    }

    @Test("what tells rows apart in the store is shown only when it is asked for")
    func hiddenColumn() throws {
        let event: [String: Any] = [
            "ad_network_id": "net", "app_id": 1, "campaign": "39", "event": "sale", "count_max": 1,
        ]
        try stores.decoded(
            "decoded-events", event, event.merging(["has_source_identifier": 0]) { $1 })
        let all = try stores.sample.stores("data").lines(ReportRequest(name: "decoded-events"))
        #expect(all.count == 1)
        #expect(all.first?.contains("has_source_identifier") == false)
        #expect(all.first?.contains(#""count_max":2,"#) == true)
        #expect(
            try lines("decoded-events", by: "event,has_source_identifier").map { $0.prefix(10) }
                == ["event,has_", "sale,false", "sale,true,"])
    }

    @Test("only names whose columns are shown are there")
    func shownColumns() throws {
        try setCatalog()
        try stores.bids(["ad_network_id": "net", "app_id": 1, "campaign": "5239", "bids": 1])
        func header(_ by: String) throws -> String {
            try lines("bids", by: by)[0].replacing(/,auctions.*/, with: "")
        }
        #expect(try header("seat") == "seat")
        #expect(try header("app_id") == "app_id,app")
        #expect(try header("campaign,ad_network_id") == "ad_network_id,campaign,network")
        #expect(try lines("outcomes", by: "topic")[0].hasPrefix("topic,accepted"))
    }
}
