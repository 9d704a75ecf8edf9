import JSON

/// Folds the topic `conversion-updates`.
package final class ConversionUpdatesFold: WindowedFold {
    /// What the batch did, and the ids that are remembered.
    package let state: WindowedState
    private var idBuilder = RecordIDBuilder()

    /// What the batch adds to `conversion-updates`.
    let conversionUpdates = DeltaTable<ConversionUpdatesKey>()
    package var deltas: [Deltas] { [conversionUpdates] }

    /// Makes a fold without memory; `parser` is its own from now on.
    package init(topic: String, rules: WindowedRules, parser: JSONParser) {
        state = WindowedState(topic: topic, rules: rules, parser: parser)
    }

    /// Counts a record unless its id was seen before.
    package func count(
        _ value: JSONValue, of kind: ConversionUpdatesEventType, at place: RecordPlace
    ) throws(Rejection) -> Bool {
        let decoded = try ConversionUpdateDecoder.decode(value, symbols: &state.effects.symbols)
        guard state.admit(id(decoded.update, decoded.identity, kind)) else { return false }
        add(decoded.update, place)
        return true
    }

}

extension ConversionUpdatesFold {
    private func id(
        _ update: ConversionUpdatesEvent, _ identity: ConversionUpdateDecoder.Identity,
        _ kind: ConversionUpdatesEventType
    ) -> RecordID {
        idBuilder.begin()
        idBuilder.add(kind.name)
        idBuilder.add(update.appID)
        idBuilder.add(identity.installID)
        idBuilder.add(identity.updateID)
        idBuilder.add(identity.framework)
        idBuilder.add(update.sequenceIndex)
        idBuilder.add(update.fine?.told?.value ?? -1)
        idBuilder.add(update.coarse?.told?.value ?? -1)
        idBuilder.add(update.locksWindow ? 1 : 0)
        return idBuilder.finish()
    }

    private func add(_ update: ConversionUpdatesEvent, _ place: RecordPlace) {
        let row = row(update, place, update.model, kind: .empty, value: .empty)
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
            add(fine, update) { modelled in
                let value = state.effects.symbols.intern(decimal: modelled.value)
                // Only the first window has a fine value.
                var update = update
                update.sequenceIndex = 0
                return self.row(update, place, modelled.model, kind: kind, value: value)
            }
        }
        if let coarse = update.coarse {
            let kind = state.effects.symbols.intern("coarse")
            add(coarse, update) { modelled in
                let value = state.effects.symbols.intern(Self.words[Int(modelled.value)])
                return self.row(update, place, modelled.model, kind: kind, value: value)
            }
        }
    }

    private static let words: [StaticString] = ["low", "medium", "high"]

    /// Counts in the row of each value what became of it.
    private func add(
        _ change: ConversionUpdatesEvent.Change, _ update: ConversionUpdatesEvent,
        row: (ConversionUpdatesEvent.ModelledValue) -> Int
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
        // A device that says nothing has the value 0, as clients write it before the first one.
        let has = change.reported?.value ?? (update.isAskedByDevice ? 0 : nil)
        if let before, let has, has < before.value { count(.reportedLower, row(before)) }
        if let reported = change.reported, reported.value > before?.value ?? 0 {
            count(.reportedHigher, row(reported))
        }
    }

    private func addReported(
        _ change: ConversionUpdatesEvent.Change, row: (ConversionUpdatesEvent.ModelledValue) -> Int
    ) {
        guard let reported = change.reported else { return }
        if let before = change.reportedBefore {
            guard reported.value > before.value else { return }
            count(.reportedReplaced, row(before))
        }
        count(.reported, row(reported))
    }

    private func row(
        _ update: ConversionUpdatesEvent, _ place: RecordPlace, _ model: Symbol, kind: Symbol,
        value: Symbol
    ) -> Int {
        conversionUpdates.row(
            ConversionUpdatesKey(
                appID: update.appID, framework: update.framework,
                sequenceIndex: update.sequenceIndex, model: model, kind: kind, value: value),
            at: place)
    }

    private func count(_ measure: ConversionUpdatesKey.Measure, _ row: Int) {
        conversionUpdates.count(measure, row: row)
    }
}
