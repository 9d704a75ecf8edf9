import Foundation
import GRDB
import Streams
import Testing

@testable import AggregateStore

@Suite("Ids that are remembered forever")
struct StoredIDsTests {
    @Test("ids that the filter cannot tell apart are counted all the same")
    func countsWhatIsStored() throws {
        let path = NSTemporaryDirectory() + "weir-ids-\(UUID().uuidString)/store.sqlite"
        let directory = (path as NSString).deletingLastPathComponent
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let store = try AggregateStore(
            path: path, fold: StoreNotificationsFold.self, topic: "t", logIdentity: "log",
            partitionCount: 4)
        // The filter looks at the lowest 24 bits of these only.
        let alike = (0..<5).map { RecordID(high: 1, low: UInt64($0) << 24) }
        try store.commit { db in
            for id in alike {
                try db.execute(
                    sql: "INSERT INTO notification_ids VALUES (0, ?, 0)",
                    arguments: [
                        withUnsafeBytes(of: (id.high.bigEndian, id.low.bigEndian)) { Data($0) }
                    ])
            }
        }
        let table = try #require(StoreNotificationsFold.memoryTables.first)
        let ids = try StoredIDs(store: store, table: table)
        #expect(ids.count == 5)
        ids.insert(RecordID(high: 1, low: 5 << 24), partition: 0)
        try ids.noteStored(1)
        #expect(ids.count == 6)
    }
}
