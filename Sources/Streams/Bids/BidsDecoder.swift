import JSON

struct BidsDecoder: EventDecoder, ~Copyable {
    private var idBuilder = RecordIDBuilder()
    private var auctions = AuctionDecoder()

    mutating func decode(
        _ value: JSONValue, _ kind: BidsEventType, symbols: inout SymbolTable
    ) throws(Rejection) -> (BidsEvent, RecordID) {
        idBuilder.begin()
        idBuilder.add(kind.name)
        let event: BidsEvent
        switch kind {
        case .auction:
            let decoded = try auctions.decode(value, symbols: &symbols)
            idBuilder.add(decoded.requestID)
            event = .auction(decoded.auction)
        case .win, .loss, .billing: event = .notice(try notice(value, kind, &symbols))
        case .inAppBid: event = .inAppBid(try offer(value, kind, &symbols))
        case .inAppBidderWon: event = .inAppBidderWon(try offer(value, kind, &symbols))
        }
        return (event, idBuilder.finish())
    }
}

extension BidsFold: ProducedStream {
    static func makeEventKeys() -> any EventKeying {
        EventKeys<BidsFold, BidsDecoder>()
    }

    static func key(
        of event: JSONValue, _ kind: BidsEventType, _ faults: inout FieldFaults
    ) -> [UInt8] {
        Array(
            kind == .auction
                ? faults.requiredID(event.member("request")?.member("id"), "request.id")
                : faults.requiredID(event, "auction_id"))
    }
}

// MARK: `openrtb.win`, `openrtb.loss` and `openrtb.billing`

extension BidsDecoder {
    private mutating func notice(
        _ value: JSONValue, _ type: BidsEventType, _ symbols: inout SymbolTable
    ) throws(Rejection) -> BidsEvent.Notice {
        var faults = FieldFaults()
        let seat =
            faults.optionalText(value, "seat") ?? UnsafeRawBufferPointer(start: nil, count: 0)
        let auctionID = faults.requiredID(value, "auction_id")
        let bidID = faults.requiredID(value, "bid_id")
        let currency = faults.optionalText(value, "currency")
        let version = faults.optionalText(value, "skan_version")
        let notice = BidsEvent.Notice(
            kind: Self.kind(of: value, type, &faults),
            seat: symbols.intern(seat),
            campaign: CampaignKey(of: value, symbols: &symbols, faults: &faults),
            skanVersion: version.map { symbols.intern($0) } ?? .empty,
            currency: currency.flatMap { $0.isEmpty ? nil : symbols.intern($0) }
                ?? symbols.intern("USD" as StaticString))
        if let rejection = faults.rejection { throw rejection }
        idBuilder.add(auctionID)
        idBuilder.add(seat)
        idBuilder.add(bidID)
        return notice
    }

    /// The price of a win or a loss is not validated: it is not counted, and exchanges encrypt it.
    private static func kind(
        of value: JSONValue, _ type: BidsEventType, _ faults: inout FieldFaults
    ) -> BidsEvent.Notice.Kind {
        switch type {
        case .loss:
            if value.member("loss_reason") == nil { _ = faults.missing("loss_reason") }
            return .loss(reason: faults.optionalInteger(value, "loss_reason") ?? 0)
        case .billing:
            if value.member("price") == nil { _ = faults.missing("price") }
            return .billing(priceMicros: faults.priceMicros(value.member("price"), "price") ?? 0)
        default: return .win
        }
    }
}

// MARK: `inapp.bid` and `inapp.bidder_won` (Smart AdServer's in-app bidding adapters)

extension BidsDecoder {
    private mutating func offer(
        _ value: JSONValue, _ type: BidsEventType, _ symbols: inout SymbolTable
    ) throws(Rejection) -> BidsEvent.InAppOffer {
        var faults = FieldFaults()
        let auctionID = faults.requiredID(value, "auction_id")
        let adapter = faults.requiredID(value, "adapter")
        let currency = faults.optionalText(value, "currency")
        var priceMicros: Int64?
        if type == .inAppBid {
            priceMicros = faults.priceMicros(value.member("price"), "price")
            Self.checkCompetition(value, currency: currency, &faults)
        }
        let offer = BidsEvent.InAppOffer(
            adapter: symbols.intern(adapter),
            campaign: CampaignKey(of: value, symbols: &symbols, faults: &faults),
            currency: currency.map { symbols.intern($0) } ?? .empty,
            priceMicros: priceMicros ?? 0)
        if let rejection = faults.rejection { throw rejection }
        idBuilder.add(auctionID)
        idBuilder.add(adapter)
        return offer
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
                faults.report(.outOfRange, "competition_type", "is neither price nor keyword")
            }
        }
        if let rendering = faults.optionalText(value, "rendering_type"),
            !["primary_sdk", "third_party", "mediation"].contains(where: {
                (word: StaticString) in rendering.equals(word)
            })
        {
            faults.report(
                .outOfRange, "rendering_type", "is not primary_sdk, third_party or mediation")
        }
    }
}
