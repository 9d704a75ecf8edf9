import EventLog
import Foundation
import GRDB
import TestKit
import Testing

@testable import Store
@testable import Streams

/// The index of explanations: which records added to a row.
@Suite("The index of explanations")
struct ContributionsTests {
    private struct Added: Hashable {
        var partition: Int32
        var hour: String
        var reason: Int64
        var offset: Int64
        var isNegative: Bool
    }

    @Test(
        "has every record that added to a row, once, in batches of any size",
        arguments: [1, 7, 400, 3000])
    func complete(_ batch: Int) throws {
        let files = try TemporaryDirectory()
        let path = files.path + "/store.sqlite"
        let store = try makeStore(path)
        var random = SeededGenerator(seed: UInt64(batch))
        var expected: Set<Added> = []
        var offset: Int64 = 0
        for _ in 0..<max(3, 900 / batch) {
            try add(store) { table, symbols in
                for _ in 0..<batch {
                    offset += Int64.random(in: 1...3, using: &random)
                    for _ in 0..<Int.random(in: 1...3, using: &random) {
                        let partition = Int32.random(in: 0..<2, using: &random)
                        let hour = Hour(hoursSince1970: Int64.random(in: 0..<3, using: &random))
                        let reason = Int64.random(in: 0..<5, using: &random)
                        let amount = Int64.random(in: -1...3, using: &random)
                        let key = LossReasonsKey(
                            seat: symbols.intern("seat"), campaign: .unknown, reason: reason)
                        let row = table.row(key, partition: partition, hour: hour, offset: offset)
                        table.add(amount, to: .losses, row: row)
                        guard amount != 0 else { continue }
                        let added = Added(
                            partition: partition, hour: hour.text, reason: reason, offset: offset,
                            isNegative: amount < 0)
                        // A record that adds several amounts to a row is one of those with a negative one.
                        var positive = added
                        positive.isNegative = false
                        var negative = added
                        negative.isNegative = true
                        if amount < 0 { expected.remove(positive) }
                        if !expected.contains(negative) { expected.insert(added) }
                    }
                }
            }
        }
        #expect(try contributions(path) == expected)
    }

    @Test("forgets what is older than its days, and does not begin it again")
    func forgets() throws {
        let files = try TemporaryDirectory()
        let path = files.path + "/store.sqlite"
        let store = try makeStore(path)
        store.explainDays = 2
        // The partition has seen hour 49 before the last three.
        for (offset, hour) in [0, 47, 48, 49, 0, 1, 2].enumerated() {
            try add(store, watermarkHour: offset < 4 ? Int64(hour) : 49) { table, symbols in
                let key = LossReasonsKey(
                    seat: symbols.intern("seat"), campaign: .unknown, reason: 1)
                let row = table.row(
                    key, partition: 0, hour: Hour(hoursSince1970: Int64(hour)),
                    offset: Int64(offset))
                table.add(1, to: .losses, row: row)
            }
        }
        #expect(try contributions(path).map(\.offset).sorted() == [1, 2, 3, 5, 6])
    }

    @Test("is not written for 0 days")
    func none() throws {
        let files = try TemporaryDirectory()
        let path = files.path + "/store.sqlite"
        let store = try makeStore(path)
        store.explainDays = 0
        try add(store) { table, symbols in
            let key = LossReasonsKey(seat: symbols.intern("seat"), campaign: .unknown, reason: 1)
            table.add(
                1, to: .losses, row: table.row(key, partition: 0, hour: .init(hoursSince1970: 0)))
        }
        #expect(try contributions(path).isEmpty)
    }

    @Test("whose blocks are damaged is an error, and no wrong list")
    func damaged() throws {
        let files = try TemporaryDirectory()
        let path = files.path + "/store.sqlite"
        let store = try makeStore(path)
        try add(store) { table, symbols in
            for offset: Int64 in 0..<50 {
                let key = LossReasonsKey(
                    seat: symbols.intern("seat"), campaign: .unknown, reason: offset % 5)
                let row = table.row(
                    key, partition: 0, hour: Hour(hoursSince1970: 0), offset: offset * 3)
                table.add(1, to: .losses, row: row)
            }
        }
        try store.commit { db in
            try db.execute(
                sql: "UPDATE contributions SET lists = substr(lists, 1, length(lists) - 1)")
        }
        #expect(throws: StoreError.self) { try contributions(path) }
    }

