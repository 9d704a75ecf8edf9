/// The types of the topic `postbacks`.
enum PostbacksEventType: EventType {
    case skAdNetwork, adAttributionKit

    static let byDefault = PostbacksEventType.skAdNetwork

    var name: StaticString {
        switch self {
        case .skAdNetwork: "skadnetwork.postback"
        case .adAttributionKit: "adattributionkit.postback"
        }
    }

    /// The framework, as columns and ids write it.
    var framework: StaticString {
        switch self {
        case .skAdNetwork: "skadnetwork"
        case .adAttributionKit: "adattributionkit"
        }
    }
}
