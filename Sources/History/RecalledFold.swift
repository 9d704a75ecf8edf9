import EventLog
import Reports
import Store
import Streams

/// The data for folding ranges of a partition again, besides the records.
package struct RefoldInputs: Sendable {
    /// Memory's answers about the records.
    package var recollections: [Recollection] = []
    /// The offsets of records that were rejected because a sum would have overflowed.
    package var overflows: Set<Int64> = []

    init() {}

    /// Reads the notes of a store.
    init(_ snapshot: StoreSnapshot, partition: Int32, offsets: Range<Int64>) throws {
        recollections = try snapshot.recollections(partition: partition, offsets: offsets)
        overflows = try snapshot.rejectedOffsets(
            for: .overflow, partition: partition, offsets: offsets)
    }
}

/// A record that was folded again, with its effects when it was folded the first time.
package struct FoldedRecord {
    /// The record; its bytes are valid within the call that receives it.
    package let record: RecordView
    /// The hour that it counts in.
    package let hour: Hour
    /// Its type in `outcomes`.
    package let type: String
    package let outcome: Outcome
    /// Its additions, including those to `outcomes`.
    package let additions: [Addition]
    /// Its additions if no earlier record had been known and its sums had fitted. Filled only on request, for a
    /// duplicate, a conflict or an overflow.
    package let leftOut: [Addition]
    /// Why it is kept instead of counted; nil for accepted records and duplicates.
    package let refusal: RefusedRecord?
    /// Memory's answers about it, in the stream's format; nil if nothing was known.
    package let answers: [UInt8]?
    /// The offset of the record that a duplicate or a conflict repeats; nil if the stream does not remember it.
    package let originalOffset: Int64?
    /// The offset of the record that an accepted one replaces, if any.
    package let replacedOffset: Int64?
    /// The ids that its stream remembers permanently from this record on.
    package let newIDs: [RecordID]
    /// Its documents for partners, if requested.
    package let outbox: [PartnerPostback]
}

/// Collects the ids that a fold would remember permanently.
private final class NewIDs: FoldMemoryWriter {
    private(set) var ids: [RecordID] = []

    func write(_ row: [MemoryValue], to table: MemoryTable, partition: Int32) {
        if case .id(let id)? = row.first { ids.append(id) }
    }

    func append(
        _ ids: [DedupeWindow.Entry], horizonMilliseconds: Int64, at progress: PartitionProgress
    ) {}
}

/// A record's addition to a row.
package struct Addition {
    package let row: AddedRow
    /// One amount for each measure of the aggregate.
    package let measures: [Int64]

    /// The outcome that a row of `outcomes` counts.
    fileprivate var outcome: Outcome? {
        measures.firstIndex { $0 != 0 }.flatMap(Outcome.init(rawValue:))
    }
}

/// Whether a row is of interest. Accepted records without such a row are folded but not passed on. Called once per
/// row, on any thread.
package typealias RowFilter = (AddedRow) -> Bool

/// A row of an aggregate with additions. Records that add to one row mostly share it.
package final class AddedRow {
    package let table: AggregateTable
    /// One value for each column; booleans are 0 and 1.
    package let columns: [StoredValue]
    /// The row's contribution to the explained number, and whether the row would count if it were trusted and winning;
    /// computed once.
    private var cached: (terms: [FigureTerm]?, concerns: Bool)?
    /// Whether a record is of interest because it adds to the row.
    fileprivate private(set) var isWanted = true

    fileprivate init(
        _ table: AggregateTable, _ columns: [StoredValue], where isWanted: RowFilter?
    ) {
        self.table = table
        self.columns = columns
        if let isWanted { self.isWanted = isWanted(self) }
    }

    /// The row's relation to a number. A row is only ever compared with one.
    func contribution(to figure: any Figure) -> (terms: [FigureTerm]?, concerns: Bool) {
        if let cached { return cached }
        let found = (
            terms: figure.terms(of: table, columns: columns),
            concerns: figure.concerns(table, columns: columns)
        )
        cached = found
        return found
    }
}

/// The rows of one of a fold's tables, each created once for all records that add to it.
private final class AddedRows {
    let deltas: Deltas
    private let isWanted: RowFilter?
    private var generation: RowGeneration
    private var rows: [AddedRow?] = []

    init(_ deltas: Deltas, where isWanted: RowFilter?) {
        self.deltas = deltas
        self.isWanted = isWanted
        generation = deltas.generation
    }

