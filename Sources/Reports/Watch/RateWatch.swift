import Foundation

/// Finds rates outside their band: shares, such as null values among postbacks, and ratios, such as refunds to sales.
///
/// Compares the last hours with the same hours of earlier weeks. The distance is the root of the likelihood ratio of
/// the two samples, in standard deviations. The usual distance is the second largest of the last weeks, so that natural
/// differences between days widen the band. A rate beyond a multiple of it is a warning.
package struct RateWatch {
    package struct Evidence: Sendable, Equatable {
        /// The number of hours that are judged together.
        package let hours: Int
        package let part: Int64
        package let whole: Int64
        /// The rate in the same hours of earlier weeks.
        package let usual: Double
        /// The rates without a warning.
        package let band: ClosedRange<Double>
        /// The distance from the usual rate, in standard deviations; negative for a lower rate.
        let distance: Double
    }

    package enum Kind: Sendable {
        /// The part is included in the whole.
        case share
        /// Both are separate counts.
        case ratio
    }

    private typealias Learning = WatchLearning

    /// Window lengths in hours. The shortest with enough data in the earlier weeks is used.
    static let spans = [6, 24, 168]
    /// The minimum average of the whole in the same hours of a week.
    private static let leastWhole = 30.0
    private static let leastUsualDistance = 2.5
    private static let distancesAWarning = 1.75
    /// The minimum number of known distances.
    private static let leastDistances = 20

    private let kind: Kind
    /// The minimum difference of a rate.
    private let least: Double
    private var start = 0
    private var part: [Int64] = []
    private var whole: [Int64] = []
    private var parts = RunningSums()
    private var wholes = RunningSums()
    /// The same without the hours of warnings.
    private var learnedParts = RunningSums()
    private var learnedWholes = RunningSums()
    /// By window and hour; NaN without a distance, or while a warning was open.
    private var distances = spans.map { _ in [Double]() }
    private var warnings: [SeriesWarning<Evidence>] = []

    private init(_ kind: Kind, least: Double) {
        self.kind = kind
        self.least = least
    }

    /// The warnings of a series in order; the last may be open. Their evidence is from the hour with the largest
    /// deviation.
    ///
    /// - Parameters:
    ///   - part: by hour, starting at the first with any of the whole.
    ///   - least: the minimum difference of a rate.
    package static func warnings(
        ofPart part: [Int64], whole: [Int64], _ kind: Kind, least: Double = 0
    ) -> [SeriesWarning<Evidence>] {
        var watch = RateWatch(kind, least: least)
        for hour in part.indices { watch.add(part[hour], of: whole[hour], at: hour) }
        return watch.warnings
    }

    private var isOpen: Bool { warnings.last.map { $0.closed == nil } ?? false }

    private mutating func add(_ added: Int64, of all: Int64, at hour: Int) {
        part.append(added)
        whole.append(all)
        parts.append(Double(added))
        wholes.append(Double(all))
        let evidence = judge(hour)
        for index in distances.indices where evidence != nil { distances[index][hour] = .nan }
        if let evidence, isOpen {
            let last = warnings.count - 1
            if abs(evidence.distance) > abs(warnings[last].evidence.distance) {
                warnings[last].evidence = evidence
            }
        } else if let evidence {
            warnings.append(SeriesWarning(opened: hour, evidence: evidence))
        } else if isOpen {
            warnings[warnings.count - 1].closed = hour
        }
        learnedParts.append(isOpen ? 0 : Double(added))
        learnedWholes.append(isOpen ? 0 : Double(all))
        if let opened = warnings.last?.opened, isOpen, hour - opened >= Learning.forgetsAfter {
            warnings[warnings.count - 1].closed = hour
            start = opened
            learnedParts.replace(from: opened, with: part[opened...].map { Double($0) })
            learnedWholes.replace(from: opened, with: whole[opened...].map { Double($0) })
        }
    }

    /// The deviation in the hours that end with this one; nil when they are as usual, or too little is known.
    private mutating func judge(_ hour: Int) -> Evidence? {
        var found: Evidence?
        var isJudged = false
        for (index, hours) in Self.spans.enumerated() {
            guard let comparison = comparison(endingWith: hour, hours: hours) else {
                distances[index].append(.nan)
                continue
            }
            distances[index].append(comparison.distance)
            guard !isJudged, comparison.isEnough else { continue }
            isJudged = true
            found = judge(comparison, distances[index], hour)
        }
        return found
    }

    private func judge(
        _ comparison: RateComparison, _ distances: [Double], _ hour: Int
    ) -> Evidence? {
        guard hour - start >= Learning.judgesAfter,
            abs(comparison.distance) >= Self.distancesAWarning * Self.leastUsualDistance,
            abs(comparison.rate - comparison.usual) >= least
        else { return nil }
        // Windows longer than a day overlap.
        let step = min(comparison.hours, 24)
        var second = SecondLargest()
        var earlier = hour - comparison.hours
        let earliest = max(hour - Learning.weeks * Learning.week, start + Learning.expectsAfter)
        while earlier >= earliest {
            if !distances[earlier].isNaN { second.add(abs(distances[earlier])) }
            earlier -= step
        }
        let limit = Self.distancesAWarning * max(second.value, Self.leastUsualDistance)
        guard second.count >= Self.leastDistances, abs(comparison.distance) >= limit else {
            return nil
        }
        return Evidence(
            hours: comparison.hours, part: Int64(comparison.part), whole: Int64(comparison.whole),
            usual: comparison.usual, band: comparison.band(limit: limit, least: least),
            distance: comparison.distance)
    }

    private func comparison(endingWith hour: Int, hours: Int) -> RateComparison? {
        let end = hour + 1
        guard end - hours - start >= Learning.expectsAfter else { return nil }
        var comparison = RateComparison(
            // More may be subtracted than counted; rates are not negative.
            kind: kind, hours: hours, part: max(parts.sum(end - hours..<end), 0),
            whole: wholes.sum(end - hours..<end))
        for week in 1...Learning.weeks {
            let end = end - week * Learning.week
            guard end - hours >= start else { break }
            comparison.usualPart += learnedParts.sum(end - hours..<end)
            comparison.usualWhole += learnedWholes.sum(end - hours..<end)
            comparison.weeks += 1
        }
        comparison.usualPart = max(comparison.usualPart, 0)
        guard comparison.whole > 0, comparison.usualWhole > 0 else { return nil }
        comparison.isEnough =
            comparison.usualWhole >= Self.leastWhole * Double(comparison.weeks)
        comparison.distance = comparison.distance(ofPart: comparison.part)
        return comparison
    }
}

