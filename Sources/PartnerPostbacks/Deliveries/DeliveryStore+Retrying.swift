import AggregateStore
import GRDB

/// Which deliveries an operator means.
package enum DeliverySelection: Equatable, Sendable {
    /// All revisions of a document.
    case id(String)
    /// Pending, dead and held ones of a partner.
    case partner(String)
    /// All dead ones.
    case allDead
}

/// What became of an operator's wish.
package struct RetriedDeliveries: Equatable, Sendable {
    /// So many are to be sent now.
    package var retried = 0
    /// So many cannot be: a higher revision is there, the record is no document, or nothing can be sent to
    /// its partner.
    package var left = 0
    /// Partners that were disabled by their answer and are enabled again.
    package var enabled: [String] = []
    /// Partners that rested and are asked again.
    package var awakened: [String] = []

    /// Nothing yet.
    package init(
        retried: Int = 0, left: Int = 0, enabled: [String] = [], awakened: [String] = []
    ) {
        self.retried = retried
        self.left = left
        self.enabled = enabled
        self.awakened = awakened
    }

    /// These and those of another store.
    package func adding(_ other: RetriedDeliveries) -> RetriedDeliveries {
        RetriedDeliveries(
            retried: retried + other.retried, left: left + other.left,
            enabled: enabled + other.enabled.filter { !enabled.contains($0) },
            awakened: awakened + other.awakened.filter { !awakened.contains($0) })
    }
}

extension DeliveryStore {
    /// Has deliveries sent now, from the beginning of the schedule. What is named by its id or its partner may
    /// be pending too, and ends the partner's rest; a partner that is named is enabled. A revision below
    /// another one is left: the higher one counts. A worker that runs notices it at its next turn.
    ///
    /// - Parameter leftPartners: what is for them is left as it is, since nothing can be sent to them.
    package func retry(
        _ selection: DeliverySelection, leaving leftPartners: [String] = [],
        nowMilliseconds now: Int64
    ) throws(StoreError) -> RetriedDeliveries {
        let (condition, argument): (String, String?) =
            switch selection {
            case .id(let id): ("state IN ('pending', 'dead', 'held') AND id = ?1", id)
            case .partner(let name): ("state IN ('pending', 'dead', 'held') AND partner = ?1", name)
            case .allDead: ("state = 'dead' AND ?1 IS NULL", nil)
            }
        let isLeft = Array(repeating: "?", count: leftPartners.count).joined(separator: ", ")
        return try commit { db in
            var retried = RetriedDeliveries()
            retried.awakened = try Self.awaken(selection, in: db)
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

    /// Ends the rest of the partners that are meant, and says which rested.
    private static func awaken(_ selection: DeliverySelection, in db: Database) throws -> [String] {
        let resting =
            switch selection {
            case .id(let id):
                try String.fetchAll(
                    db,
                    sql: """
                        SELECT name FROM resting_partners WHERE name IN
                          (SELECT partner FROM deliveries
                           WHERE id = ? AND state IN ('pending', 'dead', 'held'))
                        """,
                    arguments: [id])
            case .partner(let name):
                try String.fetchAll(
                    db, sql: "SELECT name FROM resting_partners WHERE name = ?", arguments: [name])
            case .allDead: [String]()
            }
        for name in resting { try endRest(of: name, in: db) }
        return resting
    }
}
