/// Finds silences: hours with a count of 0 in a series that usually counts more.
///
/// The length of a gap is the usual count of its hours. So a quiet night is short and a quiet noon is long, whatever
/// the season of the series. The usual gap is the second longest of the last weeks; a silence half as long again is a
/// warning.
package struct SilenceWatch {
    package struct Evidence: Sendable, Equatable {
        /// The last hour with a count above 0.
        package let lastSpoke: Int
        /// The hours from then to the end of the usual gap.
        package let usualHours: Int
        /// The usual count of the silent hours, up to the hour in which the warning opened.
        package let missed: Double
    }

    private typealias Learning = WatchLearning

    /// A gap with a smaller usual count is not significant.
    private static let leastUsualGap = 4.0
    /// The multiple of the usual gap at which a silence is a warning.
    private static let gapsAWarning = 1.5
    /// A single silent hour may be chance.
    private static let leastHours = 2
    /// The minimum number of hours with a count above 0 in the last weeks.
    private static let leastSpoken = 20.0
    /// Hours before and after the same hour to average over, widened until they have enough data.
    private static let around = [1, 3, 6, 12]
    private static let leastKnown = 30.0
    /// Bounds of the last week's level relative to the earlier weeks.
    private static let levels = 0.2...5.0

    /// The first hour of the series; reset after a silence that became usual.
    private var start = 0
    private var lastSpoke = -1
    /// The counts; hours of a warning have their expected counts.
    private var learned = RunningSums()
    /// The counts expected from the earlier weeks, ignoring the level.
    private var expected = RunningSums()
    private var spoken = RunningSums()
    /// The ended gaps, with the hours that ended them.
    private var gaps: [(end: Int, length: Double)] = []
    /// The length of the current gap after each of its hours.
    private var lengths: [Double] = []
    private var warnings: [SeriesWarning<Evidence>] = []

    /// The warnings of a series in order; the last may be open.
    ///
    /// - Parameter counts: by hour, starting at the first above 0.
    package static func warnings(of counts: [Int64]) -> [SeriesWarning<Evidence>] {
        var watch = SilenceWatch()
        for (hour, count) in counts.enumerated() { watch.add(Double(count), at: hour) }
        return watch.warnings
    }

    private var isOpen: Bool { warnings.last.map { $0.closed == nil } ?? false }

    private mutating func add(_ count: Double, at hour: Int) {
        let usual = lastSpoke < 0 ? 0 : usual(of: hour)
        let level = level
        expected.append(hour - start < Learning.expectsAfter ? count : usual)
        spoken.append(count > 0 ? 1 : 0)
        if count > 0 {
            speak(at: hour)
            return learned.append(count)
        }
        lengths.append((lengths.last ?? 0) + usual * level)
        if !isOpen { judge(hour) }
        learned.append(isOpen ? usual * level : 0)
        if let opened = warnings.last?.opened, isOpen, hour - opened >= Learning.forgetsAfter {
            close(at: hour)
            // The series is learned again when it resumes.
            lastSpoke = -1
            gaps.removeAll()
            lengths.removeAll()
        }
    }

    private mutating func speak(at hour: Int) {
        if lastSpoke < 0 { start = hour }
        if isOpen {
            close(at: hour)
        } else if let length = lengths.last, hour - start >= Learning.expectsAfter + Learning.week {
            gaps.append((hour, length))
        }
        lengths.removeAll()
        lastSpoke = hour
    }

    private mutating func close(at hour: Int) { warnings[warnings.count - 1].closed = hour }

    private mutating func judge(_ hour: Int) {
        let weeks = max(hour - Learning.weeks * Learning.week, start)..<hour
        guard lastSpoke >= 0, hour - start >= Learning.judgesAfter,
            lengths.count >= Self.leastHours, let length = lengths.last,
            length >= Self.gapsAWarning * Self.leastUsualGap,
            spoken.sum(weeks) >= Self.leastSpoken
        else { return }
        gaps.removeAll { $0.end < weeks.lowerBound }
        var second = SecondLargest()
        for gap in gaps { second.add(gap.length) }
        let usual = max(second.value, Self.leastUsualGap)
        guard length >= Self.gapsAWarning * usual else { return }
        let usualHours = (lengths.firstIndex { $0 >= usual } ?? 0) + 1
        warnings.append(
            SeriesWarning(
                opened: hour,
                evidence: Evidence(lastSpoke: lastSpoke, usualHours: usualHours, missed: length)))
    }

    /// The usual count of an hour: the mean of the same hour of earlier weeks, and of as many surrounding hours as
    /// needed. Hours of the current gap are excluded.
    private func usual(of hour: Int) -> Double {
        var (sum, hours) = (0.0, 0)
        for around in Self.around where sum < Self.leastKnown {
            (sum, hours) = (0, 0)
            var same = hour - Learning.week
            var weeks = 0
            while weeks < Learning.weeks, same - around >= start {
                if same + around <= lastSpoke {
                    sum += learned.sum(same - around..<same + around + 1)
                    hours += 2 * around + 1
                    weeks += 1
                }
                same -= Learning.week
            }
        }
        return hours == 0 ? 0 : sum / Double(hours)
    }

    /// The level of the last week before the current gap, relative to its expected counts: budgets change.
    private var level: Double {
        let end = lastSpoke + 1
        guard lastSpoke >= 0, end - Learning.week - start >= Learning.expectsAfter else { return 1 }
        let week = end - Learning.week..<end
        let level = (learned.sum(week) + 5) / (expected.sum(week) + 5)
        return min(max(level, Self.levels.lowerBound), Self.levels.upperBound)
    }
}
