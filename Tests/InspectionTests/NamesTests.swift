import Inspection
import Streams
import Testing

@Suite("Names in dumps")
struct NamesTests {
    private let stores = FunnelStores()

    private func lines(_ name: String, by: String) throws -> [String] {
        let dump = try stores.sample.stores("data").dump(
            DumpQuery(name: name, grouping: DumpQuery.Grouping(by)))
        var text = ""
        dump.named(by: stores.catalog, appsByBundle: [:]).write(as: .csv) {
            (piece) throws(Never) in text += String(decoding: piece, as: UTF8.self)
        }
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
