import Streams

/// What became of the records of a batch that was stored.
package struct StoredBatch: Equatable, Sendable {
    /// Whether a sum overflowed, so that the batch was folded again record by record.
    package internal(set) var hasOverflowed = false
    private var records = Array(repeating: Int64(0), count: Outcome.allCases.count)
    private var rejections = Array(repeating: Int64(0), count: RejectionReason.allCases.count)

    /// Number of records with this outcome.
    package func count(_ outcome: Outcome) -> Int64 { records[outcome.rawValue] }

    /// Number of records that were rejected for this reason.
    package func count(_ reason: RejectionReason) -> Int64 { rejections[Int(reason.rawValue)] }

    mutating func add(_ effects: FoldEffects) {
        effects.outcomes.forEachRow { _, measures in
            for (outcome, count) in measures.enumerated() { records[outcome] += count }
        }
        for refused in effects.refused {
            if case .rejected(let rejection) = refused.cause {
                rejections[Int(rejection.reason.rawValue)] += 1
            }
        }
    }
}
