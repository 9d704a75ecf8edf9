/// Distinct clicks similar to those of SDKs: of ten, seven on overlays, two on Outbrain's recommendations and one on an
/// in-app bidder's ad; thirty zones and forty campaigns in twelve apps.
struct SampleClicks: SampleRecords {
    var choices = SampleChoices()

    mutating func next() -> (type: String?, value: String) {
        let id = choices.nextID()
        // Each zone belongs to one app.
        let zone = 1700 + choices.random(below: 30)
        let campaign = """
            "campaign":{"ad_network_id":"su67r6k2v3.skadnetwork","source_identifier":\
            "\(5200 + choices.random(below: 40))","app_id":525463029,\
            "source_app_id":\(880_047_100 + zone % 12)}
            """
        switch choices.random(below: 10) {
        case 0...6:
            let initiator = choices.random(below: 8) == 0 ? "automatic" : "user"
            return (
                "skoverlay.click",
                """
                {"impression_id":"\(id)","click_id":"c-\(id)","initiated_by":"\(initiator)",\
                "sdk_version":"3.1.0","zone_id":"\(zone)",\
                "overlay":{"present":1,"click":1,"delay":3,"dismissible":1,"pos":1},\
                "presented_at_ms":1795237414020,"clicked_at_ms":1795237418100,\(campaign)}
                """
            )
        case 7, 8:
            return (
                "outbrain.click",
                """
                {"request_id":"\(id)","position":"0","widget_id":"SDK_\(zone % 6)",\
                "widget_index":0,"paid":true,"opened":true,\
                "url":"https://paid.outbrain.com/network/redir?p=abc",\(campaign)}
                """
            )
        default:
            return (
                "inapp.click", "{\"impression_id\":\"\(id)\",\"adapter\":\"amazon\",\(campaign)}"
            )
        }
    }
}
