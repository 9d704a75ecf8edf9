/// A decoded record of the topic `overlay-clicks`. Texts are symbols of the batch.
struct OverlayClicksEvent {
    /// What the event counts as: exactly one.
    enum Judgement {
        case test
        case notPresented, unsupportedSDK, untracked, early, automatic
        /// A click by a person on an overlay or an in-app bidder's ad.
        case user
        /// A click on a paid recommendation, and whether it led elsewhere than to Outbrain.
        case paid(isAltered: Bool)
        case organic
    }

    var place: AdPlace
    var judgement: Judgement
}
