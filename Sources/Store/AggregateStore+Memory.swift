import Foundation
import GRDB
import Streams

extension AggregateStore: FoldMemory {
    /// Restores a fold from the stored state of a partition.
    package func restore(_ state: PartitionState, in fold: some StreamFold) throws(StoreError) {
        try StoreError.naming("read", path) {
            try fold.restore(
                partition: state.partition, watermarkMilliseconds: state.watermarkMilliseconds,
                from: self)
        }
    }

    package func windowEntries(of partition: Int32) throws -> [DedupeWindow.Entry] {
        try read { try DedupeBlock.entries(of: partition, in: $0) }
    }

    package func row(
        of table: MemoryTable, partition: Int32, key: MemoryValue
    ) throws -> [MemoryValue]? {
        let ids = table.hasIDs ? ids : nil
        if case .id(let id) = key, ids?.mayContain(id, partition: partition) == false { return nil }
        return try StoreError.naming("read", path) {
            try queue.unsafeReentrantRead { db in
                var sql = table.rowSQL
                var arguments: StatementArguments = [partition, key.databaseValue]
                if case .id(let id) = key, let ids, ids.isIndexed {
                    guard let offset = try ids.offset(of: id, partition: partition, db) else {
                        return nil
                    }
                    sql = table.indexedRowSQL
                    arguments += [offset]
                }
                return try Row.fetchOne(db.cachedStatement(sql: sql), arguments: arguments).map {
                    row in
                    table.columns.dropFirst().enumerated().map { index, column in
                        MemoryValue(row[index], column.kind)
                    }
                }
            }
        }
    }

    /// Number of ids that a fold remembers: all stored ids, or with a window those in memory. If these exceed
    /// `bound`, expired ids are dropped first.
    package func rememberedIDs(of lanes: FoldLanes<some StreamFold>, atMost bound: Int) -> Int {
        if let ids { return ids.count }
        let held = lanes.folds.reduce(0) { $0 + $1.windowIDs(atMost: .max) }
        return held <= bound ? held : lanes.folds.reduce(0) { $0 + $1.windowIDs(atMost: 0) }
    }
}

extension MemoryValue {
    fileprivate var databaseValue: DatabaseValue {
        switch self {
        case .none: .null
        case .integer(let integer): integer.databaseValue
        case .text(let text): text.databaseValue
        case .bytes(let bytes): Data(bytes).databaseValue
        case .id(let id): id.bytes.databaseValue
        }
    }

    fileprivate init(_ value: DatabaseValue, _ kind: MemoryTable.ColumnKind) {
        switch value.storage {
        case .null: self = .none
        case .int64(let integer): self = .integer(integer)
        case .blob(let bytes) where kind == .text: self = .text(StoreSnapshot.text(bytes))
        case .blob(let bytes): self = .bytes([UInt8](bytes))
        case .double, .string: self = .none
        }
    }
}
