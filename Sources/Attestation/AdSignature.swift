/// The signature that an ad network puts on an ad, with the fields that it covers; texts lie in
/// memory that the caller lends.
///
/// Apple's "Generating the signature to validate StoreKit-rendered ads":
/// <https://developer.apple.com/documentation/storekit/skadnetwork>
package struct AdSignature {
    /// Which fields are signed, and in which order.
    package enum Layout: Sendable, CaseIterable {
        /// Version 1.0.
        case v1_0
        /// Version 2.0.
        case v2_0
        /// Version 2.1, as 2.0.
        case v2_1
        /// Version 2.2: adds the fidelity.
        case v2_2
        /// Version 3.0, as 2.2.
        case v3_0
        /// Version 4.0 in an app: the source identifier takes the campaign's place.
        case v4_0
        /// Version 4.0 on the web: the source domain takes the source app's place.
        case v4_0Web
    }

    /// The layout of the signed text.
    package var layout: Layout
    /// The network's id; signed in lower case.
    package var adNetworkID: UnsafeRawBufferPointer
    /// The campaign, 1 to 100, up to 3.0.
    package var campaignID: Int64?
    /// The source identifier, 1 to 4 digits, from 4.0; signed as it is written here.
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

    /// A signature's fields with those that every layout has; the others are absent until set.
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

    /// The fields that are signed, in order.
    package var signedFields: [SignedField] { SignedText.fields(visitFields) }

    /// Appends the bytes that the network signs.
    ///
    /// - Returns: false, with nothing appended, when a field that the layout signs is absent or
    ///   contains U+2063.
    package func appendSignedText(to text: inout [UInt8]) -> Bool {
        SignedText.append(to: &text, visitFields)
    }

    /// Whether `signature`, base64, is one over these fields by any of the network's `keys`.
    package func isValid(_ signature: UnsafeRawBufferPointer, keys: [VerificationKey]) -> Bool {
        var arena: [UInt8] = []
        guard let der = Base64.standard.decode(signature, into: &arena),
            appendSignedText(to: &arena)
        else { return false }
        return arena.withUnsafeBytes { bytes in
            let signature = UnsafeRawBufferPointer(rebasing: bytes[der])
            let text = UnsafeRawBufferPointer(rebasing: bytes[der.upperBound...])
            return keys.contains { $0.isValidSignature(signature, over: text) }
        }
    }
}
