import Foundation
import GRDB
import Streams

extension StoreSnapshot {
    /// Calls `body` with the outbox rows of a partition from records below an offset, in order.
    package func forEachOutboxRow(
        of partition: Int32, below offset: Int64 = .max,
        _ body: (_ sequence: Int64, PartnerPostback) throws -> Void
    ) throws {
        guard try Self.hasOutbox(db) else { return }
        let rows = try Row.fetchCursor(
            db, sql: Self.outboxRows + " AND origin_offset < ? ORDER BY sequence",
            arguments: [partition, offset])
        while let row = try rows.next() { try body(row["sequence"], PartnerPostback(outbox: row)) }
    }

    package func outboxRow(of partition: Int32, sequence: Int64) throws -> PartnerPostback? {
        try Row.fetchOne(
            db, sql: Self.outboxRows + " AND sequence = ?", arguments: [partition, sequence]
        ).map(PartnerPostback.init(outbox:))
    }

    /// The ids of the documents for partners from records at or after an offset.
    package func outboxIDs(of partition: Int32, from offset: Int64) throws -> Set<String> {
        guard try Self.hasOutbox(db) else { return [] }
        return try String.fetchSet(
            db, sql: "SELECT id FROM outbox WHERE partition = ? AND origin_offset >= ?",
            arguments: [partition, offset])
    }

    /// The offsets below which all documents for partners, and all dead letters, of a partition are published.
    package func publishedOffsets(
        of state: PartitionState
    ) throws -> (outbox: Int64, deadLetters: Int64) {
        try Self.publishedOffsets(of: state, db)
    }

    static func publishedOffsets(
        of state: PartitionState, _ db: Database
    ) throws -> (outbox: Int64, deadLetters: Int64) {
        var outbox: Int64?
        if try hasOutbox(db) {
            outbox = try Int64.fetchOne(
                db,
                sql: """
                    SELECT min(origin_offset) FROM outbox
                    WHERE partition = ? AND sequence >= ? AND origin_offset >= ?
                    """,
                arguments: [state.partition, state.outboxEmitted, state.emitFrom])
        }
        let letter = try Int64.fetchOne(
            db,
            sql: """
                SELECT min(offset) FROM refused
                WHERE partition = ? AND offset >= ? AND reason NOT IN (\(StoreSchema.otherReasons))
                """,
            arguments: [state.partition, state.deadLettersNext])
        return (outbox ?? state.nextOffset, letter ?? state.nextOffset)
    }

    package func partitionCount() throws -> Int32 {
        try Int32.fetchOne(db, sql: "SELECT partition_count FROM store") ?? 0
    }

    private static func hasOutbox(_ db: Database) throws -> Bool {
        try Bool.fetchOne(
            db, sql: "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'outbox')") ?? false
    }

    private static let outboxRows = """
        SELECT *, CAST(ad_network_id AS BLOB) AS network FROM outbox WHERE partition = ?
        """
}

extension PartnerPostback {
    /// Reads a row of the outbox or of corrections, with the network's bytes as `network`.
    init(_ row: Row, revision: Int64) {
        self.init(
            document: PartnerDocument(
                stored: row["document"], id: row["id"], revision: revision),
            partner: row["partner"], partition: row["partition"],
            originOffset: row["origin_offset"], adNetworkID: StoreSnapshot.text(row["network"]),
            campaign: row["campaign"], hasSourceIdentifier: row["has_source_identifier"],
            appID: row["app_id"], sourceAppID: row["source_app_id"])
    }

    init(outbox row: Row) {
        self.init(row, revision: row["revision"])
    }
}

/// The best accepted copy of a postback.
package struct AcceptedPostback: Sendable {
    /// Identifies the postback within the partition.
    package var id: [UInt8]
    package var offset: Int64
    package var timestampMilliseconds: Int64
    /// Whether a production key of Apple's or of the configuration made the signature.
    package var isValid: Bool
}

