import EventLog
import GRDB
import GRDBSQLite
import Streams

/// Fingerprints of records that a store keeps: of the first and the last record of an hour of a partition.
package struct FoundRecords: Sendable {
    private struct Position: Hashable {
        var partition: Int32
        var offset: Int64
    }

    private var fingerprints: [Position: String] = [:]

    var isEmpty: Bool { fingerprints.isEmpty }

    /// The fingerprint of a record that `find` has found; otherwise empty.
    subscript(partition: Int32, offset: Int64) -> String {
        fingerprints[Position(partition: partition, offset: offset)] ?? ""
    }

    /// Finds records in a batch, where those of a partition are in order of their offsets. Searches from its end,
    /// where most of them are. Records of earlier batches were found there.
    mutating func find(_ wanted: [(partition: Int32, offset: Int64)], in batch: RecordBatch) {
        var missing: [Int32: [Int64]] = [:]
        var count = 0
        let unfound = wanted.map { Position(partition: $0.partition, offset: $0.offset) }
            .filter { fingerprints[$0] == nil }
        for position in Set(unfound) {
            missing[position.partition, default: []].append(position.offset)
            count += 1
        }
        for partition in missing.keys { missing[partition]?.sort() }
        var index = batch.count
        var current: Int32 = -1
        var next: Int64?
        while count > 0, index > 0 {
            index -= 1
            let (partition, offset) = batch.position(index)
            if partition != current {
                current = partition
                next = missing[partition]?.last
            }
            guard offset == next else { continue }
            fingerprints[Position(partition: partition, offset: offset)] = batch[index].fingerprint
            missing[partition]?.removeLast()
            next = missing[partition]?.last
            count -= 1
        }
    }
}

/// The hours of a batch's records, and those whose numbers the index of explanations covers; hours since 1970, by
/// partition.
struct ExplainedHours {
    /// The latest hours of records.
    private var latest: [Int32: Int64] = [:]
    /// The first hours that are covered.
    private(set) var first: [Int32: Int64] = [:]
    let isExplained: Bool

    /// - Parameters:
    ///   - days: the number of days that are covered, before a partition's largest timestamp.
    ///   - hasContributions: whether the fold knows which records added to its rows; otherwise the index lacks all of
    ///     the batch.
    init(of effects: FoldEffects, days: Int, hasContributions: Bool = true) {
        isExplained = days > 0 && hasContributions
        for range in effects.hours {
            let hour = range.hour.hoursSince1970
            latest[range.partition] = max(latest[range.partition] ?? hour, hour)
        }
        for progress in effects.progress {
            let hour = Hour(containing: progress.watermarkMilliseconds).hoursSince1970
            first[progress.partition] = days > 0 ? hour - Int64(days) * 24 : .max
        }
    }

    /// The latest hour of the records that added to a row; nil if it is not covered.
    ///
    /// - Parameter rowHour: the hour of the row; nil for a row of a day.
    func last(of partition: Int32, rowHour: Int64?) -> Int64? {
        guard let hour = rowHour ?? latest[partition], let first = first[partition], hour >= first
        else { return nil }
        return hour
    }
}

