import Foundation
import Program
import Wording

/// Tells a person at a terminal how far a worker is: one line, written over, on standard error.
/// Writes nothing when standard error is no terminal, or nobody wants it.
package struct Progress {
    private let label: String
    private let isShown: Bool
    private let start = ContinuousClock.now
    private var lastShown = ContinuousClock.now
    private var records: Int64 = 0

    /// Begins to count.
    package init(label: String, isWanted: Bool) {
        self.label = label
        isShown = isWanted && StandardError.isTerminal
    }

    /// More was done, and so much is left.
    package mutating func add(_ count: Int, behind: Int64?) {
        records += Int64(count)
        guard isShown, lastShown.duration(to: .now) > .milliseconds(250) else { return }
        lastShown = .now
        let seconds = max(Self.seconds(start.duration(to: .now)), 0.001)
        StandardError.show(
            Self.line(label, records: records, seconds: seconds, left: behind))
    }

    /// How many records were folded, how fast, how many are left, and about how long they take.
    static func line(_ label: String, records: Int64, seconds: Double, left: Int64?) -> String {
        let rate = Int64(Double(records) / seconds)
        let left = left.map { ", \($0) left\(time(left: $0, rate: rate))" } ?? ""
        return "\(label): \(counted(records, "record")), \(rate) a second\(left)"
    }

    /// About how long the rest takes, once that can be told.
    private static func time(left: Int64, rate: Int64) -> String {
        guard rate > 0, left > 0 else { return "" }
        let seconds = left / rate
        if seconds < 120 { return ", about \(seconds) s" }
        if seconds < 7200 { return ", about \(seconds / 60) min" }
        return ", about \(seconds / 3600) h"
    }

    /// Takes the line away, so that what stays begins a line of its own.
    package func end() {
        if isShown { StandardError.show("") }
    }

    private static func seconds(_ duration: Duration) -> Double {
        Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
    }
}