    @Test("reads back groups of any shape")
    func blocks() throws {
        var random = SeededGenerator(seed: 5)
        for _ in 0..<200 {
            var groups = ContributionGroups()
            let table = DeltaTable<LossReasonsKey>()
            var symbols = SymbolTable()
            let rows = (0..<Int64.random(in: 1...6, using: &random)).map { reason in
                LossReasonsKey(seat: symbols.intern("a"), campaign: .unknown, reason: reason)
            }
            var offset = Int64.random(in: 0...(1 << 50), using: &random)
            var indices: [Int] = []
            for _ in 0..<Int.random(in: 1...300, using: &random) {
                offset +=
                    Bool.random(using: &random) ? 1 : Int64.random(in: 1...9999, using: &random)
                guard let key = rows.randomElement(using: &random) else { return }
                let row = table.row(
                    key, partition: 0, hour: Hour(hoursSince1970: 0), offset: offset)
                table.add(Bool.random(using: &random) ? 1 : -1, to: .losses, row: row)
                if !indices.contains(row) { indices.append(row) }
            }
            for (index, row) in indices.sorted().enumerated() {
                groups.add(Int64(index * 300), ofRow: row, in: table, bits: nil)
            }
            let read = try #require(ContributionGroups(groups.encoded()))
            #expect(read.runs.map(\.first) == groups.runs.map(\.first))
            #expect(read.runs.map(\.count) == groups.runs.map(\.count))
            #expect(read.groups.map(\.key) == groups.groups.map(\.key))
            #expect(read.groups.map(\.measures) == groups.groups.map(\.measures))
            #expect(read.groups.map(\.end) == groups.groups.map(\.end))
        }
    }

    private func makeStore(_ path: String) throws -> AggregateStore {
        let store = try AggregateStore(
            path: path, fold: BidsFold.self, topic: "bids", logIdentity: "log", partitionCount: 2)
        for partition: Int32 in 0..<2 {
            try store.beginPartition(partition, at: 0, emitFrom: 0)
        }
        return store
    }

    /// Stores what `body` adds to a table.
    private func add(
        _ store: AggregateStore, watermarkHour: Int64 = 2,
        _ body: (DeltaTable<LossReasonsKey>, inout SymbolTable) -> Void
    ) throws {
        let table = DeltaTable<LossReasonsKey>()
        var effects = FoldEffects(topic: "bids")
        body(table, &effects.symbols)
        for partition: Int32 in 0..<2 {
            let batch = RecordBatch()
            let empty = UnsafeRawBufferPointer(start: nil, count: 0)
            batch.append(
                partition: partition, offset: 0,
                timestampMilliseconds: watermarkHour * Hour.milliseconds, key: nil,
                headers: empty, value: empty)
            effects.advance(
                batch[0], in: Hour(hoursSince1970: watermarkHour),
                watermarkMilliseconds: watermarkHour * Hour.milliseconds)
        }
        let layout = try store.read { try TableLayout(of: LossReasonsKey.table, $0) }
        try store.commit { db in
            let transaction = StoreTransaction(
                db, path: store.path, batch: RecordBatch(), found: FoundRecords(),
                rowNumbers: RowNumbers(), memory: store, ids: nil,
                layouts: [LossReasonsKey.table.name: layout])
            let hours = ExplainedHours(of: effects, days: store.explainDays)
            try transaction.add(table, symbols: effects.symbols, hours)
            try transaction.forgetContributions(before: hours)
        }
    }

    private func contributions(_ path: String) throws -> Set<Added> {
        var found: Set<Added> = []
        try StoreReader(path: path).snapshot(verifying: false) { snapshot in
            let reading = try snapshot.contributions(of: LossReasonsKey.table)
            var rows: [(RowNumber, Int32, [StoredValue])] = []
            try snapshot.forEachNumberedRow(of: LossReasonsKey.table, partitions: [0, 1]) {
                number, partition, columns, _ in
                rows.append((number, partition, columns))
            }
            for (number, partition, columns) in rows {
                guard case .text(let hour) = columns[0], case .integer(let reason)? = columns.last
                else { continue }
                try reading.forEach(
                    inSlot: number.slot, where: { key, _ in key == number.key }
                ) { _, measures, runs in
                    for offset in runs.flatMap({ $0.first..<$0.first + Int64($0.count) }) {
                        let (isNew, _) = found.insert(
                            Added(
                                partition: partition, hour: hour, reason: reason, offset: offset,
                                isNegative: measures.contains(.negative)))
                        #expect(isNew)
                    }
                }
            }
        }
        return found
    }
}
