import EventLog
import Foundation
import Reports
import Signatures
import Store
import Streams
import Wording

/// Folds the records of evidence again, and compares.
struct EvidenceRefold {
    private struct RowKey: Hashable {
        var stream: String
        var partition: Int32
        var aggregate: String
        var columns: [StoredValue]
    }

    private struct NewID: Hashable {
        var place: StreamPartition
        var id: RecordID
    }

    private let rows: [EvidenceRow]
    private let notes: [StreamPartition: RefoldNotes]
    private let configurations: [StreamPartition: [EvidenceConfiguration]]
    private let roots: [AppStoreRoot]
    /// The query for refused records; nil if they cannot be queried.
    private let figure: (any Figure)?
    private var sums: [RowKey: [Int128]] = [:]
    private var tables: [String: AggregateTable] = [:]
    private var folded: Int64 = 0
    private var faults: [String] = []
    private var maskedCount: Int64 = 0
    /// The ids of records that were accepted without any memory of them: each must be unique.
    private var ids: Set<NewID> = []
    /// Refused records that count as refused.
    private(set) var refusals: Int64 = 0

    /// The most faults that are listed individually.
    private static let faultsNamed = 5

    init(
        _ rows: [EvidenceRow], _ notes: [EvidenceNote], _ configurations: [EvidenceConfiguration],
        _ roots: [AppStoreRoot], figure: (any Figure)?
    ) {
        self.rows = rows
        self.figure = figure
        self.roots = roots
        var byPlace: [StreamPartition: RefoldNotes] = [:]
        for note in notes {
            let place = StreamPartition(stream: note.stream, partition: note.partition)
            if note.overflow == true {
                byPlace[place, default: RefoldNotes()].overflows.insert(note.offset)
            }
            guard let text = note.answers, let answers = Data(base64Encoded: text) else { continue }
            byPlace[place, default: RefoldNotes()].recollections.append(
                Recollection(
                    partition: note.partition, offset: note.offset, answers: [UInt8](answers)))
        }
        self.notes = byPlace.mapValues { notes in
            var notes = notes
            notes.recollections.sort { $0.offset < $1.offset }
            return notes
        }
        self.configurations = Dictionary(grouping: configurations) {
            StreamPartition(stream: $0.stream, partition: $0.partition)
        }
    }

    mutating func fold(_ records: [EvidenceRecord]) {
        // The largest offset has no next offset.
        let atNoOffset = records.filter { !(0..<Int64.max).contains($0.offset) }
        faults += atNoOffset.map { "\($0.description) has an impossible offset" }
        guard atNoOffset.isEmpty else { return }
        let places = Dictionary(grouping: records) {
            StreamPartition(stream: $0.stream, partition: $0.partition)
        }
        for place in places.keys.sorted(by: {
            ($0.stream, $0.partition) < ($1.stream, $1.partition)
        }) {
            let own = (places[place] ?? []).sorted { $0.offset < $1.offset }
            do {
                try fold(own, place)
            } catch {
                faults.append("\(place.stream)/\(place.partition) cannot be folded: \(error)")
            }
        }
    }

    private mutating func fold(_ records: [EvidenceRecord], _ place: StreamPartition) throws {
        let epochs = (configurations[place] ?? []).sorted { $0.fromOffset < $1.fromOffset }
        let fold = PartitionFold(
            stream: place.stream, topic: records.first?.topic ?? "", partition: place.partition,
            epochs: epochs.map {
                Epoch(
                    fromOffset: $0.fromOffset,
                    configuration: FoldConfiguration(
                        text: $0.text, dedupeWindowMilliseconds: $0.dedupeWindowMs))
            }, rules: .masked(roots: roots))
        for (record, next) in zip(records, records.dropFirst()) where record.offset == next.offset {
            faults.append("\(record.description) occurs twice")
        }
        let known = notes[place] ?? RefoldNotes()
        // Each part gets only its own answers.
        var answered = known.recollections[...]
        for start in stride(from: 0, to: records.count, by: 1000) {
            let part = records[start..<min(start + 1000, records.count)]
            let last = part.last?.offset ?? 0
            let end = answered.firstIndex { $0.offset > last } ?? answered.endIndex
            var notes = known
            notes.recollections = Array(answered[..<end])
            answered = answered[end...]
            let batch = RecordBatch()
            for record in part where !record.append(to: batch) {
                faults.append("\(record.description) has bytes that are not base64")
            }
            var byOffset: [Int64: EvidenceRecord] = [:]
            for record in part { byOffset[record.offset] = record }
            try fold.fold(batch, notes: notes) { folded in
                guard let record = byOffset[folded.record.offset] else { return }
                take(folded, record)
            }
        }
    }

