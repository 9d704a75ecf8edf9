import EventLog

/// What was shown on the demo's day: the overlays of the auctions that were won, a bidder's interstitials,
/// and Outbrain's recommendations under an article.
enum DemoImpressions {
    /// A win whose overlay was shown.
    struct Overlay {
        var auction: Int
        /// When the overlay appeared, in milliseconds since 1970.
        var presentedMilliseconds: Int64

        var impressionID: String { "imp-\(1000 + auction)" }
    }

    /// The wins whose device had an SDK that shows overlays.
    static var overlays: [Overlay] {
        DemoAuctions.wins.filter { $0 % 16 != 14 }.map { auction in
            Overlay(
                auction: auction,
                presentedMilliseconds: DemoAuctions.milliseconds(of: auction) + 3_000)
        }
    }

    /// The records of all formats, in order of time within each.
    static func records() -> [OutgoingRecord] {
        overlays.flatMap(overlayRecords) + interstitials() + outbrain() + broken()
    }

    private static func record(
        _ key: String, _ type: String, _ value: String?, at milliseconds: Int64
    ) -> OutgoingRecord {
        DemoRecords.record("impressions", key: key, type: type, value, at: milliseconds)
    }

    /// Every ninth overlay fails to appear; a report that was sent again counts once.
    private static func overlayRecords(of overlay: Overlay) -> [OutgoingRecord] {
        let id = overlay.impressionID
        let time = overlay.presentedMilliseconds
        let place =
            "\"impression_id\":\"\(id)\",\"zone_id\":\"zone-\(overlay.auction % 3)\",\"campaign\":"
            + DemoAuctions.campaign(overlay.auction)
        guard overlay.auction % 9 != 1 else {
            return [record(id, "skoverlay.failed", "{\(place),\"error\":20}", at: time)]
        }
        let presented = record(
            id, "skoverlay.presented",
            "{\(place),\"sdk_version\":\"3.1.2\",\"os_version\":\"17.5\"}", at: time)
        let dismissed = record(
            id, "skoverlay.dismissed",
            "{\(place),\"by\":\"\(overlay.auction % 2 == 0 ? "user" : "endcard")\"}",
            at: time + 9_000)
        let isRepeated = overlay.auction % 40 == 17
        return isRepeated ? [presented, presented, dismissed] : [presented, dismissed]
    }

    private static func interstitials() -> [OutgoingRecord] {
        (0..<4).flatMap { number in
            let id = "inapp-imp-\(number)"
            let time = DemoRecords.dayMilliseconds + Int64(number) * 21_600_000 + 500
            let loaded = record(
                id, "inapp.loaded",
                "{\"impression_id\":\"\(id)\",\"adapter\":\"Amazon\",\"ad_format\":\"interstitial\"}",
                at: time)
            let shown = record(
                id, "inapp.impression", "{\"impression_id\":\"\(id)\",\"adapter\":\"Amazon\"}",
                at: time + 4_000)
            // The last one was loaded and never shown.
            return number == 3 ? [loaded] : [loaded, shown]
        }
    }

    private static func outbrain() -> [OutgoingRecord] {
        let id = "4d1a8f0f7c2b4f55a9e9d8f2c0de0001"
        let time = DemoRecords.dayMilliseconds + 36_000_000
        let widget = "\"widget_id\":\"SDK_1\",\"widget_index\":0"
        return [
            record(
                id, "outbrain.recommendations",
                """
                {"request":{\(widget),"url":"https://news.example.com/articles/42"},"response":\
                {"response":{"request":{"req_id":"\(id)"},"documents":{"total_count":3,"count":3,\
                "doc":[{"pc_id":774120011,"pc_cmp_id":90120,"url":"https://paid.outbrain.com/r?p=1",\
                "disclosure":{"icon":"https://widgets.example.com/a.png",\
                "url":"https://choices.example.com"}},{"url":"https://traffic.example.com/r?p=2",\
                "orig_url":"https://news.example.com/articles/43"},\
                {"url":"https://traffic.example.com/r?p=3",\
                "orig_url":"https://news.example.com/articles/44"}]}}}}
                """, at: time),
            record(
                id, "outbrain.widget_viewed",
                "{\"request_id\":\"\(id)\",\(widget),\"elapsed_ms\":5200}", at: time + 5_200),
            // A second report names a listing that was seen before, and a new one.
            record(id, "outbrain.listings_viewed", listings([0, 1], of: id), at: time + 7_500),
            record(id, "outbrain.listings_viewed", listings([1, 2], of: id), at: time + 10_000),
        ]
    }

