import JSONReader

/// The forms in which an ad carries its signature, by the names of their fields.
enum AdSignatureForm {
    /// `SKAdImpression`, a view-through ad.
    case impression
    /// The answer to Safari for an ad on the web.
    case web
    /// The `skadn` object of an OpenRTB bid.
    case openRTB

    /// The form that a document has; nil when it is none of an ad.
    init?(of document: JSONValue) {
        if document.firstMember("adNetworkIdentifier") != nil {
            self = .impression
        } else if document.firstMember("ad_network_id") != nil {
            self = .web
        } else if document.firstMember("network") != nil
            || document.firstMember("fidelities") != nil
        {
            self = .openRTB
        } else {
            return nil
        }
    }

    var network: StaticString {
        switch self {
        case .impression: "adNetworkIdentifier"
        case .web: "ad_network_id"
        case .openRTB: "network"
        }
    }

    var campaign: StaticString {
        switch self {
        case .impression: "adCampaignIdentifier"
        case .web: "campaign_id"
        case .openRTB: "campaign"
        }
    }

    var sourceIdentifier: StaticString {
        switch self {
        case .impression: "sourceIdentifier"
        case .web: "source_identifier"
        case .openRTB: "sourceidentifier"
        }
    }

    var item: StaticString {
        switch self {
        case .impression: "advertisedAppStoreItemIdentifier"
        case .web: "itunes_item_id"
        case .openRTB: "itunesitem"
        }
    }

    var nonce: StaticString {
        switch self {
        case .impression: "adImpressionIdentifier"
        case .web, .openRTB: "nonce"
        }
    }

    var sourceApp: StaticString {
        switch self {
        case .impression: "sourceAppStoreItemIdentifier"
        case .web: "source_app_id"
        case .openRTB: "sourceapp"
        }
    }

    /// The documents' names of what a signature covers, by the signature's names.
    func name(ofSigned field: String) -> String {
        switch field {
        case "ad-network-id": network.description
        case "campaign-id": campaign.description
        case "source-identifier": sourceIdentifier.description
        case "itunes-item-id": item.description
        case "nonce": nonce.description
        case "source-app-id": sourceApp.description
        case "source-domain": "source_domain"
        case "fidelity-type": self == .web ? "fidelity_type" : "fidelity"
        default: field
        }
    }
}