    private mutating func take(_ folded: FoldedRecord, _ record: EvidenceRecord) {
        self.folded += 1
        if record.masked == true {
            maskedCount += 1
            // A wrong password is masked like a right one, so the noted outcome counts.
            if record.outcome == "\(Outcome.untrusted.name)" {
                return takeUntrusted(folded, record)
            }
        }
        guard "\(folded.outcome.name)" == record.outcome else {
            let why = folded.refusal.map { " (\($0.reason): \($0.detail))" } ?? ""
            faults.append(
                "\(record.description) is \(folded.outcome.name)\(why), but the file has \(record.outcome)"
            )
            return
        }
        if let refusal = folded.refusal, record.leftOut == nil,
            figure?.counts(StoredRefusal(refusal, of: folded.record), topic: record.topic) ?? false
        {
            refusals += 1
        }
        if folded.outcome == .accepted, folded.answers == nil {
            let place = StreamPartition(stream: record.stream, partition: record.partition)
            for id in folded.newIDs where !ids.insert(NewID(place: place, id: id)).inserted {
                faults.append("\(record.description) has the id of another record in the file")
            }
        }
        for addition in folded.additions { add(addition.measures, to: addition.row, record) }
    }

    /// Counts an untrusted record, which adds only to `outcomes`.
    private mutating func takeUntrusted(_ folded: FoldedRecord, _ record: EvidenceRecord) {
        if record.leftOut == nil { refusals += 1 }
        let untrusted = Outcome.allCases.map { Int64($0 == .untrusted ? 1 : 0) }
        for addition in folded.additions where addition.row.table.name == OutcomeKey.table.name {
            add(untrusted, to: addition.row, record)
        }
    }

    private mutating func add(_ measures: [Int64], to row: AddedRow, _ record: EvidenceRecord) {
        tables[row.table.name] = row.table
        let key = RowKey(
            stream: record.stream, partition: record.partition, aggregate: row.table.name,
            columns: row.columns)
        var amounts = sums[key] ?? row.table.measures.map { _ in 0 }
        for (place, amount) in measures.enumerated() { amounts[place] += Int128(amount) }
        sums[key] = amounts
    }

    var checks: [EvidenceVerifier.Check] {
        let rowFaults = rows.compactMap(fault)
        var checks = [
            EvidenceVerifier.Check(
                "signatures", Self.limited(faults),
                "\(counted(folded, "record")) \(folded == 1 ? "was" : "were") verified and folded again with the same result"
            ),
            EvidenceVerifier.Check(
                "aggregate", Self.limited(rowFaults),
                "the records add up to every row (\(counted(rows.count, "row")))"),
        ]
        if maskedCount > 0 {
            checks.append(
                EvidenceVerifier.Check(
                    "masked", [],
                    "\(counted(maskedCount, "record")) \(maskedCount == 1 ? "contains" : "contain") a masked password or receipt, which cannot be "
                        + "verified again: the recorded verdict is used"))
        }
        return checks
    }

    /// The first faults, and the number of the others.
    static func limited(_ faults: [String]) -> [String] {
        let more = faults.count - faultsNamed
        return faults.prefix(faultsNamed) + (more > 0 ? ["and \(more) more"] : [])
    }

    /// The fault of a row: nil if the records add up to its counted measures.
    private func fault(_ row: EvidenceRow) -> String? {
        let given = row.gives.compactMap(\.first)
        guard let table = tables[row.aggregate] else {
            return given.isEmpty ? nil : "no record adds to \(row.aggregate) \(row.description)"
        }
        let columns = table.columns.map { row.columns[$0.name] ?? .text("") }
        let key = RowKey(
            stream: row.stream, partition: row.partition, aggregate: row.aggregate,
            columns: columns)
        for measure in given {
            let found =
                table.measures.firstIndex(of: measure).flatMap { sums[key]?[$0] } ?? 0
            let stored = Int128(row.measures[measure] ?? 0)
            if found != stored {
                return
                    "\(row.aggregate) \(row.description): the records add \(found) to \(measure), but the row "
                    + "has \(stored)"
            }
        }
        return nil
    }
}
