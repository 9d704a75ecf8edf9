import EventLog
import JSON
import Signatures

package final class BidsFold: WindowedFold {
    /// Named, since the rules of a `WindowedFold` are `WindowedRules` by default.
    package typealias Rules = BidsRules

    package let state: WindowedState
    private var decoder = BidsDecoder()
    /// Nil if no network has a key.
    private var signatureJudge: BidSignatureJudge?
    /// Signatures judged since the last `clear`.
    private var judgedCount = 0

    let bids = DeltaTable<BidsKey>()
    let bidFaults = DeltaTable<BidFaultsKey>()
    let bidSignatures = DeltaTable<BidSignaturesKey>()
    let lossReasons = DeltaTable<LossReasonsKey>()
    package var deltas: [Deltas] { [bids, bidFaults, bidSignatures, lossReasons] }

    package init(topic: String, rules: WindowedRules, parser: JSONParser) {
        state = WindowedState(topic: topic, rules: rules, parser: parser)
    }

    /// Verifies the ads of the networks in `keys` from now on. Network ids are in lower case.
    package func verifyAds(of keys: [String: [VerificationKey]]) {
        signatureJudge = keys.isEmpty ? nil : BidSignatureJudge(keys: keys)
    }

    package func clear() {
        clearTables()
        judgedCount = 0
    }

    package func verifications(in batch: RecordBatch) -> Int { judgedCount }

    package func count(
        _ value: JSONValue, of kind: BidsEventType, at place: FoldPosition
    ) throws(Rejection) -> Bool {
        let (event, id) = try decoder.decode(value, kind, symbols: &state.effects.symbols)
        guard state.admit(id) else { return false }
        add(event, at: place)
        if case .auction(let auction) = event { addSignatures(of: auction, value, at: place) }
        return true
    }
}

extension BidsFold {
    private func add(_ event: BidsEvent, at place: FoldPosition) {
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

    private func add(_ auction: BidsEvent.Auction, at place: FoldPosition) {
        var campaign = CampaignKey.unknown
        campaign.sourceAppID = auction.sourceAppID
        let row = bids.row(
            BidsKey(seat: .empty, campaign: campaign, skanVersion: .empty, currency: .empty),
            at: place)
        bids.count(.auctions, row: row)
        if auction.bids.isEmpty { bids.count(.noBids, row: row) }
        for bid in auction.bids { add(bid, at: place) }
    }

    /// Judges signatures on the parse of the decoded auction.
    private func addSignatures(
        of auction: BidsEvent.Auction, _ value: JSONValue, at place: FoldPosition
    ) {
        signatureJudge?.judge(value) { bid, fidelity, verdict in
            let bid = auction.bids[bid]
            let key = BidSignaturesKey(
                seat: bid.seat, campaign: bid.campaign, skanVersion: bid.skanVersion,
                fidelity: fidelity, verdict: verdict)
            bidSignatures.count(.signatures, row: bidSignatures.row(key, at: place))
            judgedCount += 1
        }
    }

    private func add(_ bid: BidsEvent.Bid, at place: FoldPosition) {
        let row = bids.row(
            BidsKey(
                seat: bid.seat, campaign: bid.campaign, skanVersion: bid.skanVersion,
                currency: bid.currency),
            at: place)
        bids.count(.bids, row: row)
        if let price = bid.priceMicros {
            bids.add(price, to: .priceMicros, row: row)
        } else {
            bids.count(.unpriced, row: row)
        }
        if bid.overlay.isSignalled { bids.count(.overlaySignalled, row: row) }
        if bid.overlay.isRequested { bids.count(.overlayRequested, row: row) }
        if bid.overlay.isEligible { bids.count(.overlayEligible, row: row) }
        if bid.overlay.isClickTracked { bids.count(.overlayClickTracked, row: row) }
        guard let fault = bid.fault else { return }
        bids.count(.skadnInvalid, row: row)
        let key = BidFaultsKey(campaign: bid.campaign, fault: fault)
        bidFaults.count(.bids, row: bidFaults.row(key, at: place))
    }

    private func add(_ notice: BidsEvent.Notice, at place: FoldPosition) {
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

    private func row(_ offer: BidsEvent.InAppOffer, at place: FoldPosition) -> Int {
        bids.row(
            BidsKey(
                seat: offer.adapter, campaign: offer.campaign, skanVersion: .empty,
                currency: offer.currency),
            at: place)
    }
}
