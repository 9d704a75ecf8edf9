import EventLog
import JSON
import Signatures

package final class BidsFold: WindowedFold {
    /// A batch with the judged signatures of each record; those are empty when no network has a key.
    package struct Prepared {
        let batch: RecordBatch
        let signatures: [[BidSignature]]
    }

    package let state: WindowedState
    private var decoder = BidsDecoder()
    private var verifier: BidSignatureVerifier?
    private var signatures: [[BidSignature]] = []

    let bids = DeltaTable<BidsKey>()
    let bidFaults = DeltaTable<BidFaultsKey>()
    let bidSignatures = DeltaTable<BidSignaturesKey>()
    let lossReasons = DeltaTable<LossReasonsKey>()
    package var deltas: [Deltas] { [bids, bidFaults, bidSignatures, lossReasons] }

    package init(topic: String, rules: WindowedRules, parser: JSONParser) {
        state = WindowedState(topic: topic, rules: rules, parser: parser)
    }

    /// Has the ads of the networks in `keys` (their ids in lower case) verified from the next batch on,
    /// with a thread for each of the parsers, which are the fold's own from now on.
    package func verifyAds(of keys: [String: [VerificationKey]], parsers: [JSONParser]) {
        verifier = BidSignatureVerifier(
            keys: Dictionary(uniqueKeysWithValues: keys.map { (Array($0.key.utf8), $0.value) }),
            parsers: parsers, maxRecordBytes: state.rules.maxRecordBytes)
    }

    package func prepare(_ batch: RecordBatch) -> Prepared {
        Prepared(batch: batch, signatures: verifier?.judge(batch) ?? [])
    }

    package func verifications(in prepared: Prepared) -> Int {
        prepared.signatures.reduce(0) { $0 + $1.count }
    }

    package func begin(_ prepared: Prepared) {
        state.batch = prepared.batch
        signatures = prepared.signatures
    }

    package func count(
        _ value: JSONValue, of kind: BidsEventType, at place: RecordPlace
    ) throws(Rejection) -> Bool {
        let (event, id) = try decoder.decode(value, kind, symbols: &state.effects.symbols)
        guard state.admit(id) else { return false }
        add(event, at: place)
        return true
    }

}

extension BidsFold {
    private func add(_ event: BidsEvent, at place: RecordPlace) {
        switch event {
        case .auction(let auction): add(auction, at: place)
        case .notice(let notice): add(notice, at: place)
        case .inAppBid(let offer):
            let row = row(offer, at: place)
            bids.count(.inappBids, row: row)
            bids.add(offer.priceMicros, to: .priceMicros, row: row)
        case .inAppBidderWon(let offer):
            bids.count(.inappWins, row: row(offer, at: place))
        }
    }

    private func add(_ auction: BidsEvent.Auction, at place: RecordPlace) {
        var campaign = CampaignKey.unknown
        campaign.sourceAppID = auction.sourceAppID
        let row = bids.row(
            BidsKey(seat: .empty, campaign: campaign, skanVersion: .empty, currency: .empty),
            at: place)
        bids.count(.auctions, row: row)
        if auction.bids.isEmpty { bids.count(.noBids, row: row) }
        for bid in auction.bids { add(bid, at: place) }
        guard !signatures.isEmpty else { return }
        for signature in signatures[place.index] {
            let bid = auction.bids[signature.bid]
            let key = BidSignaturesKey(
                seat: bid.seat, campaign: bid.campaign, skanVersion: bid.skanVersion,
                fidelity: signature.fidelity, verdict: signature.verdict)
            bidSignatures.count(.signatures, row: bidSignatures.row(key, at: place))
        }
    }

    private func add(_ bid: BidsEvent.Bid, at place: RecordPlace) {
        let row = bids.row(
            BidsKey(
                seat: bid.seat, campaign: bid.campaign, skanVersion: bid.skanVersion,
                currency: bid.currency),
            at: place)
        bids.count(.bids, row: row)
        bids.add(bid.priceMicros, to: .priceMicros, row: row)
        if bid.overlay.isSignalled { bids.count(.overlaySignalled, row: row) }
        if bid.overlay.isRequested { bids.count(.overlayRequested, row: row) }
        if bid.overlay.isEligible { bids.count(.overlayEligible, row: row) }
        if bid.overlay.isClickTracked { bids.count(.overlayClickTracked, row: row) }
        guard let fault = bid.fault else { return }
        bids.count(.skadnInvalid, row: row)
        let key = BidFaultsKey(campaign: bid.campaign, fault: fault)
        bidFaults.count(.bids, row: bidFaults.row(key, at: place))
    }

    private func add(_ notice: BidsEvent.Notice, at place: RecordPlace) {
        let row = bids.row(
            BidsKey(
                seat: notice.seat, campaign: notice.campaign, skanVersion: notice.skanVersion,
                currency: notice.currency),
            at: place)
        switch notice.kind {
        case .win: bids.count(.wins, row: row)
        case .loss(let reason):
            bids.count(.losses, row: row)
            let key = LossReasonsKey(seat: notice.seat, campaign: notice.campaign, reason: reason)
            lossReasons.count(.losses, row: lossReasons.row(key, at: place))
        case .billing(let priceMicros):
            bids.count(.billed, row: row)
            bids.add(priceMicros, to: .billedPriceMicros, row: row)
        }
    }

    private func row(_ offer: BidsEvent.InAppOffer, at place: RecordPlace) -> Int {
        bids.row(
            BidsKey(
                seat: offer.adapter, campaign: offer.campaign, skanVersion: .empty,
                currency: offer.currency),
            at: place)
    }
}
