import Crypto
import EventLog
import GRDB
import GRDBSQLite
import Streams

/// One transaction of a store: what a batch changes.
public final class StoreTransaction {
    let db: Database
    private let batch: RecordBatch
    private let rowNumbers: RowNumbers
    private var hourTexts: [Hour: [UInt8]] = [:]

    init(_ db: Database, batch: RecordBatch, rowNumbers: RowNumbers) {
        self.db = db
        self.batch = batch
        self.rowNumbers = rowNumbers
    }

    /// Adds a batch's sums to the rows of an aggregate: one row written for each row touched.
    ///
    /// The tables are STRICT: a sum beyond 64 bits would become a floating-point number, which SQLite
    /// then refuses to store. That is how an overflow is noticed.
    public func add<Key: RowKey>(_ deltas: DeltaTable<Key>, symbols: SymbolTable) throws {
        guard deltas.count > 0 else { return }
        let numbers = rowNumbers.table(for: deltas)
        let table = Key.table
        let upsert = StatementRow(try db.cachedStatement(sql: table.upsertSQL))
        var updates: [UInt64: StatementRow] = [:]
        // Most rows change in the same few measures as the one before: the others are left as they are.
        var update = upsert
        var updated: UInt64?
        try deltas.forEachRow { row, key, measures in
            guard let number = numbers[row] else {
                numbers[row] = try insert(key, measures, symbols, upsert)
                return
            }
            let changed = Self.changed(measures)
            if changed != updated {
                update =
                    try updates[changed]
                    ?? StatementRow(db.cachedStatement(sql: table.updateSQL(changed)))
                updates[changed] = update
                updated = changed
            }
            update.begin()
            for measure in measures where measure != 0 { update.bind(measure) }
            update.bind(number)
            try update.step()
        }
    }

    /// The measures that are not 0, as bits.
    private static func changed(_ measures: UnsafeBufferPointer<Int64>) -> UInt64 {
        var bits: UInt64 = 0
        for index in measures.indices where measures[index] != 0 { bits |= 1 << UInt64(index) }
        return bits
    }

    /// Adds to a row whose number is not known, and says which it is.
    private func insert<Key: RowKey>(
        _ key: Key, _ measures: UnsafeBufferPointer<Int64>, _ symbols: SymbolTable,
        _ upsert: StatementRow
    ) throws -> Int64 {
        upsert.begin()
        upsert.bind(Int64(key.partition))
        key.forEachColumn { value in
            switch value {
            case .hour(let hour): upsert.bind(hourText(hour))
            case .symbol(let symbol): symbols.withBytes(of: symbol) { upsert.bind(text: $0) }
            case .text(let text): upsert.bind(text: text)
            case .integer(let integer): upsert.bind(integer)
            case .boolean(let boolean): upsert.bind(boolean ? 1 : 0)
            }
        }
        for measure in measures { upsert.bind(measure) }
        return try upsert.stepForInteger()
    }

    /// Keeps the records that were refused, with their bytes.
    func keep(_ refused: [RefusedRecord]) throws {
        guard !refused.isEmpty else { return }
        let statement = try db.cachedStatement(
            sql: "INSERT INTO refused VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        let row = StatementRow(statement)
        for refusal in refused {
            let record = batch[refusal.index]
            let isTooLarge = refusal.reason == RejectionReason.tooLarge.name
            row.begin()
            row.bind(Int64(record.partition))
            row.bind(record.offset)
            row.bind(max(record.timestampMilliseconds, 0))
            row.bind(refusal.type)
            row.bind(refusal.reason)
            row.bind(refusal.detail)
            row.bind(blob: record.key)
            row.bind(blob: record.headers.encoded)
            row.bind(blob: isTooLarge ? nil : record.value)
            if isTooLarge, let value = record.value {
                row.bind(Self.sha256(value))
            } else {
                row.bindNull()
            }
            try row.step()
        }
    }

    /// Moves a partition on; false when it is not where it is expected.
    func advance(_ progress: PartitionProgress, from expected: Int64) throws -> Bool {
        let statement = try db.cachedStatement(
            sql: """
                UPDATE partitions SET next_offset = ?, watermark_ms = ?, records = records + ?
                WHERE partition = ? AND next_offset = ?
                """)
        let row = StatementRow(statement)
        row.begin()
        row.bind(progress.nextOffset)
        row.bind(progress.watermarkMilliseconds)
        row.bind(progress.records)
        row.bind(Int64(progress.partition))
        row.bind(expected)
        try row.step()
        return db.changesCount == 1
    }

    private func hourText(_ hour: Hour) -> [UInt8] {
        if let text = hourTexts[hour] { return text }
        let text = Array(hour.text.utf8)
        hourTexts[hour] = text
        return text
    }

    private static func sha256(_ bytes: UnsafeRawBufferPointer) -> String {
        var hash = SHA256()
        hash.update(bufferPointer: bytes)
        return hash.finalize().map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }
}
