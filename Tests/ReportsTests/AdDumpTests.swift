import Reports
import Streams
import Testing

@Suite("Dumps of impressions and clicks")
struct AdDumpTests {
    private func record(_ offset: Int64, _ type: String, _ value: String) -> SampleStores.Record {
        SampleStores.Record(offset: offset, type: type, value: value)
    }

    private var impressions: [SampleStores.Record] {
        [
            record(0, "skoverlay.presented", #"{"impression_id":"a","zone_id":"z"}"#),
            record(1, "skadn.impression", #"{"impression_id":"a","fidelity":1}"#),
            record(
                2, "outbrain.listings_viewed",
                """
                {"widget_id":"w","widget_index":0,"listings":[{"request_id":"r","position":0,\
                "time_elapsed_ms":1},{"request_id":"r","position":1,"time_elapsed_ms":1}]}
                """), record(3, "skoverlay.presented", #"{"impression_id":"a","zone_id":"z"}"#),
        ]
    }

    private let click = """
        {"request_id":"r","position":0,"widget_id":"w","widget_index":0,"paid":true,"url":"x"}
        """

    @Test("columns and measures are those that were promised, in their order")
    func columns() throws {
        let columns = [
            "hour", "day", "format", "placement", "ad_network_id", "campaign", "app_id",
            "source_app_id", "catalog_campaign",
        ]
        let seen = try DumpDescription.named("impressions")
        #expect(seen.columns.map(\.name) == columns)
        #expect(
            seen.measures == [
                "presented", "dismissed", "failed", "fidelity_view", "fidelity_storekit",
                "received", "paid", "organic", "rtb", "widget_views", "viewed", "stale", "loaded",
                "handovers", "test",
            ])
        let clicks = try DumpDescription.named("overlay-clicks")
        #expect(clicks.columns.map(\.name) == columns)
        #expect(
            clicks.measures == [
                "clicks", "user_clicks", "paid_clicks", "organic_clicks", "altered_urls",
                "automatic_clicks", "early", "not_presented", "unsupported_sdk", "untracked",
                "test",
            ])
    }

    @Test("what was folded is dumped, by any column")
    func rows() throws {
        let stores = SampleStores()
        try stores.fold(ImpressionsFold.self, impressions)
        try stores.fold(OverlayClicksFold.self, [record(0, "outbrain.click", click)])
        var query = ReportRequest(name: "impressions")
        query.grouping = .columns(["format", "placement"])
        let lines = try stores.stores("data").lines(query)
        #expect(lines.count == 3)
        #expect(lines[0].hasPrefix(#"{"format":"outbrain","placement":"w#0","#))
        #expect(lines[0].contains(#""viewed":2"#))
        #expect(
            lines[1].contains(#""presented":1"#) && lines[1].contains(#""fidelity_storekit":1"#))
        let clicks = try stores.stores("data").lines(ReportRequest(name: "overlay-clicks"))
        #expect(clicks.count == 1)
        #expect(clicks[0].contains(#""altered_urls":1"#))
    }

    @Test("the digest depends on both streams, and not on the batches")
    func digests() throws {
        let one = SampleStores()
        try one.fold(ImpressionsFold.self, impressions, atOnce: 1)
        let other = SampleStores()
        try other.fold(ImpressionsFold.self, impressions, atOnce: 100)
        let without = try one.stores("data").digest()
        #expect(try other.stores("data").digest() == without)
        try other.fold(OverlayClicksFold.self, [record(0, "outbrain.click", click)])
        let with = try other.stores("data").digest()
        #expect(with != without)
        // The id of a listing that was seen again is part of it, even when no sum is.
        let more = SampleStores()
        try more.fold(ImpressionsFold.self, Array(impressions[..<3]))
        #expect(try more.stores("data").digest() != without)
    }
}
