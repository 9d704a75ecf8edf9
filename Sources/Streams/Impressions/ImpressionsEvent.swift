/// A decoded record of the topic `impressions`. Texts are symbols of the batch.
enum ImpressionsEvent {
    case ad(Ad)
    case recommendations(Recommendations)
    case listings(Listings)

    struct Ad {
        enum Fate {
            case presented, dismissed, failed
            /// The impression was reported to SKAdNetwork.
            case attributable(isStoreKitRendered: Bool)
            case widgetViewed(isStale: Bool)
            /// A banner is shown when it loads.
            case loaded(isBanner: Bool)
            case handedOver
        }

        var key: AdKey
        var fate: Fate
        var isTest: Bool
    }

    /// Outbrain's answer to a widget.
    struct Recommendations {
        struct Document {
            var campaign: CampaignKey
            var isPaid: Bool
            /// Bought in an auction: the app must show its disclosure.
            var isRTB: Bool
        }

        var placement: Symbol
        var documents: [Document]
        var isTest: Bool
    }

    struct Listings {
        struct Listing {
            var position: Int64
            var isStale: Bool
        }

        var placement: Symbol
        var listings: [Listing]
        var isTest: Bool
    }

    /// Views later than this after their request, in milliseconds, are stale.
    static let staleBeyondMilliseconds: Int64 = 1_800_000
}
