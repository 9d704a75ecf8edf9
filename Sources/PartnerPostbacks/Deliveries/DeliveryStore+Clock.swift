import AggregateStore
import GRDB

/// Deliveries of a partner that wait for a time that the schedule does not allow.
package struct MisplacedDeliveries: Equatable, Sendable {
    /// Name of the partner.
    package var partner: String
    /// How many there are.
    package var count: Int
    /// The last of the times that they wait for, milliseconds since 1970.
    package var untilMilliseconds: Int64
}

/// Times that were set by a clock that was ahead. They are worked out from the time at which they were set, so
/// that one that lies further ahead than its pause says that the clock has gone back since.
extension DeliveryStore {
    /// Clocks are set by a little all the time: so much is taken for that.
    static let clockSlackMilliseconds: Int64 = 60_000

    /// The first attempt is made at once, each other one after a pause that counts from the end of the last.
    private static let isMisplaced = """
        state = 'pending' AND next_attempt_ms > :now + :slack AND
          (attempts = 0 OR next_attempt_ms > :now + :longest OR :now + :slack <
            (SELECT started_ms + duration_ms FROM attempts WHERE delivery = deliveries.number
             ORDER BY attempts.number DESC LIMIT 1))
        """

    private static func arguments(_ now: Int64) -> StatementArguments {
        [
            "now": now, "slack": clockSlackMilliseconds,
            "longest": RetrySchedule.longestPauseMilliseconds,
        ]
    }

    /// What waits for longer than the schedule allows, by partner. A worker sends it as soon as it turns.
    package func misplaced(
        nowMilliseconds now: Int64
    ) throws(StoreError) -> [MisplacedDeliveries] {
        try read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT partner, count(*), max(next_attempt_ms) FROM deliveries
                    WHERE \(Self.isMisplaced) GROUP BY partner ORDER BY partner
                    """, arguments: Self.arguments(now)
            ).map {
                MisplacedDeliveries(partner: $0[0], count: $0[1], untilMilliseconds: $0[2])
            }
        }
    }

    /// Makes due what waits for longer than the schedule allows, and has partners rest for no longer than their
    /// pause. Says how many deliveries that were.
    func bringBack(nowMilliseconds now: Int64) throws(StoreError) -> Int {
        try commit { db in
            try db.execute(
                sql: """
                    UPDATE resting_partners SET until_ms = :now + pause_ms
                    WHERE until_ms > :now + pause_ms + :slack
                    """, arguments: ["now": now, "slack": Self.clockSlackMilliseconds])
            try db.execute(
                sql: "UPDATE deliveries SET next_attempt_ms = :now WHERE \(Self.isMisplaced)",
                arguments: Self.arguments(now))
            return db.changesCount
        }
    }
}
