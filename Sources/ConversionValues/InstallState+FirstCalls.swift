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

    /// Whether a request is of another install under the same id: its first call lies behind the end of the
    /// last window; or it is clearly later, and the device itself says that what the install had is gone.
    /// Whatever a server says of value and revenue, it begins none beside one whose windows are open.
    func isFollowed(by claim: InstallClaim) -> Bool {
        let first = claim.firstCallMilliseconds
        // Known already, as a clock that is ahead says it: it is no other's now that its time has come.
        if let known = latestFirstCallMilliseconds, claim.reportedFirstCallMilliseconds <= known {
            return false
        }
        if first >= endMilliseconds { return true }
        guard claim.isOfDevice, latestFirstCallMilliseconds != nil else { return false }
        return first >= nextInstallMilliseconds && isStartedOver(by: claim)
    }

    /// What a collector took for the first of an install need not be: it may not have known what another
    /// collector told.
    func isFollowed(by update: ConversionUpdate) -> Bool {
        guard update.startsInstall, update.outcome != .stale else { return false }
        return isFollowed(by: InstallClaim(update))
    }

    /// Whether value and totals started over: there is no value, no total has come to what is known, and
    /// something that the install had is gone.
    private func isStartedOver(by claim: InstallClaim) -> Bool {
        guard claim.fine ?? 0 == 0, !claim.hasCoarseOrLock else { return false }
        let known = totalRevenueMicros.filter { $0.value > 0 }
        let keepsSome = known.contains {
            claim.totalRevenueMicros[$0.key, default: 0] >= $0.value
        }
        guard !keepsSome else { return false }
        return !known.isEmpty || fine.reported?.value ?? 0 > 0
    }
}
