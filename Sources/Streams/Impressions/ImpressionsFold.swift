import JSON

package final class ImpressionsFold: WindowedFold {
    package let state: WindowedState
    private var idBuilder = RecordIDBuilder()
    private var decoder = ImpressionsDecoder()
    /// The positions in the current record.
    private var positions: Set<Int64> = []

    let impressions = DeltaTable<ImpressionsKey>()
    package var deltas: [Deltas] { [impressions] }

    package init(topic: String, rules: WindowedRules, parser: JSONParser) {
        state = WindowedState(topic: topic, rules: rules, parser: parser)
    }

    /// Counts a record unless its id was seen earlier; counts only the new listings of a record.
    package func count(
        _ value: JSONValue, of kind: ImpressionsEventType, at position: FoldPosition
    ) throws(Rejection) -> Bool {
        let (event, id) = try decoder.decode(value, kind, symbols: &state.effects.symbols)
        switch event {
        case .ad(let ad):
            guard state.admit(self.id(kind, id)) else { return false }
            add(ad, position)
        case .recommendations(let recommendations):
            guard state.admit(self.id(kind, id)) else { return false }
            add(recommendations, position)
        case .listings(let seen):
            return count(seen, requestID: id, at: position)
        }
        return true
    }

}

extension ImpressionsFold {
    private func id(_ kind: ImpressionsEventType, _ id: UnsafeRawBufferPointer) -> RecordID {
        idBuilder.begin()
        idBuilder.add(kind.name)
        idBuilder.add(id)
        return idBuilder.finish()
    }

    private func add(_ ad: ImpressionsEvent.Ad, _ position: FoldPosition) {
        let row = row(ad.key, position)
        guard !ad.isTest else { return count(.test, row) }
        switch ad.fate {
        case .presented: count(.presented, row)
        case .dismissed: count(.dismissed, row)
        case .failed: count(.failed, row)
        case .attributable(let isStoreKitRendered):
            count(.presented, row)
            count(isStoreKitRendered ? .fidelityStorekit : .fidelityView, row)
        case .widgetViewed(let isStale): count(isStale ? .stale : .widgetViews, row)
        case .loaded(let isBanner):
            count(.loaded, row)
            if isBanner { count(.presented, row) }
        case .handedOver: count(.handovers, row)
        }
    }

    private func add(_ answer: ImpressionsEvent.Recommendations, _ position: FoldPosition) {
        for document in answer.documents {
            let row = row(
                AdKey(
                    format: .outbrain, placement: answer.placement, campaign: document.campaign),
                position)
            guard !answer.isTest else {
                count(.test, row)
                continue
            }
            count(.received, row)
            count(document.isPaid ? .paid : .organic, row)
            if document.isRTB { count(.rtb, row) }
        }
    }

    /// Each listing has its own id, and counts once per record. The record is a duplicate if all its listings are
    /// known.
    private func count(
        _ seen: ImpressionsEvent.Listings, requestID: UnsafeRawBufferPointer,
        at position: FoldPosition
    ) -> Bool {
        var viewed: Int64 = 0
        var stale: Int64 = 0
        positions.removeAll(keepingCapacity: true)
        for listing in seen.listings where positions.insert(listing.position).inserted {
            idBuilder.begin()
            idBuilder.add(ImpressionsEventType.listingsViewed.name)
            idBuilder.add(requestID)
            idBuilder.add(listing.position)
            guard state.admit(idBuilder.finish()) else { continue }
            if listing.isStale { stale += 1 } else { viewed += 1 }
        }
        guard viewed + stale > 0 else { return false }
        let row = row(
            AdKey(format: .outbrain, placement: seen.placement, campaign: .unknown), position)
        guard !seen.isTest else {
            count(.test, row)
            return true
        }
        impressions.add(viewed, to: .viewed, row: row)
        impressions.add(stale, to: .stale, row: row)
        return true
    }

    private func row(_ ad: AdKey, _ position: FoldPosition) -> Int {
        impressions.row(ImpressionsKey(ad: ad), at: position)
    }

    @inline(__always)
    private func count(_ measure: ImpressionsKey.Measure, _ row: Int) {
        impressions.count(measure, row: row)
    }
}
