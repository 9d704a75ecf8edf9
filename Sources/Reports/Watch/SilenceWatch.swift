/// Finds silences: hours without anything of a series that always spoke.
///
/// A gap is as long as what is usually said in its hours. So a quiet night is short, and a quiet noon is long,
/// whatever the season of the series. The usual gap is the second longest of the last weeks; a silence half as
/// long again is a warning.
package struct SilenceWatch {
    package struct Evidence: Sendable, Equatable {
        /// The last hour that spoke.
        package let lastSpoke: Int
        /// How many hours after it the usual gap ends.
        package let usualHours: Int
        /// How much the silent hours usually say, up to the hour in which it opened.
        package let missed: Double
    }

    private typealias Learning = WatchLearning

    /// A gap of less than so much of what is usually said proves nothing.
    private static let leastUsualGap = 4.0
    /// In so many usual gaps a silence is a warning.
    private static let gapsAWarning = 1.5
    /// A silent hour may be chance, where there are many.
    private static let leastHours = 2
    /// In how many hours of the last weeks a series has to have spoken.
    private static let leastSpoken = 20.0
    /// So many hours before and after the same hour are looked at, until so much was said in them.
    private static let around = [1, 3, 6, 12]
    private static let leastKnown = 30.0
    /// What the last week may say of the level of a series, against the weeks before.
    private static let levels = 0.2...5.0

    /// The hour that the series begins with; it begins anew after a silence that became usual.
    private var start = 0
    private var lastSpoke = -1
    /// What was said; hours of a warning count as they were expected.
    private var learned = RunningSums()
    /// What was expected by the earlier weeks, whatever the level.
    private var expected = RunningSums()
    private var spoken = RunningSums()
    /// The gaps that ended, with the hours that ended them.
    private var gaps: [(end: Int, length: Double)] = []
    /// How long the present gap is after each of its hours.
    private var lengths: [Double] = []
    private var warnings: [SeriesWarning<Evidence>] = []

    /// The warnings of a series in order; the last may be open.
    ///
    /// - Parameter counts: of each hour, from the first one that spoke.
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
            // Whenever it speaks again, it is learned as a new one.
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

    /// What is usually said in an hour: the mean of the same hour of the weeks before, and of as many hours around it
    /// as it takes to know. Hours of the present gap say nothing of what is usual.
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

    /// How the last week before the present gap was, against what was expected of it: budgets change.
    private var level: Double {
        let end = lastSpoke + 1
        guard lastSpoke >= 0, end - Learning.week - start >= Learning.expectsAfter else { return 1 }
        let week = end - Learning.week..<end
        let level = (learned.sum(week) + 5) / (expected.sum(week) + 5)
        return min(max(level, Self.levels.lowerBound), Self.levels.upperBound)
    }
}