/// The best copy of a postback with its document.
package struct PublishedPostback: Sendable {
    /// Identifies the postback within the partition.
    package var id: [UInt8]
    package var offset: Int64
    package var adNetworkID: String
    /// The source identifier or campaign id.
    package var campaign: String
    package var appID: Int64
    /// As `PartnerDocument.stored`.
    package var document: String
    /// Whether a production key of Apple's or of the configuration made the signature.
    package var isValid: Bool
}

extension PublishedPostback {
    /// - Parameter postback: the document of the copy, for any partner.
    package init(_ accepted: AcceptedPostback, _ postback: PartnerPostback) {
        self.init(
            id: accepted.id, offset: accepted.offset, adNetworkID: postback.adNetworkID,
            campaign: postback.campaign, appID: postback.appID, document: postback.document.stored,
            isValid: accepted.isValid)
    }
}

extension StoreSnapshot {
    /// The best accepted copies of the postbacks of a partition from an offset on, in order; at most `limit`.
    package func acceptedPostbacks(
        of partition: Int32, from offset: Int64, limit: Int
    ) throws -> [AcceptedPostback] {
        // Copies are in order of their offsets, postbacks in order of their ids.
        try Row.fetchAll(
            db,
            sql: """
                SELECT best.id, best.offset, copies.timestamp_ms, best.rank
                FROM postback_copies AS copies
                CROSS JOIN postback_ids AS best
                  ON best.partition = copies.partition AND best.id = copies.id
                    AND best.offset = copies.offset
                WHERE copies.partition = ? AND copies.offset >= ?
                ORDER BY copies.offset LIMIT ?
                """,
            arguments: [partition, offset, limit]
        ).map { row in
            AcceptedPostback(
                id: [UInt8](row["id"] as Data), offset: row["offset"],
                timestampMilliseconds: row["timestamp_ms"], isValid: row["rank"] == 2)
        }
    }

    /// The number of accepted postbacks of a partition, without copies.
    package func acceptedPostbackCount(of partition: Int32) throws -> Int64 {
        try Int64.fetchOne(
            db, sql: "SELECT count(*) FROM postback_ids WHERE partition = ?", arguments: [partition]
        ) ?? 0
    }

    /// Calls `body` with the best accepted copy of each published postback of a partition, in order of their offsets:
    /// once for each postback, regardless of the number of its partners.
    ///
    /// - Parameters:
    ///   - offset: only copies from here on.
    ///   - partner: only postbacks of this partner; nil for those of any partner.
    package func forEachPublishedPostback(
        of partition: Int32, from offset: Int64 = .min, partner: String?,
        _ body: (PublishedPostback) throws -> Void
    ) throws {
        // Older revisions belong to copies that are no longer the best.
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT min(outbox.partner), CAST(outbox.ad_network_id AS BLOB) AS network,
                  CAST(outbox.campaign AS BLOB) AS campaign,
                  outbox.app_id, CAST(outbox.document AS BLOB) AS document, best.rank, best.id,
                  best.offset
                FROM outbox
                JOIN postback_ids AS best
                  ON best.partition = outbox.partition AND best.offset = outbox.origin_offset
                WHERE outbox.partition = ?1 AND (?2 IS NULL OR outbox.partner = ?2)
                  AND best.offset >= ?3
                GROUP BY outbox.origin_offset ORDER BY outbox.origin_offset
                """,
            arguments: [partition, partner, offset])
        while let row = try rows.next() {
            try body(
                PublishedPostback(
                    id: [UInt8](row["id"] as Data), offset: row["offset"],
                    adNetworkID: Self.text(row["network"]), campaign: Self.text(row["campaign"]),
                    appID: row["app_id"], document: Self.text(row["document"]),
                    isValid: row["rank"] == 2))
        }
    }

    /// Calls `body` with each published postback of a partition that has an unpublished best copy at or after an
    /// offset; in order of the offsets of these copies.
    ///
    /// - Parameter partner: only postbacks of this partner; nil for those of any partner.
    package func forEachWithdrawnPostback(
        of partition: Int32, from offset: Int64, partner: String?,
        _ body: (_ id: [UInt8], _ offset: Int64) throws -> Void
    ) throws {
        // Names of partners contain neither of the two separators.
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT id, offset FROM postback_ids
                WHERE partition = ?1 AND offset >= ?2 AND published IS NOT NULL
                  AND (?3 IS NULL OR instr(',' || published, ',' || ?3 || '='))
                  AND offset NOT IN (
                    SELECT origin_offset FROM outbox
                    WHERE partition = ?1 AND (?3 IS NULL OR partner = ?3))
                ORDER BY offset
                """,
            arguments: [partition, offset, partner])
        while let row = try rows.next() { try body([UInt8](row["id"] as Data), row["offset"]) }
    }
}

