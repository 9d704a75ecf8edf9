/// Distinct impressions similar to those of SDKs: of ten, six of overlays, two of SKAdNetwork, one of an in-app bidder
/// and one of Outbrain's listings; thirty zones and forty campaigns in twelve apps.
struct SampleImpressions: SampleRecords {
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
        case 0...3:
            return (
                "skoverlay.presented",
                """
                {"impression_id":"\(id)","zone_id":"\(zone)","sdk_version":"3.1.0",\
                "os_version":"17.5.1",\(campaign)}
                """
            )
        case 4, 5:
            return (
                "skoverlay.dismissed",
                "{\"impression_id\":\"\(id)\",\"zone_id\":\"\(zone)\",\"by\":\"user\",\(campaign)}"
            )
        case 6, 7:
            return (
                "skadn.impression",
                "{\"impression_id\":\"\(id)\",\"fidelity\":\(zone % 2),\(campaign)}"
            )
        case 8:
            return (
                "inapp.impression",
                "{\"impression_id\":\"\(id)\",\"adapter\":\"amazon\",\(campaign)}"
            )
        default: return ("outbrain.listings_viewed", listings(of: id))
        }
    }

    private mutating func listings(of request: String) -> String {
        let listings = (0..<3).map { position in
            """
            {"request_id":"\(request)","position":"\(position)",\
            "time_elapsed_ms":\(1000 + choices.random(below: 9000))}
            """
        }
        return """
            {"widget_id":"SDK_\(choices.random(below: 6))","widget_index":0,\
            "listings":[\(listings.joined(separator: ","))]}
            """
    }
}
