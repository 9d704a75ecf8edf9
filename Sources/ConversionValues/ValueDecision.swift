import ConversionModels

/// Chooses the value to return to an install, from its state after the request was counted.
struct ValueDecision {
    let request: ConversionRequest
    /// Nil for a new install.
    let before: InstallState?
    /// The state after the request, before a value was returned.
    let after: InstallState
    let model: ConversionModel?
    let now: Int64

    /// Completes the update with the returned value.
    func tell(_ update: inout ConversionUpdate) -> ConversionAnswer {
        let version = version(update)
        update.model = version?.id
        update.fine = reportedFine(model: update.model ?? "")
        update.coarse = reportedCoarse(update)
        var answer = ConversionAnswer()
        if let version { update.uncountedCurrencies = otherCurrencies(than: version) }
        if let index = update.sequenceIndex {
            if after.windows[index].isLockReported {
                update.outcome = .locked
            } else if let version {
                answer = tell(&update, version, index)
            } else {
                update.outcome = .noModel
            }
        } else {
            update.outcome = .ended
        }
        answer.reason = Self.explanation(update)
        return answer
    }

    private func tell(
        _ update: inout ConversionUpdate, _ version: ConversionModelVersion, _ index: Int
    ) -> ConversionAnswer {
        let next = next(version, index)
        let tellsFine = index == 0 && isRise(next.fine, from: currentFine)
        let tellsCoarse = isRise(next.coarse, from: currentCoarse(index))
        let tellsLock = next.isLocked && !request.locks[index]
        guard tellsFine || tellsCoarse || tellsLock else { return ConversionAnswer() }
        update.outcome = .told
        if tellsFine, let fine = next.fine {
            update.fine = update.fine ?? ValueChange(before: HighestValues())
            update.fine?.told = ModelledValue(fine, model: version.id)
        }
        if tellsCoarse, let coarse = next.coarse {
            update.coarse = update.coarse ?? ValueChange(before: HighestValues())
            update.coarse?.told = ModelledValue(coarse, model: version.id)
        }
        update.locksWindow = next.isLocked
        guard after.windowing == .three else { return ConversionAnswer(fine: next.fine) }
        // Apple's call requires a fine value with every coarse one, and lowers neither.
        return ConversionAnswer(
            fine: next.fine ?? 0, coarse: next.coarse, locksWindow: next.isLocked)
    }

    private struct Next {
        var fine: Int?
        var coarse: CoarseValue?
        var isLocked = false
    }

    /// The values that the install should have, never below those returned or reported earlier.
    private func next(_ version: ConversionModelVersion, _ index: Int) -> Next {
        let window = after.windows[index]
        let coarseFloor = [window.coarse.floor, request.coarse[index]].compactMap { $0 }.max()
        var next = Next(fine: fineFloor, coarse: coarseFloor)
        guard !window.isLockTold else {
            next.isLocked = true
            return next
        }
        if index == 0 {
            let day = Int((now - after.firstCallMilliseconds) / ConversionWindows.dayMilliseconds)
            let fine = try? version.encode(version.fineState(of: window, day: day))
            next.fine = [next.fine, fine].compactMap { $0 }.max()
        }
        guard after.windowing == .three else { return next }
        let state = version.coarseState(of: window, sequenceIndex: index)
        let coarse = try? version.encodeCoarse(state, sequenceIndex: index)
        next.coarse = [next.coarse, coarse].compactMap { $0 }.max()
        next.isLocked = isComplete(next, version, index)
        return next
    }

    /// Whether no value of a window can rise any more, so that its postback may come at once.
    private func isComplete(_ next: Next, _ version: ConversionModelVersion, _ index: Int) -> Bool {
        // The present version decodes a value that is locked now.
        guard let current = model?.versionIndex(inEffectAtMilliseconds: now),
            model?.versions[current].id == version.id
        else { return false }
        let highestCoarse = version.highestCoarse(sequenceIndex: index)
        if let highestCoarse, next.coarse ?? .low < highestCoarse { return false }
        guard index == 0 else { return highestCoarse != nil && next.coarse != nil }
        let highestFine = version.highestFine(withinDays: 2)
        return highestFine > 0 && next.fine ?? 0 >= highestFine
            && (highestCoarse == nil || next.coarse != nil)
    }

    private func version(_ update: ConversionUpdate) -> ConversionModelVersion? {
        guard let model else { return nil }
        let instant = update.windowing.modelInstant(
            now: now, firstCall: update.firstCallMilliseconds, index: update.sequenceIndex ?? 2)
        return model.versionIndex(inEffectAtMilliseconds: instant).map { model.versions[$0] }
    }

    private var fineFloor: Int? { [after.fine.floor, request.fine].compactMap { $0 }.max() }

    /// The install's present fine value. A device reports it with each request; a server may not.
    private var currentFine: Int? {
        request.kind == .conversionValue
            ? request.fine : request.fine ?? before?.fine.reported?.value
    }

    private func currentCoarse(_ index: Int) -> CoarseValue? {
        request.kind == .conversionValue
            ? request.coarse[index]
            : request.coarse[index] ?? before?.windows[index].coarse.reported?.value
    }

