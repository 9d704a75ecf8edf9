/// A topic that producers of their own send to.
package enum ProducerTopic: String, CaseIterable, Sendable {
    case bids
    case impressions
    case overlayClicks = "overlay-clicks"

    /// The type of an event that does not say its own.
    package var defaultType: String {
        switch self {
        case .bids: "\(BidsEventType.byDefault.name)"
        case .impressions: "\(ImpressionsEventType.byDefault.name)"
        case .overlayClicks: "\(OverlayClicksEventType.byDefault.name)"
        }
    }

    /// The types of its events, as `ce_type` says them.
    package var types: [String] {
        switch self {
        case .bids: BidsEventType.allCases.map { "\($0.name)" }
        case .impressions: ImpressionsEventType.allCases.map { "\($0.name)" }
        case .overlayClicks: OverlayClicksEventType.allCases.map { "\($0.name)" }
        }
    }
}
