import Foundation

/// Estimates the missing values of campaigns from the known values of each campaign and of all.
///
/// Each campaign has its own shares, which vary around the common shares; the variation is learned. So a campaign with
/// many known values relies on these, and one with few relies on the others. Given the known values, the number of
/// missing ones with some value follows a mixture of beta-binomials. This assumes that values are missing independently
/// of the value: the crowd level decides, from the number of installs.
package struct PooledValues {
    /// Candidate strengths: how close campaigns are to the common shares. A campaign with this many known values gives
    /// equal weight to both.
    private static let strengths = (-2...26).map { exp2(Double($0) / 2) }
    /// Added to each occurring value, so that no share is zero.
    private static let smoothing = 0.5
    /// Larger numbers of missing values are scaled down to this.
    private static let mostCounted = 4096
    /// The total probability of the numbers in an interval. Shares are learned from the same values, so 92 % covers the
    /// truth in at least 90 % of cases.
    package static let level = 0.92
    /// The tail of the interval of the row of all other values. Values are in this row because few of them are known,
    /// which is often chance. So its interval extends from the 2.5th to the 97.5th percentile.
    private static let restTail = 0.025
    /// The maximum share of values that no campaign has.
    private static let mostUnseen = 0.5

    /// The known values of each campaign, by index of the value.
    private let observed: [[Double]]
    /// The shares of the values in all campaigns.
    private let shares: [Double]
    /// The probability of each strength.
    private let weights: [Double]
    /// The effective number of values that determine the common shares.
    private let basis: Double
    /// The share of the values that no campaign has.
    private let unseen: Double

    /// - Parameters:
    ///   - observed: how often each campaign has each value; all campaigns have the same number of values.
    ///   - possibleCount: the number of possible values; at least the known ones.
    package init(observed: [[Int64]], possibleCount: Int = 0) {
        let observed = observed.map { $0.map(Double.init) }
        self.observed = observed
        let sizes = observed.map { $0.reduce(0, +) }
        let valueCount = observed.first?.count ?? 0
        var (shares, weights, basis) = ([Double](), [Double](), 0.0)
        var sums = Array(repeating: 0.0, count: valueCount)
        var strength = 50.0
        // Shares depend on the strength, and the strength on the shares; three rounds converge.
        for _ in 0..<3 {
            sums = Array(repeating: 0, count: valueCount)
            for (values, size) in zip(observed, sizes) where size > 0 {
                // Many values of one campaign describe all campaigns less well than the same number from several.
                let weight = 1 / (1 + (size - 1) / (strength + 1))
                for index in values.indices { sums[index] += weight * values[index] }
            }
            basis = sums.reduce(0, +)
            shares = sums.map {
                ($0 + Self.smoothing / Double(sums.count)) / (basis + Self.smoothing)
            }
            let likelihoods = Self.strengths.map { Self.logLikelihood(of: observed, shares, $0) }
            let largest = likelihoods.max() ?? 0
            weights = likelihoods.map { exp($0 - largest) }
            let total = weights.reduce(0, +)
            weights = weights.map { $0 / total }
            strength = exp(zip(weights, Self.strengths).reduce(0) { $0 + $1.0 * log($1.1) })
        }
        let unseen =
            possibleCount > valueCount ? Self.unseenShare(of: observed, sums, basis) : 0
        self.unseen = unseen
        self.shares = shares.map { $0 * (1 - unseen) }
        self.weights = weights
        self.basis = basis
    }

    /// The share of values that are not known at all, from the number of those known in one campaign only
    /// (Good-Turing).
    ///
    /// - Parameters:
    ///   - sums: how often each value is known, with weighted campaigns.
    ///   - basis: the sum of these.
    private static func unseenShare(
        of observed: [[Double]], _ sums: [Double], _ basis: Double
    ) -> Double {
        let single = sums.indices.reduce(0.0) { sum, index in
            observed.count { $0[index] > 0 } == 1 ? sum + min(sums[index], 1) : sum
        }
        return min((single + smoothing) / (basis + 2 * smoothing), mostUnseen)
    }

    /// Estimates how many of a campaign's missing values have one value.
    ///
    /// - Parameters:
    ///   - index: index of the value.
    ///   - missing: the number of the campaign's missing values.
    package func estimate(of index: Int, campaign: Int, missing: Int64) -> NullEstimate {
        let (probabilities, scale) = probabilities(
            of: CollectionOfOne(index), and: 0, campaign: campaign, missing: missing)
        return NullEstimate(mostProbable: probabilities, scale: scale)
    }

    /// Estimates how many of a campaign's missing values belong to values without their own row: some given values, and
    /// those that no campaign has.
    ///
    /// - Parameters:
    ///   - indices: indices of the values.
    ///   - missing: the number of the campaign's missing values.
    package func estimateOfRest(
        _ indices: some Sequence<Int>, campaign: Int, missing: Int64
    ) -> NullEstimate {
        let (probabilities, scale) = probabilities(
            of: indices, and: unseen, campaign: campaign, missing: missing)
        return NullEstimate(central: probabilities, tail: Self.restTail, scale: scale)
    }

    /// The probabilities of numbers of missing values, and the scale of these numbers.
    private func probabilities(
        of indices: some Sequence<Int>, and unseen: Double, campaign: Int, missing: Int64
    ) -> (probabilities: [Double], scale: Double) {
        let counted = min(Int(missing), Self.mostCounted)
        var (share, inside) = (unseen, 0.0)
        for index in indices {
            share += shares[index]
            inside += observed[campaign][index]
        }
        let outside = observed[campaign].reduce(0, +) - inside
        var probabilities = Array(repeating: 0.0, count: counted + 1)
        for (weight, strength) in zip(weights, Self.strengths) where weight > 0.0001 {
            let strength = widened(strength)
            let one = Self.betaBinomial(
                counted, strength * share + inside,
                max(strength * (1 - share), 1e-9) + outside)
            for index in one.indices { probabilities[index] += weight * one[index] }
        }
        return (probabilities, counted == 0 ? 1 : Double(missing) / Double(counted))
    }

    /// The strength after the uncertainty of the common shares, which increases the variance between campaigns.
    private func widened(_ strength: Double) -> Double {
        let variance = 1 / (strength + 1) + 1 / (basis + 1)
        return max(1 / variance - 1, 0.05)
    }

    /// The log likelihood of all known values, where campaigns' shares vary around these.
    private static func logLikelihood(
        of observed: [[Double]], _ shares: [Double], _ strength: Double
    ) -> Double {
        var sum = 0.0
        for values in observed {
            let size = values.reduce(0, +)
            guard size > 0 else { continue }
            sum += lgamma(strength).0 - lgamma(strength + size).0
            for (share, count) in zip(shares, values) where count > 0 {
                sum += lgamma(strength * share + count).0 - lgamma(strength * share).0
            }
        }
        return sum
    }

    /// The probabilities of 0 to `count`.
    private static func betaBinomial(_ count: Int, _ inside: Double, _ outside: Double) -> [Double]
    {
        var logs = [0.0]
        logs.reserveCapacity(count + 1)
        for index in 0..<count {
            let (done, rest) = (Double(index), Double(count - index))
            let ratio = rest / (done + 1) * (inside + done) / (outside + rest - 1)
            logs.append(logs[index] + log(ratio))
        }
        let largest = logs.max() ?? 0
        let weights = logs.map { exp($0 - largest) }
        let total = weights.reduce(0, +)
        return weights.map { $0 / total }
    }
}

