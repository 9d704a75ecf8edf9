/// A decoded record of the topic `bids`. Texts are symbols of the batch.
enum BidsEvent {
    case auction(Auction)
    case notice(Notice)
    case inAppBid(InAppOffer)
    case inAppBidderWon(InAppOffer)

    /// An OpenRTB auction: a BidRequest with its BidResponse.
    struct Auction {
        /// The publisher's app, when `request.app.bundle` is digits; else 0.
        var sourceAppID: Int64
        /// Every bid of the response.
        var bids: [Bid]
    }

    /// One bid of an auction.
    struct Bid {
        var seat: Symbol
        var campaign: CampaignKey
        var skanVersion: Symbol
        var currency: Symbol
        /// The price is CPM, in millionths of the currency's unit, and stays CPM.
        var priceMicros: Int64
        var overlay: OverlayFlags
        /// The first rule that the bid's skadn breaks.
        var fault: SkadnFault?
    }

    /// What a bid says of SKOverlay.
    struct OverlayFlags {
        var isSignalled = false
        var isRequested = false
        var isEligible = false
        var isClickTracked = false
    }

    /// A win, loss or billing notice.
    struct Notice {
        enum Kind {
            case win
            /// With OpenRTB's loss reason code.
            case loss(reason: Int64)
            /// With the price that was charged: CPM, in millionths of the currency's unit.
            case billing(priceMicros: Int64)
        }

        var kind: Kind
        var seat: Symbol
        var campaign: CampaignKey
        var skanVersion: Symbol
        var currency: Symbol
    }

    /// What an in-app bidder offered to the ad call, or won.
    struct InAppOffer {
        /// The adapter that offered; it stands where a seat does.
        var adapter: Symbol
        var campaign: CampaignKey
        var currency: Symbol
        /// In millionths of the currency's unit; 0 when none is given.
        var priceMicros: Int64
    }
}

/// The rules of a bid's skadn object, in the order in which they are checked.
package enum SkadnFault: ColumnWord {
    /// The version is none that the impression offers.
    case version
    /// The network is none that the app lists.
    case network
    /// The source app is not that of the impression.
    case sourceApp
    /// The advertised app is not a number.
    case itunesItem
    /// The campaign or source identifier is out of bounds.
    case campaign
    /// Nonce, timestamp or signature is missing.
    case signature

    package var name: StaticString {
        switch self {
        case .version: "version"
        case .network: "network"
        case .sourceApp: "sourceapp"
        case .itunesItem: "itunesitem"
        case .campaign: "campaign"
        case .signature: "signature"
        }
    }
}
