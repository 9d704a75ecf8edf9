import Streams

extension DemoMarket {
    /// Once a week each: what producers and attackers send in production too. And once, near the end, the postbacks that
    /// Apple signed.
    mutating func addFaults(on day: Int, _ midnight: Int64, _ random: inout SeededGenerator) throws
    {
        let noon = midnight + 12 * DemoTime.hour
        if day == max(0, demo.days - 6) {
            for (index, postback) in DemoApplePostbacks.all.enumerated() {
                calendar.add(
                    "postbacks", postback.type, at: noon + Int64(index) * 60_000, id: postback.id,
                    source: "/devices", key: postback.id, postback.value)
            }
        }
        guard day % 7 == 3 else { return }
        calendar.add(
            "bids", "openrtb.auction", at: noon, id: random.uuid(), source: "/exchanges/driftwood",
            key: "truncated", "{\"request\":{\"id\":\"truncated\",\"imp\":[")
        calendar.add(
            "impressions", "skoverlay.presented", at: noon + 1000, id: random.uuid(),
            source: "/sdk/driftwood", key: "none", "{\"zone_id\":\"rewarded-forecast\"}")
        try addPostbackFaults(at: noon + 2000, &random)
        let transaction = DemoTransaction(
            app: assumptions.game, id: nextTransaction(), original: nextTransaction(),
            product: "gems_100",
            country: "US", price: 99_990, purchasedAt: noon, firstPurchasedAt: noon)
        try notify("ONE_TIME_CHARGE", of: transaction, at: noon + 3000, isForged: true, &random)
    }

    /// A value out of range, a copy with another value, and a forged signature.
    private mutating func addPostbackFaults(
        at instant: Int64, _ random: inout SeededGenerator
    ) throws {
        guard let campaign = assumptions.campaigns.first(where: { $0.network == 2 }) else { return }
        var postback = DemoPostback(
            version: "4.0", network: assumptions.networks[campaign.network].id,
            app: assumptions.app(of: campaign).id, campaign: campaign)
        postback.source = campaign.source
        for (offset, fine, isForged) in [(0, 77, false), (1, 7, false), (2, 5, true)] {
            let id = random.uuid()
            postback.fine = fine
            var value = try postback.value(id: id, keys: demo.keys, isRelayed: false)
            if isForged {
                value = value.replacing(
                    "\"postback-sequence-index\":0", with: "\"postback-sequence-index\":2")
            }
            let at = instant + Int64(offset) * 1000
            calendar.add(
                "postbacks", postback.type, at: at, id: id, source: "/devices", key: id, value)
            guard offset == 1 else { continue }
            calendar.add(
                "postbacks", postback.type, at: at + 500, id: id, source: "/devices", key: id,
                value.replacing("\"conversion-value\":7", with: "\"conversion-value\":12"))
        }
    }
}
