import Streams

extension DemoMarket {
    private static let zones = [
        ("rewarded-forecast", weight: 50), ("interstitial-radar", weight: 30),
        ("rewarded-alert", weight: 20),
    ]
    private static let devices = [
        ("iPhone14,5", "17.6"), ("iPhone15,2", "18.1"), ("iPhone15,4", "18.5"),
        ("iPhone16,1", "26.0"),
        ("iPhone17,3", "26.1"), ("iPad13,18", "18.5"),
    ]

    /// An auction that a campaign wins, what becomes of its ad, and now and then auctions without a winner.
    mutating func sell(
        _ campaign: DemoCampaign, at instant: Int64, _ random: inout SeededGenerator
    ) throws {
        while random.happens(1 - 1 / assumptions.auctionsPerWin) {
            try hold(
                at: instant - Int64(random.below(600_000)),
                [Bid(campaign, price: campaign.cpm * random.between(0.1, 0.2))]
                    .filter { _ in random.happens(0.55) }, isSold: false, &random)
        }
        let price = campaign.cpm * random.between(0.8, 1.2)
        var bids = [Bid(campaign, price: price)]
        let rivals = assumptions.campaigns.filter {
            assumptions.networks[$0.network].seat != nil && $0.network != campaign.network
        }
        if random.happens(0.45), !rivals.isEmpty {
            let rival = rivals[random.below(rivals.count)]
            bids.append(Bid(rival, price: price * random.between(0.45, 0.97)))
        }
        try hold(at: instant, bids, isSold: true, &random)
    }

    private struct Bid {
        var campaign: DemoCampaign
        /// Cents for a thousand ads.
        var cents: Int64

        init(_ campaign: DemoCampaign, price: Double) {
            self.campaign = campaign
            cents = Int64(price * 100)
        }

        var price: String { "\(cents / 100).\(cents % 100 < 10 ? "0" : "")\(cents % 100)" }
    }

    private mutating func hold(
        at instant: Int64, _ bids: [Bid], isSold: Bool, _ random: inout SeededGenerator
    ) throws {
        let auction = random.uuid()
        let zone = random.pick(Self.zones)
        let (model, system) = Self.devices[random.below(Self.devices.count)]
        let publisher = assumptions.publisher
        let ids = assumptions.networks.map { "\"\($0.id)\"" }.joined(separator: ",")
        var seats: [String] = []
        var notices: [(type: String, bid: Int, extra: String)] = []
        for (index, bid) in bids.enumerated() {
            let network = assumptions.networks[bid.campaign.network]
            let version = network.versions[0].version
            seats.append(
                """
                {"seat":"\(network.seat ?? "")","bid":[{"id":"\(index + 1)","impid":"1","price":\(bid.price),\
                "crid":"cr-\(bid.campaign.source)","adomain":["example.com"],\
                "bundle":"\(assumptions.app(of: bid.campaign).id)","ext":{"skadn":\
                \(try skadn(bid.campaign, version: version, at: instant, &random))}}]}
                """)
            if !isSold {
                notices.append(("openrtb.loss", index, ",\"loss_reason\":100"))
            } else if index > 0 {
                notices.append(("openrtb.loss", index, ",\"loss_reason\":102"))
            } else {
                notices.append(("openrtb.win", index, ""))
                if random.happens(assumptions.billedShare) {
                    notices.append(("openrtb.billing", index, ""))
                }
            }
        }
        let response =
            bids.isEmpty
            ? ""
            : ",\"response\":{\"id\":\"\(auction)\",\"cur\":\"USD\",\"seatbid\":[\(seats.joined(separator: ","))]}"
        calendar.add(
            "bids", "openrtb.auction", at: instant, id: auction, source: "/exchanges/driftwood",
            key: auction,
            """
            {"request":{"id":"\(auction)","at":1,"tmax":250,"cur":["USD"],"imp":[{"id":"1","instl":1,"secure":1,\
            "bidfloor":\(assumptions.floorPrice),"bidfloorcur":"USD","tagid":"\(zone)","displaymanager":"HyBid",\
            "displaymanagerver":"3.2.1","ext":{"skadn":{"versions":["2.2","3.0","4.0"],\
            "sourceapp":"\(publisher.id)","skadnetids":[\(ids)],"skoverlay":1}}}],\
            "app":{"name":"\(publisher.name)","bundle":"\(publisher.id)","cat":["IAB15-10"]},\
            "device":{"os":"iOS","osv":"\(system)","make":"Apple","model":"\(model)"}}\(response)}
            """)
        for (type, index, extra) in notices {
            let bid = bids[index]
            let seat = assumptions.networks[bid.campaign.network].seat ?? ""
            let at = instant + (type == "openrtb.billing" ? 1900 : 240)
            calendar.add(
                "bids", type, at: at, id: "\(auction)/\(seat)/\(index + 1)/\(type.dropFirst(8))",
                source: "/exchanges/driftwood", key: auction,
                """
                {"auction_id":"\(auction)","bid_id":"\(index + 1)","seat":"\(seat)","currency":"USD",\
                "price":\(bid.price),"skan_version":"\(assumptions.networks[bid.campaign.network].versions[0].version)",\
                "campaign":\(key(of: bid.campaign))\(extra)}
                """)
        }
        if isSold { try show(bids[0].campaign, at: instant + 2100, zone: zone, &random) }
    }

