import JSON

package final class ConversionUpdatesFold: WindowedFold {
    package let state: WindowedState
    private var decoder = ConversionUpdatesDecoder()

    let conversionUpdates = DeltaTable<ConversionUpdatesKey>()
    package var deltas: [Deltas] { [conversionUpdates] }

    package init(topic: String, rules: WindowedRules, parser: JSONParser) {
        state = WindowedState(topic: topic, rules: rules, parser: parser)
    }

    package func count(
        _ value: JSONValue, of kind: ConversionUpdatesEventType, at position: FoldPosition
    ) throws(Rejection) -> Bool {
        let (update, id) = try decoder.decode(value, kind, symbols: &state.effects.symbols)
        guard state.admit(id) else { return false }
        add(update, position)
        return true
    }

}

extension ConversionUpdatesFold {
    private func add(_ update: ConversionUpdatesEvent, _ position: FoldPosition) {
        let row = row(update, position, update.model, kind: .empty, value: .empty)
        count(.updates, row)
        switch update.outcome {
        case .told, .unchanged: break
        case .locked: count(.locked, row)
        case .ended, .stale: count(.late, row)
        case .noModel: count(.unmodelled, row)
        }
        if update.hasOtherCurrency { count(.otherCurrency, row) }
        if update.hasError { count(.errors, row) }
        if let fine = update.fine {
            let kind = state.effects.symbols.intern("fine")
            add(fine, update) { told in
                let value = state.effects.symbols.intern(decimal: told.value)
                // Only the first window has a fine value.
                var update = update
                update.sequenceIndex = 0
                return self.row(update, position, told.model, kind: kind, value: value)
            }
        }
        if let coarse = update.coarse {
            let kind = state.effects.symbols.intern("coarse")
            add(coarse, update) { told in
                let value = state.effects.symbols.intern(Self.words[Int(told.value)])
                return self.row(update, position, told.model, kind: kind, value: value)
            }
        }
    }

    private static let words: [StaticString] = ["low", "medium", "high"]

    /// Counts the result of each value in its row.
    private func add(
        _ change: ConversionUpdatesEvent.Change, _ update: ConversionUpdatesEvent,
        row: (ConversionUpdatesEvent.ToldValue) -> Int
    ) {
        let before = change.toldBefore
        if let told = change.told {
            if let before, before.value == told.value {
                count(.repeated, row(before))
            } else {
                count(.told, row(told))
                if let before { count(.toldReplaced, row(before)) }
            }
        }
        addReported(change, row: row)
        // A device without a report has the value 0, which clients set before the first one.
        let has = change.reported?.value ?? (update.isAskedByDevice ? 0 : nil)
        if let before, let has, has < before.value { count(.reportedLower, row(before)) }
        if let reported = change.reported, reported.value > before?.value ?? 0 {
            count(.reportedHigher, row(reported))
        }
    }

    private func addReported(
        _ change: ConversionUpdatesEvent.Change, row: (ConversionUpdatesEvent.ToldValue) -> Int
    ) {
        guard let reported = change.reported else { return }
        if let before = change.reportedBefore {
            guard reported.value > before.value else { return }
            count(.reportedReplaced, row(before))
        }
        count(.reported, row(reported))
    }

    private func row(
        _ update: ConversionUpdatesEvent, _ position: FoldPosition, _ model: Symbol, kind: Symbol,
        value: Symbol
    ) -> Int {
        conversionUpdates.row(
            ConversionUpdatesKey(
                appID: update.appID, framework: update.framework,
                conversionType: update.conversionType, sequenceIndex: update.sequenceIndex,
                model: model, kind: kind, value: value),
            at: position)
    }

    private func count(_ measure: ConversionUpdatesKey.Measure, _ row: Int) {
        conversionUpdates.count(measure, row: row)
    }
}
