import Foundation

/// The distribution of the total amount of missing values. Totals of different windows are independent.
///
/// It is a gamma distribution with the exact mean and variance, corrected where few large amounts decide: the most
/// probable totals are then 0, or one amount.
package struct AmountTotal: Sendable {
    package private(set) var mean: Double
    private var variance: Double
    private var least: Double
    private var most: Double
    /// The probabilities that no single amount is above a limit; limits ascend, and the last probability is 1.
    private var largest: [(limit: Double, probability: Double)]

    /// The tail on each side of the interval. The gamma distribution and the learned shares are not exact, so this
    /// covers the truth in at least 90 % of cases.
    private static let tail = 0.025
    /// The quantile of the normal distribution for this tail.
    private static let deviations = 1.959964

    /// The total of no values.
    package static let zero = AmountTotal(
        mean: 0, variance: 0, least: 0, most: 0, largest: [(0, 1)])

    init(
        mean: Double, variance: Double, least: Double, most: Double,
        largest: [(limit: Double, probability: Double)]
    ) {
        (self.mean, self.variance, self.least, self.most) = (mean, variance, least, most)
        self.largest = largest
    }

    package static func + (left: AmountTotal, right: AmountTotal) -> AmountTotal {
        AmountTotal(
            mean: left.mean + right.mean, variance: left.variance + right.variance,
            least: left.least + right.least, most: left.most + right.most,
            largest: Set((left.largest + right.largest).map(\.limit)).sorted().map {
                ($0, left.probability(noneAbove: $0) * right.probability(noneAbove: $0))
            })
    }

    private func probability(noneAbove limit: Double) -> Double {
        largest.last { $0.limit <= limit }?.probability ?? 0
    }

    /// The lower end of the interval.
    package var low: Double {
        guard probability(noneAbove: 0) <= Self.tail else { return 0 }
        return min(max(quantile(Self.tail, -Self.deviations), least), most)
    }

    /// The upper end of the interval. The total is at least its largest amount.
    package var high: Double {
        let one = largest.first { $0.probability >= 1 - Self.tail }?.limit ?? most
        return min(max(quantile(1 - Self.tail, Self.deviations), one, least), most)
    }

    private func quantile(_ probability: Double, _ deviations: Double) -> Double {
        guard mean > 0, variance > 0 else { return mean }
        let shape = mean * mean / variance
        // Wilson and Hilferty: the cube root of a large gamma variable is almost normal.
        guard shape < 50 else {
            return mean * pow(1 - 1 / (9 * shape) + deviations / (3 * shape.squareRoot()), 3)
        }
        var (low, high) = (0.0, shape + 10 * shape.squareRoot() + 20)
        for _ in 0..<60 {
            let middle = (low + high) / 2
            if Self.gamma(shape, below: middle) < probability {
                low = middle
            } else {
                high = middle
            }
        }
        return high * mean / shape
    }

    /// The probability that a gamma variable of this shape, and of scale 1, is below a limit above 0.
    private static func gamma(_ shape: Double, below limit: Double) -> Double {
        var (term, sum, index) = (1.0, 1.0, 0.0)
        while term > sum * 1e-12 {
            index += 1
            term *= limit / (shape + index)
            sum += term
        }
        return sum * exp(shape * log(limit) - limit - lgamma(shape + 1).0)
    }
}
