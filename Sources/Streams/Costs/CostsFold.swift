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
    private let reports: LastingRows<CostsReport>

    /// - Parameter memory: the store's memory.
    package init(
        topic: String, rules: CostsRules, parser: JSONParser, memory: any FoldMemory
    ) {
        self.rules = rules
        self.parser = parser
        state = LastingState(topic: topic, memory: memory)
        reports = state.rows(of: CostsReport.self)
    }

    package func take(
        _ record: RecordView, at place: FoldPosition, of prepared: RecordBatch
    ) throws -> (Outcome, StaticString) {
        let envelope = Envelope<Kind>(record)
        let event: CostsEvent
        do throws(Rejection) {
            event = try decode(record, envelope, place)
        } catch {
            refuse(record, at: place, .rejected(error))
            return (.rejected, envelope.countedType)
        }
        return (try count(event, place), envelope.countedType)
    }

    package static func originalOffset(in answers: [UInt8]) -> Int64? {
        CostsReport(answers: answers)?.offset
    }

    private func decode(
        _ record: RecordView, _ envelope: Envelope<Kind>, _ place: FoldPosition
    ) throws(Rejection) -> CostsEvent {
        let value = try envelope.value(
            of: record, parser: parser, maxRecordBytes: rules.maxRecordBytes)
        let event = try decoder.decode(
            value, envelope.type ?? .byDefault, symbols: &state.effects.symbols)
        try CostsDecoder.check(event, at: place.timestampMilliseconds)
        return event
    }
}

extension CostsFold {
    /// Replaces the previous report of the cell.
    ///
    /// Sums cannot overflow: a row is a cell, so its sums are always the figures of one report.
    private func count(_ event: CostsEvent, _ place: FoldPosition) throws -> Outcome {
        let last = try state.known(event.cell, in: reports, at: place)
        if let last { state.effects.note(last.answers, about: place) }
        guard last?.words != event.words else { return .duplicates }
        reports.write(
            CostsReport(words: event.words, offset: place.offset), event.cell, place.partition)
        let row = costs.row(event.key, partition: place.partition, hour: event.day)
        let before = last?.words ?? CostsWords()
        costs.add(event.words.costMicros - before.costMicros, to: .costMicros, row: row)
        costs.add(event.words.impressions - before.impressions, to: .reportedImpressions, row: row)
        costs.add(event.words.clicks - before.clicks, to: .reportedClicks, row: row)
        costs.add(event.words.installs - before.installs, to: .reportedInstalls, row: row)
        if last != nil { costs.count(.restatements, row: row) }
        return .accepted
    }
}
