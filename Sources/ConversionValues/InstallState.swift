import ConversionModels

/// The state of one install: its activity, the returned values, and its reports.
///
/// Only `after` changes it, so that it follows from the topic `conversion-updates`. All times are milliseconds since
/// 1970.
package struct InstallState: Codable, Equatable, Sendable {
    /// A recent update, for recognising a repeated request.
    struct RecentUpdate: Codable, Equatable, Sendable {
        /// As `ConversionUpdate.content`.
        var content: String
        var id: String
        /// The time of the last request for it.
        var atMilliseconds: Int64

        enum CodingKeys: String, CodingKey {
            case content, id
            case atMilliseconds = "at"
        }

        init(_ update: ConversionUpdate) {
            content = update.content
            id = update.id
            atMilliseconds = update.receivedAtMilliseconds
        }
    }

    var windowing = ConversionWindows.single
    /// The first call that counts.
    var firstCallMilliseconds: Int64
    /// The latest reported first call, even one in the future. Only the first report of a server counts.
    var latestFirstCallMilliseconds: Int64?
    /// The latest reported call.
    var lastCallMilliseconds: Int64?
    /// When a value was last returned.
    var toldAtMilliseconds: Int64?
    /// The time of its last request.
    var receivedAtMilliseconds: Int64
    /// Set if another install had the same id before: requests with an earlier first call belong to that one.
    var followsMilliseconds: Int64?
    /// The device sends requests itself, so reports of servers do not count as activity.
    var asksItself = false
    /// The highest reported total revenue by currency, in micros.
    var totalRevenueMicros: [String: Int64] = [:]
    var fine = HighestValues<Int>()
    /// The three windows; a single window is the first of them.
    var windows = [WindowState(), WindowState(), WindowState()]
    /// Oldest first.
    var recentUpdates: [RecentUpdate] = []

    static let mostRecentUpdates = 128
    /// The most currencies; further ones are not remembered.
    static let mostCurrencies = 16

    enum CodingKeys: String, CodingKey {
        case windowing = "windows"
        case firstCallMilliseconds = "first_call"
        case latestFirstCallMilliseconds = "latest_first_call"
        case lastCallMilliseconds = "last_call"
        case toldAtMilliseconds = "told_at"
        case receivedAtMilliseconds = "received_at"
        case followsMilliseconds = "follows"
        case asksItself = "asks"
        case totalRevenueMicros = "totals"
        case fine
        case windows = "by_window"
        case recentUpdates = "recent"
    }

    init(firstCallMilliseconds: Int64, receivedAtMilliseconds: Int64) {
        self.firstCallMilliseconds = firstCallMilliseconds
        self.receivedAtMilliseconds = receivedAtMilliseconds
    }

    /// The end of its last window, as far as it is known.
    var endMilliseconds: Int64 {
        switch windowing {
        case .single: lastKnownCallMilliseconds + ConversionWindows.timerMilliseconds
        case .three: firstCallMilliseconds + (ConversionWindows.endsMilliseconds.last ?? 0)
        }
    }

    /// When it may be forgotten: after the end of its last window, and after a silence as long as the topic's
    /// retention.
    package var expiryMilliseconds: Int64 {
        max(endMilliseconds, receivedAtMilliseconds + Self.silenceMilliseconds)
    }

    static let silenceMilliseconds = 90 * ConversionWindows.dayMilliseconds

    /// The latest instant at which it called the framework or got a value to report.
    var lastKnownCallMilliseconds: Int64 {
        max(firstCallMilliseconds, lastCallMilliseconds ?? .min, toldAtMilliseconds ?? .min)
    }
}

extension InstallState {
    /// The state after an update. `state` is nil for a new install.
    package static func after(_ update: ConversionUpdate, _ state: InstallState?) -> InstallState {
        let continues = state.map { !$0.isFollowed(by: update) } ?? false
        return after(update, state, startsInstall: !continues)
    }

