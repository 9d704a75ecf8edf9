/// A coarse conversion value of SKAdNetwork 4.0 and AdAttributionKit; the raw value is Apple's word.
package enum CoarseValue: String, CaseIterable, Codable, Comparable, Sendable {
    /// `low`
    case low
    /// `medium`
    case medium
    /// `high`
    case high

    /// Place in the order low, medium, high, from 0.
    package var rank: Int {
        switch self {
        case .low: 0
        case .medium: 1
        case .high: 2
        }
    }

    /// Low is less than medium, medium less than high.
    package static func < (left: CoarseValue, right: CoarseValue) -> Bool {
        left.rank < right.rank
    }
}
