import JSON

package final class OverlayClicksFold: WindowedFold {
    package let state: WindowedState
    private var decoder = OverlayClicksDecoder()

    let overlayClicks = DeltaTable<OverlayClicksKey>()
    package var deltas: [Deltas] { [overlayClicks] }

    package init(topic: String, rules: WindowedRules, parser: JSONParser) {
        state = WindowedState(topic: topic, rules: rules, parser: parser)
    }

    package func count(
        _ value: JSONValue, of kind: OverlayClicksEventType, at position: FoldPosition
    ) throws(Rejection) -> Bool {
        let (click, id) = try decoder.decode(value, kind, symbols: &state.effects.symbols)
        guard state.admit(id) else { return false }
        add(click, position)
        return true
    }

}

extension OverlayClicksFold {
    private func add(_ click: OverlayClicksEvent, _ position: FoldPosition) {
        let row = overlayClicks.row(OverlayClicksKey(ad: click.key), at: position)
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
