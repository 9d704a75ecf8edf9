import Foundation

/// Where ended attempts wait for the loop, which waits for them. The lock guards all of it.
final class ResultInbox: @unchecked Sendable {
    private let condition = NSCondition()
    private var results: [FinishedDelivery] = []

    func put(_ result: FinishedDelivery) {
        condition.lock()
        results.append(result)
        condition.signal()
        condition.unlock()
    }

    /// Takes what is there; waits for the first for at most so long.
    func take(waitMilliseconds: Int) -> [FinishedDelivery] {
        condition.lock()
        defer { condition.unlock() }
        if results.isEmpty, waitMilliseconds > 0 {
            _ = condition.wait(until: Date(timeIntervalSinceNow: Double(waitMilliseconds) / 1000))
        }
        defer { results = [] }
        return results
    }
}