// MARK: Amounts

/// Missing values of a campaign for which each value has one amount.
package struct MissingValues {
    package let count: Int64
    /// At least 0, by index of the value.
    package let amounts: [Double]
    /// The amount of a value that no campaign has; nil for the average of the others.
    package let unseenAmount: Double?

    package init(count: Int64, amounts: [Double], unseenAmount: Double?) {
        (self.count, self.amounts, self.unseenAmount) = (count, amounts, unseenAmount)
    }
}

extension PooledValues {
    /// Estimates the total amount of a campaign's missing values.
    ///
    /// Given a strength, the numbers of the values have a Dirichlet-multinomial distribution, so the mean and the
    /// variance of the total are exact.
    package func total(of groups: [MissingValues], campaign: Int) -> AmountTotal {
        let shares = shares + [unseen]
        let own = observed[campaign] + [0]
        let groups = groups.map { group in
            (
                count: Double(group.count),
                amounts: group.amounts + [group.unseenAmount ?? average(of: group.amounts)]
            )
        }
        let missing = groups.reduce(0) { $0 + $1.count }
        let sums = shares.indices.map { value in
            groups.reduce(0) { $0 + $1.count * $1.amounts[value] }
        }
        let largest = shares.indices.map { value in groups.map { $0.amounts[value] }.max() ?? 0 }
        let limits = Set(largest).sorted()
        var (mean, square, within) = (0.0, 0.0, limits.map { _ in 0.0 })
        let likely = zip(weights, Self.strengths).filter { $0.0 > 0.0001 }
        let likelihood = likely.reduce(0) { $0 + $1.0 }
        for (weight, strength) in likely {
            let (weight, strength) = (weight / likelihood, widened(strength))
            let shapes = zip(shares, own).map { strength * $0 + $1 }
            let size = shapes.reduce(0, +)
            func moments(_ amounts: [Double]) -> (mean: Double, variance: Double) {
                let mean = zip(shapes, amounts).reduce(0) { $0 + $1.0 * $1.1 } / size
                let square = zip(shapes, amounts).reduce(0) { $0 + $1.0 * $1.1 * $1.1 } / size
                return (mean, square - mean * mean)
            }
            let all = moments(sums)
            // The campaign's shares vary, and so do the numbers with these shares.
            let variance = groups.reduce(all.variance / (size + 1)) {
                $0 + $1.count * moments($1.amounts).variance * size / (size + 1)
            }
            mean += weight * all.mean
            square += weight * (variance + all.mean * all.mean)
            for (index, limit) in limits.enumerated() {
                let inside = zip(shapes, largest).reduce(0) { $0 + ($1.1 <= limit ? $1.0 : 0) }
                guard inside > 0 else { continue }
                within[index] += weight * Self.allWithin(inside, of: size, missing)
            }
        }
        return AmountTotal(
            mean: mean, variance: max(square - mean * mean, 0),
            least: groups.reduce(0) { $0 + $1.count * ($1.amounts.min() ?? 0) },
            most: groups.reduce(0) { $0 + $1.count * ($1.amounts.max() ?? 0) },
            largest: zip(limits, within).map { ($0, $1) })
    }

