import ConversionModels

/// What an install did within one conversion window, and what it was told there.
package struct WindowState: Codable, Equatable, Sendable {
    /// How often each event happened.
    package var eventCounts: [String: Int64] = [:]
    /// By currency and event, what the total revenue rose by, in micros.
    package var revenueMicros: [String: [String: Int64]] = [:]
    /// The coarse value.
    package var coarse = Standing<CoarseValue>()
    /// It was told to lock the window.
    package var isLockTold = false
    /// It says that it has locked the window.
    package var isLockReported = false

    /// So many names are counted in a window; further ones are not.
    static let mostNames = 64

    enum CodingKeys: String, CodingKey {
        case eventCounts = "counts"
        case revenueMicros = "revenue"
        case coarse
        case isLockTold = "lock_told"
        case isLockReported = "lock_reported"
    }

    /// Nothing so far.
    package init() {}

    mutating func count(_ event: String) {
        guard eventCounts[event] != nil || eventCounts.count < Self.mostNames else { return }
        let (sum, overflow) = eventCounts[event, default: 0].addingReportingOverflow(1)
        if !overflow { eventCounts[event] = sum }
    }

    /// Sums stay within what the total itself is, so that none overflows.
    mutating func add(micros: Int64, currency: String, event: String) {
        let known = revenueMicros[currency, default: [:]]
        let name = known[event] != nil || known.count < Self.mostNames ? event : ""
        revenueMicros[currency, default: [:]][name, default: 0] += micros
    }
}