    /// Calls `body` with each row that the table adds to.
    ///
    /// - Parameter symbols: those of the fold's keys.
    func forEach(
        _ symbols: () -> SymbolTable,
        _ body: (AddedRow, UnsafeBufferPointer<Int64>) -> Void
    ) {
        guard deltas.count > 0 else { return }
        if generation !== deltas.generation {
            generation = deltas.generation
            rows.removeAll()
        }
        deltas.forEachRow { index, measures in
            guard measures.contains(where: { $0 != 0 }) else { return }
            while rows.count <= index { rows.append(nil) }
            let row = rows[index] ?? make(index, symbols())
            rows[index] = row
            body(row, measures)
        }
    }

    private func make(_ index: Int, _ symbols: SymbolTable) -> AddedRow {
        var columns: [StoredValue] = []
        deltas.forEachColumn(ofRow: index) { value in
            switch value {
            case .hour(let hour): columns.append(.text(hour.text))
            case .day(let hour): columns.append(.text(hour.day))
            case .symbol(let symbol): columns.append(.text(symbols.text(symbol)))
            case .text(let text): columns.append(.text("\(text)"))
            case .integer(let integer): columns.append(.integer(integer))
            case .boolean(let boolean): columns.append(.integer(boolean ? 1 : 0))
            }
        }
        return AddedRow(deltas.table, columns, where: isWanted)
    }
}

/// Folds records of one partition again, each under the configuration of its first folding.
final class PartitionFold {
    private let stream: String
    private let topic: String
    private let partition: Int32
    private let epochs: [Epoch]
    private let rules: RuleSource
    private let isRowWanted: RowFilter?
    private let emitsAll: Bool
    /// By hash of the configuration.
    private var folds: [String: any RecordFold] = [:]
    private let selected = RecordBatch()

    /// - Parameters:
    ///   - epochs: the configurations that were in force, by offset.
    ///   - isRowWanted: selects the rows of interest; nil for all.
    ///   - emitsAll: whether each accepted record has its document for partners.
    init(
        stream: String, topic: String, partition: Int32, epochs: [Epoch], rules: RuleSource,
        whereRow isRowWanted: RowFilter? = nil, emitsAll: Bool = false
    ) {
        self.stream = stream
        self.topic = topic
        self.partition = partition
        self.epochs = epochs
        self.rules = rules
        self.isRowWanted = isRowWanted
        self.emitsAll = emitsAll
    }

    /// Calls `body` with each record of a batch, with its effects when it was folded the first time.
    ///
    /// - Parameters:
    ///   - inputs: the store's notes of these records.
    ///   - looksAtLeftOut: whether to compute what duplicates and others would have added.
    /// - Throws: `RecordedConfigurationFault` if a configuration cannot be restored, `ExplanationError.unknownEpoch`
    ///   for a record without one; errors of `body`.
    func fold(
        _ batch: RecordBatch, inputs: RefoldInputs, looksAtLeftOut: Bool = false,
        _ body: (FoldedRecord) throws -> Void
    ) throws {
        var index = 0
        while index < batch.count {
            let epoch = try epoch(of: batch.position(index).offset)
            let end = epochs.first { $0.fromOffset > epoch.fromOffset }?.fromOffset ?? .max
            selected.removeAll()
            while index < batch.count, batch.position(index).offset < end {
                selected.append(borrowed: batch[index], from: batch)
                index += 1
            }
            try fold(under: epoch.configuration).fold(
                selected, inputs, looksAtLeftOut: looksAtLeftOut, body)
        }
    }

    private func epoch(of offset: Int64) throws(ExplanationError) -> Epoch {
        guard let epoch = epochs.last(where: { $0.fromOffset <= offset }) else {
            throw .unknownEpoch(topic: topic, partition: partition, offset: offset)
        }
        return epoch
    }

    private func fold(under configuration: FoldConfiguration) throws -> any RecordFold {
        if let fold = folds[configuration.hash] { return fold }
        let fold = try rules.makeFold(
            stream: stream, topic: topic, configuration: configuration, whereRow: isRowWanted,
            emitsAll: emitsAll)
        folds[configuration.hash] = fold
        return fold
    }
}

/// Folds records again, one by one, under one configuration.
protocol RecordFold: AnyObject {
    /// Calls `body` with each record of a batch.
    ///
    /// - Parameter looksAtLeftOut: whether to compute what duplicates and others would have added.
    func fold(
        _ batch: RecordBatch, _ inputs: RefoldInputs, looksAtLeftOut: Bool,
        _ body: (FoldedRecord) throws -> Void
    ) throws
}

