import Dispatch
import EventLog
import JSON
import Signatures

/// Judges the ad signatures of a batch's bids on all cores, for the networks whose keys are configured.
///
/// A verdict follows from the record and the keys alone, so it does not matter which thread gives it.
///
/// `@unchecked Sendable`: `judge` is called by one thread at a time; the threads that it starts end within it,
/// and each uses the parser and the places of its own number only.
final class BidSignatureVerifier: @unchecked Sendable {
    private let keys: [[UInt8]: [VerificationKey]]
    private let parsers: [JSONParser]
    private let maxRecordBytes: Int
    private var judged: UnsafeMutableBufferPointer<[BidSignature]>

    /// Takes the keys by network, in lower case, and a parser for each thread to be used.
    init(keys: [[UInt8]: [VerificationKey]], parsers: [JSONParser], maxRecordBytes: Int) {
        self.keys = keys
        self.parsers = parsers
        self.maxRecordBytes = maxRecordBytes
        judged = UnsafeMutableBufferPointer(start: nil, count: 0)
    }

    /// The judged signatures of each record, in the order of its bids. None for a record that is no auction;
    /// what is returned is empty when no network has a key.
    func judge(_ batch: RecordBatch) -> [[BidSignature]] {
        guard !keys.isEmpty, !parsers.isEmpty else { return [] }
        judged = .allocate(capacity: batch.count)
        judged.initialize(repeating: [])
        defer {
            judged.deinitialize()
            judged.deallocate()
        }
        nonisolated(unsafe) let records = batch
        let threads = parsers.count
        DispatchQueue.concurrentPerform(iterations: threads) { thread in
            for index in stride(from: thread, to: records.count, by: threads) {
                self.judged[index] = self.signatures(of: records[index], by: self.parsers[thread])
            }
        }
        return Array(judged)
    }

    /// A record that is refused has no signatures: whatever is wrong with it is found when it is folded.
    private func signatures(of record: RecordView, by parser: JSONParser) -> [BidSignature] {
        let envelope = Envelope<BidsEventType>(record)
        guard envelope.type == .auction,
            let value = try? envelope.value(
                of: record, parser: parser, maxRecordBytes: maxRecordBytes)
        else { return [] }
        var signatures: [BidSignature] = []
        var bid = 0
        AuctionDecoder.forEachBid(of: value) { object in
            if let skadn = object.member("ext")?.member("skadn"), skadn.isObject {
                append(skadn, bid: bid, to: &signatures)
            }
            bid += 1
        }
        return signatures
    }

    private func append(_ skadn: JSONValue, bid: Int, to signatures: inout [BidSignature]) {
        guard let network = skadn.member("network")?.string,
            let keys = keys[network.map(\.asciiLowercased)]
        else { return }
        // A fidelity has one signature: a list without end would cost a check for each element.
        var found: Set<AdFidelity> = []
        for place in SignedAd.places(of: skadn) {
            let ad = SignedAd(skadn, place)
            let fidelity = AdFidelity(ad.fidelity)
            guard found.insert(fidelity).inserted else { continue }
            signatures.append(
                BidSignature(bid: bid, fidelity: fidelity, verdict: ad.verdict(by: keys)))
        }
    }
}

/// A signature on the ad of a bid, judged.
struct BidSignature: Sendable {
    /// The bid's place among the bids of its auction, from 0.
    var bid: Int
    var fidelity: AdFidelity
    var verdict: AdSignatureVerdict
}

/// What came of checking the signature that a network puts on an ad.
package enum AdSignatureVerdict: Int, CaseIterable, ColumnWord {
    /// One of the network's keys made it over the ad's fields.
    case valid
    /// All that is signed is there, and none of the network's keys made the signature.
    case invalid
    /// The signature, or a field that it covers, is missing or malformed: a signature that is no base64,
    /// a fidelity other than 0 and 1.
    case incomplete
    /// The ad's version is none whose signed fields are known.
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

/// How an ad that is signed is presented.
package enum AdFidelity: Int, ColumnWord {
    /// It is not said, or no number that Apple gives a meaning.
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
