import Foundation
import GRDB
import Streams
import TestKit
import Testing

@testable import Store

@Suite("Ids that are remembered forever")
struct StoredIDsTests {
    private let files: TemporaryDirectory
    private let table: MemoryTable

    init() throws {
        files = try TemporaryDirectory()
        table = try #require(StoreNotificationsFold.memoryTables.first)
    }

    private var path: String { files.path + "/store.sqlite" }

    private func makeStore() throws -> AggregateStore {
        try AggregateStore(
            path: path, fold: StoreNotificationsFold.self, topic: "t", logIdentity: "log",
            partitionCount: 4)
    }

    private func remember(
        _ ids: [RecordID], in store: AggregateStore, at offset: Int64, partition: Int32 = 0
    ) throws {
        try store.remember(
            ids.map { [.id($0), .integer(offset)] }, in: table, partition: partition)
    }

    private func offset(
        _ id: RecordID, in store: AggregateStore, partition: Int32 = 0
    ) throws -> Int64? {
        try store.row(of: table, partition: partition, key: .id(id))?.first?.integer
    }

    private func count(_ store: AggregateStore) throws -> (rows: Int, counted: Int) {
        let rows = try store.read {
            try Int.fetchOne($0, sql: "SELECT count(*) FROM notification_ids")
        }
        return (rows ?? 0, store.ids?.count ?? 0)
    }