    /// The same with a known answer to whether the update starts an install.
    static func after(
        _ update: ConversionUpdate, _ state: InstallState?, startsInstall: Bool
    ) -> InstallState {
        var next: InstallState
        if let state, !startsInstall {
            next = state
        } else {
            next = InstallState(
                firstCallMilliseconds: update.firstCallMilliseconds,
                receivedAtMilliseconds: update.receivedAtMilliseconds)
            next.followsMilliseconds = state.map {
                min($0.nextInstallMilliseconds, update.firstCallMilliseconds)
            }
        }
        next.apply(update)
        return next
    }

    private mutating func apply(_ update: ConversionUpdate) {
        guard !has(update) else { return }
        receivedAtMilliseconds = max(receivedAtMilliseconds, update.receivedAtMilliseconds)
        remember(update)
        guard update.outcome != .stale else { return }
        firstCallMilliseconds = firstCall(
            with: update.firstCallMilliseconds, at: update.receivedAtMilliseconds)
        // Otherwise a server's report about the next install would make the device's own report look old.
        let isOfDevice = update.request == .conversionValue
        if let reported = update.reportedFirstCallMilliseconds,
            isOfDevice || latestFirstCallMilliseconds == nil
        {
            latestFirstCallMilliseconds = max(latestFirstCallMilliseconds ?? reported, reported)
        }
        lastCallMilliseconds = update.lastCallMilliseconds ?? lastCallMilliseconds
        windowing = update.windowing
        if isOfDevice { asksItself = true }
        if let index = update.sequenceIndex, windows.indices.contains(index) {
            apply(update, window: index)
        }
        for index in update.reportedLocks where windows.indices.contains(index) {
            windows[index].isLockReported = true
        }
        addRevenue(of: update)
        if let change = update.fine { fine.apply(change) }
    }

    private mutating func apply(_ update: ConversionUpdate, window index: Int) {
        if update.isCounted { windows[index].count(update.event) }
        if let change = update.coarse { windows[index].coarse.apply(change) }
        if update.locksWindow { windows[index].isLockTold = true }
        if update.outcome == .told {
            toldAtMilliseconds = max(toldAtMilliseconds ?? .min, update.receivedAtMilliseconds)
        }
    }

    /// The highest total counts. Its rise belongs to the event that came with it.
    private mutating func addRevenue(of update: ConversionUpdate) {
        for (currency, total) in update.totalRevenueMicros.sorted(by: { $0.key < $1.key }) {
            let present = totalRevenueMicros[currency]
            guard total > present ?? 0,
                present != nil || totalRevenueMicros.count < Self.mostCurrencies
            else { continue }
            totalRevenueMicros[currency] = total
            guard let index = update.sequenceIndex, windows.indices.contains(index) else {
                continue
            }
            windows[index].add(
                micros: total - (present ?? 0), currency: currency, event: update.event)
        }
    }

    /// Whether its record is in the log twice, for example after a producer's retry. A repeated request has another
    /// instant, and does not count either.
    private func has(_ update: ConversionUpdate) -> Bool {
        recentUpdates.contains(RecentUpdate(update))
    }

    private mutating func remember(_ update: ConversionUpdate) {
        recentUpdates.removeAll { $0.content == update.content }
        recentUpdates.append(RecentUpdate(update))
        if recentUpdates.count > Self.mostRecentUpdates { recentUpdates.removeFirst() }
    }
}

/// First calls decide to which install a request belongs, and since when that install counts.
extension InstallState {
    /// A first call that is later than all known ones by more than this is a different call, not one with an
    /// imprecise time.
    static let nextInstallMilliseconds: Int64 = 3_600_000

    /// From here on a first call may belong to another install with the same id.
    var nextInstallMilliseconds: Int64 {
        (latestFirstCallMilliseconds ?? firstCallMilliseconds) + Self.nextInstallMilliseconds
    }

