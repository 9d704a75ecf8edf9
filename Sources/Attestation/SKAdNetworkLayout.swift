/// Which fields of a postback a version of SKAdNetwork signs, and with a key of which curve.
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

    /// The layout that `version` names exactly, or 1.0 when there is none; nil for any other text.
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

    /// The version as postbacks write it.
    package var version: String { versionWord.description }

    /// The curve of the key that signs.
    package var curve: SignatureCurve { self <= .v2_0 ? .p192 : .p256 }

    /// Whether `redownload` is signed.
    package var signsRedownload: Bool { self >= .v2_0 }

    /// Whether `source-app-id` is signed when there is one.
    package var signsSourceApp: Bool { self >= .v2_0 }

    /// Whether `source-domain` is signed when there is one and no `source-app-id`.
    package var signsSourceDomain: Bool { self >= .v4_0 }

    /// Whether `fidelity-type` is signed.
    package var signsFidelity: Bool { self >= .v2_2 }

    /// Whether `did-win` is signed.
    package var signsDidWin: Bool { self >= .v3_0 }

    /// Whether `postback-sequence-index` is signed.
    package var signsSequenceIndex: Bool { self >= .v4_0 }

    /// Whether `source-identifier` takes the place of `campaign-id`.
    package var usesSourceIdentifier: Bool { self >= .v4_0 }

    /// Orders layouts by version.
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
