import Attestation
import JSONReader
import Streams

/// What a document turned out to be, and what is to be said of its signature.
struct SignedDocument {
    /// What is known of one signature.
    enum Finding {
        /// The signature was judged.
        case judged(Judgement)
        /// A worker would reject the document.
        case rejected(Rejection)
    }

    /// A verdict with what it covers.
    struct Judgement {
        var verdict: Verdict
        /// Which of several signatures it is; nil where there is one.
        var part: String?
        /// What speaks against it, or for it where nothing is signed.
        var reason: String?
        /// Why the verdict is what it is, where that needs words.
        var note: String?
        /// The form of a relayed copy that verified; nil for other documents.
        var form: RelayForm?
        /// The certificates of a JWS, the leaf first; the last is pinned.
        var certificates: [AppStoreCertificate] = []
        var signed: [SignedField]
        var unsigned: [SignedField]
    }

    /// `SKAdNetwork postback`, ...
    var title: String
    /// One, or one for each signature of an ad or a notification.
    var findings: [Finding]
}

/// What kind of document is to be verified.
enum SignedDocumentKind: String {
    case skAdNetworkPostback = "skan-postback"
    case adAttributionKitPostback = "aak-postback"
    case adSignature = "ad-signature"
    case notificationV1 = "appstore-notification-v1"
    case notificationV2 = "appstore-notification-v2"

    /// The kind that a document looks like.
    init(of document: JSONValue) {
        if document.firstMember("jws-string") != nil {
            self = .adAttributionKitPostback
        } else if document.firstMember("signedPayload") != nil {
            self = .notificationV2
        } else if document.firstMember("notification_type") != nil {
            self = .notificationV1
        } else if AdSignatureForm(of: document) != nil {
            self = .adSignature
        } else {
            self = .skAdNetworkPostback
        }
    }

    var title: String {
        switch self {
        case .skAdNetworkPostback: "SKAdNetwork postback"
        case .adAttributionKitPostback: "AdAttributionKit postback"
        case .adSignature: "ad signature"
        case .notificationV1: "App Store Server Notification V1"
        case .notificationV2: "App Store Server Notification V2"
        }
    }
}
