extension AdSignature.Layout {
    /// The layout that `version` names exactly; nil for any other text, and for an ad on the web of
    /// a version before 4.0.
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

    /// The version as ads write it.
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