/// One transaction of a store: the changes of a batch.
package final class StoreTransaction {
    let db: Database
    private let batch: RecordBatch
    private let rowNumbers: RowNumbers
    private let memory: any FoldMemory
    private let ids: StoredIDs?
    /// How the file stores the aggregates, by their names.
    private let layouts: [String: TableLayout]
    private var found: FoundRecords
    private var blockSelection: StatementRow?
    private var blockInsertion: StatementRow?
    private let path: String
    /// Statements that write a row of memory, by the names of tables.
    private var memoryRows: [String: StatementRow] = [:]
    /// The segments that this transaction changes; nil if nobody takes snapshots.
    private(set) var changes: [Int32: ChangedSegments]?
    /// The partitions' next offsets with the present effects.
    private var nextOffsets: [Int32: Int64] = [:]

    init(
        _ db: Database, path: String, batch: RecordBatch, found: FoundRecords,
        rowNumbers: RowNumbers, memory: any FoldMemory, ids: StoredIDs?,
        layouts: [String: TableLayout], notesChanges: Bool = false
    ) {
        changes = notesChanges ? [:] : nil
        self.db = db
        self.path = path
        self.batch = batch
        self.found = found
        self.rowNumbers = rowNumbers
        self.memory = memory
        self.ids = ids
        self.layouts = layouts
    }

    /// Notes the segments that the effects of a batch change, before they are written. Rows of memory are noted when
    /// they are written.
    ///
    /// - Parameter positions: the partitions' next offsets so far.
    func note(_ lanes: FoldLanes<some StreamFold>, from positions: [Int32: Int64]) {
        guard changes != nil else { return }
        for progress in lanes.progress {
            let next = progress.nextOffset
            nextOffsets[progress.partition] = next
            let range = SegmentRange.covering(
                positions[progress.partition] ?? next - progress.records, next)
            for range in range { note(offset: range.first, progress.partition) }
            note(offset: next - 1, progress.partition)
        }
        for fold in lanes.folds {
            for hours in fold.effects.hours { note(hours.hour, hours.partition) }
            for deltas in fold.deltas where deltas.table.hasDays {
                deltas.forEachRow { row, _ in
                    let (partition, hour) = deltas.partitionHour(ofRow: row)
                    note(hour, partition)
                }
            }
        }
    }

    private func note(_ hour: Hour, _ partition: Int32) {
        guard let next = nextOffsets[partition], case .day(let day) = Segment.day(ofHour: hour.text)
        else { return }
        changes?[partition, default: ChangedSegments()].note(day: day, at: next)
    }

    private func note(offset: Int64, _ partition: Int32) {
        guard let next = nextOffsets[partition] else { return }
        changes?[partition, default: ChangedSegments()].note(offset: offset, at: next)
    }

    /// Adds a batch's sums to the rows of an aggregate, and its records to the index of explanations.
    func add(_ deltas: Deltas, symbols: SymbolTable, _ hours: ExplainedHours) throws {
        guard let rows = try rows(of: deltas)?.add(deltas, symbols, rowNumbers),
            hours.isExplained
        else { return }
        let bits = layouts[deltas.table.name]?.bits
        var groups = ContributionGroups()
        var index = 0
        while index < rows.count {
            let slot = rows[index].number >> RowNumbers.keyBits
            let (partition, hour) = deltas.partitionHour(ofRow: rows[index].row)
            groups.removeAll()
            while index < rows.count, rows[index].number >> RowNumbers.keyBits == slot {
                let key = rows[index].number & (1 << RowNumbers.keyBits - 1)
                groups.add(key, ofRow: rows[index].row, in: deltas, bits: bits)
                index += 1
            }
            guard !groups.isEmpty,
                let last = hours.last(
                    of: partition, rowHour: deltas.table.hasDays ? nil : hour.hoursSince1970)
            else { continue }
            try write(
                groups, of: deltas.table.name, slot: slot, partition: partition, lastHour: last)
        }
    }

    private func write(
        _ groups: ContributionGroups, of aggregate: String, slot: Int64, partition: Int32,
        lastHour: Int64
    ) throws {
        let selection =
            try blockSelection
            ?? StatementRow(
                db.cachedStatement(
                    sql: """
                        SELECT block, last_hour,
                          CASE WHEN length(lists) < \(ContributionBlock.sharedBytes) THEN lists END
                        FROM contributions WHERE slot = ? AND aggregate = ?
                        ORDER BY block DESC LIMIT 1
                        """))
        blockSelection = selection
        let insertion =
            try blockInsertion
            ?? StatementRow(
                db.cachedStatement(
                    sql: "INSERT OR REPLACE INTO contributions VALUES (?, ?, ?, ?, ?, ?, ?)"))
        blockInsertion = insertion
        var (block, last, merged) = (Int64(0), lastHour, groups)
        selection.begin()
        selection.bind(slot)
        selection.bind(aggregate)
        if try selection.next() {
            block = selection.integer(0)
            if selection.isNull(2) {
                block += 1
            } else if let present = ContributionGroups(selection.bytes(2)) {
                merged = present.merging(groups)
                last = max(last, selection.integer(1))
            } else {
                throw StoreError.damaged(
                    path: path, detail: "contributions of \(aggregate) in slot \(slot)")
            }
            selection.begin()
        }
        insertion.begin()
        insertion.bind(slot)
        insertion.bind(aggregate)
        insertion.bind(block)
        insertion.bind(Int64(partition))
        insertion.bind(last)
        insertion.bind(merged.count)
        insertion.bind(copyOf: merged.encoded())
        try insertion.step()
    }

    /// Deletes what is older from the index of explanations.
    func forgetContributions(before hours: ExplainedHours) throws {
        for (partition, first) in hours.first
        where first > rowNumbers.explainedFrom[partition] ?? .min {
            try db.cachedStatement(
                sql: "DELETE FROM contributions WHERE partition = ? AND last_hour < ?"
            ).execute(arguments: [partition, first])
            rowNumbers.explainedFrom[partition] = first
        }
    }

    /// Throws `StoreError.overflow` unless these could be added to the stored sums before all others. Changes
    /// nothing.
    func requireRoom(for deltas: Deltas, symbols: SymbolTable) throws {
        guard let rows = rows(of: deltas) else { return }
        try db.inSavepoint {
            // New rows are rolled back at once, so their numbers must not be remembered.
            try rows.add(deltas, symbols, RowNumbers())
            return .rollback
        }
    }

    /// Nil if there is nothing to add, or the file lacks the aggregate.
    private func rows(of deltas: Deltas) -> AggregateRows? {
        guard deltas.count > 0, let layout = layouts[deltas.table.name], layout.isInFile
        else { return nil }
        return AggregateRows(deltas.table, layout, db)
    }

    /// Stores the refused records with their bytes.
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
            // The key of a record that announces an erasure may identify the person.
            row.bind(blob: refusal.reason == RejectionReason.erased.name ? nil : record.key)
            row.bind(copyOf: record.headers.encodedBytes())
            row.bind(blob: isTooLarge ? nil : record.value)
            if isTooLarge, let value = record.value {
                row.bind(HexDigest.sha256(value))
            } else {
                row.bindNull()
            }
            try row.step()
        }
    }

    func keep(_ recollections: [Recollection]) throws {
        guard !recollections.isEmpty else { return }
        let row = StatementRow(
            try db.cachedStatement(sql: "INSERT INTO recollections VALUES (?, ?, ?)"))
        for recollection in recollections {
            row.begin()
            row.bind(Int64(recollection.partition))
            row.bind(recollection.offset)
            row.bind(copyOf: recollection.answers)
            try row.step()
        }
    }

    /// Stores the offsets of hours' records, and the fingerprints of the first and the last of them.
    func add(_ hours: [HourRange]) throws {
        let update = StatementRow(
            try db.cachedStatement(
                sql: """
                    UPDATE hours SET last_offset = ?, last_record = ?, records = records + ?
                    WHERE partition = ? AND hour = ?
                    """))
        let insertion = StatementRow(
            try db.cachedStatement(sql: "INSERT INTO hours VALUES (?, ?, ?, ?, ?, ?, ?)"))
        found.find(hours.map { ($0.partition, $0.lastOffset) }, in: batch)
        var begun: [HourRange] = []
        for hour in hours {
            try update.run([
                .integer(hour.lastOffset), .text(found[hour.partition, hour.lastOffset]),
                .integer(hour.records), .integer(Int64(hour.partition)), .text(hour.hour.text),
            ])
            if db.changesCount == 0 { begun.append(hour) }
        }
        found.find(begun.map { ($0.partition, $0.firstOffset) }, in: batch)
        for hour in begun {
            try insertion.run([
                .integer(Int64(hour.partition)), .text(hour.hour.text),
                .integer(hour.firstOffset), .integer(hour.lastOffset), .integer(hour.records),
                .text(found[hour.partition, hour.firstOffset]),
                .text(found[hour.partition, hour.lastOffset]),
            ])
        }
    }

    /// Moves a partition to its next offset; false if its present one is not `expected`.
    func advance(_ progress: PartitionProgress, from expected: Int64) throws -> Bool {
        let statement = try db.cachedStatement(
            sql: """
                UPDATE partitions SET next_offset = ?, watermark_ms = ?, records = records + ?,
                  last_record = ?
                WHERE partition = ? AND next_offset = ?
                """)
        // The last record of a partition is the last one of its hour, which was already looked up.
        try StatementRow(statement).run([
            .integer(progress.nextOffset), .integer(progress.watermarkMilliseconds),
            .integer(progress.records),
            .text(found[progress.partition, progress.nextOffset - 1]),
            .integer(Int64(progress.partition)), .integer(expected),
        ])
        return db.changesCount == 1
    }
}