    @Test("ids that the filter cannot tell apart are counted and found all the same")
    func countsWhatIsStored() throws {
        // The filter looks at the lowest 24 bits of these only, and all are in one bucket.
        let alike = (0..<1000).map { RecordID(high: 1, low: UInt64($0) << 24) }
        for isReopened in [false, true] {
            let store = try makeStore()
            if !isReopened { try remember(Array(alike.dropLast()), in: store, at: 3) }
            #expect(try count(store) == (999, 999))
            for id in alike.dropLast() { #expect(try offset(id, in: store) == 3) }
            #expect(try offset(alike[999], in: store) == nil)
        }
        let store = try makeStore()
        try remember(alike, in: store, at: 3)
        #expect(try count(store) == (1000, 1000))
    }

    @Test("a row that is written again moves to its new offset, and is known once")
    func replacedRows() throws {
        let ids = (0..<5).map { RecordID(high: UInt64($0) << 60, low: 7) }
        var store: AggregateStore? = try makeStore()
        try remember(ids, in: #require(store), at: 1)
        try remember([ids[2]], in: #require(store), at: 9)
        try remember([ids[2]], in: #require(store), at: 2, partition: 1)
        store = nil
        let reopened = try makeStore()
        #expect(try count(reopened) == (6, 6))
        #expect(try ids.map { try offset($0, in: reopened) } == [1, 1, 9, 1, 1])
        #expect(try offset(ids[2], in: reopened, partition: 1) == 2)
        #expect(try offset(ids[1], in: reopened, partition: 1) == nil)
    }

    @Test("ids of a failed transaction are not known, and earlier ones still are")
    func failedTransactions() throws {
        let store = try makeStore()
        let ids = (0..<3).map { RecordID(high: 5, low: UInt64($0)) }
        try remember([ids[0]], in: store, at: 1)
        // The second row has no offset.
        #expect(throws: StoreError.self) {
            try store.remember(
                [[.id(ids[1]), .integer(2)], [.id(ids[2]), .none]], in: table, partition: 0)
        }
        #expect(try count(store) == (1, 1))
        #expect(try ids.map { try offset($0, in: store) } == [1, nil, nil])
        try remember(ids, in: store, at: 3)
        #expect(try count(store) == (3, 3))
        #expect(try ids.map { try offset($0, in: store) } == [3, 3, 3])
    }

    @Test("a store of an earlier version, with rows in the order of their ids, is continued")
    func storeWithoutIndex() throws {
        let ids = (0..<3).map { RecordID(high: 5, low: UInt64($0)) }
        do {
            let store = try makeStore()
            try store.commit { db in
                try db.execute(
                    sql: """
                        DROP TABLE notification_ids_recent; DROP TABLE notification_ids_runs;
                        DROP TABLE notification_ids;
                        CREATE TABLE notification_ids (
                          partition INTEGER NOT NULL, id BLOB NOT NULL, offset INTEGER NOT NULL,
                          PRIMARY KEY (partition, id)
                        ) STRICT, WITHOUT ROWID;
                        PRAGMA user_version = 8;
                        """)
            }
        }
        for reopened in 0..<2 {
            let store = try makeStore()
            #expect(try count(store) == (2 * reopened, 2 * reopened))
            try remember(Array(ids.prefix(2)), in: store, at: 1)
            try remember([ids[1]], in: store, at: 2)
            #expect(try count(store) == (2, 2))
            #expect(try ids.map { try offset($0, in: store) } == [1, 2, nil])
        }
    }

    @Test("the index finds every id with its last offset, whatever has moved and after each start")
    func index() throws {
        var random = SplitMix64(seed: 3)
        let store = try makeStore()
        let sweepLength = 3000
        var index = IDIndex(of: table, sweepLength: sweepLength)
        var expected: [RecordID: Int64] = [:]
        var known: [RecordID] = []
        for commit in 0..<120 {
            let count = random.next() % 7 == 0 ? 1 : 200
            try store.commit { db in
                for _ in 0..<count {
                    let isRepeated = random.next() % 8 == 0 && !known.isEmpty
                    let id =
                        isRepeated
                        ? known[Int(random.next() % UInt64(known.count))]
                        // Half of them are in one bucket.
                        : RecordID(
                            high: random.next() >> (random.next() % 2 * 8), low: random.next())
                    if expected.updateValue(Int64(commit), forKey: id) == nil { known.append(id) }
                    index.add(
                        IDKey(id, partition: 2), offset: Int64(commit), isNew: !isRepeated)
                }
                try index.write(db)
            }
            #expect(index.count == known.count)
            if commit % 17 == 0 {
                index = IDIndex(of: table, sweepLength: sweepLength)
                var loaded = 0
                try store.read { db in try index.load(db) { _ in loaded += 1 } }
                #expect(loaded >= known.count)
                #expect(index.count == known.count)
            }
            guard commit % 10 == 0 else { continue }
            try store.read { db in
                for (id, offset) in expected {
                    #expect(try index.offset(of: IDKey(id, partition: 2), db) == offset)
                    #expect(try index.offset(of: IDKey(id, partition: 1), db) == nil)
                }
                let recent = try Int.fetchOne(
                    db, sql: "SELECT sum(length(entries)) / 24 FROM notification_ids_recent")
                #expect(recent ?? 0 <= 3 * sweepLength)
            }
        }
        let blocks = try store.read {
            try Int.fetchOne($0, sql: "SELECT count(*) FROM notification_ids_runs")
        }
        #expect(blocks ?? 0 > 256)
    }

    @Test("rows that are taken back within a transaction are not found, and not stored")
    func takenBack() throws {
        let store = try makeStore()
        let index = IDIndex(of: table, sweepLength: 4)
        let keys = (0..<3).map { IDKey(RecordID(high: 1, low: UInt64($0)), partition: 0) }
        try store.commit { db in
            index.add(keys[0], offset: 1, isNew: true)
            let count = index.addedCount
            index.add(keys[1], offset: 2, isNew: true)
            index.add(keys[0], offset: 2, isNew: false)
            index.takeBack(toCount: count, ids: 1)
            index.add(keys[2], offset: 3, isNew: true)
            try index.write(db)
        }
        let loaded = IDIndex(of: table)
        try store.read { db in
            try loaded.load(db) { _ in }
            for index in [index, loaded] {
                #expect(try keys.map { try index.offset(of: $0, db) } == [1, nil, 3])
                #expect(index.count == 2)
            }
        }
    }
}

private struct SplitMix64 {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
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
