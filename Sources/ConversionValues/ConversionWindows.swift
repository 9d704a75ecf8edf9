import ConversionModels

/// The number of conversion windows of an install, and the window of an instant.
///
/// Up to SKAdNetwork 3.0 there is one: a timer of 24 hours that each call restarts. From 4.0 on, and in
/// AdAttributionKit, there are three, counted from the first call: 0 to 2 days, 2 to 7, 7 to 35. See
/// https://developer.apple.com/documentation/storekit/receiving-postbacks-in-multiple-conversion-windows
enum ConversionWindows: String, Codable, Sendable {
    /// Up to SKAdNetwork 3.0.
    case single
    /// SKAdNetwork 4.0 and AdAttributionKit.
    case three

    static let dayMilliseconds: Int64 = 86_400_000
    /// The time that a single window stays open after the last call.
    static let timerMilliseconds = dayMilliseconds
    /// The ends of the three windows, counted from the first call.
    static let endsMilliseconds = [2 * dayMilliseconds, 7 * dayMilliseconds, 35 * dayMilliseconds]

    /// The index, 0...2, of the window of an instant; nil after the end of the last one. A window excludes the
    /// instant of its end.
    ///
    /// - Parameters:
    ///   - instant: not before the first call.
    ///   - firstCall: the first call to the framework.
    ///   - lastCall: the latest call; nil if unknown.
    func index(at instant: Int64, firstCall: Int64, lastCall: Int64?) -> Int? {
        switch self {
        case .single:
            let last = max(lastCall ?? firstCall, firstCall)
            return instant - last < Self.timerMilliseconds ? 0 : nil
        case .three:
            return Self.endsMilliseconds.firstIndex { instant - firstCall < $0 }
        }
    }

    /// The instant that selects the model version for a value returned now.
    ///
    /// A value is decoded by the version in effect at the latest moment at which it can have been set. For one of
    /// three windows that is the window's end; for a timer it is this instant or later. In both cases a decoder that
    /// finds another version also finds the value ambiguous.
    func modelInstant(now: Int64, firstCall: Int64, index: Int) -> Int64 {
        switch self {
        case .single: now
        case .three: firstCall + Self.endsMilliseconds[index]
        }
    }
}

/// The activity of an install in one conversion window, and the values returned there.
struct WindowState: Codable, Equatable, Sendable {
    var eventCounts: [String: Int64] = [:]
    /// The rise of the total revenue by currency and event, in micros.
    var revenueMicros: [String: [String: Int64]] = [:]
    var coarse = HighestValues<CoarseValue>()
    /// Whether an answer asked the install to lock the window.
    var isLockTold = false
    /// Whether the install reports that it has locked the window.
    var isLockReported = false

    /// Most event names of a window; further ones are not counted.
    static let mostNames = 64

    enum CodingKeys: String, CodingKey {
        case eventCounts = "counts"
        case revenueMicros = "revenue"
        case coarse
        case isLockTold = "lock_told"
        case isLockReported = "lock_reported"
    }

    mutating func count(_ event: String) {
        guard eventCounts[event] != nil || eventCounts.count < Self.mostNames else { return }
        let (sum, overflow) = eventCounts[event, default: 0].addingReportingOverflow(1)
        if !overflow { eventCounts[event] = sum }
    }

    /// The sums stay below the reported total, so they do not overflow.
    mutating func add(micros: Int64, currency: String, event: String) {
        let counted = revenueMicros[currency, default: [:]]
        let name = counted[event] != nil || counted.count < Self.mostNames ? event : ""
        revenueMicros[currency, default: [:]][name, default: 0] += micros
    }
}
