import ConversionModels
import Crypto
import JSON

/// Computes the next value that an install should report to Apple's framework: a pure function of the request, the
/// state of the install, the model and the instant.
package struct ConversionEngine {
    let request: ConversionRequest
    let state: InstallState?
    let model: ConversionModel?
    /// Never earlier than a previous answer, so that no window reopens.
    let now: Int64

    /// The period in which repetitions of a request without `update_id` count as one update.
    static let repeatMilliseconds: Int64 = 120_000

    /// The answer to a request, and its event. It never lowers a value, and returns no value after the end of the
    /// last window.
    ///
    /// - Parameters:
    ///   - state: nil for an unknown install.
    ///   - model: the model of the app; nil without one.
    ///   - nowMilliseconds: the instant of the answer, in milliseconds since 1970.
    package static func answer(
        _ request: ConversionRequest, state: InstallState?, model: ConversionModel?,
        nowMilliseconds: Int64
    ) -> (answer: ConversionAnswer, update: ConversionUpdate) {
        let now = max(nowMilliseconds, state?.receivedAtMilliseconds ?? .min)
        return ConversionEngine(request: request, state: state, model: model, now: now).answer()
    }

    private func answer() -> (answer: ConversionAnswer, update: ConversionUpdate) {
        var update = activity()
        guard update.outcome != .stale else {
            return (ConversionAnswer(reason: ValueDecision.explanation(update)), update)
        }
        let after = InstallState.after(update, state, startsInstall: update.startsInstall)
        let telling = ValueDecision(
            request: request, before: update.startsInstall ? nil : state, after: after,
            model: model, now: now)
        let answer = telling.tell(&update)
        return (answer, update)
    }

    /// The event of the request, before a value is chosen.
    private func activity() -> ConversionUpdate {
        let first = request.firstCallMilliseconds.map { min($0, now) }
        let previous = self.previous
        let startsInstall = previous == nil
        let firstCall = firstCall(previous, reported: first)
        let lastCall = lastCall(previous, firstCall: firstCall)
        let windowing: ConversionWindows =
            request.hasThreeWindows && speaksForDevice(previous)
            ? .three : previous?.windowing ?? .single
        let isStale = !startsInstall && isStale(firstCall: first)
        let repeated = repeated(previous)
        let index =
            isStale || isUnanswered(previous, firstCall: firstCall)
            ? nil
            : windowing.index(
                at: now, firstCall: firstCall, lastCall: timerStart(previous, lastCall: lastCall))
        return ConversionUpdate(
            id: repeated?.id ?? newID, content: content, installID: request.installID,
            appID: request.appID, request: request.kind, framework: request.framework,
            conversionType: request.conversion == .install ? nil : .reengagement,
            conversionTag: request.conversionTag, bundleID: request.bundleID,
            appVersion: request.appVersion, event: request.event,
            isCounted: index != nil && repeated == nil && speaksForDevice(previous),
            receivedAtMilliseconds: now,
            firstCallMilliseconds: isStale ? previous?.firstCallMilliseconds ?? now : firstCall,
            reportedFirstCallMilliseconds: request.firstCallMilliseconds,
            lastCallMilliseconds: lastCall, startsInstall: startsInstall,
            totalRevenueMicros: request.totalRevenueMicros, uncountedCurrencies: [],
            windowing: windowing, sequenceIndex: index, model: nil,
            outcome: isStale ? .stale : .unchanged, fine: nil, coarse: nil, locksWindow: false,
            reportedLocks: speaksForDevice(previous)
                ? request.locks.indices.filter { request.locks[$0] } : [],
            error: request.error == 0 ? nil : request.error)
    }
}

extension ConversionEngine {
    /// The install of the request; nil if it is a new one.
    private var previous: InstallState? {
        guard let claim = InstallClaim(request, now: now) else { return state }
        return state.flatMap { $0.isFollowed(by: claim) ? nil : $0 }
    }