extension StoreTransaction: FoldMemoryWriter {
    package func write(_ row: [MemoryValue], to table: MemoryTable, partition: Int32) throws {
        if table.hasIDs, let key = row.first, case .id(let id) = key, let ids {
            let isNew: Bool
            let offset = row[table.offsetIndex].integer ?? 0
            if ids.isIndexed {
                let earlier =
                    ids.mayContain(id, partition: partition)
                    ? try ids.offset(of: id, partition: partition, db) : nil
                if let earlier, earlier != offset {
                    note(offset: earlier, partition)
                    try StatementRow(db.cachedStatement(sql: table.deleteSQL)).run([
                        .integer(Int64(partition)), .integer(earlier), key,
                    ])
                }
                isNew = earlier == nil
            } else {
                isNew = try memory.row(of: table, partition: partition, key: key) == nil
            }
            ids.add(id, partition: partition, offset: offset, isNew: isNew)
        }
        if changes != nil { noteRow(row, of: table, partition) }
        let statement =
            try memoryRows[table.name] ?? StatementRow(db.cachedStatement(sql: table.insertSQL))
        memoryRows[table.name] = statement
        statement.begin()
        statement.bind(Int64(partition))
        for value in row { statement.bind(value) }
        try statement.step()
    }

    /// Notes the segment of a row of memory.
    private func noteRow(_ row: [MemoryValue], of table: MemoryTable, _ partition: Int32) {
        if SegmentTables.isByOffset(table) {
            note(offset: row[table.offsetIndex].integer ?? 0, partition)
        } else if let next = nextOffsets[partition] {
            changes?[partition, default: ChangedSegments()].noteMemory(at: next)
        }
    }