/// A stored copy of a decoded postback.
package struct StoredPostbackCopy: Sendable {
    package var partition: Int32
    package var offset: Int64
    /// Identifies its postback within the partition.
    package var id: [UInt8]
    /// Its route: `device`, `developer-copy` or `relay`.
    package var route: String
    package var timestampMilliseconds: Int64
    /// `valid`, `development`, `invalid` or `unverifiable`.
    package var verdict: String
    /// 0 to 63; nil if absent.
    package var conversionValue: Int64?
    /// `low`, `medium` or `high`; nil if absent.
    package var coarseValue: String?
    /// Nil or empty if absent.
    package var country: String?
    package var adNetworkID: String
    /// The source identifier, or below 4.0 the campaign id.
    package var campaign: String
    package var appID: Int64
    /// The publisher's app; 0 if absent.
    package var sourceAppID: Int64
    /// 0 to 2; 0 below 4.0.
    package var sequenceIndex: Int64
    package var hasSourceIdentifier: Bool
    package var didWin: Bool
}

extension StoreSnapshot {
    /// The last copy of a postback below an offset, as text that differs for any other copy; nil without one.
    package func lastPostbackCopy(of partition: Int32, below offset: Int64) throws -> String? {
        try String.fetchOne(
            db,
            sql: """
                SELECT offset || ' ' || hex(id) || ' ' || timestamp_ms || ' ' || verdict || ' '
                  || coalesce(conversion_value, '-') || ' ' || coalesce(coarse_value, '-')
                FROM postback_copies WHERE partition = ? AND offset < ?
                ORDER BY offset DESC LIMIT 1
                """,
            arguments: [partition, offset])
    }

    /// Calls `body` with every copy of the postbacks of these partitions. Copies of one postback are adjacent, in
    /// order of their offsets.
    package func forEachPostbackCopy(
        partitions: Set<Int32>, _ body: (StoredPostbackCopy) throws -> Void
    ) throws {
        let row = StatementRow(
            try db.cachedStatement(
                sql: """
                    SELECT offset, id, route, timestamp_ms, verdict, conversion_value,
                      coarse_value, country, ad_network_id, campaign, app_id, source_app_id,
                      sequence_index, has_source_identifier, did_win
                    FROM postback_copies WHERE partition = ? ORDER BY id, offset
                    """))
        for partition in partitions.sorted() {
            row.begin()
            row.bind(Int64(partition))
            while try StoreError.naming("read", path, row.next) {
                try body(StoredPostbackCopy(row, partition))
            }
        }
    }
}

extension StoredPostbackCopy {
    fileprivate init(_ row: StatementRow, _ partition: Int32) {
        func text(_ column: Int) -> String? { row.isNull(column) ? nil : row.text(column) }
        self.init(
            partition: partition, offset: row.integer(0), id: row.bytes(1), route: row.text(2),
            timestampMilliseconds: row.integer(3), verdict: row.text(4),
            conversionValue: row.isNull(5) ? nil : row.integer(5), coarseValue: text(6),
            country: text(7), adNetworkID: row.text(8), campaign: row.text(9),
            appID: row.integer(10), sourceAppID: row.integer(11), sequenceIndex: row.integer(12),
            hasSourceIdentifier: row.integer(13) != 0, didWin: row.integer(14) != 0)
    }
}
