import ConversionModels

/// What is known of one install of an app: what it did, was told, and says it has.
///
/// It changes by `apply` only, which is why it follows from the topic `conversion-updates`.
package struct InstallState: Codable, Equatable, Sendable {
    /// An update that was answered lately, so that a repeated request is known.
    package struct RecentUpdate: Codable, Equatable, Sendable {
        /// What is the same when a request is repeated.
        package var content: String
        /// Id of the update.
        package var id: String
        /// When it was asked for last; milliseconds since 1970.
        package var atMilliseconds: Int64

        enum CodingKeys: String, CodingKey {
            case content, id
            case atMilliseconds = "at"
        }
    }

    /// Which windows it has.
    package var windowing = ConversionWindows.single
    /// First call to the framework; milliseconds since 1970, as all times here.
    package var firstCallMilliseconds: Int64
    /// The latest of the first calls that it reported, be it in the future; of a server's only the first.
    package var latestFirstCallMilliseconds: Int64?
    /// The latest call, where one was reported.
    package var lastCallMilliseconds: Int64?
    /// When it was told something last.
    package var toldAtMilliseconds: Int64?
    /// When it asked last.
    package var receivedAtMilliseconds: Int64
    /// It follows another install under the same id: requests with an earlier first call are of that one.
    package var followsMilliseconds: Int64?
    /// The device itself asks for values, so that what servers send about it counts no activity.
    package var asksItself = false
    /// By currency, the highest total revenue that was reported, in micros.
    package var totalRevenueMicros: [String: Int64] = [:]
    /// The fine value.
    package var fine = Standing<Int>()
    /// The three windows; a single one is the first.
    package var windows = [WindowState(), WindowState(), WindowState()]
    /// The updates that were answered last, the newest at the end.
    package var recentUpdates: [RecentUpdate] = []

    /// So many updates are remembered.
    static let mostRecentUpdates = 128
    /// So many currencies are remembered; further ones are not.
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

    /// An install of which nothing but its first call is known.
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

    /// When it may be forgotten: its last window has ended, and it was silent for as long as the topic
    /// keeps what it said.
    var expiryMilliseconds: Int64 {
        max(endMilliseconds, receivedAtMilliseconds + Self.silenceMilliseconds)
    }

    /// 90 days.
    static let silenceMilliseconds = 90 * ConversionWindows.dayMilliseconds

    /// The latest instant at which it called the framework or was told to.
    var lastKnownCallMilliseconds: Int64 {
        max(firstCallMilliseconds, lastCallMilliseconds ?? .min, toldAtMilliseconds ?? .min)
    }
}

extension InstallState {
    /// The state after an update, given the state before; nil for an install that is new.
    package static func after(_ update: ConversionUpdate, _ state: InstallState?) -> InstallState {
        let continues = state.map { !$0.isFollowed(by: update) } ?? false
        return after(update, state, startsInstall: !continues)
    }

    /// The same, where it is known whether the update is the first of an install.
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
        receivedAtMilliseconds = max(receivedAtMilliseconds, update.receivedAtMilliseconds)
        remember(update)
        guard update.outcome != .stale else { return }
        firstCallMilliseconds = firstCall(
            with: update.firstCallMilliseconds, at: update.receivedAtMilliseconds)
        // Else a server that speaks of the next install would make the device's word of it an old one.
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

    /// The highest total counts: what it rose by belongs to the event that came with it.
    private mutating func addRevenue(of update: ConversionUpdate) {
        for (currency, total) in update.totalRevenueMicros.sorted(by: { $0.key < $1.key }) {
            let known = totalRevenueMicros[currency]
            guard total > known ?? 0, known != nil || totalRevenueMicros.count < Self.mostCurrencies
            else { continue }
            totalRevenueMicros[currency] = total
            guard let index = update.sequenceIndex, windows.indices.contains(index) else {
                continue
            }
            windows[index].add(
                micros: total - (known ?? 0), currency: currency, event: update.event)
        }
    }

    private mutating func remember(_ update: ConversionUpdate) {
        recentUpdates.removeAll { $0.content == update.content }
        recentUpdates.append(
            RecentUpdate(
                content: update.content, id: update.id,
                atMilliseconds: update.receivedAtMilliseconds))
        if recentUpdates.count > Self.mostRecentUpdates { recentUpdates.removeFirst() }
    }
}
