/// The types of the topic `bids`.
package enum BidsEventType: EventType {
    /// `openrtb.auction`: a BidRequest with its BidResponse.
    case auction
    /// `openrtb.win`: a bid won.
    case win
    /// `openrtb.loss`: a bid lost.
    case loss
    /// `openrtb.billing`: a bid is to be paid.
    case billing
    /// `inapp.bid`: an in-app bidder's offer to the ad call.
    case inAppBid
    /// `inapp.bidder_won`: that offer won.
    case inAppBidderWon

    /// The type of a record without `ce_type`.
    package static let byDefault = BidsEventType.auction

    /// The type as `ce_type` says it.
    package var name: StaticString {
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
