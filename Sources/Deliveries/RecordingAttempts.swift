import Foundation
import GRDB
import Program
import Store
import Wording

struct DueDelivery: Sendable {
    var number: Int64
    var id: String
    var document: [UInt8]
}

/// The end of an attempt, or a document that does not result in a request.
struct FinishedDelivery: Sendable {
    enum Ending: Sendable {
        case attempt(Attempt)
        /// Nothing was sent.
        case fault(RenderingFault)
    }

    var number: Int64
    var key: String
    var partner: String
    /// The address of the partner, as written in its file.
    var url: String
    var ending: Ending
}

extension DeliveryStore {
    /// Pending deliveries of a partner that are due, longest due first.
    func due(
        partner: String, nowMilliseconds: Int64, limit: Int
    ) throws(StoreError) -> [DueDelivery] {
        try read { db in
            try Row.fetchAll(
                db.cachedStatement(
                    sql: """
                        SELECT number, id, document FROM deliveries
                        WHERE partner = ? AND state = 'pending' AND next_attempt_ms <= ?
                        ORDER BY next_attempt_ms, number LIMIT ?
                        """), arguments: [partner, nowMilliseconds, limit]
            ).map { row in
                let document: Data = row["document"]
                return DueDelivery(number: row["number"], id: row["id"], document: Array(document))
            }
        }
    }

    /// When the next pending delivery of a partner is due, milliseconds since 1970; otherwise nil.
    func nextDue(partner: String) throws(StoreError) -> Int64? {
        try read { db in
            try Int64.fetchOne(
                db.cachedStatement(
                    sql: """
                        SELECT min(next_attempt_ms) FROM deliveries
                        WHERE partner = ? AND state = 'pending'
                        """), arguments: [partner])
        }
    }

    func isDisabled(partner: String) throws(StoreError) -> Bool {
        try has(partner, in: "disabled_partners")
    }

    /// Whether a partner is still paused: an operator may have ended its pause.
    func isResting(partner: String) throws(StoreError) -> Bool {
        try has(partner, in: "resting_partners")
    }

    private func has(_ partner: String, in table: String) throws(StoreError) -> Bool {
        try read { db in
            try Int.fetchOne(
                db.cachedStatement(sql: "SELECT 1 FROM \(table) WHERE name = ?"),
                arguments: [partner]) != nil
        }
    }

    /// Records results in one transaction. Returns the partners that they disabled.
    @discardableResult
    func record(_ finished: [FinishedDelivery]) throws(StoreError) -> [DisabledPartner] {
        try commit { db in
            var disabled: [DisabledPartner] = []
            for delivery in finished {
                switch delivery.ending {
                case .attempt(let attempt):
                    try Self.record(attempt, of: delivery, in: db)
                    if let partner = try Self.disable(after: attempt, of: delivery, in: db) {
                        disabled.append(partner)
                    }
                case .fault(let fault): try Self.record(fault, of: delivery, in: db)
                }
            }
            return disabled
        }
    }

    /// Disables the partner after 410, 401 or 403; nil for other answers and if it was already disabled.
    private static func disable(
        after attempt: Attempt, of delivery: FinishedDelivery, in db: Database
    ) throws -> DisabledPartner? {
        let outcome = AttemptOutcome(attempt.result)
        guard outcome == .gone || outcome == .denied, let status = attempt.status else {
            return nil
        }
        try db.execute(
            sql: """
                INSERT INTO disabled_partners (name, disabled_ms, url, status) VALUES (?, ?, ?, ?)
                ON CONFLICT DO NOTHING
                """,
            arguments: [delivery.partner, attempt.endMilliseconds, delivery.url, status])
        return db.changesCount > 0 ? DisabledPartner(name: delivery.partner, status: status) : nil
    }

    /// A document without a request keeps the time of its delivery as the time of change.
    private static func record(
        _ fault: RenderingFault, of delivery: FinishedDelivery, in db: Database
    ) throws {
        let (state, reason): (DeliveryState, DeliveryReason) =
            switch fault {
            case .held: (.held, .missing)
            case .unusable: (.dead, .unusable)
            }
        try db.execute(
            sql: """
                UPDATE deliveries SET state = ?, reason = ?, changed_ms = next_attempt_ms,
                  next_attempt_ms = NULL
                WHERE number = ? AND state = 'pending'
                """,
            arguments: [state.rawValue, reason.text("\(fault)"), delivery.number])
    }

