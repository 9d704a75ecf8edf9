/// A whole hour in UTC: the bucket that event times are counted in.
package struct Hour: Hashable, Comparable, Sendable {
    /// Hours since 1970-01-01T00:00:00Z.
    package var hoursSince1970: Int64

    /// Milliseconds in an hour.
    package static let milliseconds: Int64 = 3_600_000

    /// Takes hours since 1970.
    package init(hoursSince1970: Int64) {
        self.hoursSince1970 = hoursSince1970
    }

    /// The hour that an instant lies in; rounds towards the past, before 1970 too.
    package init(containing timestampMilliseconds: Int64) {
        let quotient = timestampMilliseconds / Self.milliseconds
        let remainder = timestampMilliseconds % Self.milliseconds
        hoursSince1970 = remainder < 0 ? quotient - 1 : quotient
    }

    /// Written as `2026-11-21T05:00:00Z`.
    package var text: String {
        UTC.text(milliseconds: hoursSince1970 &* Self.milliseconds)
    }

    /// Orders by time.
    package static func < (left: Hour, right: Hour) -> Bool {
        left.hoursSince1970 < right.hoursSince1970
    }
}