    private static func listings(_ positions: [Int], of id: String) -> String {
        let seen = positions.map { position in
            "{\"request_id\":\"\(id)\",\"position\":\"\(position)\",\"time_elapsed_ms\":6400}"
        }
        return """
            {"widget_id":"SDK_1","widget_index":0,"listings":[\(seen.joined(separator: ","))]}
            """
    }

    private static func broken() -> [OutgoingRecord] {
        let time = DemoRecords.dayMilliseconds + 60_000_000
        return [
            record(
                "broken-1", "skoverlay.dismissed",
                "{\"impression_id\":\"imp-x\",\"by\":\"nobody\"}", at: time),
            record("broken-2", "skoverlay.presented", "{\"zone_id\":\"zone-1\"}", at: time),
        ]
    }
}

/// What was tapped on the demo's day, and what only looks like it.
enum DemoClicks {
    /// Clicks on the overlays that were shown, on a recommendation, and on an interstitial.
    static func records() -> [OutgoingRecord] {
        let shown = DemoImpressions.overlays.filter { $0.auction % 9 != 1 }
        return shown.enumerated().compactMap { number, overlay in click(number, on: overlay) }
            + others()
    }

    private static func record(
        _ key: String, _ type: String, _ value: String?, at milliseconds: Int64
    ) -> OutgoingRecord {
        DemoRecords.record("overlay-clicks", key: key, type: type, value, at: milliseconds)
    }

    /// A click on every second overlay: most by people, some by the SDK itself when the overlay appears, one
    /// from an old SDK and one before its overlay was there.
    private static func click(
        _ number: Int, on overlay: DemoImpressions.Overlay
    ) -> OutgoingRecord? {
        guard number % 2 == 0 else { return nil }
        let presented = overlay.presentedMilliseconds
        let clicked = presented + (number == 8 ? -200 : 4_100)
        return record(
            overlay.impressionID, "skoverlay.click",
            """
            {"impression_id":"\(overlay.impressionID)","click_id":"click-\(overlay.auction)",\
            "initiated_by":"\(number % 6 == 4 ? "automatic" : "user")",\
            "sdk_version":"\(number == 12 ? "2.21.1" : "3.1.2")",\
            "zone_id":"zone-\(overlay.auction % 3)","overlay":{"present":1,"delay":3},\
            "presented_at_ms":\(presented),"clicked_at_ms":\(clicked),\
            "campaign":\(DemoAuctions.campaign(overlay.auction))}
            """, at: clicked)
    }

    private static func others() -> [OutgoingRecord] {
        let request = "4d1a8f0f7c2b4f55a9e9d8f2c0de0001"
        let time = DemoRecords.dayMilliseconds + 36_012_000
        return [
            record(
                request, "outbrain.click",
                """
                {"request_id":"\(request)","position":"0","widget_id":"SDK_1","widget_index":0,\
                "paid":true,"opened":true,"url":"https://paid.outbrain.com/r?p=1"}
                """, at: time),
            // The address was asked for ahead of a tap, which is no click.
            record(
                request, "outbrain.click",
                """
                {"request_id":"\(request)","position":"1","widget_id":"SDK_1","widget_index":0,\
                "paid":false,"opened":false,"url":"https://traffic.example.com/r?p=2"}
                """, at: time + 400),
            record(
                "inapp-imp-1", "inapp.click",
                "{\"impression_id\":\"inapp-imp-1\",\"adapter\":\"Amazon\"}", at: time + 9_000),
        ]
    }
}
