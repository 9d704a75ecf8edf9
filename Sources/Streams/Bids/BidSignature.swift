/// A signature on the ad of a bid, judged.
struct BidSignature: Sendable {
    /// The bid's place among the bids of its auction, from 0.
    var bid: Int
    /// How the ad is presented.
    var fidelity: AdFidelity
    /// What came of the check.
    var verdict: AdSignatureVerdict
}
