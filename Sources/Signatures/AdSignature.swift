import JSON

/// The signed fields of an ad network's ad; texts are borrowed from the caller.
///
/// Apple's "Generating the signature to validate StoreKit-rendered ads":
/// <https://developer.apple.com/documentation/storekit/skadnetwork>
package struct AdSignature {
    /// The signed fields and their order.
    package enum Layout: Sendable, CaseIterable {
        case v1_0
        case v2_0
        /// Version 2.1, as 2.0.
        case v2_1
        /// Version 2.2: adds the fidelity.
        case v2_2
        /// Version 3.0, as 2.2.
        case v3_0
        /// Version 4.0 in an app: the source identifier replaces the campaign.
        case v4_0
        /// Version 4.0 on the web: the source domain replaces the source app.
        case v4_0Web
    }

    package var layout: Layout
    /// Signed in lower case.
    package var adNetworkID: UnsafeRawBufferPointer
    /// 1 to 100, up to version 3.0.
    package var campaignID: Int64?
    /// 1 to 4 digits, from version 4.0; signed as written here.
    package var sourceIdentifier: UnsafeRawBufferPointer?
    /// The advertised app.
    package var itunesItemID: Int64
    /// The UUID of the impression; signed in lower case.
    package var nonce: UnsafeRawBufferPointer
    /// The publisher's app, from 2.0; 0 in development.
    package var sourceAppID: Int64?
    /// The publisher's domain, on the web only.
    package var sourceDomain: UnsafeRawBufferPointer?
    /// 0 for view-through, 1 for StoreKit-rendered, from 2.2; on the web it is always 1.
    package var fidelityType: Int64?
    /// When the ad was signed, in milliseconds since 1970.
    package var timestampMilliseconds: Int64

    /// The fields that every layout has; the others are nil until set.
    package init(
        layout: Layout,
        adNetworkID: UnsafeRawBufferPointer,
        itunesItemID: Int64,
        nonce: UnsafeRawBufferPointer,
        timestampMilliseconds: Int64
    ) {
        self.layout = layout
        self.adNetworkID = adNetworkID
        self.itunesItemID = itunesItemID
        self.nonce = nonce
        self.timestampMilliseconds = timestampMilliseconds
    }

    /// In signing order.
    package var signedFields: [SignedField] { SignedText.fields(visitFields) }

    /// Appends the bytes that the network signs.
    ///
    /// - Returns: false, with nothing appended, if a field of the layout is absent or contains U+2063.
    package func appendSignedText(to text: inout [UInt8]) -> Bool {
        SignedText.append(to: &text, visitFields)
    }

    /// Whether `signature`, in base64, is a signature of these fields by one of the network's `keys`; nil if it is
    /// not base64 or a field of the layout is absent.
    package func isValid(_ signature: UnsafeRawBufferPointer, keys: [VerificationKey]) -> Bool? {
        var arena: [UInt8] = []
        guard let der = Base64.standard.decode(signature, into: &arena),
            appendSignedText(to: &arena)
        else { return nil }
        return arena.withUnsafeBytes { bytes in
            let signature = UnsafeRawBufferPointer(rebasing: bytes[der])
            let text = UnsafeRawBufferPointer(rebasing: bytes[der.upperBound...])
            return keys.contains { $0.isValidSignature(signature, over: text) }
        }
    }
}

extension AdSignature.Layout {
    /// The layout of exactly `version`; nil for any other text, and for an ad on the web before 4.0.
    package init?(version: UnsafeRawBufferPointer, isWeb: Bool) {
        switch (SKAdNetworkLayout(version: version), isWeb) {
        case (.v1_0, false): self = .v1_0
        case (.v2_0, false): self = .v2_0
        case (.v2_1, false): self = .v2_1
        case (.v2_2, false): self = .v2_2
        case (.v3_0, false): self = .v3_0
        case (.v4_0, false): self = .v4_0
        case (.v4_0, true): self = .v4_0Web
        default: return nil
        }
    }

    fileprivate var version: StaticString {
        switch self {
        case .v1_0: "1.0"
        case .v2_0: "2.0"
        case .v2_1: "2.1"
        case .v2_2: "2.2"
        case .v3_0: "3.0"
        case .v4_0, .v4_0Web: "4.0"
        }
    }

    fileprivate var signsSourceApp: Bool { self != .v1_0 && self != .v4_0Web }

    fileprivate var signsFidelity: Bool {
        switch self {
        case .v1_0, .v2_0, .v2_1: false
        case .v2_2, .v3_0, .v4_0, .v4_0Web: true
        }
    }

    fileprivate var usesSourceIdentifier: Bool { self == .v4_0 || self == .v4_0Web }
}

extension AdSignature {
    /// The fidelity of every ad on the web.
    private static let webFidelity: Int64 = 1

    func visitFields(_ visit: SignedText.Visitor) {
        if layout != .v1_0 { visit("version", .word(layout.version)) }
        visit("ad-network-id", .lowercased(adNetworkID))
        if layout.usesSourceIdentifier {
            visit("source-identifier", sourceIdentifier.map(SignedValue.text))
        } else {
            visit("campaign-id", campaignID.map(SignedValue.number))
        }
        visit("itunes-item-id", .number(itunesItemID))
        visit("nonce", .lowercased(nonce))
        if layout == .v4_0Web {
            visit("source-domain", sourceDomain.map(SignedValue.text))
        } else if layout.signsSourceApp {
            visit("source-app-id", sourceAppID.map(SignedValue.number))
        }
        if layout.signsFidelity {
            let fidelity = layout == .v4_0Web ? Self.webFidelity : fidelityType
            visit("fidelity-type", fidelity.map(SignedValue.number))
        }
        visit("timestamp", .number(timestampMilliseconds))
    }
}
