import AggregateStore
import Foundation
import GRDB

extension DeliveryStore {
    /// Deliveries, those first whose state changed last.
    package func deliveries(
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
    package func counts() throws(StoreError) -> [(partner: String, state: DeliveryState, count: Int)]
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
    package func waiting() throws(StoreError) -> WaitingDeliveries {
        let pending = try pending().values
        return WaitingDeliveries(
            count: pending.reduce(0) { $0 + $1.count },
            oldestMilliseconds: pending.map(\.oldestMilliseconds).min())
    }

    /// Partners that were disabled by their answer and are not enabled again, by name.
    package func disabledPartners() throws(StoreError) -> [DisabledPartner] {
        try read { db in
            try Row.fetchAll(db, sql: "SELECT name, status FROM disabled_partners ORDER BY name")
                .map { DisabledPartner(name: $0[0], status: $0[1]) }
        }
    }

    /// All revisions of a document, with their attempts and bytes.
    package func history(
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

    /// Partners of which anything is known, by name.
    package func knownPartners() throws(StoreError) -> [String] {
        try read {
            try String.fetchAll(
                $0,
                sql: """
                    SELECT partner FROM deliveries WHERE partner <> ''
                    UNION SELECT name FROM disabled_partners
                    UNION SELECT name FROM resting_partners ORDER BY 1
                    """)
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
