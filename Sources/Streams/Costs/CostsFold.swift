import EventLog
import JSON

package final class CostsFold: LastingFold {
    package let state: LastingState
    private let rules: CostsRules
    private let parser: JSONParser
    private var decoder = CostsDecoder()

    let costs = DeltaTable<CostsKey>()
    package var deltas: [Deltas] { [costs] }
    /// The last report of each cell.
    private let reportedCosts: LastingRows<ReportedCost>

    /// - Parameter memory: the store's memory.
    package init(
        topic: String, rules: CostsRules, parser: JSONParser, memory: any FoldMemory
    ) {
        self.rules = rules
        self.parser = parser
        state = LastingState(topic: topic, memory: memory)
        reportedCosts = state.rows(of: ReportedCost.self)
    }

    package func take(
        _ record: RecordView, at position: FoldPosition, of prepared: RecordBatch
    ) throws -> (Outcome, StaticString) {
        let envelope = Envelope<Kind>(record)
        let event: CostsEvent
        do throws(Rejection) {
            event = try decode(record, envelope, position)
        } catch {
            refuse(record, at: position, .rejected(error))
            return (.rejected, envelope.countedType)
        }
        return (try count(event, position), envelope.countedType)
    }

    package static func originalOffset(in answers: [UInt8]) -> Int64? {
        ReportedCost(answers: answers)?.offset
    }

    private func decode(
        _ record: RecordView, _ envelope: Envelope<Kind>, _ position: FoldPosition
    ) throws(Rejection) -> CostsEvent {
        let value = try envelope.value(
            of: record, parser: parser, maxRecordBytes: rules.maxRecordBytes)
        let event = try decoder.decode(
            value, envelope.type ?? .byDefault, symbols: &state.effects.symbols)
        try CostsDecoder.check(event, at: position.timestampMilliseconds)
        return event
    }
}

extension CostsFold {
    /// Replaces the previous report of the cell.
    ///
    /// Sums cannot overflow: a row is a cell, so its sums are always the figures of one report.
    private func count(_ event: CostsEvent, _ position: FoldPosition) throws -> Outcome {
        let last = try state.remembered(event.cell, in: reportedCosts, at: position)
        if let last { state.effects.remember(last.answers, about: position) }
        guard last?.words != event.words else { return .duplicates }
        reportedCosts.write(
            ReportedCost(words: event.words, offset: position.offset), event.cell,
            position.partition)
        let row = costs.row(event.key, at: position, hour: event.day)
        let before = last?.words ?? CostsWords()
        costs.add(event.words.costMicros - before.costMicros, to: .costMicros, row: row)
        costs.add(event.words.impressions - before.impressions, to: .reportedImpressions, row: row)
        costs.add(event.words.clicks - before.clicks, to: .reportedClicks, row: row)
        costs.add(event.words.installs - before.installs, to: .reportedInstalls, row: row)
        if last != nil { costs.count(.restatements, row: row) }
        return .accepted
    }
}
