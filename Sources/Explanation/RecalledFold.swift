import AggregateStore
import EventLog
import Streams

/// Folds records again, one by one, under one configuration.
protocol RecordFold: AnyObject {
    /// Calls `body` with each record of a batch.
    ///
    /// - Parameter looksAtLeftOut: whether to find out what duplicates and others would have added.
    func fold(
        _ batch: RecordBatch, _ notes: StretchNotes, looksAtLeftOut: Bool,
        _ body: (FoldedRecord) throws -> Void
    ) throws
}

/// A stream's own fold, with memory's answers of the first time.
final class RecalledFold<Fold: StreamFold>: RecordFold {
    private let fold: Fold
    private let memory = RecalledMemory()
    private let rows = AdditionRows()

    init(_ fold: Fold) {
        self.fold = fold
        fold.recall(from: memory)
    }

    func fold(
        _ batch: RecordBatch, _ notes: StretchNotes, looksAtLeftOut: Bool,
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
        var leftOut: [Addition] = []
        if hasOverflowed {
            // What overflows by itself has no amounts.
            leftOut = fold.hasOverflowed ? [] : additions()
            fold.rejectOverflow(index)
        }
        let refusal = fold.effects.refused.first
        let outcomes = outcomes()
        let counted = additions()
        let outcome = outcomes.first?.outcome ?? .rejected
        if looksAtLeftOut, outcome == .duplicates || outcome == .conflicts {
            fold.clear()
            memory.isSilent = true
            defer { memory.isSilent = false }
            try fold.fold(index)
            leftOut = additions()
        }
        var type = ""
        if case .text(let text)? = outcomes.first?.row.columns.last { type = text }
        return FoldedRecord(
            record: record, hour: Hour(containing: max(record.timestampMilliseconds, 0)),
            type: type, outcome: outcome, additions: counted + outcomes, leftOut: leftOut,
            refusal: refusal, answers: answers)
    }

    private func additions() -> [Addition] {
        var collector = Collector(rows: rows)
        fold.visitAdditions(&collector)
        return collector.additions
    }

    private func outcomes() -> [Addition] {
        var collector = Collector(rows: rows)
        collector.visit(fold.effects.outcomes, symbols: fold.effects.symbols)
        return collector.additions
    }
}

extension Addition {
    /// The outcome that a row of `outcomes` counts.
    fileprivate var outcome: Outcome? {
        measures.firstIndex { $0 != 0 }.flatMap(Outcome.init(rawValue:))
    }
}

/// Collects what a record adds.
private struct Collector: AdditionVisitor {
    let rows: AdditionRows
    var additions: [Addition] = []

    mutating func visit<Key: RowKey>(_ deltas: DeltaTable<Key>, symbols: SymbolTable) {
        rows.additions(in: deltas, symbols: symbols, to: &additions)
    }
}
