import Foundation
import TestKit
import Testing

@testable import Reports

/// A season: what is said in an hour on average, and how far days differ by nature.
private struct Season: CustomStringConvertible {
    let description: String
    /// On average in an hour.
    let rate: Double
    /// How much a day swings, from 0 to 1.
    var daily = 0.8
    /// How much a weekend falls, from 0 to 1.
    var weekly = 0.5
    /// The variance that hours have beyond chance, against the square of their mean.
    var dispersion = 0.0
    /// How much a week grows by.
    var growth = 0.0
    /// Whether nothing is said from 23 to 7 o'clock.
    var hasNights = false
    /// From the middle on there is so much of what was.
    var level = 1.0

    /// The same without bursts.
    var even: Season {
        var season = self
        season.dispersion = 0
        return season
    }

    func means(weeks: Int) -> [Double] {
        var none = SeededGenerator(seed: 0)
        return means(weeks: weeks, &none)
    }

    func means(weeks: Int, _ random: inout SeededGenerator) -> [Double] {
        var day = 1.0
        return (0..<weeks * 168).map { hour in
            let clock = Double(hour % 24)
            if hour % 24 == 0, dispersion > 0 { day = random.gamma(variance: dispersion / 4) }
            var mean = rate * (1 + daily * sin(2 * .pi * (clock - 9) / 24)) * day
            if hour / 24 % 7 >= 5 { mean *= 1 - weekly }
            if hasNights, hour % 24 < 7 || hour % 24 == 23 { mean = 0 }
            if hour >= weeks * 84 { mean *= level }
            if dispersion > 0 { mean *= random.gamma(variance: dispersion) }
            return mean * exp(growth * Double(hour) / 168)
        }
    }

    static let all = [
        Season(description: "busy", rate: 50),
        Season(description: "even", rate: 2, daily: 0, weekly: 0),
        Season(description: "daily", rate: 5), Season(description: "seldom", rate: 0.3),
        Season(description: "rare", rate: 0.1),
        Season(description: "bursts", rate: 5, dispersion: 0.5),
        Season(description: "seldom, in bursts", rate: 0.5, dispersion: 0.5),
        Season(description: "silent nights", rate: 20, hasNights: true),
        Season(description: "falling", rate: 4, growth: -0.05),
        Season(description: "halved", rate: 1, level: 0.5),
    ]
}

extension SeededGenerator {
    fileprivate mutating func normal() -> Double {
        let radius = (-2 * log(Double.random(in: Double.leastNonzeroMagnitude..<1, using: &self)))
            .squareRoot()
        return radius * cos(2 * .pi * Double.random(in: 0..<1, using: &self))
    }

    /// A log-normal factor of mean 1.
    fileprivate mutating func gamma(variance: Double) -> Double {
        let sigma = log(1 + variance)
        return exp(normal() * sigma.squareRoot() - sigma / 2)
    }

    fileprivate mutating func poisson(_ mean: Double) -> Int64 {
        guard mean < 30 else {
            return Int64(max(0, (mean + normal() * mean.squareRoot()).rounded()))
        }
        var (count, product) = (Int64(0), Double.random(in: 0..<1, using: &self))
        let limit = exp(-mean)
        while product > limit {
            count += 1
            product *= Double.random(in: 0..<1, using: &self)
        }
        return count
    }

    fileprivate mutating func binomial(_ whole: Int64, _ share: Double) -> Int64 {
        (0..<whole).reduce(into: 0) { sum, _ in
            if Double.random(in: 0..<1, using: &self) < share { sum += 1 }
        }
    }
}

@Suite("Warnings of seeded seasons")
struct WatchSeasonTests {
    private static let weeks = 26
    private static let months = Double(weeks - 4) / 4.35

    @Test(
        "a season without an outage has less than one warning of silence a month",
        arguments: Season.all)
    fileprivate func falseSilences(_ season: Season) {
        var (warnings, seeds) = (0, 0)
        for seed: UInt64 in 1...4 {
            var random = SeededGenerator(seed: seed)
            let counts = season.means(weeks: Self.weeks, &random).map { random.poisson($0) }
            warnings += SilenceWatch.warnings(of: counts).count
            seeds += 1
        }
        let aMonth = Double(warnings) / Self.months / Double(seeds)
        #expect(aMonth < 1)
    }

