enum BidsEvent {
    case auction(Auction)
    case notice(Notice)
    case inAppBid(InAppOffer)
    case inAppBidderWon(InAppOffer)

    struct Auction {
        /// The publisher's app, if `request.app.bundle` consists of digits; otherwise 0.
        var sourceAppID: Int64
        var bids: [Bid]
    }

    struct Bid {
        var seat: Symbol
        var campaign: CampaignKey
        var skanVersion: Symbol
        var currency: Symbol
        /// CPM in millionths of the currency's unit. Nil without a valid price.
        var priceMicros: Int64?
        var overlay: OverlayFlags
        /// The first rule that the bid's skadn violates.
        var fault: SkadnFault?
    }

    struct OverlayFlags {
        var isSignalled = false
        var isRequested = false
        var isEligible = false
        var isClickTracked = false
    }

    struct Notice {
        enum Kind {
            case win
            case loss(reason: Int64)
            /// The charged price: CPM in millionths of the currency's unit.
            case billing(priceMicros: Int64)
        }

        var kind: Kind
        var seat: Symbol
        var campaign: CampaignKey
        var skanVersion: Symbol
        var currency: Symbol
    }

    /// An in-app bidder's offer to the ad call, or its win.
    struct InAppOffer {
        /// The adapter of the offer; stored in the seat column.
        var adapter: Symbol
        var campaign: CampaignKey
        var currency: Symbol
        /// In millionths of the currency's unit; 0 if missing.
        var priceMicros: Int64
    }
}

/// The rules for a bid's skadn object, in the order of checking.
package enum SkadnFault: ColumnWord {
    /// The impression does not offer the version.
    case version
    /// The app does not list the network.
    case network
    /// The source app differs from the impression's.
    case sourceApp
    /// The advertised app is not a number.
    case itunesItem
    /// The campaign or source identifier is out of range.
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

/// OpenRTB's loss reason codes (List: Loss Reason Codes, 5.25 of OpenRTB 2.6), with readable names.
package enum LossReason {
    /// Codes from here on are specific to each exchange.
    private static let firstOfExchange: Int64 = 1000

    /// The name of a code; empty if the list does not contain it.
    package static func name(_ code: Int64) -> String {
        names[code] ?? (code >= firstOfExchange ? "exchange's own" : "")
    }

    private static let names: [Int64: String] = [
        0: "bid won", 1: "internal error", 2: "impression opportunity expired",
        3: "invalid bid response", 4: "invalid deal id", 5: "invalid auction id",
        6: "invalid advertiser domain", 7: "missing markup", 8: "missing creative id",
        9: "missing bid price", 10: "missing minimum creative approval data",
        100: "below auction floor", 101: "below deal floor", 102: "lost to higher bid",
        103: "lost to a bid for a deal", 104: "buyer seat blocked",
        200: "creative filtered, reason unknown",
        201: "creative filtered: pending processing by exchange",
        202: "creative filtered: disapproved by exchange",
        203: "creative filtered: size not allowed",
        204: "creative filtered: incorrect creative format",
        205: "creative filtered: advertiser exclusions",
        206: "creative filtered: app bundle exclusions", 207: "creative filtered: not secure",
        208: "creative filtered: language exclusions",
        209: "creative filtered: category exclusions",
        210: "creative filtered: creative attribute exclusions",
        211: "creative filtered: ad type exclusions",
        212: "creative filtered: animation too long",
        213: "creative filtered: not allowed in deal",
        214: "creative filtered: invalid SKAdNetwork",
    ]
}