/// Some hours compared with the same hours of earlier weeks.
private struct RateComparison {
    let kind: RateWatch.Kind
    let hours: Int
    let part: Double
    let whole: Double
    var usualPart = 0.0
    var usualWhole = 0.0
    var weeks = 0
    var isEnough = false
    var distance = 0.0

    init(kind: RateWatch.Kind, hours: Int, part: Double, whole: Double) {
        self.kind = kind
        self.hours = hours
        self.part = part
        self.whole = whole
    }

    var rate: Double { part / whole }
    var usual: Double { usualPart / usualWhole }

    /// The deviation of a part from the usual one: the signed root of twice the log likelihood ratio of two rates to
    /// one.
    func distance(ofPart part: Double) -> Double {
        let all = part + usualPart
        let ratio: Double
        switch kind {
        case .share where part <= whole && usualPart <= usualWhole:
            ratio =
                Self.bernoulli(part, whole) + Self.bernoulli(usualPart, usualWhole)
                - Self.bernoulli(all, whole + usualWhole)
        case .share, .ratio:
            let expected = all * whole / (whole + usualWhole)
            ratio = Self.poisson(part, expected) + Self.poisson(usualPart, all - expected)
        }
        let root = max(2 * ratio, 0).squareRoot()
        return part / whole < usual ? -root : root
    }

    /// The log likelihood of a share at its maximum.
    private static func bernoulli(_ part: Double, _ whole: Double) -> Double {
        guard part > 0, part < whole else { return 0 }
        return part * log(part / whole) + (whole - part) * log(1 - part / whole)
    }

    private static func poisson(_ count: Double, _ expected: Double) -> Double {
        count > 0 ? count * log(count / expected) : 0
    }

    /// The rates with a distance below the limit, or a difference below the minimum.
    func band(limit: Double, least: Double) -> ClosedRange<Double> {
        let middle = usual * whole
        let low = edge(from: middle, to: 0, limit) / whole
        let ceiling = kind == .share ? whole : max(part, middle + 1)
        let high = edge(from: middle, to: ceiling, limit) / whole
        return max(min(low, usual - least), 0)...max(high, usual + least)
    }

    /// The part at which the distance reaches the limit; the outermost one if none does.
    private func edge(from middle: Double, to outermost: Double, _ limit: Double) -> Double {
        guard abs(distance(ofPart: outermost)) >= limit else { return outermost }
        var (inner, outer) = (middle, outermost)
        for _ in 0..<40 {
            let half = (inner + outer) / 2
            if abs(distance(ofPart: half)) >= limit { outer = half } else { inner = half }
        }
        return inner
    }
}
