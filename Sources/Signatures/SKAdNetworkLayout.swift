/// The fields that a version of SKAdNetwork signs, and the curve of the key.
///
/// <https://developer.apple.com/documentation/storekit/verifying-an-install-validation-postback>
package enum SKAdNetworkLayout: UInt8, Sendable, CaseIterable, Comparable {
    /// Version 1.0, iOS 11.3.
    case v1_0
    /// Version 2.0, iOS 14.
    case v2_0
    /// Version 2.1, iOS 14: as 2.0, with a P-256 key.
    case v2_1
    /// Version 2.2, iOS 14.5: adds `fidelity-type`.
    case v2_2
    /// Version 3.0, iOS 14.6: adds `did-win`.
    case v3_0
    /// Version 4.0, iOS 16.1: `source-identifier`, `source-domain`, `postback-sequence-index`.
    case v4_0

    /// The layout of exactly `version`, or 1.0 if it is nil; nil for any other text.
    package init?(version: UnsafeRawBufferPointer?) {
        guard let version else {
            self = .v1_0
            return
        }
        guard let layout = Self.allCases.first(where: { $0.isNamed(by: version) }) else {
            return nil
        }
        self = layout
    }

    /// The version as written in postbacks.
    package var version: String { versionWord.description }

    package var curve: SignatureCurve { self <= .v2_0 ? .p192 : .p256 }

    var signsRedownload: Bool { self >= .v2_0 }

    /// Whether `source-app-id` is signed if present.
    package var signsSourceApp: Bool { self >= .v2_0 }

    /// Whether `source-domain` is signed if present without `source-app-id`.
    package var signsSourceDomain: Bool { self >= .v4_0 }

    package var signsFidelity: Bool { self >= .v2_2 }

    package var signsDidWin: Bool { self >= .v3_0 }

    package var signsSequenceIndex: Bool { self >= .v4_0 }

    /// Whether `source-identifier` replaces `campaign-id`.
    package var usesSourceIdentifier: Bool { self >= .v4_0 }

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

    var versionWord: StaticString {
        switch self {
        case .v1_0: "1.0"
        case .v2_0: "2.0"
        case .v2_1: "2.1"
        case .v2_2: "2.2"
        case .v3_0: "3.0"
        case .v4_0: "4.0"
        }
    }

    private func isNamed(by text: UnsafeRawBufferPointer) -> Bool {
        text.elementsEqual(
            UnsafeBufferPointer(
                start: versionWord.utf8Start,
                count: versionWord.utf8CodeUnitCount
            )
        )
    }
}

extension SKAdNetworkLayout {
    /// Appends the bytes that Apple signs for `claims` in `form`.
    ///
    /// - Returns: false, with nothing appended, if a field of the layout is absent, a text contains U+2063, or a
    ///   source domain is a number. The latter two would make one signature valid for two postbacks, so such a
    ///   postback is `invalid`.
    package func appendSignedText(
        of claims: SKAdNetworkClaims,
        form: RelayForm,
        to text: inout [UInt8]
    ) -> Bool {
        SignedText.append(to: &text) { visitFields(of: claims, form: form, $0) }
    }

    /// In Apple's signing order.
    package func signedFields(of claims: SKAdNetworkClaims, form: RelayForm) -> [SignedField] {
        SignedText.fields { visitFields(of: claims, form: form, $0) }
    }

    private func visitFields(
        of claims: SKAdNetworkClaims,
        form: RelayForm,
        _ visit: SignedText.Visitor
    ) {
        if self > .v1_0 { visit("version", .word(versionWord)) }
        visit("ad-network-id", .text(claims.adNetworkID))
        if usesSourceIdentifier {
            visit("source-identifier", claims.sourceIdentifier.map(SignedValue.text))
        } else {
            visit("campaign-id", claims.campaignID.map(SignedValue.number))
        }
        visit("app-id", .number(claims.appID))
        visit("transaction-id", .text(claims.transactionID))
        if signsRedownload { visit("redownload", claims.redownload.map(SignedValue.flag)) }
        visitSource(of: claims, form: form, visit)
        if signsFidelity, !form.omitsFidelity {
            visit("fidelity-type", claims.fidelityType.map(SignedValue.number))
        }
        if signsDidWin { visit("did-win", claims.didWin.map(SignedValue.flag)) }
        if signsSequenceIndex {
            visit("postback-sequence-index", claims.sequenceIndex.map(SignedValue.number))
        }
    }

    private func visitSource(
        of claims: SKAdNetworkClaims,
        form: RelayForm,
        _ visit: SignedText.Visitor
    ) {
        if signsSourceApp, !form.omitsSourceApp, let sourceAppID = claims.sourceAppID {
            visit("source-app-id", .number(sourceAppID))
        } else if signsSourceDomain, let sourceDomain = claims.sourceDomain {
            // Digits alone could also be a source app: the signed bytes are the same.
            let isNumber = sourceDomain.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
            visit("source-domain", isNumber ? nil : .text(sourceDomain))
        }
    }
}

/// The fields of a SKAdNetwork postback that Apple signs. The caller lends the memory of the texts for as long as the
/// claims are used.
///
/// Texts are unescaped and otherwise as received: Apple signs `ad-network-id` in its registered case. Nil means
/// absent or null.
package struct SKAdNetworkClaims {
    /// `version`; absent in postbacks of 1.0.
    package var version: UnsafeRawBufferPointer?
    /// `ad-network-id`, case kept.
    package var adNetworkID: UnsafeRawBufferPointer
    /// `campaign-id`, up to 3.0.
    package var campaignID: Int64?
    /// `source-identifier`, from 4.0; a text, because leading zeros are signed.
    package var sourceIdentifier: UnsafeRawBufferPointer?
    /// `app-id`, the advertised app.
    package var appID: Int64
    /// `transaction-id`, case kept.
    package var transactionID: UnsafeRawBufferPointer
    /// `redownload`, from 2.0.
    package var redownload: Bool?
    /// `source-app-id`, from 2.0; often absent.
    package var sourceAppID: Int64?
    /// `source-domain`, from 4.0; replaces `source-app-id` in web ads.
    package var sourceDomain: UnsafeRawBufferPointer?
    /// `fidelity-type`, from 2.2.
    package var fidelityType: Int64?
    /// `did-win`, from 3.0.
    package var didWin: Bool?
    /// `postback-sequence-index`, from 4.0.
    package var sequenceIndex: Int64?

    /// The fields that every postback has; the others are nil until set.
    package init(
        version: UnsafeRawBufferPointer?,
        adNetworkID: UnsafeRawBufferPointer,
        appID: Int64,
        transactionID: UnsafeRawBufferPointer
    ) {
        self.version = version
        self.adNetworkID = adNetworkID
        self.appID = appID
        self.transactionID = transactionID
    }
}

/// The curves of the keys that sign postbacks, always with SHA-256.
package enum SignatureCurve: Sendable {
    /// NIST P-192 (prime192v1): SKAdNetwork 1.0 and 2.0.
    case p192
    /// NIST P-256 (prime256v1): everything later.
    case p256
}
