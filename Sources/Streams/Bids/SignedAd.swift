import JSON
import Signatures

/// What a bid's skadn object says about one signature on its ad: that of a fidelity, or, below 2.2, of the
/// object itself.
struct SignedAd {
    /// 0 for view-through, 1 for StoreKit-rendered; nil when it is not said.
    let fidelity: Int64?
    private let skadn: JSONValue
    private let place: JSONValue

    init(_ skadn: JSONValue, _ place: JSONValue) {
        self.skadn = skadn
        self.place = place
        fidelity = place.member("fidelity")?.skadnNumber
    }

    /// Where the signatures lie: in every element of `fidelities`, or in the object when there are none.
    static func places(of skadn: JSONValue) -> [JSONValue] {
        let fidelities = skadn.member("fidelities").map { Array($0.elements) } ?? []
        return fidelities.isEmpty ? [skadn] : fidelities
    }

    /// Whether one of the keys made the signature.
    func verdict(by keys: [VerificationKey]) -> AdSignatureVerdict {
        guard let version = skadn.member("version")?.skadnText else { return .incomplete }
        guard let layout = AdSignature.Layout(version: version, isWeb: false) else {
            return .unverifiable
        }
        var decoded: [UInt8] = []
        guard let signature = place.member("signature")?.skadnText,
            Base64.standard.decode(signature, into: &decoded) != nil
        else { return .incomplete }
        return withSourceIdentifier { sourceIdentifier in
            guard var ad = signedFields(layout) else { return .incomplete }
            ad.sourceIdentifier = sourceIdentifier
            var text: [UInt8] = []
            guard ad.appendSignedText(to: &text) else { return .incomplete }
            return ad.isValid(signature, keys: keys) ? .valid : .invalid
        }
    }

    /// The fields but for the source identifier; nil when one that every layout has is missing.
    private func signedFields(_ layout: AdSignature.Layout) -> AdSignature? {
        guard let network = skadn.member("network")?.skadnText,
            let item = skadn.member("itunesitem")?.skadnNumber,
            let nonce = place.member("nonce")?.skadnText,
            let timestamp = place.member("timestamp")?.skadnNumber
        else { return nil }
        var ad = AdSignature(
            layout: layout, adNetworkID: network, itunesItemID: item, nonce: nonce,
            timestampMilliseconds: timestamp)
        ad.campaignID = skadn.member("campaign")?.skadnNumber
        ad.sourceAppID = skadn.member("sourceapp")?.skadnNumber
        // One that Apple gives no meaning is malformed, whoever signs it.
        ad.fidelityType = AdFidelity(fidelity) == .unknown ? nil : fidelity
        return ad
    }

    /// Calls `body` with the source identifier as it is written; nil when there is none.
    private func withSourceIdentifier<Result>(
        _ body: (UnsafeRawBufferPointer?) -> Result
    ) -> Result {
        let identifier = skadn.member("sourceidentifier")
        if let text = identifier?.skadnText { return body(text) }
        guard let number = identifier?.skadnNumber else { return body(nil) }
        return Array("\(number)".utf8).withUnsafeBytes { body($0) }
    }
}
