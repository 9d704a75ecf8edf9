/// How many conversion windows an install has, and which of them an instant lies in.
///
/// Up to SKAdNetwork 3.0 there is one: a timer of 24 hours that each call restarts. From 4.0 on, and in
/// AdAttributionKit, there are three, counted from the first call: 0 to 2 days, 2 to 7, 7 to 35.
/// See https://developer.apple.com/documentation/storekit/receiving-postbacks-in-multiple-conversion-windows
package enum ConversionWindows: String, Codable, Sendable {
    /// Up to SKAdNetwork 3.0.
    case single
    /// SKAdNetwork 4.0 and AdAttributionKit.
    case three

    /// Milliseconds in a day.
    package static let dayMilliseconds: Int64 = 86_400_000
    /// How long a single window stays open after the last call.
    static let timerMilliseconds = dayMilliseconds
    /// How long after the first call the three windows end.
    static let endsMilliseconds = [2 * dayMilliseconds, 7 * dayMilliseconds, 35 * dayMilliseconds]

    /// The index, 0...2, of the window that an instant lies in; the very instant at which a window
    /// ends is outside of it. Nil when the last one has ended.
    ///
    /// - Parameters:
    ///   - instant: not before the first call.
    ///   - firstCall: the first call to the framework.
    ///   - lastCall: the latest one, where it is known.
    package func index(at instant: Int64, firstCall: Int64, lastCall: Int64?) -> Int? {
        switch self {
        case .single:
            let last = max(lastCall ?? firstCall, firstCall)
            return instant - last < Self.timerMilliseconds ? 0 : nil
        case .three:
            return Self.endsMilliseconds.firstIndex { instant - firstCall < $0 }
        }
    }

    /// The instant at which the version of a model is looked up for a value that is told now.
    ///
    /// A value is decoded by the version in effect when it can have been set last, which for one of
    /// three windows is behind the window's end, and for a timer at this instant or later. Both lie
    /// where a decoder that finds another version also finds the value ambiguous.
    func modelInstant(now: Int64, firstCall: Int64, index: Int) -> Int64 {
        switch self {
        case .single: now
        case .three: firstCall + Self.endsMilliseconds[index]
        }
    }
}