    /// The first call that counts. A first call earlier than the known one is accepted only if it ends no window.
    private func firstCall(_ previous: InstallState?, reported: Int64?) -> Int64 {
        guard let previous else { return reported ?? now }
        let candidate = previous.firstCall(with: reported, at: now)
        let isKept = [ConversionWindows.single, .three].allSatisfy { windows in
            let indices = [candidate, previous.firstCallMilliseconds].map { first in
                windows.index(
                    at: now, firstCall: first,
                    lastCall: timerStart(previous, lastCall: lastCall(previous, firstCall: first)))
            }
            return indices[0] == indices[1]
        }
        return isKept ? candidate : previous.firstCallMilliseconds
    }

    private func isStale(firstCall: Int64?) -> Bool {
        guard let follows = state?.followsMilliseconds, let firstCall else { return false }
        return firstCall < follows
    }

    /// Whether this is a re-engagement without a value in its first window. The framework accepts the first value
    /// within two days only, so later windows have no effect then.
    private func isUnanswered(_ previous: InstallState?, firstCall: Int64) -> Bool {
        guard request.conversion != .install,
            now - firstCall >= ConversionWindows.endsMilliseconds[0]
        else { return false }
        let hasValue =
            previous?.fine.floor != nil || previous?.windows.first?.coarse.floor != nil
            || request.fine != nil || request.coarse[0] != nil
        return !hasValue
    }

    /// The latest known call. A call a day or more after all known ones came after the end of the timer, and does not
    /// restart it.
    private func lastCall(_ previous: InstallState?, firstCall: Int64) -> Int64? {
        guard let reported = request.lastCallMilliseconds.map({ min($0, now) }) else {
            return previous?.lastCallMilliseconds
        }
        guard let previous else { return reported }
        let end = previous.lastKnownCallMilliseconds + ConversionWindows.timerMilliseconds
        guard reported < end else { return previous.lastCallMilliseconds }
        return max(reported, previous.lastCallMilliseconds ?? reported)
    }

    /// When the timer was last started. If clients do not report their calls, this is the time of their last returned
    /// value.
    private func timerStart(_ previous: InstallState?, lastCall: Int64?) -> Int64? {
        guard request.lastCallMilliseconds == nil else { return lastCall }
        return [lastCall, previous?.toldAtMilliseconds].compactMap { $0 }.max()
    }

    /// Whether the request counts for the device. If devices send requests themselves, their servers repeat the same
    /// activity without knowing the windows.
    private func speaksForDevice(_ previous: InstallState?) -> Bool {
        request.kind == .conversionValue || previous?.asksItself != true
    }

    private func repeated(_ install: InstallState?) -> InstallState.RecentUpdate? {
        guard let previous = install?.recentUpdates.last(where: { $0.content == content }) else {
            return nil
        }
        let isRecent = now - previous.atMilliseconds < Self.repeatMilliseconds
        return request.updateID != nil || isRecent ? previous : nil
    }

    /// The common part of a request and its repetitions.
    private var content: String {
        if let id = request.updateID { return "id:\(id)" }
        var parts = [
            request.kind.rawValue, request.event, request.fine.map(String.init) ?? "",
            "\(request.firstCallMilliseconds ?? 0)", "\(request.lastCallMilliseconds ?? 0)",
        ]
        parts += request.coarse.map { $0?.rawValue ?? "" } + request.locks.map { $0 ? "1" : "0" }
        for (currency, micros) in request.totalRevenueMicros.sorted(by: { $0.key < $1.key }) {
            parts += [currency, "\(micros)"]
        }
        return Self.hash(parts)
    }

    private var newID: String {
        request.updateID ?? Self.hash([content, "\(now)"])
    }

    /// The first 32 hex digits of SHA-256 over the parts, each with its length before it.
    private static func hash(_ parts: [String]) -> String {
        var hash = SHA256()
        for part in parts { hash.update(data: Array("\(part.utf8.count):\(part)".utf8)) }
        return hash.finalize().prefix(16).hexDigits
    }
}
