import EventLog
import JSON

package final class CostsFold: StreamFold {
    private let rules: CostsRules
    private let parser: JSONParser
    private var decoder = CostsDecoder()
    private let memory: any FoldMemory
    private var batch: RecordBatch?
    private var watermarks: [Int32: Int64] = [:]
    private var recalled: RecalledMemory?

    package private(set) var effects: FoldEffects
    let costs = DeltaTable<CostsKey>()
    package var deltas: [Deltas] { [costs] }
    /// The cells that the batch reported, by the last report of each.
    private var reports: [Int32: [RecordID: CostsReport]] = [:]

    /// - Parameter memory: what the store knows.
    package init(
        topic: String, rules: CostsRules, parser: JSONParser, memory: any FoldMemory
    ) {
        self.rules = rules
        self.parser = parser
        self.memory = memory
        effects = FoldEffects(topic: topic)
    }

    package func restore(
        partition: Int32, watermarkMilliseconds: Int64, from memory: any FoldMemory
    ) {
        watermarks[partition] = watermarkMilliseconds
    }

    package func forget(partition: Int32) {
        watermarks[partition] = nil
    }

    package func writeMemory(to writer: any FoldMemoryWriter) throws {
        for (partition, reports) in reports {
            // In order of the cells, so that neighbours on disk are written together.
            for (cell, report) in reports.sorted(by: { $0.key < $1.key }) {
                try writer.write(
                    [.id(cell)] + report.row, to: CostsReport.table, partition: partition)
            }
        }
    }

    package func prepare(_ batch: RecordBatch) -> RecordBatch { batch }

    package func begin(_ batch: RecordBatch) {
        self.batch = batch
    }

    package func fold(_ index: Int) throws {
        guard let batch else { return }
        let record = batch[index]
        let place = advance(record, index)
        let envelope = Envelope<Kind>(record)
        let outcome: Outcome
        switch decode(record, envelope, place) {
        case .success(let event): outcome = try take(event, place)
        case .failure(let rejection):
            outcome = .rejected
            refuse(index, envelope, rejection)
        }
        effects.count(outcome, at: place, type: envelope.countedType)
    }

    package func rejectOverflow(_ index: Int) {
        guard let batch else { return }
        clear()
        let record = batch[index]
        let place = advance(record, index)
        let envelope = Envelope<Kind>(record)
        refuse(index, envelope, .overflow)
        effects.count(.rejected, at: place, type: envelope.countedType)
    }

    package func recall(from memory: RecalledMemory) {
        recalled = memory
    }

    package static func originalOffset(in answers: [UInt8]) -> Int64? {
        CostsReport(answers: answers)?.offset
    }

    package func clear() {
        let keepsRows = effects.removeAll()
        costs.removeAll(keepingRows: keepsRows)
        reports.removeAll(keepingCapacity: true)
    }

    private func advance(_ record: RecordView, _ index: Int) -> FoldPosition {
        let place = FoldPosition(record, index: index)
        let watermark = max(watermarks[place.partition] ?? 0, place.timestampMilliseconds)
        watermarks[place.partition] = watermark
        effects.advance(record, in: place.hour, watermarkMilliseconds: watermark)
        return place
    }

    private func decode(
        _ record: RecordView, _ envelope: Envelope<Kind>, _ place: FoldPosition
    ) -> Result<CostsEvent, Rejection> {
        do throws(Rejection) {
            let value = try envelope.value(
                of: record, parser: parser, maxRecordBytes: rules.maxRecordBytes)
            let event = try decoder.decode(
                value, envelope.type ?? .byDefault, symbols: &effects.symbols)
            try CostsDecoder.check(event, at: place.timestampMilliseconds)
            return .success(event)
        } catch {
            return .failure(error)
        }
    }

    private func refuse(_ index: Int, _ envelope: Envelope<Kind>, _ rejection: Rejection) {
        effects.refuse(
            RefusedRecord(index: index, type: envelope.statedType, cause: .rejected(rejection)))
    }
}

extension CostsFold {
    /// Puts a report in the place of the one before it.
    ///
    /// No sum overflows: a row is a cell, so that its sums are always the words of one report.
    private func take(_ event: CostsEvent, _ place: FoldPosition) throws -> Outcome {
        let last = try lastReport(of: event.cell, place)
        if let last { effects.note(last.answers, about: place) }
        guard last?.words != event.words else { return .duplicates }
        reports[place.partition, default: [:]][event.cell] = CostsReport(
            words: event.words, offset: place.offset)
        let row = costs.row(event.key, partition: place.partition, hour: event.day)
        let before = last?.words ?? CostsWords()
        costs.add(event.words.costMicros - before.costMicros, to: .costMicros, row: row)
        costs.add(event.words.impressions - before.impressions, to: .reportedImpressions, row: row)
        costs.add(event.words.clicks - before.clicks, to: .reportedClicks, row: row)
        costs.add(event.words.installs - before.installs, to: .reportedInstalls, row: row)
        if last != nil { costs.count(.restatements, row: row) }
        return .accepted
    }

    /// Nil for a cell of which nothing was reported.
    private func lastReport(of cell: RecordID, _ place: FoldPosition) throws -> CostsReport? {
        if let recalled {
            return recalled.answers(partition: place.partition, offset: place.offset)
                .flatMap { CostsReport(answers: $0) }
        }
        return try reports[place.partition]?[cell]
            ?? memory.row(of: CostsReport.table, partition: place.partition, key: .id(cell))
            .map { CostsReport($0) }
    }
}
