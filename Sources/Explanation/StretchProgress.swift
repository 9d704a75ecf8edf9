import Inspection

/// How far stretches are read, in offsets, for a person who waits.
struct StretchProgress {
    private let report: (_ count: Int, _ left: Int64) -> Void
    private var left: Int64
    /// What was reached of the stretch that is read, and not reported yet.
    private var reported: Int64?

    /// So many offsets are reported together.
    private static let piece: Int64 = 1000

    init(_ stretches: CellStretches, report: @escaping (_ count: Int, _ left: Int64) -> Void) {
        self.report = report
        left = stretches.parts.values.reduce(0) { sum, part in
            part.offsets.reduce(sum) { $0 + Int64($1.count) }
        }
    }

    /// A record of a stretch is looked at.
    mutating func reach(_ offset: Int64, in stretch: Range<Int64>) {
        let begin = reported ?? stretch.lowerBound
        guard offset - begin >= Self.piece else { return }
        note(offset - begin)
        reported = offset
    }

    /// A stretch is read.
    mutating func end(_ stretch: Range<Int64>) {
        note(stretch.upperBound - (reported ?? stretch.lowerBound))
        reported = nil
    }

    private mutating func note(_ count: Int64) {
        left -= count
        report(Int(count), left)
    }
}
