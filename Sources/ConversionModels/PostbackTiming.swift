/// How long before the arrival of a postback its conversion value was set, and the app was first
/// launched.
///
/// Assumes the first delivery: retries of the device add up to nine days. Instants are milliseconds
/// since 1970 (UTC) and saturate at 64 bits. See
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
    ///   - fineIsZero: it carries the fine value 0. Up to 3.0 any other value, or none, may hide
    ///     timers that were restarted, so that the launch has no earliest instant.
    ///   - reEngagement: its conversion type is re-engagement: there was no install.
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

/// When an app was first launched, in milliseconds since 1970; nil where a bound is unknown.
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
}
