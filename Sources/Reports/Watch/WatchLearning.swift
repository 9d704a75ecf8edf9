// What warnings learn by. docs/guides/watch-for-anomalies.md describes the method, and says what each number is good for.
//
// A series is a row of hours. It is walked once, from its first hour on, and what is said of an hour follows
// from the hours up to it: what was said then is said of it ever after.

enum WatchLearning {
    static let week = 168
    /// How many earlier weeks say what an hour is like, and hold what is usual.
    static let weeks = 8
    /// From then on there is something to expect of an hour.
    static let expectsAfter = 2 * week
    /// From then on a series is judged.
    static let judgesAfter = 4 * week
    /// What was open for so many hours is the new usual: the warning closes, and the series is learned anew.
    static let forgetsAfter = 2 * week
}

/// A warning of a series. Hours are places in the series.
package struct SeriesWarning<Evidence: Sendable & Equatable>: Sendable, Equatable {
    /// The hour at whose end it opened.
    package let opened: Int
    /// The first hour that is as usual again, or that is the new usual; nil while it is open.
    package internal(set) var closed: Int?
    package internal(set) var evidence: Evidence
}

/// Sums from the front of a series.
struct RunningSums {
    private var sums: [Double] = [0]

    mutating func append(_ value: Double) { sums.append(sums[sums.count - 1] + value) }

    /// Gives the values from this place on up, in place of those that were there.
    mutating func replace(from place: Int, with values: some Sequence<Double>) {
        sums.removeSubrange((place + 1)...)
        for value in values { append(value) }
    }

    /// The sum of the values in a range of places.
    func sum(_ range: Range<Int>) -> Double { sums[range.upperBound] - sums[range.lowerBound] }
}

/// The second largest of some numbers, which one alone cannot raise; 0 of fewer than two.
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
