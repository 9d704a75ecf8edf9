import AggregateStore
import GRDB

extension DeliveryStore {
    /// Partners to which nothing is sent for a time, by name.
    package func restingPartners() throws(StoreError) -> [String: PartnerRest] {
        try read { db in
            let rows = try Row.fetchAll(
                db, sql: "SELECT name, cause, pause_ms, until_ms FROM resting_partners")
            return rows.reduce(into: [:]) { resting, row in
                let name: String = row[0]
                resting[name] = PartnerRest(
                    cause: PartnerRest.Cause(rawValue: row[1]) ?? .away, pauseMilliseconds: row[2],
                    untilMilliseconds: row[3])
            }
        }
    }

    /// Whether a partner still rests: an operator may have ended it.
    func isResting(partner: String) throws(StoreError) -> Bool {
        try read { db in
            try Int.fetchOne(
                db.cachedStatement(sql: "SELECT 1 FROM resting_partners WHERE name = ?"),
                arguments: [partner]) != nil
        }
    }

    /// Notes that a partner rests, or no longer does.
    ///
    /// - Parameter url: its address, as its file has it.
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

    /// Ends the rest of a partner.
    static func endRest(of partner: String, in db: Database) throws {
        try db.execute(sql: "DELETE FROM resting_partners WHERE name = ?", arguments: [partner])
    }
}
