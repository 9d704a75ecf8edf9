import JSON

/// Folds the topic `overlay-clicks`.
package final class OverlayClicksFold: WindowedFold {
    /// What the batch did, and the ids that are remembered.
    package let state: WindowedState
    private var decoder = OverlayClicksDecoder()

    /// What the batch adds to `overlay-clicks`.
    let overlayClicks = DeltaTable<OverlayClicksKey>()
    package var deltas: [Deltas] { [overlayClicks] }

    /// Makes a fold without memory; `parser` is its own from now on.
    package init(topic: String, rules: WindowedRules, parser: JSONParser) {
        state = WindowedState(topic: topic, rules: rules, parser: parser)
    }

    /// Counts a record unless its id was seen before.
    package func count(
        _ value: JSONValue, of kind: OverlayClicksEventType, at place: RecordPlace
    ) throws(Rejection) -> Bool {
        let (click, id) = try decoder.decode(value, kind, symbols: &state.effects.symbols)
        guard state.admit(id) else { return false }
        add(click, place)
        return true
    }

}

extension OverlayClicksFold {
    private func add(_ click: OverlayClicksEvent, _ place: RecordPlace) {
        let row = overlayClicks.row(OverlayClicksKey(ad: click.place), at: place)
        switch click.judgement {
        case .test: count(.test, row)
        case .notPresented: count(.notPresented, row)
        case .unsupportedSDK: count(.unsupportedSdk, row)
        case .untracked: count(.untracked, row)
        case .early: count(.early, row)
        case .automatic: count(.automaticClicks, row)
        case .user:
            count(.clicks, row)
            count(.userClicks, row)
        case .paid(let isAltered):
            count(.clicks, row)
            count(.paidClicks, row)
            if isAltered { count(.alteredUrls, row) }
        case .organic:
            count(.clicks, row)
            count(.organicClicks, row)
        }
    }

    @inline(__always)
    private func count(_ measure: OverlayClicksKey.Measure, _ row: Int) {
        overlayClicks.count(measure, row: row)
    }
}
