import AggregateStore
import Foundation
import GRDB

/// Which deliveries an operator means.
public enum DeliverySelection: Equatable, Sendable {
    /// All revisions of a document.
    case id(String)
    /// Dead and held ones of a partner.
    case partner(String)
    /// All dead ones.
    case allDead
}

/// What became of an operator's wish.
public struct RetriedDeliveries: Equatable, Sendable {
    /// So many are pending again.
    public var retried = 0
    /// So many cannot be: a higher revision is there, or the record is no document.
    public var left = 0
    /// Partners that are enabled again.
    public var enabled: [String] = []

    /// Nothing yet.
    public init(retried: Int = 0, left: Int = 0, enabled: [String] = []) {
        self.retried = retried
        self.left = left
        self.enabled = enabled
    }
}

extension DeliveryStore {
    /// Deliveries, those first whose state changed last.
    public func deliveries(
        partner: String? = nil, state: DeliveryState? = nil, limit: Int
    ) throws(StoreError) -> [Delivery] {
        try read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT * FROM deliveries
                    WHERE (?1 IS NULL OR partner = ?1) AND (?2 IS NULL OR state = ?2)
                    ORDER BY changed_ms DESC, number DESC LIMIT ?3
                    """,
                arguments: [partner, state?.rawValue, limit]
            ).map(Delivery.init)
        }
    }

    /// How many deliveries there are, by partner and state.
    public func counts() throws(StoreError) -> [(partner: String, state: DeliveryState, count: Int)]
    {
        try read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT partner, state, count(*) FROM deliveries
                    GROUP BY partner, state ORDER BY partner, state
                    """
            ).map { ($0[0], DeliveryState(rawValue: $0[1]) ?? .dead, $0[2]) }
        }
    }

    /// What is pending, of all partners together.
    public func waiting() throws(StoreError) -> WaitingDeliveries {
        let pending = try pending().values
        return WaitingDeliveries(
            count: pending.reduce(0) { $0 + $1.count },
            oldestMilliseconds: pending.map(\.oldestMilliseconds).min())
    }

    /// Partners that answered 410 and are not enabled again.
    public func disabledPartners() throws(StoreError) -> [String] {
        try read {
            try String.fetchAll($0, sql: "SELECT name FROM disabled_partners ORDER BY name")
        }
    }

    /// All revisions of a document, with their attempts and bytes.
    public func history(
        of id: String
    ) throws(StoreError) -> [(delivery: Delivery, attempts: [StoredAttempt], document: [UInt8])] {
        try read { db in
            try Row.fetchAll(
                db, sql: "SELECT * FROM deliveries WHERE id = ? ORDER BY revision",
                arguments: [id]
            ).map { row in
                let attempts = try Row.fetchAll(
                    db, sql: "SELECT * FROM attempts WHERE delivery = ? ORDER BY number",
                    arguments: [row["number"] as Int64])
                let document: Data = row["document"]
                return (Delivery(row), attempts.map(StoredAttempt.init), Array(document))
            }
        }
    }

    /// Makes dead or held deliveries pending, from the beginning of the schedule; a partner that is named
    /// is enabled. A revision below another one is left: the higher one counts.
    public func retry(
        _ selection: DeliverySelection, nowMilliseconds now: Int64
    ) throws(StoreError) -> RetriedDeliveries {
        let (condition, argument): (String, String?) =
            switch selection {
            case .id(let id): ("state IN ('dead', 'held') AND id = ?1", id)
            case .partner(let name): ("state IN ('dead', 'held') AND partner = ?1", name)
            case .allDead: ("state = 'dead' AND ?1 IS NULL", nil)
            }
        return try commit { db in
            var retried = RetriedDeliveries()
            let meant =
                try Int.fetchOne(
                    db, sql: "SELECT count(*) FROM deliveries WHERE \(condition)",
                    arguments: [argument]) ?? 0
            try db.execute(
                sql: """
                    UPDATE deliveries SET state = 'pending', reason = '', attempts = 0,
                      next_attempt_ms = ?2, changed_ms = ?2
                    WHERE \(condition) AND partner <> '' AND NOT EXISTS
                      (SELECT 1 FROM deliveries AS other
                       WHERE other.id = deliveries.id AND other.revision > deliveries.revision)
                    """,
                arguments: [argument, now])
            retried.retried = db.changesCount
            retried.left = meant - retried.retried
            if case .partner(let name) = selection {
                try db.execute(
                    sql: "DELETE FROM disabled_partners WHERE name = ?", arguments: [name])
                if db.changesCount > 0 { retried.enabled = [name] }
            }
            return retried
        }
    }
}

extension Delivery {
    fileprivate init(_ row: Row) {
        self.init(
            id: row["id"], revision: row["revision"], partner: row["partner"],
            partition: row["partition"], offset: row["offset"],
            state: DeliveryState(rawValue: row["state"]) ?? .dead, reason: row["reason"],
            attempts: row["attempts"], createdMilliseconds: row["created_ms"],
            nextAttemptMilliseconds: row["next_attempt_ms"],
            changedMilliseconds: row["changed_ms"])
    }
}

extension StoredAttempt {
    fileprivate init(_ row: Row) {
        self.init(
            number: row["number"], startedMilliseconds: row["started_ms"],
            durationMilliseconds: row["duration_ms"], status: row["status"], fault: row["fault"])
    }
}