    private static func record(
        _ attempt: Attempt, of delivery: FinishedDelivery, in db: Database
    ) throws {
        let row = try Row.fetchOne(
            db, sql: "SELECT state, attempts FROM deliveries WHERE number = ?",
            arguments: [delivery.number])
        guard let row else { return }
        let isPending = row["state"] == DeliveryState.pending.rawValue
        // 401 and 403 reject the sender and not the document, so they use up no attempt.
        let attempts: Int = row["attempts"] + (AttemptOutcome(attempt.result) == .denied ? 0 : 1)
        try db.execute(
            sql: """
                INSERT INTO attempts VALUES
                  (?1, 1 + (SELECT ifnull(max(number), 0) FROM attempts WHERE delivery = ?1),
                   ?2, ?3, ?4, ?5)
                """,
            arguments: [
                delivery.number, attempt.startedMilliseconds, attempt.durationMilliseconds,
                attempt.status, attempt.fault,
            ])
        let end = attempt.endMilliseconds
        let next = Self.next(after: attempt, number: attempts, of: delivery)
        // A revision that was superseded while it was in flight is not retried.
        let isFinal = isPending || next.state == .delivered
        try db.execute(
            sql: """
                UPDATE deliveries SET attempts = ?1,
                  state = iif(?2, ?3, state), reason = iif(?2, ?4, reason),
                  next_attempt_ms = iif(?2, ?5, next_attempt_ms),
                  changed_ms = iif(?2 AND state <> ?3, ?6, changed_ms)
                WHERE number = ?7
                """,
            arguments: [
                attempts, isFinal, next.state.rawValue, next.reason, next.pauseEnd, end,
                delivery.number,
            ])
    }

    private static func next(
        after attempt: Attempt, number: Int, of delivery: FinishedDelivery
    ) -> (state: DeliveryState, reason: String, pauseEnd: Int64?) {
        let answer = attempt.status.map { "status \($0)" } ?? attempt.fault ?? ""
        func dead(
            _ reason: DeliveryReason, _ explanation: String
        ) -> (DeliveryState, String, Int64?) {
            (.dead, reason.text(explanation), nil)
        }
        switch AttemptOutcome(attempt.result) {
        case .delivered: return (.delivered, "", nil)
        case .refused: return dead(.refused, answer)
        case .redirect: return dead(.redirect, "\(answer), which is not followed")
        case .gone: return dead(.gone, "\(answer), the partner is disabled")
        case .denied: return (.pending, "", attempt.endMilliseconds)
        case .address: return dead(.address, answer)
        case .retry:
            var asked: Int64?
            if case .answered(_, let pause, _) = attempt.result { asked = pause }
            let pause = RetrySchedule.pauseMilliseconds(
                afterAttempt: number, key: delivery.key, retryAfterMilliseconds: asked)
            guard let pause else {
                return dead(.exhausted, "\(counted(number, "attempt")), the last: \(answer)")
            }
            return (.pending, "", attempt.endMilliseconds + pause)
        }
    }
}

extension DeliveryStore {
    /// Stores or removes the pause of a partner.
    ///
    /// - Parameter url: the address of the partner, as written in its file.
    func set(_ rest: PartnerRest?, partner: String, url: String) throws(StoreError) {
        try commit { db in
            guard let rest else { return try Self.endRest(of: partner, in: db) }
            try db.execute(
                sql: "INSERT OR REPLACE INTO resting_partners VALUES (?, ?, ?, ?, ?)",
                arguments: [
                    partner, rest.cause.rawValue, rest.pauseMilliseconds, rest.untilMilliseconds,
                    url,
                ])
        }
    }
}

/// Deliveries of a partner that are due later than the schedule allows.
package struct MisplacedDeliveries: Equatable, Sendable {
    package var partner: String
    package var count: Int
    /// The latest due time among them, milliseconds since 1970.
    package var untilMilliseconds: Int64
}

/// Repairs due times that were set by a clock that was ahead. Each time is computed from the moment of setting it, so
/// a time further ahead than its pause shows that the clock has gone back since.
extension DeliveryStore {
    /// The first attempt is due at once, each later one after a pause that starts at the end of the
    /// previous attempt.
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

    /// Deliveries due later than the schedule allows, by partner. A running worker makes them due at its next check.
    package func misplaced(
        nowMilliseconds now: Int64
    ) throws(StoreError) -> [MisplacedDeliveries] {
        try read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT partner, count(*) AS count, max(next_attempt_ms) AS until_ms
                    FROM deliveries WHERE \(Self.isMisplaced) GROUP BY partner ORDER BY partner
                    """, arguments: Self.arguments(now)
            ).map {
                MisplacedDeliveries(
                    partner: $0["partner"], count: $0["count"], untilMilliseconds: $0["until_ms"])
            }
        }
    }

    /// Makes deliveries due that wait longer than the schedule allows, and shortens pauses of partners that are too
    /// long. Returns the number of these deliveries.
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
