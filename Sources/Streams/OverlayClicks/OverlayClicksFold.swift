import JSONReader

/// Folds the topic `overlay-clicks`.
package final class OverlayClicksFold: WindowedFold {
    /// Name of the stream.
    package static let streamName = "overlay-clicks"
    /// The stream's aggregate.
    package static let tables = [OverlayClicksKey.table]

    /// What the batch did, and the ids that are remembered.
    package let state: WindowedState
    private var decoder = OverlayClicksDecoder()

    /// What the batch adds to `overlay-clicks`.
    package private(set) var overlayClicks = DeltaTable<OverlayClicksKey>()

    /// Makes a fold without memory; `parser` is its own from now on.
    package init(topic: String, configuration: WindowedState.Configuration, parser: JSONParser) {
        state = WindowedState(topic: topic, configuration: configuration, parser: parser)
    }

    /// True when a sum of the batch alone no longer fits 64 bits.
    package var hasOverflowed: Bool { overlayClicks.hasOverflowed }

    /// Counts a record unless its id was seen before.
    package func count(
        _ value: JSONValue, of kind: OverlayClicksEventType, at place: RecordPlace
    ) throws(Rejection) -> Bool {
        let (click, id) = try decoder.decode(value, kind, symbols: &state.effects.symbols)
        guard state.admit(id) else { return false }
        add(click, place)
        return true
    }

    /// Shows what the batch adds.
    package func visitAdditions(_ visitor: inout some AdditionVisitor) {
        visitor.visit(overlayClicks, symbols: effects.symbols)
    }

    /// Clears what the batch adds to the table.
    package func clearTables(keepingRows: Bool) {
        overlayClicks.removeAll(keepingRows: keepingRows)
    }
}

extension OverlayClicksFold {
    private func add(_ click: OverlayClicksEvent, _ place: RecordPlace) {
        let row = overlayClicks.row(
            OverlayClicksKey(partition: place.partition, hour: place.hour, place: click.place))
        switch click.judgement {
        case .test: count(.test, row)
        case .notPresented: count(.notPresented, row)
        case .unsupportedSDK: count(.unsupportedSDK, row)
        case .untracked: count(.untracked, row)
        case .early: count(.early, row)
        case .automatic: count(.automaticClicks, row)
        case .user:
            count(.clicks, row)
            count(.userClicks, row)
        case .paid(let isAltered):
            count(.clicks, row)
            count(.paidClicks, row)
            if isAltered { count(.alteredURLs, row) }
        case .organic:
            count(.clicks, row)
            count(.organicClicks, row)
        }
    }

    @inline(__always)
    private func count(_ measure: OverlayClicksKey.Measure, _ row: Int) {
        overlayClicks.add(1, to: measure.rawValue, row: row)
    }
}
