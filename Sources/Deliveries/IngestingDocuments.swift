import Foundation
import GRDB
import Store

/// A record of the topic to ingest.
struct IncomingRecord: Sendable {
    var partition: Int32
    var offset: Int64
    var bytes: [UInt8]
    var document: Result<DeliveryDocument, UnreadableDocument>
}

struct IngestedRecords: Equatable, Sendable {
    var ingested = 0
    var duplicates = 0
    var rejected = 0
}

extension DeliveryStore {
    /// Ingests records in one transaction with the next offsets. A known document changes nothing. A higher revision
    /// supersedes lower ones that were not delivered, including dead ones.
    ///
    /// - Parameters:
    ///   - last: the last record of each partition in `records`.
    ///   - marks: records by which partitions are recognised, where they changed.
    func ingest(
        _ records: [IncomingRecord], topic: String, nextOffsets: [Int32: Int64],
        last: [Int32: RecordFingerprint] = [:], marks: [Int32: RecordFingerprint] = [:],
        partners: ConfiguredPartners, nowMilliseconds now: Int64
    ) throws(StoreError) -> IngestedRecords {
        try commit { db in
            var counts = IngestedRecords()
            for record in records {
                switch record.document {
                case .success(let document):
                    let isNew = try Self.insert(document, at: record, partners, now, db)
                    counts.ingested += isNew ? 1 : 0
                    counts.duplicates += isNew ? 0 : 1
                case .failure(let fault):
                    try db.execute(
                        sql: """
                            INSERT OR IGNORE INTO deliveries VALUES
                              (NULL, ?, 0, '', ?, ?, 'dead', ?, 0, ?, NULL, ?, ?)
                            """,
                        arguments: [
                            "\(topic)/\(record.partition)/\(record.offset)", record.partition,
                            record.offset, DeliveryReason.unreadable.text("\(fault)"), now, now,
                            Data(record.bytes),
                        ])
                    counts.rejected += 1
                }
            }
            for (partition, offset) in nextOffsets {
                try db.execute(
                    sql: """
                        INSERT INTO partitions VALUES (?, ?, ?, ?, ?)
                        ON CONFLICT DO UPDATE SET
                          last_record = iif(next_offset = excluded.next_offset, last_record,
                            excluded.last_record),
                          next_offset = excluded.next_offset,
                          known_offset = coalesce(excluded.known_offset, known_offset),
                          known_record = coalesce(excluded.known_record, known_record)
                        """,
                    arguments: [
                        partition, offset, last[partition]?.fingerprint ?? "",
                        marks[partition]?.offset, marks[partition]?.fingerprint,
                    ])
            }
            return counts
        }
    }

    /// Returns whether the document is new.
    private static func insert(
        _ document: DeliveryDocument, at record: IncomingRecord, _ partners: ConfiguredPartners,
        _ now: Int64, _ db: Database
    ) throws -> Bool {
        let hasHigher =
            try Int.fetchOne(
                db, sql: "SELECT 1 FROM deliveries WHERE id = ? AND revision > ? LIMIT 1",
                arguments: [document.id, document.revision]) != nil
        let reason = hasHigher ? nil : partners.reasonHeld(document.partner)
        let state: DeliveryState = hasHigher ? .superseded : reason == nil ? .pending : .held
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO deliveries VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?, ?)
                """,
            arguments: [
                document.id, document.revision, document.partner, record.partition, record.offset,
                state.rawValue, reason ?? "", now, state == .pending ? now : nil, now,
                Data(document.bytes),
            ])
        guard db.changesCount > 0 else { return false }
        try db.execute(
            sql: """
                UPDATE deliveries SET state = 'superseded', reason = '', next_attempt_ms = NULL,
                  changed_ms = ?
                WHERE id = ? AND revision < ? AND state IN ('pending', 'held', 'dead')
                """,
            arguments: [now, document.id, document.revision])
        return true
    }

    /// Adapts the store to the configured partners:
    ///
    /// - Deliveries that waited for a file or an address of their partner become pending; those without one are held.
    /// - A disabled partner with a new address is enabled.
    /// - At start the pause of an unreachable partner ends; a pause that the partner requested stays.
    ///
    /// - Parameter isStart: false if the files of partners change at run time.
    func begin(
        _ partners: ConfiguredPartners, isStart: Bool = true, nowMilliseconds now: Int64
    ) throws(StoreError) {
        let waits =
            "state = 'held' AND (reason LIKE '\(DeliveryReason.unknownPartner.rawValue):%' "
            + "OR reason LIKE '\(DeliveryReason.off.rawValue):%')"
        try commit { db in
            if isStart {
                try db.execute(
                    sql: "DELETE FROM resting_partners WHERE cause = ?",
                    arguments: [PartnerRest.Cause.away.rawValue])
            }
            for (name, url) in partners.urls {
                for table in ["resting_partners", "disabled_partners"] {
                    try db.execute(
                        sql: "DELETE FROM \(table) WHERE name = ? AND url <> ?",
                        arguments: [name, url])
                }
            }
            let concerned = try String.fetchAll(
                db,
                sql: "SELECT DISTINCT partner FROM deliveries WHERE state = 'pending' OR \(waits)")
            for name in concerned {
                if let reason = partners.reasonHeld(name) {
                    try db.execute(
                        sql: """
                            UPDATE deliveries SET state = 'held', reason = ?1, next_attempt_ms = NULL,
                              changed_ms = iif(state = 'held', changed_ms, ?2)
                            WHERE partner = ?3 AND (state = 'pending' OR \(waits))
                            """,
                        arguments: [reason, now, name])
                } else {
                    try db.execute(
                        sql: """
                            UPDATE deliveries SET state = 'pending', reason = '', next_attempt_ms = ?1,
                              changed_ms = ?1
                            WHERE partner = ?2 AND \(waits)
                            """,
                        arguments: [now, name])
                }
            }
        }
    }

    /// Deletes deliveries that were delivered or superseded before a time. Their documents have expired in the topic
    /// by then.
    func prune(changedBefore milliseconds: Int64) throws(StoreError) {
        let condition = "state IN ('delivered', 'superseded') AND changed_ms < ?"
        try commit { db in
            // Without the higher revision, a lower one could be sent again.
            try db.execute(
                sql: """
                    UPDATE deliveries SET state = 'superseded', reason = ''
                    WHERE state = 'dead' AND EXISTS (SELECT 1 FROM deliveries AS other
                      WHERE other.id = deliveries.id AND other.revision > deliveries.revision)
                    """)
            try db.execute(
                sql: """
                    DELETE FROM attempts WHERE delivery IN
                      (SELECT number FROM deliveries WHERE \(condition))
                    """,
                arguments: [milliseconds])
            try db.execute(
                sql: "DELETE FROM deliveries WHERE \(condition)", arguments: [milliseconds])
        }
    }
}

extension DeliveryReason {
    /// The reason and its detail, on one line of at most 500 characters of detail.
    func text(_ explanation: String) -> String {
        "\(rawValue): "
            + String(
                String.UnicodeScalarView(
                    explanation.unicodeScalars.map {
                        $0.properties.generalCategory == .control ? " " : $0
                    }.prefix(500)))
    }
}
