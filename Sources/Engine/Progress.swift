import Foundation
import Program
import Wording

/// Shows a worker's progress at a terminal: one line on standard error, which is overwritten. Writes nothing without
/// a terminal or if not wanted.
package struct Progress {
    private let label: String
    private let isShown: Bool
    private let start = ContinuousClock.now
    private var lastShown = ContinuousClock.now
    private var records: Int64 = 0

    package init(label: String, isWanted: Bool) {
        self.label = label
        isShown = isWanted && StandardError.isTerminal
    }

    /// Adds to the count, and sets the number of remaining records.
    package mutating func add(_ count: Int, behind: Int64?) {
        records += Int64(count)
        guard isShown, lastShown.duration(to: .now) > .milliseconds(250) else { return }
        lastShown = .now
        let seconds = max(Self.seconds(start.duration(to: .now)), 0.001)
        StandardError.show(
            Self.line(label, records: records, seconds: seconds, left: behind))
    }

    /// The number of folded records, the speed, the remaining records and their approximate time.
    static func line(_ label: String, records: Int64, seconds: Double, left: Int64?) -> String {
        let rate = Int64(Double(records) / seconds)
        let left = left.map { ", \($0) left\(time(left: $0, rate: rate))" } ?? ""
        return "\(label): \(counted(records, "record")), \(rate) a second\(left)"
    }

    /// The approximate remaining time, if known.
    private static func time(left: Int64, rate: Int64) -> String {
        guard rate > 0, left > 0 else { return "" }
        let seconds = left / rate
        if seconds < 120 { return ", about \(seconds) s" }
        if seconds < 7200 { return ", about \(seconds / 60) min" }
        return ", about \(seconds / 3600) h"
    }

    /// Removes the line, so that later output begins on its own line.
    package func end() {
        if isShown { StandardError.show("") }
    }

    private static func seconds(_ duration: Duration) -> Double {
        Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
    }
}
