import AggregateStore
import Foundation
import GRDB

/// A delivery that may be sent now.
struct DueDelivery: Sendable {
    var number: Int64
    var id: String
    var document: [UInt8]
}

/// An attempt that came to its end, or a document that gives no request.
struct FinishedDelivery: Sendable {
    enum Ending: Sendable {
        /// It was sent.
        case attempt(Attempt)
        /// It could not be; nothing was sent.
        case fault(RenderingFault)
    }

    var number: Int64
    var key: String
    var partner: String
    /// The address that it was sent to, as the partner's file has it.
    var url: String
    var ending: Ending
}

extension DeliveryStore {
    /// Pending deliveries of a partner whose time has come, those first that have waited longest.
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
                let document: Data = row[2]
                return DueDelivery(number: row[0], id: row[1], document: Array(document))
            }
        }
    }

    /// When the next pending delivery of a partner is due, milliseconds since 1970; nil when none is.
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

    /// Whether a partner was disabled by its answer and is not enabled again.
    func isDisabled(partner: String) throws(StoreError) -> Bool {
        try read { db in
            try Int.fetchOne(
                db.cachedStatement(sql: "SELECT 1 FROM disabled_partners WHERE name = ?"),
                arguments: [partner]) != nil
        }
    }

    /// Pending deliveries of each partner: how many, and when the oldest was taken over.
    func pending() throws(StoreError) -> [String: (count: Int, oldestMilliseconds: Int64)] {
        try read { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT partner, count(*), min(created_ms) FROM deliveries
                    WHERE state = 'pending' GROUP BY partner
                    """)
            return rows.reduce(into: [:]) { pending, row in
                let partner: String = row[0]
                pending[partner] = (count: row[1], oldestMilliseconds: row[2])
            }
        }
    }

    /// Records the results of deliveries in one transaction, and returns the partners that it disabled.
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

    /// Disables the partner when it answered so; nil when it did not, or was disabled already.
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

    /// When a document gave no request; the time is that of the delivery.
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
        let isPending = row[0] == DeliveryState.pending.rawValue
        // Whom the partner does not know has not been refused: a document that was held uses up no attempt.
        let attempts: Int = row[1] + (AttemptOutcome(attempt.result) == .denied ? 0 : 1)
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
        // A revision that a higher one replaced while it was on its way is not tried again.
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
        switch AttemptOutcome(attempt.result) {
        case .delivered: return (.delivered, "", nil)
        case .refused: return (.dead, DeliveryReason.refused.text(answer), nil)
        case .redirect:
            return (
                .dead, DeliveryReason.redirect.text("\(answer), which is not followed"), nil
            )
        case .gone:
            return (.dead, DeliveryReason.gone.text("\(answer), the partner is disabled"), nil)
        case .denied: return (.pending, "", attempt.endMilliseconds)
        case .address: return (.dead, DeliveryReason.address.text(answer), nil)
        case .retry:
            var asked: Int64?
            if case .answered(_, let pause) = attempt.result { asked = pause }
            let pause = RetrySchedule.pauseMilliseconds(
                afterAttempt: number, key: delivery.key, retryAfterMilliseconds: asked)
            guard let pause else {
                return (
                    .dead, DeliveryReason.exhausted.text("\(number) attempts, the last: \(answer)"),
                    nil
                )
            }
            return (.pending, "", attempt.endMilliseconds + pause)
        }
    }
}

extension [UInt8] {
    /// As SQLite takes them.
    var databaseBytes: Data { Data(self) }
}
