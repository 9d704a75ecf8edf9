import EventLog
import Foundation
import History
import Reports
import Streams
import TestKit
import Testing

@testable import Dashboard
@testable import weir

/// Data of two campaigns. Everything of the other one carries a marker: texts have `marker`, numbers `777000777`.
private enum MarkedStores {
    static let own = "5240"
    static let app = 525_463_029
    static let markers = ["zzmarker", "777000777"]

    nonisolated(unsafe) static let shared = Result { () -> Workspace in
        let workspace = try Workspace()
        let notifications = try SampleNotifications()
        try configure(workspace, notifications)
        try publish(workspace, notifications)
        for stream in allStreams {
            try workspace.fold(stream.streamName, workspace.options())
        }
        return workspace
    }

    private static func configure(
        _ workspace: Workspace, _ notifications: SampleNotifications
    ) throws {
        for stream in ["costs", "conversion-updates", "impressions", "overlay-clicks"] {
            try workspace.write("\(stream).yaml", "batch_records: 100\n")
        }
        try workspace.configurePostbacks()
        for stream in allStreams { try workspace.publish(stream.streamName, []) }
        try workspace.write(
            "catalog.yaml",
            """
            networks: {own.example: Own, zzmarker.example: zzmarker network}
            apps:
              \(app): {name: Own app, bundle_id: com.own.app}
              777000777: zzmarker app
            campaigns:
              - {name: Own campaign, network: own.example, app: \(app), source_identifier: "\(own)"}
              - {name: zzmarker campaign, network: zzmarker.example, app: 777000777, source_identifier: "7770", media_source: zzmarker_media, partner: zzmarker-partner}

            """)
        try workspace.write(
            "partners/zzmarker.yaml",
            "name: zzmarker\ntrust: [valid]\ndelivery: {url: \"https://zzmarker.example.com/p\"}\n")
        try workspace.write("roots/test.pem", notifications.chain.rootPEM)
        // The marked bundle has no app_apple_id: the funnel leaves its notifications out.
        try workspace.write(
            "store-notifications.yaml",
            """
            batch_records: 100
            roots: [roots/test.pem]
            apps:
              - {bundle_id: com.own.app, app_apple_id: \(app), shared_secrets: ["secret"]}
              - {bundle_id: com.zzmarker.app, shared_secrets: ["secret"]}

            """)
    }

    private static func campaign(_ isOwn: Bool) -> String {
        isOwn
            ? #"{"ad_network_id":"own.example","source_identifier":"\#(own)","app_id":\#(app),"source_app_id":880047117}"#
            : #"{"ad_network_id":"zzmarker.example","source_identifier":"7770","app_id":777000777,"source_app_id":777000777}"#
    }

    private static func publish(
        _ workspace: Workspace, _ notifications: SampleNotifications
    ) throws {
        for isOwn in [true, false] {
            let (word, number) = isOwn ? ("own", "\(app)") : ("zzmarker", "777000777")
            let id = isOwn ? own : "7770"
            func record(_ topic: String, _ type: String?, _ value: String) throws {
                try workspace.publish(
                    topic, [Samples.record(topic, value, key: word, type: type, partition: 0)])
            }
            let notice =
                "\"auction_id\":\"a-\(word)\",\"bid_id\":\"b\",\"seat\":\"\(word)\",\"currency\":\"USD\",\"skan_version\":\"4.0\",\"campaign\":\(campaign(isOwn))"
            try record(
                "bids", "openrtb.auction",
                """
                {"request":{"id":"\(word)","app":{"bundle":"\(isOwn ? "880047117" : number)"},"imp":[{"id":"1","ext":\
                {"skadn":{"versions":["4.0"],"sourceapp":"1"}}}]},"response":{"cur":"USD","seatbid":[{"seat":"\(word)",\
                "bid":[{"id":"b","impid":"1","price":1.5,"ext":{"skadn":{"version":"4.0","network":"\(word).example",\
                "sourceidentifier":"\(id)","itunesitem":"\(number)","sourceapp":"\(number)"}}}]}]}}
                """)
            try record("bids", "openrtb.win", "{\(notice)}")
            try record("bids", "openrtb.billing", "{\(notice),\"price\":1.5}")
            try record("bids", "openrtb.loss", "{\(notice),\"loss_reason\":102}")
            // The same id with other values, and what is no bid at all.
            try record(
                "bids", "openrtb.billing", "{\(notice.replacing("USD", with: "EUR")),\"price\":2}")
            try record("bids", "\(word).nonsense", "{}")
            try record("bids", "openrtb.win", "{\"auction_id\":5,\"\(word)\":1}")
            try record(
                "impressions", "skoverlay.presented",
                "{\"impression_id\":\"\(word)\",\"zone_id\":\"\(word)\",\"campaign\":\(campaign(isOwn))}"
            )
            try record(
                "overlay-clicks", "skoverlay.click",
                """
                {"impression_id":"\(word)","click_id":"\(word)","initiated_by":"user","sdk_version":"3.1.2",\
                "zone_id":"\(word)","overlay":{"present":1,"delay":3},"presented_at_ms":1,"clicked_at_ms":2,\
                "campaign":\(campaign(isOwn))}
                """)
            try record(
                "costs", nil,
                "{\"source\":\"\(word)\",\"day\":\"2026-11-19\",\"campaign\":\(campaign(isOwn)),\"currency\":\"USD\",\"amount\":150}"
            )
            try publishPostbacks(workspace, word: word, app: number, id: id)
            try record(
                "store-notifications", SampleNotifications.typeV1,
                """
                {"notification_type":"CANCEL","environment":"PROD","password":"secret","bid":"com.\(word).app",\
                "original_transaction_id":"\(word)","unified_receipt":{"latest_receipt_info":[{"transaction_id":\
                "\(word)","original_transaction_id":"\(word)","product_id":"\(word)","purchase_date_ms":"1",\
                "cancellation_date_ms":"2"}]}}
                """)
        }
    }

