import GRDB

/// The best copy of a postback as partners got it.
package struct PublishedPostback: Sendable {
    /// The ad network, in lower case.
    package var adNetworkID: String
    /// The source identifier or campaign id.
    package var campaign: String
    /// The advertised app.
    package var appID: Int64
    /// The JSON document, without the campaign's names.
    package var document: String
    /// Whether the signature is by a production key of Apple's or of the configuration.
    package var isValid: Bool
}

extension StoreSnapshot {
    /// Calls `body` with the best accepted copy of each postback of a partition that was published, in
    /// order of their offsets: one for a postback, however many partners got it.
    ///
    /// - Parameter partner: only what this partner got; nil for what any of them got.
    package func forEachPublishedPostback(
        of partition: Int32, partner: String?, _ body: (PublishedPostback) throws -> Void
    ) throws {
        // Older revisions are those of copies that are no longer the best.
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT min(outbox.partner), CAST(outbox.ad_network_id AS BLOB) AS network,
                  CAST(outbox.campaign AS BLOB) AS campaign,
                  outbox.app_id, CAST(outbox.document AS BLOB) AS document, best.rank
                FROM outbox
                JOIN postback_ids AS best
                  ON best.partition = outbox.partition AND best.offset = outbox.origin_offset
                WHERE outbox.partition = ?1 AND (?2 IS NULL OR outbox.partner = ?2)
                GROUP BY outbox.origin_offset ORDER BY outbox.origin_offset
                """,
            arguments: [partition, partner])
        while let row = try rows.next() {
            try body(
                PublishedPostback(
                    adNetworkID: Self.text(row["network"]), campaign: Self.text(row["campaign"]),
                    appID: row["app_id"], document: Self.text(row["document"]),
                    isValid: row["rank"] == 2))
        }
    }
}
