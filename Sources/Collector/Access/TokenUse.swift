import Streams

/// What a token is for. One that is for something else is none.
package enum TokenUse: String, CaseIterable, Sendable {
    /// `GET /i`: something was shown.
    case impression = "i"
    /// `GET /c`: something was clicked.
    case click = "c"
    /// `GET /v1/notices/...`: a bid won, lost or is to be paid.
    case notice = "n"

    /// The topic that its events go to.
    package var topic: ProducerTopic {
        switch self {
        case .impression: .impressions
        case .click: .overlayClicks
        case .notice: .bids
        }
    }

    /// The types of event that a token of this use may carry; the first one is meant when none is said.
    package var types: [String] {
        switch self {
        case .impression: ["skoverlay.presented", "skadn.impression"]
        case .click: ["skoverlay.click"]
        case .notice: ["openrtb.win", "openrtb.loss", "openrtb.billing"]
        }
    }

    /// The members that a token may leave to the query.
    package var openMembers: [String] {
        switch self {
        case .impression: ["zone_id", "sdk_version", "os_version"]
        case .click: ["presented_at_ms", "zone_id", "sdk_version", "initiated_by"]
        case .notice: []
        }
    }

    /// The members that the event of a token has to say, since they tell it from other events and nothing
    /// else would bind them.
    package var fixedMembers: [StaticString] {
        switch self {
        case .impression, .click: []
        case .notice: ["auction_id", "bid_id"]
        }
    }
}
