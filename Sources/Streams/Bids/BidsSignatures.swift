import JSON
import Signatures

/// Judges the ad signatures of bids, for networks with configured keys. A verdict depends only on the bid and the keys.
struct BidSignatureJudge {
    private let keys: [NetworkKeys]
    /// Indices in `keys` by the hash of a network's id.
    private let indices: [UInt64: [Int]]

    private struct NetworkKeys {
        /// In lower case.
        let network: [UInt8]
        let keys: [VerificationKey]
    }

    /// - Parameter keys: by network id in lower case.
    init(keys: [String: [VerificationKey]]) {
        self.keys = keys.sorted { $0.key < $1.key }.map {
            NetworkKeys(network: Array($0.key.utf8), keys: $0.value)
        }
        var indices: [UInt64: [Int]] = [:]
        for (index, key) in self.keys.enumerated() {
            indices[key.network.withUnsafeBytes { RowHasher.hash($0) }, default: []].append(index)
        }
        self.indices = indices
    }

    /// Calls `body` with the verdict on each signature of a well-formed auction and the index of its bid, in the order
    /// of bids.
    func judge(
        _ auction: JSONValue,
        _ body: (_ bid: Int, _ fidelity: AdFidelity, _ verdict: AdSignatureVerdict) -> Void
    ) {
        forEachSignature(of: auction) { bid, ad, signature, keys in
            body(bid, signature.fidelity, ad.verdict(signature, by: keys))
        }
    }

    /// Calls `body` with each signature to judge, and the keys of its network.
    func forEachSignature(
        of auction: JSONValue,
        _ body: (
            _ bid: Int, _ ad: SignedAd, _ signature: SignedAd.Signature, _ keys: [VerificationKey]
        ) -> Void
    ) {
        var bid = 0
        AuctionDecoder.forEachBid(of: auction) { object in
            defer { bid += 1 }
            guard let skadn = object.member("ext")?.member("skadn"), skadn.isObject else { return }
            let ad = SignedAd(skadn)
            guard let keys = ad.network.flatMap(self.keys(of:)) else { return }
            // A fidelity has one signature: an endless list would cost a check for each element.
            var found: Set<AdFidelity> = []
            ad.forEachSignature { signature in
                guard found.insert(signature.fidelity).inserted else { return }
                body(bid, ad, signature, keys)
            }
        }
    }

    private func keys(of network: UnsafeRawBufferPointer) -> [VerificationKey]? {
        withUnsafeTemporaryAllocation(byteCount: network.count, alignment: 1) { lower in
            for index in 0..<network.count { lower[index] = network[index].asciiLowercased }
            let network = UnsafeRawBufferPointer(lower)
            return indices[RowHasher.hash(network)]?.first {
                keys[$0].network.elementsEqual(network)
            }.map { keys[$0].keys }
        }
    }
}

/// The result of checking a network's signature on an ad.
package enum AdSignatureVerdict: Int, CaseIterable, ColumnWord {
    /// One of the network's keys signed the ad's fields.
    case valid
    /// All signed fields are present, and none of the network's keys signed them.
    case invalid
    /// The signature, or a field that it covers, is missing or malformed: a signature that is not base64, a fidelity
    /// other than 0 and 1.
    case incomplete
    /// The signed fields of the ad's version are unknown.
    case unverifiable

    package var name: StaticString {
        switch self {
        case .valid: "valid"
        case .invalid: "invalid"
        case .incomplete: "incomplete"
        case .unverifiable: "unverifiable"
        }
    }
}

/// The presentation of a signed ad.
package enum AdFidelity: Int, ColumnWord {
    /// Missing, or a number that Apple does not define.
    case unknown
    /// 0: a view-through ad.
    case view
    /// 1: an ad that StoreKit renders.
    case storeKit

    init(_ number: Int64?) {
        switch number {
        case 0: self = .view
        case 1: self = .storeKit
        default: self = .unknown
        }
    }

    package var name: StaticString {
        switch self {
        case .unknown: ""
        case .view: "view"
        case .storeKit: "storekit"
        }
    }
}

/// The members of a bid's skadn object that concern the signatures on its ad.
struct SignedAd {
    /// The signature of a fidelity or, below 2.2, of the object itself.
    struct Signature {
        private static let names = JSONNames("fidelity", "nonce", "timestamp", "signature")