    /// The campaign key of Weir's own events.
    private func key(of campaign: DemoCampaign) -> String {
        let network = assumptions.networks[campaign.network]
        let name =
            network.versions[0].version == "4.0"
            ? "\"source_identifier\":\"\(campaign.source)\"" : "\"campaign_id\":\(campaign.id)"
        return """
            {"ad_network_id":"\(network.id)",\(name),"app_id":\(assumptions.app(of: campaign).id),\
            "source_app_id":\(assumptions.publisher.id)}
            """
    }

    private func skadn(
        _ campaign: DemoCampaign, version: String, at instant: Int64,
        _ random: inout SeededGenerator
    ) throws -> String {
        let network = assumptions.networks[campaign.network]
        let item = assumptions.app(of: campaign).id
        let nonce = random.uuid()
        let name = version == "4.0" ? campaign.source : "\(campaign.id)"
        let fields = [
            version, network.id, name, "\(item)", nonce, "\(assumptions.publisher.id)", "1",
            "\(instant)",
        ]
        let key = network.signsAds ? demo.keys.network : demo.keys.attribution
        return """
            {"version":"\(version)","network":"\(network.id)",\
            \(version == "4.0" ? "\"sourceidentifier\"" : "\"campaign\""):"\(name)","itunesitem":"\(item)",\
            "sourceapp":"\(assumptions.publisher.id)","fidelities":[{"fidelity":1,"nonce":"\(nonce)",\
            "timestamp":"\(instant)","signature":"\(try DemoKeys.signature(key, over: fields))"}],\
            "skoverlay":{"present":1,"click":1,"delay":2}}
            """
    }

    /// The overlay of an ad that was won, taps on it, and the installs that follow.
    private mutating func show(
        _ campaign: DemoCampaign, at instant: Int64, zone: String, _ random: inout SeededGenerator
    ) throws {
        let impression = random.uuid()
        let campaignKey = key(of: campaign)
        func event(_ members: String) -> String {
            "{\"impression_id\":\"\(impression)\",\"zone_id\":\"\(zone)\",\"sdk_version\":\"3.2.1\",\(members)"
                + "\"campaign\":\(campaignKey)}"
        }
        guard random.happens(assumptions.presentedShare) else {
            calendar.add(
                "impressions", "skoverlay.failed", at: instant, id: "\(impression)/failed",
                source: "/sdk/driftwood", key: impression, event("\"error\":14,"))
            return
        }
        calendar.add(
            "impressions", "skoverlay.presented", at: instant, id: "\(impression)/presented",
            source: "/sdk/driftwood", key: impression, event(""))
        if random.happens(assumptions.dismissedShare) {
            calendar.add(
                "impressions", "skoverlay.dismissed",
                at: instant + Int64(4000 + random.below(20_000)),
                id: "\(impression)/dismissed", source: "/sdk/driftwood", key: impression,
                event("\"by\":\"user\","))
        }
        if random.happens(campaign.ctr) {
            let isAutomatic = random.happens(campaign.automaticClicks)
            // Some automatic taps are reported from before the overlay was there.
            let isEarly = isAutomatic && random.happens(0.12)
            let click =
                instant + (isEarly ? -300 : Int64(isAutomatic ? 15 : 1200 + random.below(9000)))
            calendar.add(
                "overlay-clicks", "skoverlay.click", at: max(click, instant) + 40,
                id: "\(impression)/click",
                source: "/sdk/driftwood", key: impression,
                event(
                    """
                    "click_id":"\(random.uuid())","initiated_by":"\(isAutomatic ? "automatic" : "user")",\
                    "overlay":{"present":1,"click":1},"presented_at_ms":\(instant),"clicked_at_ms":\(click),
                    """))
        }
        let ads = assumptions.presentedShare * assumptions.billedShare
        if random.happens(campaign.cpm / 1000 / campaign.cpi / ads) {
            try addInstall(
                of: campaign, at: instant + Int64(40_000 + random.below(5_400_000)),
                sourceApp: assumptions.publisher.id, &random)
        }
    }
}
