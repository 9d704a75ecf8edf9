import EventLog

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
