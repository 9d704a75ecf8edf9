/// What the first calls say that requests report: which install they are of, and since when it counts.
extension InstallState {
    /// A first call so much after all that are known is not the same one, badly told.
    static let nextInstallMilliseconds: Int64 = 3_600_000

    /// Since when a first call may be that of another install under the same id.
    var nextInstallMilliseconds: Int64 {
        (latestFirstCallMilliseconds ?? firstCallMilliseconds) + Self.nextInstallMilliseconds
    }

    /// Its first call once another is reported. Only while none was reported an earlier one counts, and
    /// only within the first window by both, be there one window or three: whatever a clock or a server
    /// says, nothing ends by it.
    func firstCall(with reported: Int64?, at instant: Int64) -> Int64 {
        guard let reported, reported < firstCallMilliseconds, latestFirstCallMilliseconds == nil
        else { return firstCallMilliseconds }
        let call = [lastCallMilliseconds, toldAtMilliseconds].compactMap { $0 }.max()
        let keeps = [ConversionWindows.single, .three].allSatisfy { windows in
            windows.index(at: instant, firstCall: reported, lastCall: call) == 0
                && windows.index(at: instant, firstCall: firstCallMilliseconds, lastCall: call) == 0
        }
        return keeps ? reported : firstCallMilliseconds
    }

    /// Whether a first call is that of another install under the same id: one behind the end of the last
    /// window, or one that is clearly later while what the install has started over.
    ///
    /// - Parameters:
    ///   - first: at most the instant of the answer.
    ///   - reported: the same as it was reported.
    ///   - startsOver: what the request says is that of an install that began anew.
    func isFollowed(firstCall first: Int64, reported: Int64, startsOver: Bool) -> Bool {
        // Known already, as a clock that is ahead says it: it is no other's now that its time has come.
        if let known = latestFirstCallMilliseconds, reported <= known { return false }
        if first >= endMilliseconds { return true }
        guard startsOver, latestFirstCallMilliseconds != nil else { return false }
        return first >= nextInstallMilliseconds
    }

    /// What a collector took for the first of an install need not be: it may not have known what another
    /// collector told.
    func isFollowed(by update: ConversionUpdate) -> Bool {
        guard update.startsInstall, update.outcome != .stale else { return false }
        return isFollowed(
            firstCall: update.firstCallMilliseconds,
            reported: update.reportedFirstCallMilliseconds ?? update.firstCallMilliseconds,
            startsOver: isStartedOver(
                fine: update.fine?.reported?.value, totals: update.totalRevenueMicros,
                request: update.request))
    }

    /// Whether value and totals started over: there is no value, no total has come to what is known, and
    /// something that the install had is gone. What a server leaves out says nothing.
    func isStartedOver(
        fine said: Int?, totals: [String: Int64], request: ConversionRequest.Kind
    ) -> Bool {
        let isDevice = request == .conversionValue
        guard said ?? 0 == 0 else { return false }
        let saysTotals = isDevice || !totals.isEmpty
        let known = totalRevenueMicros.filter { $0.value > 0 }
        if saysTotals, known.contains(where: { totals[$0.key, default: 0] >= $0.value }) {
            return false
        }
        let lostRevenue = saysTotals && !known.isEmpty
        let lostValue = (isDevice || said != nil) && fine.reported?.value ?? 0 > 0
        return lostRevenue || lostValue
    }
}