    /// The first call that counts after another one was reported.
    ///
    /// An earlier one counts only while no first call was reported yet, and only if the install is within the first
    /// window by both calls, with one window or three. So no clock and no server can end a window.
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

    /// Whether a request belongs to a later install with the same id. It does in two cases:
    ///
    /// - Its first call is after the end of the last window.
    /// - Its first call is clearly later, and the device itself reports that the previous values and revenue are
    ///   gone.
    ///
    /// A server's report of value and revenue never starts an install while windows are open.
    func isFollowed(by claim: InstallClaim) -> Bool {
        let first = claim.firstCallMilliseconds
        // A clock that was ahead already reported this first call. It does not become another install's when its time
        // comes.
        if let present = latestFirstCallMilliseconds, claim.reportedFirstCallMilliseconds <= present
        {
            return false
        }
        if first >= endMilliseconds { return true }
        guard claim.isOfDevice, latestFirstCallMilliseconds != nil else { return false }
        return first >= nextInstallMilliseconds && isStartedOver(by: claim)
    }

    /// A collector may have wrongly started an install: it may not have known the answers of another collector.
    func isFollowed(by update: ConversionUpdate) -> Bool {
        guard update.startsInstall, update.outcome != .stale else { return false }
        return isFollowed(by: InstallClaim(update))
    }

    /// Whether value and totals started over: no value is set, no total reaches a known one, and a previous value or
    /// total is gone.
    private func isStartedOver(by claim: InstallClaim) -> Bool {
        guard claim.fine ?? 0 == 0, !claim.hasCoarseOrLock else { return false }
        let present = totalRevenueMicros.filter { $0.value > 0 }
        let keepsSome = present.contains {
            claim.totalRevenueMicros[$0.key, default: 0] >= $0.value
        }
        guard !keepsSome else { return false }
        return !present.isEmpty || fine.reported?.value ?? 0 > 0
    }
}

/// A request's statements about its install, which may show that it is a new one.
struct InstallClaim {
    /// Whether the device itself sent the request; otherwise a server did.
    let isOfDevice: Bool
    /// At most the instant of the answer.
    let firstCallMilliseconds: Int64
    /// As reported.
    let reportedFirstCallMilliseconds: Int64
    /// The present fine value.
    let fine: Int?
    /// Whether a coarse value is above low, or a window is locked.
    let hasCoarseOrLock: Bool
    /// Reported total revenue by currency, in micros.
    let totalRevenueMicros: [String: Int64]

    /// Nil if the request reports no first call.
    init?(_ request: ConversionRequest, now: Int64) {
        guard let reported = request.firstCallMilliseconds else { return nil }
        isOfDevice = request.kind == .conversionValue
        firstCallMilliseconds = min(reported, now)
        reportedFirstCallMilliseconds = reported
        fine = request.fine
        hasCoarseOrLock =
            request.coarse.contains { $0 ?? .low > .low } || request.locks.contains(true)
        totalRevenueMicros = request.totalRevenueMicros
    }

    /// From the event of an answered request, as far as it has the values.
    init(_ update: ConversionUpdate) {
        isOfDevice = update.request == .conversionValue
        firstCallMilliseconds = update.firstCallMilliseconds
        reportedFirstCallMilliseconds =
            update.reportedFirstCallMilliseconds ?? update.firstCallMilliseconds
        fine = update.fine?.reported?.value
        hasCoarseOrLock =
            update.coarse?.reported?.value ?? .low > .low || !update.reportedLocks.isEmpty
        totalRevenueMicros = update.totalRevenueMicros
    }
}

/// An install, or a re-engagement of it, under one of Apple's frameworks. Each has its own values.
package struct InstallKey: Hashable, Sendable {
    var appID: Int64
    /// Vendor id (idfv).
    var installID: String
    var framework = ConversionRequest.Framework.skAdNetwork
    var conversion = ConversionRequest.Conversion.install
}
