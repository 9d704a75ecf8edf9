import Foundation
import GRDB

/// The state of a document for a partner.
package enum DeliveryState: String, CaseIterable, Sendable {
    /// To be sent, now or at the next attempt.
    case pending
    /// The partner answered 200 to 299.
    case delivered
    /// Not sent again automatically; the reason explains why.
    case dead
    /// Waits for an operator; the reason names the missing part.
    case held
    /// A higher revision arrived before this one was sent.
    case superseded
}

/// Why a delivery is dead or held. A detail in words follows it in the store.
package enum DeliveryReason: String, CaseIterable, Sendable {
    /// All attempts of the schedule failed.
    case exhausted
    /// Another attempt would not change the partner's status.
    case refused
    /// The partner answered with a redirect.
    case redirect
    /// The partner answered 410 and is disabled.
    case gone
    /// The partner has a private address, or another forbidden one.
    case address
    /// A value is not allowed at its place in the template.
    case unusable
    /// The record is not a document.
    case unreadable
    /// A macro has no value, and the partner's file is configured to hold.
    case missing
    /// No file for this partner.
    case unknownPartner = "unknown_partner"
    /// The file of the partner has no address yet.
    case off
}

package struct Delivery: Equatable, Sendable {
    /// The id of the document; for an unreadable record, its topic, partition and offset.
    package var id: String
    package var revision: Int64
    /// Empty for an unreadable record.
    package var partner: String
    package var partition: Int32
    package var offset: Int64
    package var state: DeliveryState
    /// Why the delivery is dead or held; otherwise empty.
    package var reason: String
    /// Attempts since the document was ingested or last retried by hand.
    package var attempts: Int
    /// When the document was ingested, milliseconds since 1970.
    package var createdMilliseconds: Int64
    /// Milliseconds since 1970; nil unless pending.
    package var nextAttemptMilliseconds: Int64?
    /// When the state last changed, milliseconds since 1970.
    package var changedMilliseconds: Int64

    /// Partners recognise repeated requests by this key.
    package var idempotencyKey: String { "\(id):\(revision)" }
}

/// A stored attempt.
package struct StoredAttempt: Equatable, Sendable {
    /// From 1, over all retries.
    package var number: Int
    /// Milliseconds since 1970.
    package var startedMilliseconds: Int64
    package var durationMilliseconds: Int64
    /// Nil without an answer.
    package var status: Int?
    /// Nil for an answer.
    package var fault: String?
}

/// Pending deliveries.
package struct WaitingDeliveries: Equatable, Sendable {
    package var count: Int
    /// When the oldest was ingested, milliseconds since 1970; nil without any.
    package var oldestMilliseconds: Int64?

    /// The waiting time of the oldest in seconds; nil without any.
    package func seconds(at nowMilliseconds: Int64) -> Int64? {
        oldestMilliseconds.map { max(nowMilliseconds - $0, 0) / 1000 }
    }

    /// The sum of two stores.
    package func adding(_ other: WaitingDeliveries) -> WaitingDeliveries {
        WaitingDeliveries(
            count: count + other.count,
            oldestMilliseconds: [oldestMilliseconds, other.oldestMilliseconds].compactMap(\.self)
                .min())
    }
}

extension DeliveryStore {
    /// Deliveries, most recently changed first.
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

