import Foundation
import GRDB
import Streams
import TestKit
import Testing

@testable import Store

@Suite("Ids that are remembered forever")
struct StoredIDsTests {
    @Test("ids that the filter cannot tell apart are counted all the same")
    func countsWhatIsStored() throws {
        let files = try TemporaryDirectory()
        let store = try AggregateStore(
            path: files.path + "/store.sqlite", fold: StoreNotificationsFold.self, topic: "t",
            logIdentity: "log", partitionCount: 4)
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
        try ids.countStored(1)
        #expect(ids.count == 6)
    }
}

@Suite("Numbers of rows")
struct RowNumbersTests {
    @Test("two tables of one aggregate keep their numbers apart, batch after batch")
    func twoTables() {
        let numbers = RowNumbers()
        let added = DeltaTable<StoreNotificationsKey>()
        let takenBack = DeltaTable<StoreNotificationsKey>()
        numbers.table(for: added).numbers[3] = 7
        numbers.table(for: takenBack).numbers[3] = 8
        #expect(numbers.table(for: added).numbers[3] == 7)
        #expect(numbers.table(for: takenBack).numbers[3] == 8)
    }

    @Test("when a table forgets its rows, so do the numbers")
    func endedGenerations() {
        let numbers = RowNumbers()
        let table = DeltaTable<StoreNotificationsKey>()
        let other = DeltaTable<StoreNotificationsKey>()
        numbers.table(for: other).numbers[0] = 1
        for number in 1...100 {
            #expect(numbers.table(for: table).numbers[0] == nil)
            numbers.table(for: table).numbers[0] = Int64(number)
            table.removeAll(keepingRows: false)
        }
        #expect(numbers.generationCount <= 3)
        #expect(numbers.table(for: other).numbers[0] == 1)
    }
}
