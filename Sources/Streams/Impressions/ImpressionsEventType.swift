/// The types of the topic `impressions`.
package enum ImpressionsEventType: EventType {
    /// `skoverlay.presented`: an overlay was shown.
    case overlayPresented
    /// `skoverlay.dismissed`: an overlay went away.
    case overlayDismissed
    /// `skoverlay.failed`: an overlay could not be shown.
    case overlayFailed
    /// `skadn.impression`: SKAdNetwork was told of an impression.
    case skadnImpression
    /// `outbrain.recommendations`: Outbrain answered.
    case recommendations
    /// `outbrain.widget_viewed`: a widget was seen.
    case widgetViewed
    /// `outbrain.listings_viewed`: some of a widget's listings were seen.
    case listingsViewed
    /// `inapp.loaded`: an in-app bidder's ad was loaded.
    case inAppLoaded
    /// `inapp.impression`: it was shown.
    case inAppImpression
    /// `inapp.handover`: the bidder shows it by itself.
    case inAppHandover
    /// `inapp.failed`: it could not be loaded or shown.
    case inAppFailed

    /// The type of a record without `ce_type`.
    package static let byDefault = ImpressionsEventType.overlayPresented

    /// The type as `ce_type` says it.
    package var name: StaticString {
        switch self {
        case .overlayPresented: "skoverlay.presented"
        case .overlayDismissed: "skoverlay.dismissed"
        case .overlayFailed: "skoverlay.failed"
        case .skadnImpression: "skadn.impression"
        case .recommendations: "outbrain.recommendations"
        case .widgetViewed: "outbrain.widget_viewed"
        case .listingsViewed: "outbrain.listings_viewed"
        case .inAppLoaded: "inapp.loaded"
        case .inAppImpression: "inapp.impression"
        case .inAppHandover: "inapp.handover"
        case .inAppFailed: "inapp.failed"
        }
    }
}
