import Foundation
import GRDB

/// A copy of a postback that was decoded, as it is stored.
package struct StoredPostbackCopy: Sendable {
    /// The partition that it lies in.
    package var partition: Int32
    /// Its offset.
    package var offset: Int64
    /// Which postback it is a copy of, within the partition.
    package var id: [UInt8]
    /// How it came: `device`, `developer-copy` or `relay`.
    package var route: String
    /// When it came, in milliseconds since 1970.
    package var timestampMilliseconds: Int64
    /// `valid`, `development`, `invalid` or `unverifiable`.
    package var verdict: String
    /// 0 to 63; nil when absent.
    package var conversionValue: Int64?
    /// `low`, `medium` or `high`; nil when absent.
    package var coarseValue: String?
    /// Nil or empty when absent.
    package var country: String?
    /// The network, in lower case.
    package var adNetworkID: String
    /// The source identifier, or below 4.0 the campaign id.
    package var campaign: String
    /// The advertised app.
    package var appID: Int64
    /// The publisher's app, 0 when absent.
    package var sourceAppID: Int64
    /// 0 to 2; 0 below 4.0.
    package var sequenceIndex: Int64
    /// Whether the campaign is a source identifier.
    package var hasSourceIdentifier: Bool
    /// Whether it is of the network that won.
    package var didWin: Bool
}

extension StoreSnapshot {
    /// Calls `body` with every copy of the postbacks of these partitions: those of one postback follow
    /// each other, in order of their offsets.
    package func forEachPostbackCopy(
        partitions: Set<Int32>, _ body: (StoredPostbackCopy) throws -> Void
    ) throws {
        for partition in partitions.sorted() {
            let rows = try Row.fetchCursor(
                db,
                sql: """
                    SELECT offset, id, route, timestamp_ms, verdict, conversion_value, coarse_value,
                      CAST(country AS BLOB), CAST(ad_network_id AS BLOB), CAST(campaign AS BLOB),
                      app_id, source_app_id, sequence_index, has_source_identifier, did_win
                    FROM postback_copies WHERE partition = ? ORDER BY id, offset
                    """,
                arguments: [partition])
            while let row = try rows.next() {
                try body(StoredPostbackCopy(row, partition: partition))
            }
        }
    }
}

extension StoredPostbackCopy {
    fileprivate init(_ row: Row, partition: Int32) {
        self.init(
            partition: partition, offset: row[0], id: [UInt8](row[1] as Data), route: row[2],
            timestampMilliseconds: row[3], verdict: row[4], conversionValue: row[5],
            coarseValue: row[6], country: (row[7] as Data?).map { StoreSnapshot.text($0) },
            adNetworkID: StoreSnapshot.text(row[8]), campaign: StoreSnapshot.text(row[9]),
            appID: row[10], sourceAppID: row[11], sequenceIndex: row[12],
            hasSourceIdentifier: row[13], didWin: row[14])
    }
}
