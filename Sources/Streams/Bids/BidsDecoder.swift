import JSON

/// Decodes the records of the topic `bids`. One decoder serves all records: it keeps the memory of its lists.
struct BidsDecoder: ~Copyable {
    private var idBuilder = RecordIDBuilder()
    private var auctions = AuctionDecoder()

    /// Decodes a record; its id comes out beside it. Throws why it is rejected.
    mutating func decode(
        _ value: JSONValue, _ kind: BidsEventType, symbols: inout SymbolTable
    ) throws(Rejection) -> (BidsEvent, RecordID) {
        idBuilder.begin()
        idBuilder.add(kind.name)
        switch kind {
        case .auction:
            let decoded = try auctions.decode(value, symbols: &symbols)
            idBuilder.add(decoded.requestID)
            return (.auction(decoded.auction), idBuilder.finish())
        case .win, .loss, .billing:
            let decoded = try NoticeDecoder.decode(value, type: kind, symbols: &symbols)
            idBuilder.add(decoded.identity.auctionID)
            idBuilder.add(decoded.identity.seat)
            idBuilder.add(decoded.identity.bidID)
            return (.notice(decoded.notice), idBuilder.finish())
        case .inAppBid, .inAppBidderWon:
            let decoded = try InAppOfferDecoder.decode(value, type: kind, symbols: &symbols)
            idBuilder.add(decoded.identity.auctionID)
            idBuilder.add(decoded.identity.adapter)
            let event: BidsEvent =
                kind == .inAppBid
                ? .inAppBid(decoded.offer) : .inAppBidderWon(decoded.offer)
            return (event, idBuilder.finish())
        }
    }
}