/// A stream's own fold, with memory's answers from the first folding.
final class RecalledFold<Fold: StreamFold>: RecordFold {
    private let fold: Fold
    private let memory = RecalledMemory()
    private let tables: [AddedRows]
    private let outcomes: AddedRows
    private let skipsOthers: Bool

    /// - Parameter isWanted: selects the rows of interest; nil for all.
    init(_ fold: Fold, where isWanted: RowFilter?) {
        self.fold = fold
        tables = fold.deltas.map { AddedRows($0, where: isWanted) }
        outcomes = AddedRows(fold.effects.outcomes, where: isWanted)
        skipsOthers = isWanted != nil
        fold.recall(from: memory)
    }

    func fold(
        _ batch: RecordBatch, _ inputs: RefoldInputs, looksAtLeftOut: Bool,
        _ body: (FoldedRecord) throws -> Void
    ) throws {
        guard !batch.isEmpty else { return }
        memory.removeAll()
        for recollection in inputs.recollections { memory.add(recollection) }
        let prepared = fold.prepare(batch)
        for index in 0..<batch.count {
            let record = batch[index]
            try fold.fold(index, of: prepared)
            let hasOverflowed =
                !inputs.overflows.isEmpty && inputs.overflows.contains(record.offset)
            if hasOverflowed || !skipsOthers || isWanted {
                try body(
                    folded(
                        record, index, of: prepared, hasOverflowed: hasOverflowed,
                        looksAtLeftOut: looksAtLeftOut)
                )
            }
            fold.clear()
        }
    }

    /// Whether the current record adds to a wanted row, or was not accepted: then other rows may be of interest.
    private var isWanted: Bool {
        var isWanted = false
        outcomes.forEach({ fold.effects.symbols }) { row, measures in
            isWanted = isWanted || row.isWanted || measures[Outcome.accepted.rawValue] == 0
        }
        for table in tables where !isWanted {
            table.forEach({ fold.effects.symbols }) { row, _ in
                isWanted = isWanted || row.isWanted
            }
        }
        return isWanted
    }

    private func folded(
        _ record: RecordView, _ index: Int, of prepared: Fold.Prepared, hasOverflowed: Bool,
        looksAtLeftOut: Bool
    ) throws -> FoldedRecord {
        let answers = fold.effects.recollections.first?.answers
        var newIDs: [RecordID] = []
        if !Fold.memoryTables.isEmpty {
            let writer = NewIDs()
            try fold.writeMemory(to: writer)
            newIDs = writer.ids
        }
        var leftOut: [Addition] = []
        if hasOverflowed {
            // A record that overflows on its own has no amounts.
            leftOut = fold.hasOverflowed ? [] : additions(in: tables)
            fold.rejectOverflow(index, of: prepared)
        }
        let refusal = fold.effects.refused.first
        let outbox = fold.outbox
        let outcomes = additions(in: [outcomes])
        let counted = additions(in: tables)
        let outcome = outcomes.first?.outcome ?? .rejected
        let isRepeated = outcome == .duplicates || outcome == .conflicts
        if looksAtLeftOut, isRepeated {
            fold.clear()
            memory.isSilent = true
            defer { memory.isSilent = false }
            try fold.fold(index, of: prepared)
            leftOut = additions(in: tables)
        }
        let original = answers.flatMap(Fold.originalOffset(in:))
        let isReplacing = Fold.replacesRecords && outcome == .accepted
        var type = ""
        if case .text(let text)? = outcomes.first?.row.columns.last { type = text }
        return FoldedRecord(
            record: record, hour: Hour(containing: max(record.timestampMilliseconds, 0)),
            type: type, outcome: outcome, additions: counted + outcomes, leftOut: leftOut,
            refusal: refusal, answers: answers,
            originalOffset: isRepeated ? original : nil,
            replacedOffset: isReplacing ? original : nil,
            newIDs: newIDs, outbox: outbox)
    }

    private func additions(in tables: [AddedRows]) -> [Addition] {
        var additions: [Addition] = []
        for table in tables {
            table.forEach({ fold.effects.symbols }) { row, measures in
                additions.append(Addition(row: row, measures: Array(measures)))
            }
        }
        return additions
    }
}
