import ConversionModels

/// Which value an install is told, given all that is known of it once its request is counted.
struct Telling {
    let request: ConversionRequest
    /// The install before the request; nil for a new one.
    let before: InstallState?
    /// The install with the request, which was told nothing for it yet.
    let after: InstallState
    let model: ConversionModel?
    let now: Int64

    /// Completes the update with what is told, and answers.
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
        answer.reason = Self.words(update)
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
            update.fine = update.fine ?? ValueChange(before: Standing())
            update.fine?.told = StandingValue(fine, model: version.id)
        }
        if tellsCoarse, let coarse = next.coarse {
            update.coarse = update.coarse ?? ValueChange(before: Standing())
            update.coarse?.told = StandingValue(coarse, model: version.id)
        }
        update.locksWindow = next.isLocked
        guard after.windowing == .three else { return ConversionAnswer(fine: next.fine) }
        // Apple's call takes a fine value with every coarse one, and lowers nothing.
        return ConversionAnswer(
            fine: next.fine ?? 0, coarse: next.coarse, locksWindow: next.isLocked)
    }

    private struct Next {
        var fine: Int?
        var coarse: CoarseValue?
        var isLocked = false
    }

    /// The values that the install should have, none below what it was told or has.
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

    /// Whether nothing can rise any more in a window, so that its postback may come at once.
    private func isComplete(
        _ next: Next, _ version: ConversionModelVersion, _ index: Int
    ) -> Bool {
        // Locked now, the value is decoded by the version of now.
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

    /// The fine value that the install has now: a device says it with each request, a server may not.
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

extension Telling {
    private func reportedFine(model: String) -> ValueChange<Int>? {
        var change = ValueChange(before: before?.fine ?? Standing())
        if let value = request.fine {
            change.reported = StandingValue(value, model: change.toldBefore?.model ?? model)
        }
        return change.isEmpty ? nil : change
    }

    private func reportedCoarse(_ update: ConversionUpdate) -> ValueChange<CoarseValue>? {
        guard let index = update.sequenceIndex else { return nil }
        var change = ValueChange(before: before?.windows[index].coarse ?? Standing())
        if let value = request.coarse[index] {
            change.reported = StandingValue(
                value, model: change.toldBefore?.model ?? update.model ?? "")
        }
        return change.isEmpty ? nil : change
    }

    private func otherCurrencies(than version: ConversionModelVersion) -> [String] {
        request.totalRevenueMicros.filter { $0.value > 0 && $0.key != version.currency }
            .map(\.key).sorted()
    }

    /// Why nothing is told, or what did not count; nil when there is nothing to say.
    static func words(_ update: ConversionUpdate) -> String? {
        let why: String? =
            switch update.outcome {
            case .told: nil
            case .unchanged: "the value stays as it is"
            case .locked: "the conversion window is locked"
            case .ended: "the last conversion window has ended"
            case .noModel: "no conversion model was in effect for this app"
            case .stale: "it is of an earlier install under this idfv"
            }
        let currencies = update.uncountedCurrencies.joined(separator: ", ")
        let money =
            currencies.isEmpty
            ? nil : "revenue in \(currencies) does not count: the model is in another currency"
        let words = [why, money].compactMap { $0 }
        return words.isEmpty ? nil : words.joined(separator: "; ")
    }
}
