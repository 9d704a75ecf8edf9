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
    /// The judged signatures of each record of the batch.
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
