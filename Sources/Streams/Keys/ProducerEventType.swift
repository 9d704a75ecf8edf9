/// The type of an event that a producer of its own sends.
enum ProducerEventType {
    case bids(BidsEventType)
    case impressions(ImpressionsEventType)
    case overlayClicks(OverlayClicksEventType)

    /// The type of that name; nil when the topic has none.
    init?(_ topic: ProducerTopic, named name: String) {
        switch topic {
        case .bids:
            guard let type = BidsEventType.named(name) else { return nil }
            self = .bids(type)
        case .impressions:
            guard let type = ImpressionsEventType.named(name) else { return nil }
            self = .impressions(type)
        case .overlayClicks:
            guard let type = OverlayClicksEventType.named(name) else { return nil }
            self = .overlayClicks(type)
        }
    }
}

extension EventType {
    /// The type of that name, as `ce_type` says it.
    fileprivate static func named(_ name: String) -> Self? {
        allCases.first { type in
            type.name.withUTF8Buffer { $0.elementsEqual(name.utf8) }
        }
    }
}
