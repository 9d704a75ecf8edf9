import EventLog
import Foundation
import TestKit
import Testing

@testable import Store
@testable import Streams

/// Rows of 30 days, enough that other threads read them too.
@Suite("Days that are read by several threads")
struct DayReadingTests {
    private static let hours = 480_000..<480_720
    private static let reasons: Int64 = 400

    @Test("each day has the sums of its hours and partitions, with any number of readers")
    func sums() throws {
        let files = try TemporaryDirectory()
        let path = files.path + "/store.sqlite"
        let expected = try fill(try makeStore(path))
        for _ in 0..<5 {
            let found = try StoreReader(path: path).snapshot(verifying: false) { try days(of: $0) }
            #expect(found == expected)
        }
    }

    @Test("only the wanted keys and hours are read")
    func choice() throws {
        let files = try TemporaryDirectory()
        let path = files.path + "/store.sqlite"
        let expected = try fill(try makeStore(path))
        let day = try #require(expected.keys.sorted().first?.prefix(10)).description
        let choice = RowChoice(
            isHourWanted: { !$0.hasPrefix(day) },
            isKeyWanted: { columns in
                guard case .integer(let reason) = columns[6] else { return false }
                return reason % 3 != 0
            })
        let found = try StoreReader(path: path).snapshot(verifying: false) {
            try days(of: $0, choice)
        }
        let wanted = expected.filter { entry in
            let reason = Int64(entry.key.split(separator: " ")[1]) ?? 0
            return !entry.key.hasPrefix(day) && reason % 3 != 0
        }
        #expect(!wanted.isEmpty)
        #expect(found == wanted)
    }

    @Test("what is committed while a snapshot is open is not in its days")
    func committedMeanwhile() throws {
        let files = try TemporaryDirectory()
        let path = files.path + "/store.sqlite"
        let store = try makeStore(path)
        let expected = try fill(store)
        let found = try StoreReader(path: path).snapshot(verifying: false) { snapshot in
            _ = try snapshot.partitionStates()
            try fill(store)
            return try days(of: snapshot)
        }
        #expect(found == expected)
    }

    @Test("a file that takes the place of the one that is read is not read")
    func replacedMeanwhile() throws {
        let files = try TemporaryDirectory()
        let path = files.path + "/store.sqlite"
        let expected = try fill(try makeStore(path))
        try fill(try makeStore(files.path + "/other.sqlite"), amount: 1000)
        let found = try StoreReader(path: path).snapshot(verifying: false) { snapshot in
            _ = try snapshot.partitionStates()
            guard rename(files.path + "/other.sqlite", path) == 0 else {
                throw StoreError.noStore(path: path)
            }
            return try days(of: snapshot)
        }
        #expect(found == expected)
    }

    @Test("a reader that stops halfway leaves no thread behind")
    func stopped() throws {
        let files = try TemporaryDirectory()
        let path = files.path + "/store.sqlite"
        try fill(try makeStore(path))
        struct Enough: Error {}
        for _ in 0..<20 {
            #expect(throws: (any Error).self) {
                try StoreReader(path: path).snapshot(verifying: false) { snapshot in
                    var rows = 0
                    try snapshot.forEachDay(of: LossReasonsKey.table, partitions: [0, 1]) { _, _ in
                        rows += 1
                        if rows == 500 { throw Enough() }
                    }
                }
            }
        }
    }

    @Test("sums that do not fit 64 bits come in several parts")
    func overflow() throws {
        let files = try TemporaryDirectory()
        let path = files.path + "/store.sqlite"
        let store = try makeStore(path)
        try fill(store)
        try add(store) { table, symbols in
            for hour in Self.hours.prefix(24) {
                let key = LossReasonsKey(
                    seat: symbols.intern("most"), campaign: .unknown, reason: 7)
                let row = table.row(key, partition: 0, hour: Hour(hoursSince1970: Int64(hour)))
                table.add(.max - 1, to: .losses, row: row)
            }
        }
        var sum = Int128(0)
        var parts = 0
        try StoreReader(path: path).snapshot(verifying: false) { snapshot in
            try snapshot.forEachDay(of: LossReasonsKey.table, partitions: [0, 1]) {
                columns, sums in
                guard columns[1] == .text("most") else { return }
                sum += Int128(sums.amounts[0])
                parts += 1
            }
        }
        #expect(sum == Int128(Int64.max - 1) * 24)
        #expect(parts == 24)
    }

    private func makeStore(_ path: String) throws -> AggregateStore {
        let store = try AggregateStore(
            path: path, fold: BidsFold.self, topic: "bids", logIdentity: "log", partitionCount: 2)
        for partition: Int32 in 0..<2 {
            try store.beginPartition(partition, at: 0, emitFrom: 0)
        }
        return store
    }

    /// Adds five rows an hour and partition, and moves the partitions on.
    ///
    /// - Returns: the sums by day and reason.
    @discardableResult
    private func fill(_ store: AggregateStore, amount: Int64 = 1) throws -> [String: Int64] {
        var expected: [String: Int64] = [:]
        try add(store) { table, symbols in
            for hour in Self.hours {
                for number: Int64 in 0..<10 {
                    let reason = (Int64(hour) * 7 + number * 41) % Self.reasons
                    let at = Hour(hoursSince1970: Int64(hour))
                    let key = LossReasonsKey(
                        seat: symbols.intern("seat"), campaign: .unknown, reason: reason)
                    let row = table.row(key, partition: Int32(number % 2), hour: at)
                    table.add(amount + number, to: .losses, row: row)
                    expected["\(at.text.prefix(10)) \(reason)", default: 0] += amount + number
                }
            }
        }
        return expected
    }

    private func add(
        _ store: AggregateStore, _ body: (DeltaTable<LossReasonsKey>, inout SymbolTable) -> Void
    ) throws {
        let table = DeltaTable<LossReasonsKey>()
        var symbols = SymbolTable()
        body(table, &symbols)
        try store.commit { db in
            let transaction = StoreTransaction(
                db, path: store.path, batch: RecordBatch(), found: FoundRecords(),
                rowNumbers: RowNumbers(),
                memory: store, ids: nil,
                layouts: [
                    LossReasonsKey.table.name: try TableLayout(of: LossReasonsKey.table, db)
                ])
            let hours = ExplainedHours(of: FoldEffects(topic: "bids"), days: 0)
            try transaction.add(table, symbols: symbols, hours)
            try db.execute(sql: "UPDATE partitions SET next_offset = next_offset + 1")
        }
    }

    /// Takes its time for each day, so that the other threads come to read some.
    private func days(
        of snapshot: StoreSnapshot, _ choice: RowChoice = RowChoice()
    ) throws -> [String: Int64] {
        var sums: [String: Int64] = [:]
        var last = ""
        try snapshot.forEachDay(of: LossReasonsKey.table, partitions: [0, 1], choice) {
            columns, row in
            guard case .text(let hour) = columns[0], case .integer(let reason) = columns[6] else {
                return
            }
            let day = String(hour.prefix(10))
            if day != last { usleep(5000) }
            last = day
            sums["\(day) \(reason)", default: 0] += row.amounts[0]
        }
        return sums
    }
}