    /// The number of deliveries by partner and state.
    package func counts() throws(StoreError) -> [(
        partner: String, state: DeliveryState, count: Int
    )] {
        try read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT partner, state, count(*) AS count FROM deliveries
                    GROUP BY partner, state ORDER BY partner, state
                    """
            ).map { ($0["partner"], DeliveryState(rawValue: $0["state"]) ?? .dead, $0["count"]) }
        }
    }

    /// The number of documents with a failed attempt, by partner, among those that began at `since` or later and
    /// before `until`; milliseconds since 1970.
    package func failures(
        sinceMilliseconds since: Int64, untilMilliseconds until: Int64
    ) throws(StoreError) -> [(partner: String, count: Int, firstMilliseconds: Int64)] {
        try read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT partner, count(DISTINCT delivery) AS count, min(started_ms) AS first_ms
                    FROM attempts JOIN deliveries ON deliveries.number = delivery
                    WHERE started_ms >= ? AND started_ms < ?
                      AND (status IS NULL OR status NOT BETWEEN 200 AND 299)
                    GROUP BY partner ORDER BY partner
                    """, arguments: [since, until]
            ).map { ($0["partner"], $0["count"], $0["first_ms"]) }
        }
    }

    /// For each partner: the number of pending deliveries, and the time when the oldest was ingested.
    package func pending() throws(StoreError) -> [String: (count: Int, oldestMilliseconds: Int64)] {
        try read { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT partner, count(*) AS count, min(created_ms) AS oldest_ms
                    FROM deliveries WHERE state = 'pending' GROUP BY partner
                    """)
            return rows.reduce(into: [:]) { pending, row in
                let partner: String = row["partner"]
                pending[partner] = (count: row["count"], oldestMilliseconds: row["oldest_ms"])
            }
        }
    }

    /// Pending deliveries of all partners.
    package func waiting() throws(StoreError) -> WaitingDeliveries {
        let pending = try pending().values
        return WaitingDeliveries(
            count: pending.reduce(0) { $0 + $1.count },
            oldestMilliseconds: pending.map(\.oldestMilliseconds).min())
    }

    /// Disabled partners, by name.
    package func disabledPartners() throws(StoreError) -> [DisabledPartner] {
        try read { db in
            try Row.fetchAll(db, sql: "SELECT name, status FROM disabled_partners ORDER BY name")
                .map { DisabledPartner(name: $0["name"], status: $0["status"]) }
        }
    }

    /// All revisions of a document with their attempts and bytes.
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

    /// Names of all partners in the store, sorted.
    package func storedPartners() throws(StoreError) -> [String] {
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

/// The deliveries that an operator retries.
package enum DeliverySelection: Equatable, Sendable {
    /// All revisions of a document.
    case id(String)
    /// The pending, dead and held deliveries of a partner.
    case partner(String)
    /// All dead deliveries.
    case allDead
}

/// The result of a retry.
package struct RetriedDeliveries: Equatable, Sendable {
    /// Deliveries that are due now.
    package var retried = 0
    /// Skipped deliveries: a higher revision exists, the record is not a document, or the partner cannot receive any.
    package var left = 0
    /// Disabled partners that are enabled again.
    package var enabled: [String] = []
    /// Partners with an ended pause.
    package var awakened: [String] = []

    package init(
        retried: Int = 0, left: Int = 0, enabled: [String] = [], awakened: [String] = []
    ) {
        self.retried = retried
        self.left = left
        self.enabled = enabled
        self.awakened = awakened
    }

    /// The sum of two stores.
    package func adding(_ other: RetriedDeliveries) -> RetriedDeliveries {
        RetriedDeliveries(
            retried: retried + other.retried, left: left + other.left,
            enabled: enabled + other.enabled.filter { !enabled.contains($0) },
            awakened: awakened + other.awakened.filter { !awakened.contains($0) })
    }
}

extension DeliveryStore {
    /// Makes deliveries due now, from the start of the schedule. A selection by id or partner includes pending ones
    /// and ends the pause of the partner; a selection by partner also enables the partner. A lower revision is
    /// skipped, because the higher one counts. A running worker notices the change at its next turn.
    ///
    /// - Parameter leftPartners: partners that cannot receive documents; their deliveries are skipped.
    package func retry(
        _ selection: DeliverySelection, leaving leftPartners: [String] = [],
        nowMilliseconds now: Int64
    ) throws(StoreError) -> RetriedDeliveries {
        let isOpen = "state IN ('pending', 'dead', 'held')"
        // The selected deliveries, and the partners to awaken.
        let (condition, partners, argument): (String, String, String?) =
            switch selection {
            case .id(let id):
                (
                    "\(isOpen) AND id = ?1",
                    "SELECT partner FROM deliveries WHERE \(isOpen) AND id = ?1", id
                )
            case .partner(let name): ("\(isOpen) AND partner = ?1", "?1", name)
            case .allDead: ("state = 'dead' AND ?1 IS NULL", "SELECT ?1 WHERE FALSE", nil)
            }
        let isLeft = Array(repeating: "?", count: leftPartners.count).joined(separator: ", ")
        return try commit { db in
            var retried = RetriedDeliveries()
            retried.awakened = try String.fetchAll(
                db, sql: "SELECT name FROM resting_partners WHERE name IN (\(partners))",
                arguments: [argument])
            for name in retried.awakened { try Self.endRest(of: name, in: db) }
            let meant =
                try Int.fetchOne(
                    db, sql: "SELECT count(*) FROM deliveries WHERE \(condition)",
                    arguments: [argument]) ?? 0
            try db.execute(
                sql: """
                    UPDATE deliveries SET state = 'pending', reason = '', attempts = 0,
                      next_attempt_ms = ?2, changed_ms = iif(state = 'pending', changed_ms, ?2)
                    WHERE \(condition) AND partner <> '' AND partner NOT IN (\(isLeft)) AND NOT EXISTS
                      (SELECT 1 FROM deliveries AS other
                       WHERE other.id = deliveries.id AND other.revision > deliveries.revision)
                    """,
                arguments: StatementArguments([argument, now] as [(any DatabaseValueConvertible)?])
                    + StatementArguments(leftPartners))
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
