import EventLog

/// A fold with lasting memory: it queries the store, and a batch adds rows. A stream adds the meaning of its types.
package protocol LastingFold: StreamFold where State == LastingState {}

/// The state of a fold with lasting memory: the effects of the batch, and its new rows of memory.
package final class LastingState: FoldState {
    package var effects: FoldEffects
    package var recalled: RecalledMemory?

    private let memory: any FoldMemory
    private var tables: [any WrittenRows] = []
    private var watermarks: [Int32: Int64] = [:]

    /// - Parameter memory: the store's memory.
    init(topic: String, memory: any FoldMemory) {
        self.memory = memory
        effects = FoldEffects(topic: topic)
    }

    /// The rows of a table; they are written and cleared with the batch.
    func rows<Row: LastingRow>(of _: Row.Type) -> LastingRows<Row> {
        let rows = LastingRows<Row>(memory)
        tables.append(rows)
        return rows
    }

    /// The row to compare a record with; the recalled one while a part of the log is folded again.
    func remembered<Row: RecalledRow>(
        _ key: Row.Key, in rows: LastingRows<Row>, at position: FoldPosition
    ) throws -> Row? {
        guard let recalled else { return try rows.row(key, position.partition) }
        return recalled.answers(about: position).flatMap { Row(answers: $0) }
    }

    package func advance(_ record: RecordView, to position: FoldPosition) {
        let watermark = max(watermarks[position.partition] ?? 0, position.timestampMilliseconds)
        watermarks[position.partition] = watermark
        effects.advance(record, in: position.hour, watermarkMilliseconds: watermark)
    }

    /// Clearing the batch clears the rows.
    package func takeBackLast() {}

    package func restore(
        partition: Int32, watermarkMilliseconds: Int64, from memory: any FoldMemory
    ) {
        watermarks[partition] = watermarkMilliseconds
    }

    package func forget(partition: Int32) {
        watermarks[partition] = nil
    }

    package func clear() -> Bool {
        for table in tables { table.removeAll() }
        return effects.removeAll()
    }

    package func write(to writer: any FoldMemoryWriter) throws {
        for table in tables { try table.write(to: writer) }
    }
}

/// A row of a `MemoryTable`, identified by its key within a partition.
protocol LastingRow {
    associatedtype Key: LastingKey
    static var table: MemoryTable { get }
    /// The columns after the key.
    static var columns: MemoryColumns<Self> { get }

    /// A row before its columns are read.
    init()
}

extension LastingRow {
    /// Reads the columns after the key.
    init(_ row: [MemoryValue]) {
        self.init()
        Self.columns.read(row, into: &self)
    }

    /// The columns after the key.
    var row: [MemoryValue] { Self.columns.row(of: self) }
}

/// A row that is memory's whole answer about a record.
protocol RecalledRow: LastingRow {
    /// Reads a recorded answer; nil for invalid bytes.
    init?(answers: [UInt8])
}

protocol LastingKey: Hashable, Comparable {
    var memoryValue: MemoryValue { get }
}

extension RecordID: LastingKey {
    var memoryValue: MemoryValue { .id(self) }
}

private protocol WrittenRows: AnyObject {
    func write(to writer: any FoldMemoryWriter) throws
    func removeAll()
}

/// The rows of a memory table: those of the batch take precedence over those of the store.
final class LastingRows<Row: LastingRow>: WrittenRows {
    private struct Partition {
        var rows: [Row.Key: Row] = [:]
        /// The keys, in the order in which they were first written.
        var keys: [Row.Key] = []
    }

    private let memory: any FoldMemory
    private var partitions: [Int32: Partition] = [:]

    init(_ memory: any FoldMemory) { self.memory = memory }

    func row(_ key: Row.Key, _ partition: Int32) throws -> Row? {
        if let row = written(key, partition) { return row }
        return try memory.row(of: Row.table, partition: partition, key: key.memoryValue)
            .map { Row($0) }
    }

    /// Whether the batch has no row.
    var isEmpty: Bool { partitions.values.allSatisfy(\.keys.isEmpty) }

    /// The row of the batch with this key.
    func written(_ key: Row.Key, _ partition: Int32) -> Row? { partitions[partition]?.rows[key] }

    func write(_ row: Row, _ key: Row.Key, _ partition: Int32) {
        if partitions[partition, default: Partition()].rows.updateValue(row, forKey: key) == nil {
            partitions[partition]?.keys.append(key)
        }
    }

    func write(to writer: any FoldMemoryWriter) throws {
        for (partition, written) in partitions.sorted(by: { $0.key < $1.key }) {
            // Neighbours on disk are written together: ids in the order of their records, others in that of their keys.
            let keys = Row.table.hasIDs ? written.keys : written.keys.sorted()
            for key in keys {
                guard let row = written.rows[key] else { continue }
                try writer.write([key.memoryValue] + row.row, to: Row.table, partition: partition)
            }
        }
    }

    func removeAll() {
        for partition in Array(partitions.keys) {
            partitions[partition]?.rows.removeAll(keepingCapacity: true)
            partitions[partition]?.keys.removeAll(keepingCapacity: true)
        }
    }
}
