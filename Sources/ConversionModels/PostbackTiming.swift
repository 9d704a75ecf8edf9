/// The time before a postback's arrival when its conversion value was set, and when the app was first launched.
///
/// Assumes the first delivery: retries of the device add up to nine days. Instants are milliseconds since 1970 (UTC)
/// and saturate at 64 bits. See
/// https://developer.apple.com/documentation/storekit/receiving-postbacks-in-multiple-conversion-windows
package enum PostbackTiming: CaseIterable, Sendable {
    /// SKAdNetwork up to 3.0: a timer of 24 hours that each rise of the value restarts.
    case upTo3
    /// The window of sequence index 0, of SKAdNetwork 4.0 and AdAttributionKit.
    case window0
    /// The window of sequence index 1.
    case window1
    /// The window of sequence index 2.
    case window2

    /// The window of a sequence index; nil outside 0...2.
    package static func window(_ sequenceIndex: Int) -> PostbackTiming? {
        switch sequenceIndex {
        case 0: .window0
        case 1: .window1
        case 2: .window2
        default: nil
        }
    }

    /// The interval in which the value of a postback was set.
    package func settingInterval(received: Int64) -> (earliest: Int64, latest: Int64) {
        let earliest: Duration =
            switch self {
            case .upTo3: .hours(48)
            case .window0: .hours(48) + .days(2)
            case .window1: .hours(144) + .days(5)
            case .window2: .hours(144) + .days(28)
            }
        return (received.before(earliest), received.before(.hours(24)))
    }

    /// The interval in which the app was first launched, as far as it is known.
    ///
    /// - Parameters:
    ///   - received: when the postback arrived.
    ///   - fineIsZero: it carries the fine value 0. Up to 3.0 any other value, or a missing one, may hide restarted
    ///     timers, so
    ///     that the launch has no earliest instant.
    ///   - reEngagement: its conversion type is re-engagement, so it has no install.
    ///   - development: its verdict is `development`: the windows of such devices last minutes.
    package func installWindow(
        received: Int64,
        fineIsZero: Bool,
        reEngagement: Bool,
        development: Bool
    ) -> InstallWindow {
        guard !reEngagement, !development else { return InstallWindow(earliest: nil, latest: nil) }
        let (earliest, latest): (Duration?, Duration) =
            switch self {
            case .upTo3: (fineIsZero ? .hours(48) : nil, .hours(24))
            case .window0: (.hours(96), .hours(24))
            case .window1: (.hours(144) + .days(7), .hours(24) + .days(2))
            case .window2: (.hours(144) + .days(35), .hours(24) + .days(7))
            }
        return InstallWindow(
            earliest: earliest.map { received.before($0) },
            latest: received.before(latest)
        )
    }
}

extension PostbackTiming {
    /// The length of the window in hours; the value is final at its end unless the app locks it earlier. Nil up to
    /// 3.0, where only its timer ends a window.
    package var windowHours: Int? {
        switch self {
        case .upTo3: nil
        case .window0: 48
        case .window1: 168
        case .window2: 840
        }
    }

    /// The time from an install to the middle of the interval in which Apple sends the postback: 24 to 48 hours after
    /// the end of the first window, 24 to 144 hours after that of the others.
    private func installDelay(lockHours: Int?) -> Duration {
        guard let windowHours else { return .hours(36) }
        return .hours(Int64(lockHours ?? windowHours) + (self == .window0 ? 36 : 84))
    }

    /// The most likely instant of a postback's install, in milliseconds since 1970: the middle of Apple's possible
    /// intervals. The error is at most half a day for the first window and up to 3.0, and two and a half days for the
    /// others.
    ///
    /// It is whole hours before the arrival, so that the hour of the arrival decides its hour and day.
    ///
    /// - Parameters:
    ///   - received: when the postback arrived, in milliseconds since 1970.
    ///   - model: that of its app, which may lock windows; nil without a model.
    package func likelyInstall(received: Int64, model: ConversionModel?) -> Int64 {
        let latest = settingInterval(received: received).latest
        let version = model.flatMap { model in
            model.versionIndex(inEffectAtMilliseconds: latest).map { model.versions[$0] }
        }
        return received.before(installDelay(lockHours: lockHours(of: version)))
    }

    /// From this instant on, in milliseconds since 1970, new postbacks of the window have no likely install on the
    /// day.
    ///
    /// - Parameters:
    ///   - midnight: when the day begins, in milliseconds since 1970.
    ///   - nextMidnight: when it ends; nil for a day of 24 hours.
    ///   - model: that of the app; nil without a model.
    package func cohortEnd(
        midnight: Int64, nextMidnight: Int64? = nil, model: ConversionModel?
    ) -> Int64 {
        let nextMidnight = nextMidnight ?? midnight.after(.days(1))
        /// Postbacks that arrive in `start..<end` have the delay.
        var spans: [(start: Int64, end: Int64, delay: Duration)] = []
        var begin = Int64.min
        var version: ConversionModelVersion?
        for next in model?.versions ?? [] {
            let end = next.effectiveFromMilliseconds.after(.hours(24))
            spans.append((begin, end, installDelay(lockHours: lockHours(of: version))))
            (begin, version) = (end, next)
        }
        spans.append((begin, .max, installDelay(lockHours: lockHours(of: version))))
        let ends = spans.compactMap { start, end, delay -> Int64? in
            let (first, last) = (midnight.after(delay), nextMidnight.after(delay))
            return max(first, start) < min(last, end) ? min(last, end) : nil
        }
        return ends.max() ?? nextMidnight
    }

    /// The hours from the install until a version locks the window; nil without a lock.
    private func lockHours(of version: ConversionModelVersion?) -> Int? {
        switch self {
        case .upTo3: nil
        case .window0: version?.lockHours[0]
        case .window1: version?.lockHours[1]
        case .window2: version?.lockHours[2]
        }
    }
}

/// When an app was first launched, in milliseconds since 1970; nil for an unknown bound.
package struct InstallWindow: Equatable, Sendable {
    package let earliest: Int64?
    package let latest: Int64?
}

extension Duration {
    fileprivate static func hours(_ hours: Int64) -> Duration { .seconds(3600 * hours) }
    fileprivate static func days(_ days: Int64) -> Duration { .hours(24 * days) }
}

extension Int64 {
    fileprivate func before(_ duration: Duration) -> Int64 {
        let (instant, overflow) = subtractingReportingOverflow(duration.components.seconds * 1000)
        return overflow ? .min : instant
    }

    fileprivate func after(_ duration: Duration) -> Int64 {
        let (instant, overflow) = addingReportingOverflow(duration.components.seconds * 1000)
        return overflow ? .max : instant
    }
}
