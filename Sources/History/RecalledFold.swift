import EventLog
import Reports
import Store
import Streams

/// What ranges of a partition are folded again with, beside the records.
package struct RefoldNotes: Sendable {
    /// What memory answered about the records.
    package var recollections: [Recollection] = []
    /// The offsets of records that were rejected because a sum would have overflowed.
    package var overflows: Set<Int64> = []

    init() {}

    /// Reads what a store noted.
    init(_ snapshot: StoreSnapshot, partition: Int32, offsets: Range<Int64>) throws {
        recollections = try snapshot.recollections(partition: partition, offsets: offsets)
        overflows = try snapshot.overflows(partition: partition, offsets: offsets)
    }
}

/// A record that was folded again, with what it did when it was folded the first time.
package struct FoldedRecord {
    /// The record; its bytes are valid within the call that hands it out.
    package let record: RecordView
    /// The hour that it counts in.
    package let hour: Hour
    /// The type that it is counted under in `outcomes`.
    package let type: String
    package let outcome: Outcome
    /// What it added, to `outcomes` too.
    package let additions: [Addition]
    /// What it would have added if nothing before it had been known, and its sums had fitted; empty unless
    /// that was asked for and it is a duplicate, a conflict or an overflow.
    package let leftOut: [Addition]
    /// Why it is kept instead of counted; nil for accepted records and duplicates.
    package let refusal: RefusedRecord?
    /// What memory answered about it, as its stream writes it; nil when nothing was known.
    package let answers: [UInt8]?
    /// Where the record lies that a duplicate or a conflict repeats; nil where the stream does not remember it.
    package let originalOffset: Int64?
    /// Where the record lies whose place an accepted one takes; nil where there is none.
    package let replacedOffset: Int64?
    /// The ids that its stream remembers for ever from it on.
    package let newIDs: [RecordID]
}

/// Takes note of the ids that a fold would remember for ever.
private final class NewIDs: FoldMemoryWriter {
    private(set) var ids: [RecordID] = []

    func write(_ row: [MemoryValue], to table: MemoryTable, partition: Int32) {
        if case .id(let id)? = row.first { ids.append(id) }
    }

    func append(
        _ ids: [DedupeWindow.Entry], to window: DedupeWindow, at progress: PartitionProgress
    ) {}
}

/// What a record adds to a row.
package struct Addition {
    package let row: AddedRow
    /// One amount for each measure of the aggregate.
    package let measures: [Int64]

    /// The outcome that a row of `outcomes` counts.
    fileprivate var outcome: Outcome? {
        measures.firstIndex { $0 != 0 }.flatMap(Outcome.init(rawValue:))
    }
}

/// A row of an aggregate that records add to. Records that add to one row mostly share it.
package final class AddedRow {
    package let table: AggregateTable
    /// One value for each column; booleans are 0 and 1.
    package let columns: [StoredValue]
    /// What the row gives to the number that is explained, and whether it would count if it were
    /// trusted and winning: worked out once.
    private var known: (terms: [NumberTerm]?, concerns: Bool)?

    fileprivate init(_ table: AggregateTable, _ columns: [StoredValue]) {
        self.table = table
        self.columns = columns
    }

    /// What the row has to do with a number. A row is only ever held against one.
    func contribution(to number: any Number) -> (terms: [NumberTerm]?, concerns: Bool) {
        if let known { return known }
        let found = (
            terms: number.terms(of: table, columns: columns),
            concerns: number.concerns(table, columns: columns)
        )
        known = found
        return found
    }
}

/// The rows of a fold's tables, made once for all the records that add to them.
private final class AddedRows {
    private final class Table {
        var generation: RowGeneration
        var rows: [AddedRow?] = []

        init(_ generation: RowGeneration) { self.generation = generation }
    }

    private var tables: [ObjectIdentifier: Table] = [:]

    /// What the tables of a fold hold.
    func additions(in tables: [Deltas], _ symbols: SymbolTable) -> [Addition] {
        var additions: [Addition] = []
        for deltas in tables where deltas.count > 0 {
            let known = table(deltas.generation)
            deltas.forEachRow { index, measures in
                guard measures.contains(where: { $0 != 0 }) else { return }
                while known.rows.count <= index { known.rows.append(nil) }
                let row =
                    known.rows[index]
                    ?? AddedRow(deltas.table, Self.columns(ofRow: index, of: deltas, symbols))
                known.rows[index] = row
                additions.append(Addition(row: row, measures: Array(measures)))
            }
        }
        return additions
    }

    private func table(_ generation: RowGeneration) -> Table {
        if let table = tables[ObjectIdentifier(generation)] { return table }
        // A generation that nobody else holds has ended.
        tables = tables.filter { !isKnownUniquelyReferenced(&$0.value.generation) }
        let table = Table(generation)
        tables[ObjectIdentifier(generation)] = table
        return table
    }

    private static func columns(
        ofRow row: Int, of deltas: Deltas, _ symbols: SymbolTable
    ) -> [StoredValue] {
        var columns: [StoredValue] = []
        deltas.forEachColumn(ofRow: row) { value in
            switch value {
            case .hour(let hour): columns.append(.text(hour.text))
            case .day(let hour): columns.append(.text(hour.day))
            case .symbol(let symbol): columns.append(.text(symbols.text(symbol)))
            case .text(let text): columns.append(.text("\(text)"))
            case .integer(let integer): columns.append(.integer(integer))
            case .boolean(let boolean): columns.append(.integer(boolean ? 1 : 0))
            }
        }
        return columns
    }
}

