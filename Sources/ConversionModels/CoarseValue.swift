/// A coarse conversion value of SKAdNetwork 4.0 and AdAttributionKit; the raw value is Apple's word.
public enum CoarseValue: String, CaseIterable, Codable, Comparable, Sendable {
    /// `low`
    case low
    /// `medium`
    case medium
    /// `high`
    case high

    /// Place in the order low, medium, high, from 0.
    public var rank: Int {
        switch self {
        case .low: 0
        case .medium: 1
        case .high: 2
        }
    }

    /// Low is less than medium, medium less than high.
    public static func < (left: CoarseValue, right: CoarseValue) -> Bool {
        left.rank < right.rank
    }
}
