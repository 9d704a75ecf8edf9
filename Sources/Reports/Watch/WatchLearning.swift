// The parameters of learning. docs/guides/watch-for-anomalies.md describes the method and the purpose of each number.
//
// A series is an array of hours. It is processed once, from its first hour on, and the result for an hour depends only
// on the hours up to it. So the result for a past hour never changes.

enum WatchLearning {
    static let week = 168
    /// The number of earlier weeks that determine what is usual.
    static let weeks = 8
    /// The number of hours after which an expectation exists.
    static let expectsAfter = 2 * week
    /// The number of hours after which a series is judged.
    static let judgesAfter = 4 * week
    /// The number of hours after which a warning closes because its state is the new usual. The series is then learned
    /// again.
    static let forgetsAfter = 2 * week
}

/// A warning of a series. Hours are indices in the series.
package struct SeriesWarning<Evidence: Sendable & Equatable>: Sendable, Equatable {
    /// The warning opened at the end of this hour.
    package let opened: Int
    /// The first hour that is usual again, or that is the new usual; nil while it is open.
    package internal(set) var closed: Int?
    package internal(set) var evidence: Evidence
}

/// Prefix sums of a series.
struct RunningSums {
    private var sums: [Double] = [0]

    mutating func append(_ value: Double) { sums.append(sums[sums.count - 1] + value) }

    /// Replaces the values from this index on.
    mutating func replace(from index: Int, with values: some Sequence<Double>) {
        sums.removeSubrange((index + 1)...)
        for value in values { append(value) }
    }

    /// The sum of the values in a range of places.
    func sum(_ range: Range<Int>) -> Double { sums[range.upperBound] - sums[range.lowerBound] }
}

/// The second largest of some numbers, insensitive to a single outlier; 0 for fewer than two.
struct SecondLargest {
    private var largest = 0.0
    private(set) var value = 0.0
    private(set) var count = 0

    mutating func add(_ number: Double) {
        count += 1
        if number > largest {
            value = largest
            largest = number
        } else if number > value {
            value = number
        }
    }
}
