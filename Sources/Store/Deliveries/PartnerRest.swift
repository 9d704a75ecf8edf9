import GRDB

/// A time during which nothing is sent to a partner; one probe ends it.
package struct PartnerRest: Equatable, Sendable {
    package enum Cause: String, CaseIterable, Sendable {
        /// The partner could not be reached.
        case away
        /// The partner answered 429, or 503 with `Retry-After`.
        case asked
    }

    package var cause: Cause
    package var pauseMilliseconds: Int64
    /// When the probe may be sent, milliseconds since 1970.
    package var untilMilliseconds: Int64

    package init(cause: Cause, pauseMilliseconds: Int64, untilMilliseconds: Int64) {
        self.cause = cause
        self.pauseMilliseconds = pauseMilliseconds
        self.untilMilliseconds = untilMilliseconds
    }

    /// Also true if the end is so far ahead that the clock must have gone back since it was set.
    package func isOver(nowMilliseconds: Int64) -> Bool {
        let left = untilMilliseconds - nowMilliseconds
        return left <= 0 || left > pauseMilliseconds + DeliveryStore.clockSlackMilliseconds
    }
}

/// A partner that gets nothing until its address changes or an operator retries. Its answer was 410 (this address is
/// closed), or 401 or 403 (it would reject every document).
package struct DisabledPartner: Equatable, Sendable {
    package var name: String
    package var status: Int

    package init(name: String, status: Int) {
        self.name = name
        self.status = status
    }

    /// The reason, as a phrase that follows the name.
    package var explanation: String { "is disabled, because it answered \(status)" }

    /// The operator's action before enabling the partner.
    package var remedy: String {
        status == 410
            ? "contact the partner or correct its url, or run"
            : "correct its secret or headers, which are reloaded at once, then run"
    }
}

extension DeliveryStore {
    /// Smaller corrections of a clock are normal and ignored.
    package static let clockSlackMilliseconds: Int64 = 60_000

    /// The pauses of partners, by name.
    package func restingPartners() throws(StoreError) -> [String: PartnerRest] {
        try read { db in
            let rows = try Row.fetchAll(
                db, sql: "SELECT name, cause, pause_ms, until_ms FROM resting_partners")
            return rows.reduce(into: [:]) { rests, row in
                rests[row["name"]] = PartnerRest(
                    cause: PartnerRest.Cause(rawValue: row["cause"]) ?? .away,
                    pauseMilliseconds: row["pause_ms"], untilMilliseconds: row["until_ms"])
            }
        }
    }

    package static func endRest(of partner: String, in db: Database) throws {
        try db.execute(sql: "DELETE FROM resting_partners WHERE name = ?", arguments: [partner])
    }
}