        let fidelity: AdFidelity
        let nonce: UnsafeRawBufferPointer?
        let timestampMilliseconds: Int64?
        let text: UnsafeRawBufferPointer?
        /// A value that Apple does not define is malformed, even with a valid signature.
        let fidelityType: Int64?

        init(_ object: JSONValue) {
            let members = object.members(Self.names)
            let number = members[0]?.skadnNumber
            fidelity = AdFidelity(number)
            fidelityType = fidelity == .unknown ? nil : number
            nonce = members[1]?.skadnText
            timestampMilliseconds = members[2]?.skadnNumber
            text = members[3]?.skadnText
        }
    }

    private static let names = JSONNames(
        "version", "network", "campaign", "sourceidentifier", "itunesitem", "sourceapp",
        "fidelities")

    let network: UnsafeRawBufferPointer?
    private let skadn: JSONValue
    private let members: JSONMembers

    init(_ skadn: JSONValue) {
        self.skadn = skadn
        members = skadn.members(Self.names)
        network = members[1]?.string
    }

    /// Every element of `fidelities` has a signature; without elements, the object has it.
    func forEachSignature(_ body: (Signature) -> Void) {
        guard let fidelities = members[6]?.elements, !fidelities.isEmpty else {
            return body(Signature(skadn))
        }
        for fidelity in fidelities { body(Signature(fidelity)) }
    }

    func verdict(_ signature: Signature, by keys: [VerificationKey]) -> AdSignatureVerdict {
        guard let version = members[0]?.skadnText else { return .incomplete }
        guard let layout = AdSignature.Layout(version: version, isWeb: false) else {
            return .unverifiable
        }
        guard let text = signature.text else { return .incomplete }
        return withSourceIdentifier { sourceIdentifier in
            guard var ad = signedFields(signature, layout) else { return .incomplete }
            ad.sourceIdentifier = sourceIdentifier
            return switch ad.isValid(text, keys: keys) {
            case nil: .incomplete
            case true: .valid
            case false: .invalid
            }
        }
    }

    /// The fields except the source identifier; nil if a field of every layout is missing.
    private func signedFields(
        _ signature: Signature, _ layout: AdSignature.Layout
    ) -> AdSignature? {
        guard let network = members[1]?.skadnText, let item = members[4]?.skadnNumber,
            let nonce = signature.nonce, let timestamp = signature.timestampMilliseconds
        else { return nil }
        var ad = AdSignature(
            layout: layout, adNetworkID: network, itunesItemID: item, nonce: nonce,
            timestampMilliseconds: timestamp)
        ad.campaignID = members[2]?.skadnNumber
        ad.sourceAppID = members[5]?.skadnNumber
        ad.fidelityType = signature.fidelityType
        return ad
    }

    /// The version in the bid; nil if it is not a text.
    var version: UnsafeRawBufferPointer? { members[0]?.skadnText }

    /// The fields that a signature covers, in order, missing ones included; empty for an unknown version.
    func fields(of signature: Signature) -> [SignedField] {
        guard let version, let layout = AdSignature.Layout(version: version, isWeb: false) else {
            return []
        }
        let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
        var ad = AdSignature(
            layout: layout, adNetworkID: members[1]?.skadnText ?? nothing,
            itunesItemID: members[4]?.skadnNumber ?? 0, nonce: signature.nonce ?? nothing,
            timestampMilliseconds: signature.timestampMilliseconds ?? 0)
        ad.campaignID = members[2]?.skadnNumber
        ad.sourceAppID = members[5]?.skadnNumber
        ad.fidelityType = signature.fidelityType
        let missing: [String: Bool] = [
            "ad-network-id": members[1]?.skadnText == nil,
            "itunes-item-id": members[4]?.skadnNumber == nil, "nonce": signature.nonce == nil,
            "timestamp": signature.timestampMilliseconds == nil,
        ]
        return withSourceIdentifier { sourceIdentifier in
            ad.sourceIdentifier = sourceIdentifier
            return ad.signedFields.map { field in
                missing[field.name] ?? false ? SignedField(name: field.name, value: nil) : field
            }
        }
    }

    /// Calls `body` with the source identifier as written; nil if missing.
    private func withSourceIdentifier<Result>(
        _ body: (UnsafeRawBufferPointer?) -> Result
    ) -> Result {
        if let text = members[3]?.skadnText { return body(text) }
        guard let number = members[3]?.skadnNumber else { return body(nil) }
        return Array("\(number)".utf8).withUnsafeBytes { body($0) }
    }
}