    package func append(
        _ ids: [DedupeWindow.Entry], horizonMilliseconds: Int64, at progress: PartitionProgress
    ) throws {
        try DedupeBlock.append(
            ids, progress: progress, horizonMilliseconds: horizonMilliseconds, to: db)
        guard changes != nil else { return }
        let block = try db.cachedStatement(
            sql: "SELECT max(first_offset) FROM dedupe WHERE partition = ?")
        if let offset = try Int64.fetchOne(block, arguments: [progress.partition]) {
            note(offset: offset, progress.partition)
        }
    }

    /// Puts documents for partners in the outbox, in order.
    func publish(_ outbox: [PartnerPostback]) throws {
        guard !outbox.isEmpty else { return }
        let insertion = try db.cachedStatement(
            sql: """
                INSERT INTO outbox SELECT ?1, outbox_next, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11
                FROM partitions WHERE partition = ?1
                """)
        let counter = try db.cachedStatement(
            sql: "UPDATE partitions SET outbox_next = outbox_next + 1 WHERE partition = ?")
        let row = StatementRow(insertion)
        for postback in outbox {
            try row.run([
                .integer(Int64(postback.partition)), .text(postback.partner), .text(postback.id),
                .integer(postback.document.revision), .integer(postback.originOffset),
                .text(postback.adNetworkID), .text(postback.campaign),
                .integer(postback.hasSourceIdentifier ? 1 : 0), .integer(postback.appID),
                .integer(postback.sourceAppID), .text(postback.document.stored),
            ])
            try counter.execute(arguments: [postback.partition])
        }
    }
}