/// Folds records of one partition again, each under the configuration that was in force when it was folded
/// the first time.
final class PartitionFold {
    private let stream: String
    private let topic: String
    private let partition: Int32
    private let epochs: [Epoch]
    private let rules: RuleSource
    /// By hash of the configuration.
    private var folds: [String: any RecordFold] = [:]
    private let selected = RecordBatch()

    /// - Parameter epochs: the configurations that were in force, by offset.
    init(
        stream: String, topic: String, partition: Int32, epochs: [Epoch], rules: RuleSource
    ) {
        self.stream = stream
        self.topic = topic
        self.partition = partition
        self.epochs = epochs
        self.rules = rules
    }

    /// Calls `body` with each record of a batch that is wanted, with what it did when it was folded the
    /// first time.
    ///
    /// - Parameters:
    ///   - notes: what the store noted of these records.
    ///   - looksAtLeftOut: whether to find out what duplicates and others would have added.
    /// - Throws: `RecordedConfigurationFault` when a configuration cannot be put in force again,
    ///   `ExplanationError.unknownEpoch` for a record of none; what `body` throws.
    func fold(
        _ batch: RecordBatch, notes: RefoldNotes, looksAtLeftOut: Bool = false,
        where isWanted: (RecordView) -> Bool = { _ in true },
        _ body: (FoldedRecord) throws -> Void
    ) throws {
        var index = 0
        while index < batch.count {
            let epoch = try epoch(of: batch.position(index).offset)
            let end = epochs.first { $0.fromOffset > epoch.fromOffset }?.fromOffset ?? .max
            selected.removeAll()
            while index < batch.count, batch.position(index).offset < end {
                let record = batch[index]
                if isWanted(record) { selected.append(borrowed: record, from: batch) }
                index += 1
            }
            guard !selected.isEmpty else { continue }
            try fold(under: epoch.configuration).fold(
                selected, notes, looksAtLeftOut: looksAtLeftOut, body)
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
        let fold = try rules.makeFold(stream: stream, topic: topic, configuration: configuration)
        folds[configuration.hash] = fold
        return fold
    }
}

/// Folds records again, one by one, under one configuration.
protocol RecordFold: AnyObject {
    /// Calls `body` with each record of a batch.
    ///
    /// - Parameter looksAtLeftOut: whether to find out what duplicates and others would have added.
    func fold(
        _ batch: RecordBatch, _ notes: RefoldNotes, looksAtLeftOut: Bool,
        _ body: (FoldedRecord) throws -> Void
    ) throws
}

/// A stream's own fold, with memory's answers of the first time.
final class RecalledFold<Fold: StreamFold>: RecordFold {
    private let fold: Fold
    private let memory = RecalledMemory()
    private let rows = AddedRows()

    init(_ fold: Fold) {
        self.fold = fold
        fold.recall(from: memory)
    }

    func fold(
        _ batch: RecordBatch, _ notes: RefoldNotes, looksAtLeftOut: Bool,
        _ body: (FoldedRecord) throws -> Void
    ) throws {
        guard !batch.isEmpty else { return }
        memory.removeAll()
        for recollection in notes.recollections { memory.add(recollection) }
        fold.begin(fold.prepare(batch))
        for index in 0..<batch.count {
            try body(
                fold(
                    batch[index], index,
                    hasOverflowed: notes.overflows.contains(batch[index].offset),
                    looksAtLeftOut: looksAtLeftOut))
            fold.clear()
        }
    }

    private func fold(
        _ record: RecordView, _ index: Int, hasOverflowed: Bool, looksAtLeftOut: Bool
    ) throws -> FoldedRecord {
        try fold.fold(index)
        let answers = fold.effects.recollections.first?.answers
        let newIDs = NewIDs()
        if !Fold.memoryTables.isEmpty { try fold.writeMemory(to: newIDs) }
        var leftOut: [Addition] = []
        if hasOverflowed {
            // What overflows by itself has no amounts.
            leftOut = fold.hasOverflowed ? [] : additions(in: fold.deltas)
            fold.rejectOverflow(index)
        }
        let refusal = fold.effects.refused.first
        let outcomes = additions(in: [fold.effects.outcomes])
        let counted = additions(in: fold.deltas)
        let outcome = outcomes.first?.outcome ?? .rejected
        let isRepeated = outcome == .duplicates || outcome == .conflicts
        if looksAtLeftOut, isRepeated {
            fold.clear()
            memory.isSilent = true
            defer { memory.isSilent = false }
            try fold.fold(index)
            leftOut = additions(in: fold.deltas)
        }
        let known = answers.flatMap(Fold.originalOffset(in:))
        let isReplacing = Fold.replacesRecords && outcome == .accepted
        var type = ""
        if case .text(let text)? = outcomes.first?.row.columns.last { type = text }
        return FoldedRecord(
            record: record, hour: Hour(containing: max(record.timestampMilliseconds, 0)),
            type: type, outcome: outcome, additions: counted + outcomes, leftOut: leftOut,
            refusal: refusal, answers: answers,
            originalOffset: isRepeated ? known : nil, replacedOffset: isReplacing ? known : nil,
            newIDs: newIDs.ids)
    }

    private func additions(in tables: [Deltas]) -> [Addition] {
        rows.additions(in: tables, fold.effects.symbols)
    }
}
