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
        additions(of: fold.deltas)
    }

    private func outcomes() -> [Addition] {
        additions(of: [fold.effects.outcomes])
    }

    private func additions(of tables: [Deltas]) -> [Addition] {
        var additions: [Addition] = []
        for table in tables {
            rows.additions(in: table, symbols: fold.effects.symbols, to: &additions)
        }
        return additions
    }
}

extension Addition {
    /// The outcome that a row of `outcomes` counts.
    fileprivate var outcome: Outcome? {
        measures.firstIndex { $0 != 0 }.flatMap(Outcome.init(rawValue:))
    }
}
