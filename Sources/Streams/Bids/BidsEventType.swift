/// The types of the topic `bids`.
enum BidsEventType: EventType {
    case auction, win, loss, billing, inAppBid, inAppBidderWon

    static let byDefault = BidsEventType.auction

    var name: StaticString {
        switch self {
        case .auction: "openrtb.auction"
        case .win: "openrtb.win"
        case .loss: "openrtb.loss"
        case .billing: "openrtb.billing"
        case .inAppBid: "inapp.bid"
        case .inAppBidderWon: "inapp.bidder_won"
        }
    }
}
