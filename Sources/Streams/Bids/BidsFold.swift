import Attestation
import EventLog
import JSONReader

/// Folds the topic `bids`.
package final class BidsFold: WindowedFold {
    /// A batch with the judged signatures of each record; those are empty when no network has a key.
    package struct Prepared {
        let batch: RecordBatch
        let signatures: [[BidSignature]]
    }

    /// Name of the stream.
    package static let streamName = "bids"
    /// The stream's aggregates.
    package static let tables = [
        BidsKey.table, BidFaultsKey.table, BidSignaturesKey.table, LossReasonsKey.table,
    ]

    /// What the batch did, and the ids that are remembered.
    package let state: WindowedState
    private var decoder = BidsDecoder()
    private var verifier: BidSignatureVerifier?
    /// The judged signatures of the batch's records.
    private var signatures: [[BidSignature]] = []

    /// What the batch adds to `bids`.
    package private(set) var bids = DeltaTable<BidsKey>()
    /// What the batch adds to `bid-faults`.
    package private(set) var bidFaults = DeltaTable<BidFaultsKey>()
    /// What the batch adds to `bid-signatures`.
    package private(set) var bidSignatures = DeltaTable<BidSignaturesKey>()
    /// What the batch adds to `loss-reasons`.
    package private(set) var lossReasons = DeltaTable<LossReasonsKey>()

    /// Makes a fold without memory; `parser` is its own from now on.
    package init(topic: String, configuration: WindowedState.Configuration, parser: JSONParser) {
        state = WindowedState(topic: topic, configuration: configuration, parser: parser)
    }

    /// Has the ads of the networks in `keys` (their ids in lower case) verified from the next batch on,
    /// with a thread for each of the parsers, which are the fold's own from now on.
    package func verifyAds(of keys: [String: [VerificationKey]], parsers: [JSONParser]) {
        verifier = BidSignatureVerifier(
            keys: Dictionary(uniqueKeysWithValues: keys.map { (Array($0.key.utf8), $0.value) }),
            parsers: parsers, maxRecordBytes: state.configuration.maxRecordBytes)
    }

    /// Has the batch's ad signatures verified.
    package func prepare(_ batch: RecordBatch) -> Prepared {
        Prepared(batch: batch, signatures: verifier?.judge(batch) ?? [])
    }

    /// How many signatures of ads were verified.
    package func verifications(in prepared: Prepared) -> Int {
        prepared.signatures.reduce(0) { $0 + $1.count }
    }

    /// Begins to fold a batch.
    package func begin(_ prepared: Prepared) {
        state.batch = prepared.batch
        signatures = prepared.signatures
    }

    /// True when a sum of the batch alone no longer fits 64 bits.
    package var hasOverflowed: Bool {
        bids.hasOverflowed || bidFaults.hasOverflowed || bidSignatures.hasOverflowed
            || lossReasons.hasOverflowed
    }

    /// Counts a record unless its id was seen before.
    package func count(
        _ value: JSONValue, of kind: BidsEventType, at place: RecordPlace
    ) throws(Rejection) -> Bool {
        let (event, id) = try decoder.decode(value, kind, symbols: &state.effects.symbols)
        guard state.admit(id) else { return false }
        add(event, partition: place.partition, hour: place.hour)
        if case .auction(let auction) = event, !signatures.isEmpty {
            add(signatures[place.index], of: auction, place.partition, place.hour)
        }
        return true
    }

    /// Shows what the batch adds.
    package func visitAdditions(_ visitor: inout some AdditionVisitor) {
        visitor.visit(bids, symbols: effects.symbols)
        visitor.visit(bidFaults, symbols: effects.symbols)
        visitor.visit(bidSignatures, symbols: effects.symbols)
        visitor.visit(lossReasons, symbols: effects.symbols)
    }

    /// Clears what the batch adds to the tables.
    package func clearTables(keepingRows: Bool) {
        bids.removeAll(keepingRows: keepingRows)
        bidFaults.removeAll(keepingRows: keepingRows)
        bidSignatures.removeAll(keepingRows: keepingRows)
        lossReasons.removeAll(keepingRows: keepingRows)
    }
}