    /// The probability that all missing values are among those with these shapes.
    private static func allWithin(_ inside: Double, of size: Double, _ missing: Double) -> Double {
        exp(
            lgamma(inside + missing).0 - lgamma(inside).0 + lgamma(size).0
                - lgamma(size + missing).0)
    }

    private func average(of amounts: [Double]) -> Double {
        let average = zip(shares, amounts).reduce(0) { $0 + $1.0 * $1.1 } / shares.reduce(0, +)
        // Rounding must not widen the range of amounts.
        return min(max(average, amounts.min() ?? 0), amounts.max() ?? 0)
    }
}

/// The estimated number of a campaign's missing values with some value.
package struct NullEstimate: Equatable, Sendable {
    package let mean: Double
    /// The interval, which covers the truth in at least 90 % of cases.
    package let low: Int64
    package let high: Int64
    /// The probability of zero.
    let none: Double

    /// The smallest set of most probable numbers with a total probability of `PooledValues.level`.
    init(mostProbable probabilities: [Double], scale: Double) {
        var low = 0
        for index in probabilities.indices where probabilities[index] > probabilities[low] {
            low = index
        }
        var (high, sum) = (low, probabilities[low])
        while sum < PooledValues.level {
            let below = low > 0 ? probabilities[low - 1] : -1
            let above = high + 1 < probabilities.count ? probabilities[high + 1] : -1
            guard max(below, above) >= 0 else { break }
            if below > above { low -= 1 } else { high += 1 }
            sum += max(below, above)
        }
        self.init(probabilities, low...high, scale: scale)
    }

    /// The numbers without the lowest and the highest ones, each with a probability of `tail`.
    init(central probabilities: [Double], tail: Double, scale: Double) {
        var (low, high, sum) = (0, 0, 0.0)
        for (index, probability) in probabilities.enumerated() {
            if sum <= tail { low = index }
            if sum < 1 - tail { high = index }
            sum += probability
        }
        self.init(probabilities, low...high, scale: scale)
    }

    private init(_ probabilities: [Double], _ range: ClosedRange<Int>, scale: Double) {
        mean = probabilities.enumerated().reduce(0) { $0 + Double($1.offset) * $1.element } * scale
        low = Int64((Double(range.lowerBound) * scale).rounded())
        high = Int64((Double(range.upperBound) * scale).rounded())
        none = probabilities.first ?? 1
    }

    /// Whether a value deserves its own row: the interval of a rare value would be zero to zero.
    package var isLikely: Bool { none <= 0.93 }
}