    private func isRise<Value: Comparable>(_ next: Value?, from current: Value?) -> Bool {
        guard let next else { return false }
        return current.map { next > $0 } ?? true
    }
}

extension ValueDecision {
    private func reportedFine(model: String) -> ValueChange<Int>? {
        var change = ValueChange(before: before?.fine ?? HighestValues())
        if let value = request.fine {
            change.reported = ModelledValue(value, model: change.toldBefore?.model ?? model)
        }
        return change.isEmpty ? nil : change
    }

    private func reportedCoarse(_ update: ConversionUpdate) -> ValueChange<CoarseValue>? {
        guard let index = update.sequenceIndex else { return nil }
        var change = ValueChange(before: before?.windows[index].coarse ?? HighestValues())
        if let value = request.coarse[index] {
            change.reported = ModelledValue(
                value, model: change.toldBefore?.model ?? update.model ?? "")
        }
        return change.isEmpty ? nil : change
    }

    private func otherCurrencies(than version: ConversionModelVersion) -> [String] {
        request.totalRevenueMicros.filter { $0.value > 0 && $0.key != version.currency }
            .map(\.key).sorted()
    }

    /// Why no value is returned, or which revenue did not count.
    static func explanation(_ update: ConversionUpdate) -> String? {
        let why: String? =
            switch update.outcome {
            case .told: nil
            case .unchanged: "the value does not change"
            case .locked: "the conversion window is locked"
            case .ended: "the last conversion window has ended"
            case .noModel: "no conversion model was in effect for this app"
            case .stale: "the request belongs to an earlier install with this idfv"
            }
        let currencies = update.uncountedCurrencies.joined(separator: ", ")
        let money =
            currencies.isEmpty
            ? nil
            : "revenue in \(currencies) does not count, because the model uses another currency"
        let explanation = [why, money].compactMap { $0 }
        return explanation.isEmpty ? nil : explanation.joined(separator: "; ")
    }
}

extension ConversionModelVersion {
    /// The activity of a window for the fine value.
    ///
    /// - Parameter day: whole days since the first call.
    func fineState(of window: WindowState, day: Int) -> ConversionState {
        state(of: window, day: day, paying: payingInFine)
    }

    /// The activity of a window for its coarse value.
    func coarseState(of window: WindowState, sequenceIndex: Int) -> ConversionState {
        let events = coarse[sequenceIndex]?.values.flatMap { $0 } ?? []
        return state(of: window, day: 0, paying: Self.paying(events))
    }

    /// The highest fine value that an install can reach within this number of days.
    func highestFine(withinDays days: Int) -> Int {
        fields.reduce(0) { $0 | $1.highestNumber(withinDays: days) << $1.bits.lowerBound }
    }

    /// The highest coarse value with a meaning in a window; nil without one.
    func highestCoarse(sequenceIndex: Int) -> CoarseValue? {
        coarse[sequenceIndex]?.filter { !$0.value.isEmpty }.keys.max()
    }

    /// Revenue without an event belongs to the only event with revenue in the model, and to `revenue`. If several
    /// events have revenue, each has the revenue that came with it.
    private func state(of window: WindowState, day: Int, paying: Set<String>) -> ConversionState {
        var state = ConversionState(eventCounts: window.eventCounts, day: day)
        for name in flagNames where window.eventCounts[name, default: 0] > 0 {
            // The flag accounts for one of the occurrences.
            state.flags.insert(name)
            state.eventCounts[name, default: 0] -= 1
        }
        let revenue = window.revenueMicros[currency] ?? [:]
        for name in paying {
            let isAll = paying.count == 1 || name == Self.totalName
            state.revenueMicros[name] =
                isAll ? revenue.values.reduce(0, +) : revenue[name, default: 0]
        }
        return state
    }

    private static let totalName = "revenue"

    private var flagNames: [String] {
        fields.flatMap { field -> [String] in
            if case .flags(let flags) = field.kind { Array(flags.values) } else { [] }
        }
    }

    /// The events with revenue in fine values.
    private var payingInFine: Set<String> {
        fields.reduce(into: []) { names, field in
            switch field.kind {
            case .revenue(let event, _, _): names.insert(event)
            case .events(let values): names.formUnion(Self.paying(Array(values.values)))
            case .table(let values): names.formUnion(Self.paying(values.values.flatMap { $0 }))
            case .flags, .days: break
            }
        }
    }

    private static func paying(_ events: [ModelEvent]) -> Set<String> {
        Set(events.filter { $0.revenueMaxMicros > 0 }.map(\.event))
    }
}

extension FineField {
    fileprivate func highestNumber(withinDays days: Int) -> Int {
        switch kind {
        case .revenue(_, let bounds, _): bounds.count - 1
        case .events(let values): values.keys.max() ?? 0
        case .table(let values): values.filter { !$0.value.isEmpty }.keys.max() ?? 0
        case .flags(let flags): flags.keys.reduce(0) { $0 | 1 << ($1 - bits.lowerBound) }
        case .days: min(max(days - 1, 0), largestNumber)
        }
    }
}