    @Test("an outage is found within two usual gaps", arguments: Season.all)
    fileprivate func outages(_ season: Season) throws {
        // Of what the season says in its hours: chance and bursts are not known before.
        let told = season.even.means(weeks: 18)
        var gaps: [Double] = []
        for seed: UInt64 in 1...5 {
            var random = SeededGenerator(seed: 100 + seed)
            var counts = season.means(weeks: 18, &random).map { random.poisson($0) }
            let begin = 14 * 168 + Int(seed) * 41
            for hour in begin..<counts.count { counts[hour] = 0 }
            let found = try #require(
                SilenceWatch.warnings(of: counts).last { $0.opened >= begin }, "seed \(seed)")
            let last = try #require(counts.lastIndex { $0 > 0 })
            #expect(found.evidence.lastSpoke == last)
            let missed = told[last + 1...found.opened].reduce(0, +)
            gaps.append(missed / Self.usualGap(of: counts, before: last, told))
        }
        // The gaps of a few weeks are known only so well, and worse where what was usual has changed among them.
        #expect(gaps.sorted()[2] <= (season.level == 1 ? 2 : 3), "\(gaps)")
        #expect(gaps.allSatisfy { $0 <= 3 }, "\(gaps)")
    }

    /// The second longest gap of the eight weeks, up to the end of the hour that ended it, by what the season says in
    /// its hours.
    private static func usualGap(of counts: [Int64], before end: Int, _ told: [Double]) -> Double {
        let spoke = (end - 8 * 168...end).filter { counts[$0] > 0 }
        let gaps = zip(spoke, spoke.dropFirst()).map { told[$0 + 1...$1].reduce(0, +) }
        return gaps.sorted().dropLast().last ?? 0
    }

    @Test("a rate that stays in its band has less than one warning a month")
    func falseRates() {
        for (volume, share, spread) in [
            (20.0, 0.4, 0.0), (100, 0.4, 0.1), (100, 0.05, 0.3), (5, 0.1, 0), (500, 0.001, 0),
        ] {
            var warnings = 0
            for seed: UInt64 in 1...2 {
                let (part, whole, _) = Self.rates(
                    volume, share, spread, seed: seed, weeks: Self.weeks)
                warnings += RateWatch.warnings(ofPart: part, whole: whole, .share).count
            }
            #expect(Double(warnings) / Self.months / 2 < 1)
        }
    }

    @Test("a rate that doubles is found")
    func foundRates() throws {
        for (volume, share, spread) in [(20.0, 0.4, 0.0), (100, 0.4, 0.1), (5, 0.3, 0)] {
            for seed: UInt64 in 1...4 {
                let begin = 12 * 168 + Int(seed) * 31
                let (part, whole, _) = Self.rates(
                    volume, share, spread, seed: seed, weeks: 13, doubledFrom: begin)
                let found = try #require(
                    RateWatch.warnings(ofPart: part, whole: whole, .share).first {
                        $0.opened >= begin
                    })
                #expect(found.opened - begin < 24)
                #expect(!found.evidence.band.contains(2 * share))
                #expect(found.evidence.band.contains(found.evidence.usual))
            }
        }
    }

    private static func rates(
        _ volume: Double, _ share: Double, _ spread: Double, seed: UInt64, weeks: Int,
        doubledFrom begin: Int = .max
    ) -> (part: [Int64], whole: [Int64], shares: [Double]) {
        var random = SeededGenerator(seed: seed)
        let means = Season(description: "", rate: volume).means(weeks: weeks, &random)
        var (part, whole, shares) = ([Int64](), [Int64](), [Double]())
        var day = 1.0
        for (hour, mean) in means.enumerated() {
            if hour % 24 == 0 { day = random.gamma(variance: spread * spread) }
            let swing = 1 + 0.3 * sin(2 * .pi * Double(hour) / 24)
            let now = min(hour >= begin ? 2 * share : share * swing * day, 0.98)
            whole.append(random.poisson(mean))
            part.append(random.binomial(whole[hour], now))
            shares.append(now)
        }
        return (part, whole, shares)
    }
}
