import EventLog
import JSONReader

/// Folds the topic `bids`.
public final class BidsFold: StreamFold {
    /// What the fold depends on.
    public struct Configuration: Sendable {
        /// How long an id is remembered, in milliseconds of event time.
        public var dedupeWindowMilliseconds: Int64
        /// A longer value is refused.
        public var maxRecordBytes: Int

        /// Takes the settings.
        public init(dedupeWindowMilliseconds: Int64, maxRecordBytes: Int) {
            self.dedupeWindowMilliseconds = dedupeWindowMilliseconds
            self.maxRecordBytes = maxRecordBytes
        }
    }

    /// Name of the stream.
    public static let streamName = "bids"
    /// The stream's aggregates.
    public static let tables = [BidsKey.table, BidFaultsKey.table, LossReasonsKey.table]

    private let configuration: Configuration
    private let parser: JSONParser
    private var batch: RecordBatch?
    private var idBuilder = RecordIDBuilder()
    private var auctions = AuctionDecoder()
    private var lastAdmitted: (partition: Int32, id: RecordID)?

    /// What the batch did.
    public private(set) var effects: FoldEffects
    /// What the batch adds to `bids`.
    public private(set) var bids = DeltaTable<BidsKey>()
    /// What the batch adds to `bid-faults`.
    public private(set) var bidFaults = DeltaTable<BidFaultsKey>()
    /// What the batch adds to `loss-reasons`.
    public private(set) var lossReasons = DeltaTable<LossReasonsKey>()
    /// The dedupe memory, by partition.
    public private(set) var windows: [Int32: DedupeWindow] = [:]

    /// Makes a fold without memory; `parser` is its own from now on.
    public init(topic: String, configuration: Configuration, parser: JSONParser) {
        self.configuration = configuration
        self.parser = parser
        effects = FoldEffects(topic: topic)
    }

    /// True when a sum of the batch alone no longer fits 64 bits.
    public var hasOverflowed: Bool {
        bids.hasOverflowed || bidFaults.hasOverflowed || lossReasons.hasOverflowed
    }

    /// Gives a partition its memory, as it was stored.
    public func restore(
        partition: Int32, watermarkMilliseconds: Int64, entries: [DedupeWindow.Entry]
    ) {
        let window = DedupeWindow(
            windowMilliseconds: configuration.dedupeWindowMilliseconds,
            watermarkMilliseconds: watermarkMilliseconds)
        for entry in entries { window.restore(entry) }
        windows[partition] = window
    }

    /// Drops the memory of a partition that is no longer folded here.
    public func forget(partition: Int32) {
        windows[partition] = nil
    }

    /// Auctions are decoded one by one as they are folded.
    public func prepare(_ batch: RecordBatch) -> RecordBatch { batch }

    /// Begins to fold a batch.
    public func begin(_ batch: RecordBatch) {
        self.batch = batch
    }

    /// Folds one record of the batch.
    public func fold(_ index: Int) {
        guard let batch else { return }
        let record = batch[index]
        let timestamp = max(record.timestampMilliseconds, 0)
        let hour = Hour(containing: timestamp)
        let window = window(of: record.partition)
        window.advance(to: timestamp)
        effects.advance(record, watermarkMilliseconds: window.watermarkMilliseconds)
        lastAdmitted = nil

        let envelope = Envelope<BidsEventType>(record)
        var outcome = Outcome.accepted
        do throws(Rejection) {
            let (event, id) = try decode(record, envelope)
            if window.admit(id, timestampMilliseconds: timestamp) {
                lastAdmitted = (record.partition, id)
                add(event, partition: record.partition, hour: hour)
            } else {
                outcome = .duplicates
            }
        } catch {
            outcome = .rejected
            effects.refuse(
                RefusedRecord(index: index, type: envelope.statedType, cause: .rejected(error)))
        }
        effects.count(
            outcome, partition: record.partition, hour: hour, type: envelope.countedType)
    }

    /// Takes back the last record: its sums overflow.
    public func rejectOverflow(_ index: Int) {
        guard let batch else { return }
        let record = batch[index]
        if let (partition, id) = lastAdmitted { windows[partition]?.remove(id) }
        clear()
        let window = window(of: record.partition)
        let envelope = Envelope<BidsEventType>(record)
        effects.advance(record, watermarkMilliseconds: window.watermarkMilliseconds)
        effects.refuse(
            RefusedRecord(index: index, type: envelope.statedType, cause: .rejected(.overflow)))
        effects.count(
            .rejected, partition: record.partition,
            hour: Hour(containing: max(record.timestampMilliseconds, 0)),
            type: envelope.countedType)
    }

    /// Clears what the batch did.
    public func clear() {
        let keepsSymbols = effects.removeAll()
        bids.removeAll(keepingRows: keepsSymbols)
        bidFaults.removeAll(keepingRows: keepsSymbols)
        lossReasons.removeAll(keepingRows: keepsSymbols)
        for window in windows.values { window.forgetAdmitted() }
    }

    private func window(of partition: Int32) -> DedupeWindow {
        if let window = windows[partition] { return window }
        restore(partition: partition, watermarkMilliseconds: 0, entries: [])
        return windows[partition] ?? DedupeWindow(windowMilliseconds: 0)
    }
}

extension BidsFold {
    private func decode(
        _ record: RecordView, _ envelope: Envelope<BidsEventType>
    ) throws(Rejection) -> (BidsEvent, RecordID) {
        let value = try envelope.value(
            of: record, parser: parser, maxRecordBytes: configuration.maxRecordBytes)
        let type = envelope.type ?? .byDefault
        idBuilder.begin()
        idBuilder.add(type.name)
        switch type {
        case .auction:
            let decoded = try auctions.decode(value, symbols: &effects.symbols)
            idBuilder.add(decoded.requestID)
            return (.auction(decoded.auction), idBuilder.finish())
        case .win, .loss, .billing:
            let decoded = try NoticeDecoder.decode(value, type: type, symbols: &effects.symbols)
            idBuilder.add(decoded.identity.auctionID)
            idBuilder.add(decoded.identity.seat)
            idBuilder.add(decoded.identity.bidID)
            return (.notice(decoded.notice), idBuilder.finish())
        case .inAppBid, .inAppBidderWon:
            let decoded = try InAppOfferDecoder.decode(
                value, type: type, symbols: &effects.symbols)
            idBuilder.add(decoded.identity.auctionID)
            idBuilder.add(decoded.identity.adapter)
            let event: BidsEvent =
                type == .inAppBid
                ? .inAppBid(decoded.offer) : .inAppBidderWon(decoded.offer)
            return (event, idBuilder.finish())
        }
    }

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
