import JSON

/// Decodes `openrtb.win`, `openrtb.loss` and `openrtb.billing`.
enum NoticeDecoder {
    /// What tells one notice from another.
    struct Identity {
        var auctionID: UnsafeRawBufferPointer
        var seat: UnsafeRawBufferPointer
        var bidID: UnsafeRawBufferPointer
    }

    static func decode(
        _ value: JSONValue, type: BidsEventType, symbols: inout SymbolTable
    ) throws(Rejection) -> (notice: BidsEvent.Notice, identity: Identity) {
        var faults = FieldFaults()
        let seat =
            faults.optionalText(value, "seat") ?? UnsafeRawBufferPointer(start: nil, count: 0)
        let identity = Identity(
            auctionID: faults.requiredID(value, "auction_id"),
            seat: seat,
            bidID: faults.requiredID(value, "bid_id"))
        let currency = faults.optionalText(value, "currency")
        let version = faults.optionalText(value, "skan_version")
        let notice = BidsEvent.Notice(
            kind: kind(of: value, type, &faults),
            seat: symbols.intern(seat),
            campaign: CampaignKey(of: value, symbols: &symbols, faults: &faults),
            skanVersion: version.map { symbols.intern($0) } ?? .empty,
            currency: currency.flatMap { $0.isEmpty ? nil : symbols.intern($0) }
                ?? symbols.intern("USD" as StaticString))
        if let rejection = faults.rejection { throw rejection }
        return (notice, identity)
    }

    /// The price of a win or a loss is not counted, so it is not judged.
    private static func kind(
        of value: JSONValue, _ type: BidsEventType, _ faults: inout FieldFaults
    ) -> BidsEvent.Notice.Kind {
        switch type {
        case .loss:
            if value.member("loss_reason") == nil { _ = faults.missing("loss_reason") }
            return .loss(reason: faults.optionalInteger(value, "loss_reason") ?? 0)
        case .billing:
            if value.member("price") == nil { _ = faults.missing("price") }
            return .billing(priceMicros: faults.optionalPriceMicros(value, "price") ?? 0)
        default: return .win
        }
    }
}
