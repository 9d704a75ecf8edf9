import JSON
import Signatures

/// A signature on a bid's ad: the fold's verdict, the signed fields, and the check that decided.
package struct BidSignatureInspection: Sendable {
    package let seat: String
    /// The bid's id; empty if missing.
    package let bid: String
    /// In lower case.
    package let network: String
    package let fidelity: AdFidelity
    package let verdict: AdSignatureVerdict
    /// The check that decided, in words.
    package let reason: String
    /// The signed fields, in order; a value is nil if a required field is missing. Empty for an unknown version.
    package let signedFields: [SignedField]

    /// Judges the signatures on an auction's ads as the worker does: those of networks with keys.
    ///
    /// - Parameters:
    ///   - document: the value of a record.
    ///   - keys: by network id in lower case, each as a SubjectPublicKeyInfo in base64.
    /// - Returns: an empty list if the document is not an auction.
    package static func inspect(
        _ document: UnsafeRawBufferPointer, keys: [String: [String]]
    ) -> [BidSignatureInspection] {
        guard let parser = JSONParser(), let auction = try? parser.parse(document) else {
            return []
        }
        let judge = BidSignatureJudge(
            keys: keys.mapValues { $0.compactMap { VerificationKey(base64: $0) } })
        let names = names(ofBidsIn: auction)
        var found: [BidSignatureInspection] = []
        judge.forEachSignature(of: auction) { bid, ad, signature, keys in
            let verdict = ad.verdict(signature, by: keys)
            let network = text(ad.network).lowercased()
            let fields = ad.fields(of: signature)
            found.append(
                BidSignatureInspection(
                    seat: names[bid].seat, bid: names[bid].id, network: network,
                    fidelity: signature.fidelity, verdict: verdict,
                    reason: reason(
                        verdict, ad, signature, fields, keys: keys.count, network: network),
                    signedFields: fields))
        }
        return found
    }

    /// Seats and ids of bids, in the order of judgement.
    private static func names(ofBidsIn auction: JSONValue) -> [(seat: String, id: String)] {
        var names: [(seat: String, id: String)] = []
        guard let seats = auction.member("response")?.member("seatbid") else { return [] }
        for seat in seats.elements {
            guard let bids = seat.member("bid") else { continue }
            for bid in bids.elements {
                names.append((text(seat.member("seat")?.string), text(bid.member("id")?.string)))
            }
        }
        return names
    }

    private static func text(_ bytes: UnsafeRawBufferPointer?) -> String {
        bytes.map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    private static func reason(
        _ verdict: AdSignatureVerdict, _ ad: SignedAd, _ signature: SignedAd.Signature,
        _ fields: [SignedField], keys: Int, network: String
    ) -> String {
        switch verdict {
        case .valid:
            let key = keys == 1 ? "the key" : "one of the \(keys) keys"
            return "\(key) of \(network) made this signature for these fields"
        case .invalid:
            let key =
                keys == 1
                ? "the key of \(network) did not make"
                : "none of the \(keys) keys of \(network) made"
            return "the signature check failed: \(key) this signature for these fields"
        case .unverifiable:
            return
                "the signed fields of version '\(text(ad.version))' are unknown, so no signature was checked"
        case .incomplete: return reasonIncomplete(ad, signature, fields)
        }
    }

    /// The first of the fold's checks that failed before any signature could be checked.
    private static func reasonIncomplete(
        _ ad: SignedAd, _ signature: SignedAd.Signature, _ fields: [SignedField]
    ) -> String {
        guard ad.version != nil else { return "version is missing or is not text" }
        guard signature.text != nil else { return "signature is missing or is not text" }
        let missing = fields.filter { $0.value == nil }.map(\.name)
        guard missing.isEmpty else {
            return "missing or malformed: \(missing.joined(separator: ", "))"
        }
        if let field = fields.first(where: { $0.value?.contains("\u{2063}") ?? false }) {
            return "\(field.name) contains U+2063, which separates signed fields"
        }
        return "signature is not base64"
    }
}
