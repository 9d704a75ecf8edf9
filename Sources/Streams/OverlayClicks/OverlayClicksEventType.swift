/// The types of the topic `overlay-clicks`.
package enum OverlayClicksEventType: EventType {
    /// `skoverlay.click`: a click on an overlay, by a person or by the SDK.
    case overlayClick
    /// `outbrain.click`: a recommendation was opened, or its address asked for.
    case outbrainClick
    /// `inapp.click`: a click on an in-app bidder's ad.
    case inAppClick

    /// The type of a record without `ce_type`.
    package static let byDefault = OverlayClicksEventType.overlayClick

    /// The type as `ce_type` says it.
    package var name: StaticString {
        switch self {
        case .overlayClick: "skoverlay.click"
        case .outbrainClick: "outbrain.click"
        case .inAppClick: "inapp.click"
        }
    }
}
