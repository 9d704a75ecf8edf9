import JSON

/// Decodes `inapp.bid` and `inapp.bidder_won` (Smart AdServer's in-app bidding adapters).
enum InAppOfferDecoder {
    /// What tells one offer from another.
    struct Identity {
        var auctionID: UnsafeRawBufferPointer
        var adapter: UnsafeRawBufferPointer
    }

    static func decode(
        _ value: JSONValue, type: BidsEventType, symbols: inout SymbolTable
    ) throws(Rejection) -> (offer: BidsEvent.InAppOffer, identity: Identity) {
        var faults = FieldFaults()
        let identity = Identity(
            auctionID: faults.requiredID(value, "auction_id"),
            adapter: faults.requiredID(value, "adapter"))
        let currency = faults.optionalText(value, "currency")
        var priceMicros: Int64?
        if type == .inAppBid {
            priceMicros = faults.optionalPriceMicros(value, "price")
            checkCompetition(value, currency: currency, &faults)
        }
        let offer = BidsEvent.InAppOffer(
            adapter: symbols.intern(identity.adapter),
            campaign: CampaignKey(of: value, symbols: &symbols, faults: &faults),
            currency: currency.map { symbols.intern($0) } ?? .empty,
            priceMicros: priceMicros ?? 0)
        if let rejection = faults.rejection { throw rejection }
        return (offer, identity)
    }

    private static func checkCompetition(
        _ value: JSONValue, currency: UnsafeRawBufferPointer?, _ faults: inout FieldFaults
    ) {
        let keyword = faults.optionalText(value, "keyword")
        let competition = faults.requiredID(value, "competition_type")
        if !competition.isEmpty {
            if competition.equals("price") {
                if value.member("price") == nil { _ = faults.missing("price") }
                if value.member("currency") == nil || currency?.isEmpty == true {
                    _ = faults.missing("currency")
                }
            } else if competition.equals("keyword") {
                if value.member("keyword") == nil || keyword?.isEmpty == true {
                    _ = faults.missing("keyword")
                }
            } else {
                faults.note(.outOfRange, "competition_type", "is neither price nor keyword")
            }
        }
        if let rendering = faults.optionalText(value, "rendering_type"),
            !["primary_sdk", "third_party", "mediation"].contains(where: {
                (word: StaticString) in rendering.equals(word)
            })
        {
            faults.note(
                .outOfRange, "rendering_type", "is not primary_sdk, third_party or mediation")
        }
    }
}