extension BidsFold {
    private func add(_ event: BidsEvent, partition: Int32, hour: Hour) {
        switch event {
        case .auction(let auction): add(auction, partition, hour)
        case .notice(let notice): add(notice, partition, hour)
        case .inAppBid(let offer):
            let row = row(offer, partition, hour)
            count(.inAppBids, row)
            bids.add(offer.priceMicros, to: BidsKey.Measure.priceMicros.rawValue, row: row)
        case .inAppBidderWon(let offer):
            count(.inAppWins, row(offer, partition, hour))
        }
    }

    private func add(_ auction: BidsEvent.Auction, _ partition: Int32, _ hour: Hour) {
        var campaign = CampaignKey.unknown
        campaign.sourceAppID = auction.sourceAppID
        let row = bids.row(
            BidsKey(
                partition: partition, hour: hour, seat: .empty, campaign: campaign,
                skanVersion: .empty, currency: .empty))
        count(.auctions, row)
        if auction.bids.isEmpty { count(.noBids, row) }
        for bid in auction.bids { add(bid, partition, hour) }
    }

    private func add(_ bid: BidsEvent.Bid, _ partition: Int32, _ hour: Hour) {
        let row = bids.row(
            BidsKey(
                partition: partition, hour: hour, seat: bid.seat, campaign: bid.campaign,
                skanVersion: bid.skanVersion, currency: bid.currency))
        count(.bids, row)
        bids.add(bid.priceMicros, to: BidsKey.Measure.priceMicros.rawValue, row: row)
        if bid.overlay.isSignalled { count(.overlaySignalled, row) }
        if bid.overlay.isRequested { count(.overlayRequested, row) }
        if bid.overlay.isEligible { count(.overlayEligible, row) }
        if bid.overlay.isClickTracked { count(.overlayClickTracked, row) }
        guard let fault = bid.fault else { return }
        count(.skadnInvalid, row)
        let faultRow = bidFaults.row(
            BidFaultsKey(partition: partition, hour: hour, campaign: bid.campaign, fault: fault))
        bidFaults.add(1, to: 0, row: faultRow)
    }

    private func add(
        _ signatures: [BidSignature], of auction: BidsEvent.Auction, _ partition: Int32,
        _ hour: Hour
    ) {
        for signature in signatures {
            let bid = auction.bids[signature.bid]
            let row = bidSignatures.row(
                BidSignaturesKey(
                    partition: partition, hour: hour, seat: bid.seat, campaign: bid.campaign,
                    skanVersion: bid.skanVersion, fidelity: signature.fidelity,
                    verdict: signature.verdict))
            bidSignatures.add(1, to: 0, row: row)
        }
    }

    private func add(_ notice: BidsEvent.Notice, _ partition: Int32, _ hour: Hour) {
        let row = bids.row(
            BidsKey(
                partition: partition, hour: hour, seat: notice.seat, campaign: notice.campaign,
                skanVersion: notice.skanVersion, currency: notice.currency))
        switch notice.kind {
        case .win: count(.wins, row)
        case .loss(let reason):
            count(.losses, row)
            let reasonRow = lossReasons.row(
                LossReasonsKey(
                    partition: partition, hour: hour, seat: notice.seat,
                    campaign: notice.campaign, reason: reason))
            lossReasons.add(1, to: 0, row: reasonRow)
        case .billing(let priceMicros):
            count(.billed, row)
            bids.add(priceMicros, to: BidsKey.Measure.billedPriceMicros.rawValue, row: row)
        }
    }

    private func row(_ offer: BidsEvent.InAppOffer, _ partition: Int32, _ hour: Hour) -> Int {
        bids.row(
            BidsKey(
                partition: partition, hour: hour, seat: offer.adapter, campaign: offer.campaign,
                skanVersion: .empty, currency: offer.currency))
    }

    @inline(__always)
    private func count(_ measure: BidsKey.Measure, _ row: Int) {
        bids.add(1, to: measure.rawValue, row: row)
    }
}
