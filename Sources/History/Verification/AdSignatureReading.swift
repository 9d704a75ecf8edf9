import JSON
import Signatures
import Streams

/// Reads an ad's signed fields from a document, and judges its signatures.
struct AdSignatureReading {
    let document: JSONValue
    let form: AdSignatureForm
    let keys: [VerificationKey]

    /// The network's id in lower case; nil if missing.
    static func network(of document: JSONValue) -> String? {
        let form = AdSignatureForm(of: document)
        return form.flatMap { document.member($0.names.network)?.string }
            .map { String(decoding: $0, as: UTF8.self).lowercased() }
    }

    /// One finding for each signature; an OpenRTB bid has one for each fidelity.
    func findings() -> [SignedDocument.Finding] {
        let fidelities = document.member("fidelities")
        guard form == .openRTB, let fidelities, fidelities.isArray else {
            return [finding(in: document)]
        }
        return fidelities.elements.map(finding)
    }

    /// Judges the signature in `place`: the document, or one of its fidelities.
    private func finding(in place: JSONValue) -> SignedDocument.Finding {
        do throws(Rejection) {
            return try withSignedText(in: place) { ad, signature in
                .judged(judgement(ad, signature, place))
            }
        } catch {
            return .rejected(error)
        }
    }

    private func judgement(
        _ ad: AdSignature, _ signature: UnsafeRawBufferPointer, _ place: JSONValue
    ) -> SignedDocument.Judgement {
        let signed = ad.signedFields
        let verdict: Verdict =
            keys.isEmpty
            ? .unverifiable : ad.isValid(signature, keys: keys) == true ? .valid : .invalid
        return SignedDocument.Judgement(
            verdict: verdict,
            note: keys.isEmpty
                ? "the public key of this network is unknown: give --key, or add ad_signing_keys to "
                    + "catalog.yaml"
                : nil,
            signed: signed,
            unsigned: unsigned(signed, place))
    }

    /// The members of the document and of the fidelity that the signature does not cover.
    private func unsigned(_ signed: [SignedField], _ place: JSONValue) -> [SignedField] {
        var seen = Set(signed.map { form.name(ofSigned: $0.name) } + ["signature", "fidelities"])
        let ofDocument = SignedField.members(of: document, notIn: &seen)
        return ofDocument + SignedField.members(of: place, notIn: &seen)
    }

    private func withSignedText<Value>(
        in place: JSONValue, _ body: (AdSignature, UnsafeRawBufferPointer) -> Value
    ) throws(Rejection) -> Value {
        let version = try text("version", in: document)
        guard let layout = AdSignature.Layout(version: version, isWeb: form == .web) else {
            throw Rejection(
                .outOfRange, "version is not supported for signatures of this kind of ad")
        }
        let signature = try text("signature", in: place)
        var ad = AdSignature(
            layout: layout, adNetworkID: try text(form.names.network, in: document),
            itunesItemID: try integer(form.names.item, in: document),
            nonce: try text(form.names.nonce, in: place),
            timestampMilliseconds: try integer("timestamp", in: place))
        ad.campaignID = try optionalInteger(form.names.campaign, in: document)
        ad.sourceAppID = try optionalInteger(form.names.sourceApp, in: document)
        ad.sourceDomain = document.member("source_domain")?.string
        // An SKAdImpression is a view-through ad without stating it.
        let fidelity = try optionalInteger("fidelity", in: place)
        ad.fidelityType = form == .impression ? fidelity ?? 0 : fidelity
        let identifier = document.member(form.names.sourceIdentifier)
        if let number = identifier?.number {
            guard case .exact(let integer) = number.asInteger else {
                throw Rejection(.wrongType, "\(form.names.sourceIdentifier) is not a whole number")
            }
            return Array("\(integer)".utf8).withUnsafeBytes { digits in
                ad.sourceIdentifier = digits
                return body(ad, signature)
            }
        }
        ad.sourceIdentifier = identifier?.string
        return body(ad, signature)
    }

    private func text(
        _ name: StaticString, in object: JSONValue
    ) throws(Rejection) -> UnsafeRawBufferPointer {
        guard let member = object.member(name) else {
            throw Rejection(.missingField, "\(name) is missing")
        }
        guard let text = member.string else {
            throw Rejection(.wrongType, "\(name) is not a string")
        }
        return text
    }

    private func integer(_ name: StaticString, in object: JSONValue) throws(Rejection) -> Int64 {
        guard let integer = try optionalInteger(name, in: object) else {
            throw Rejection(.missingField, "\(name) is missing")
        }
        return integer
    }

    /// A number, or a string of digits.
    private func optionalInteger(
        _ name: StaticString, in object: JSONValue
    ) throws(Rejection) -> Int64? {
        guard let member = object.member(name) else { return nil }
        if case .exact(let integer) = member.number?.asInteger { return integer }
        if let text = member.string, let integer = Int64(String(decoding: text, as: UTF8.self)) {
            return integer
        }
        throw Rejection(.wrongType, "\(name) is neither a number nor a string of digits")
    }
}

/// The forms of signed ads, with the names of their fields.
enum AdSignatureForm {
    /// `SKAdImpression`, a view-through ad.
    case impression
    /// The answer to Safari for an ad on the web.
    case web
    /// The `skadn` object of an OpenRTB bid.
    case openRTB

    /// The form of a document; nil unless it is an ad.
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

    /// The document's names for the signed fields.
    var names:
        (
            network: StaticString, campaign: StaticString, sourceIdentifier: StaticString,
            item: StaticString, nonce: StaticString, sourceApp: StaticString
        )
    {
        switch self {
        case .impression:
            (
                "adNetworkIdentifier", "adCampaignIdentifier", "sourceIdentifier",
                "advertisedAppStoreItemIdentifier", "adImpressionIdentifier",
                "sourceAppStoreItemIdentifier"
            )
        case .web:
            (
                "ad_network_id", "campaign_id", "source_identifier", "itunes_item_id", "nonce",
                "source_app_id"
            )
        case .openRTB:
            ("network", "campaign", "sourceidentifier", "itunesitem", "nonce", "sourceapp")
        }
    }

    /// The document's name of a signed field, by the signature's name for it.
    func name(ofSigned field: String) -> String {
        switch field {
        case "ad-network-id": names.network.description
        case "campaign-id": names.campaign.description
        case "source-identifier": names.sourceIdentifier.description
        case "itunes-item-id": names.item.description
        case "nonce": names.nonce.description
        case "source-app-id": names.sourceApp.description
        case "source-domain": "source_domain"
        case "fidelity-type": self == .web ? "fidelity_type" : "fidelity"
        default: field
        }
    }
}