    private static func publishPostbacks(
        _ workspace: Workspace, word: String, app: String, id: String
    ) throws {
        func publish(_ value: String) throws {
            try workspace.publish(
                "postbacks", [Samples.record("postbacks", value, key: word, partition: 0)])
        }
        let network = "\(word).example"
        let signature = try Samples.key.signature(over: [
            "4.0", network, id, app, word, "false", "1", "true", "0",
        ])
        func postback(_ value: Int, _ signature: String) -> String {
            """
            {"version":"4.0","ad-network-id":"\(network)","source-identifier":"\(id)","app-id":\(app),\
            "transaction-id":"\(word)","redownload":false,"fidelity-type":1,"did-win":true,\
            "postback-sequence-index":0,"conversion-value":\(value),"attribution-signature":"\(signature)"}
            """
        }
        try publish(postback(4, signature))
        try publish(postback(7, signature))
        try publish(postback(4, "MEUCIQ=="))
        try publish("{\"\(word)\":1}")
    }
}

@Suite("What a reader of some rows sees", .timeLimit(.minutes(10)))
struct DashboardScopeTests {
    private func asker(_ scope: [ReportRequest.Condition]) throws -> PageAsker {
        let workspace = try MarkedStores.shared.get()
        return PageAsker(
            source: try Installation.parse([
                "--data", "\(workspace.path)/data", "--log", workspace.logAddress.description,
                "--pipelines", workspace.pipelines,
            ]), scope: scope)
    }

    /// Everything that can be asked, in the ways in which pages ask.
    ///
    /// - Parameter everyMeasure: else one of each dump is explained and proved.
    private func addresses(everyMeasure: Bool) -> [String] {
        PageRoute.all.flatMap { route -> [String] in
            let path = route.path
            switch route {
            case .page(.live): return [path, "\(path)?topic=bids", "\(path)?refused=1"]
            case .page: return [path, "\(path)?period=all"]
            case .single(.campaign):
                return ["\(path)?campaign=\(MarkedStores.own)", "\(path)?campaign=7770&period=all"]
            case .single(.record): return ["\(path)?topic=bids&partition=0&offset=7"]
            case .single: return [path]
            case .ofDump(let kind, let name, _):
                let columns = (try? requireReport(name).columnNames) ?? []
                switch kind {
                case .dump:
                    return [path, "\(path)?by=\(columns.joined(separator: ","))"]
                        + columns.map { "\(path)?by=\($0)" }
                case .changes: return ["\(path)?from=2026-11-01"]
                case .explain, .evidence:
                    let measures = measures(of: name)
                    return [path]
                        + measures.suffix(everyMeasure ? .max : 1).map { "\(path)?measure=\($0)" }
                }
            }
        }
    }

    private func measures(of name: String) -> [String] {
        name == Funnel.name
            ? Funnel.measureNames : (try? DumpDescription.named(name).measures) ?? []
    }

    @Test(
        "is theirs: no page, file, notice or error has a word of another campaign or app",
        arguments: [
            ("campaign", MarkedStores.own), ("app_id", "\(MarkedStores.app)"),
            ("ad_network_id", "own.example"),
        ])
    func marked(_ column: String, _ value: String) throws {
        let asker = try asker([ReportRequest.Condition(column: column, value: value)])
        var answered = 0
        // The records of all measures of a dump are selected by the same conditions.
        for address in addresses(everyMeasure: column == "campaign") {
            let page = try asker.page(address)
            if page.status == 200 { answered += 1 }
            for marker in MarkedStores.markers where page.text.contains(marker) {
                let range = page.text.range(of: marker).map { range in
                    String(page.text[..<range.lowerBound].suffix(200))
                }
                Issue.record("\(address) (\(page.status)) shows \(marker): \(range ?? "")")
            }
        }
        #expect(answered > 100)
    }

    @Test("the marker is there: who may see everything sees it on each page of rows")
    func everything() throws {
        let asker = try asker([])
        for path in ["/campaigns", "/postbacks", "/records", "/live", "/partners"] {
            let page = try asker.page("\(path)?period=all")
            #expect(page.status == 200 && page.text.contains("zzmarker"), "\(path)")
        }
        let funnel = try asker.page("/dump/funnel?by=day")
        #expect(funnel.text.contains("Notifications of com.zzmarker.app are not counted"))
        #expect(try asker.page("/dump/rejected.csv?by=type,detail").text.contains("zzmarker"))
    }

    @Test("what fails in the files of everybody is not quoted to who sees a part")
    func errors() throws {
        let workspace = try Workspace()
        try workspace.publishAuctions("a")
        try workspace.foldBids()
        try workspace.write("catalog.yaml", "networks: {zzmarker.example: [zzmarker]}\n")
        let options = try Installation.parse([
            "--data", "\(workspace.path)/data", "--log", workspace.logAddress.description,
            "--pipelines",
            workspace.pipelines,
        ])
        let scope = [ReportRequest.Condition(column: "campaign", value: "1")]
        for address in [
            "/dump/funnel?by=day", "/dump/funnel.csv?by=day", "/explain/funnel?measure=bids",
        ] {
            let part = try PageAsker(source: options, scope: scope).page(address)
            #expect(!part.text.contains("zzmarker") && part.text.contains("cannot be shown now"))
            #expect(try PageAsker(source: options).page(address).text.contains("catalog.yaml"))
        }
    }
}
