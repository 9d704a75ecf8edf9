import Reports
import Store
import Streams

/// A record with a relation to a figure.
package struct ExplainedRecord {
    /// Its relation to the number.
    package enum Role: Equatable, Sendable {
        /// It adds to the figure.
        case counted
        /// It would be in the figure without this reason for leaving it out.
        case leftOut(String)
        /// It was left out in the same hours; whether it would be in the figure is unknown.
        case untold(String)
    }

    package let stream: String
    package let topic: String
    /// The record with all its effects.
    package let folded: FoldedRecord
    package let role: Role
    /// Its additions to each of the figure's measures.
    package let amounts: FigureAmounts
}

/// The results about a figure, record by record.
struct ExplainerRun {
    let figure: any Figure
    /// The values that all postbacks of the figure share.
    let postbackValues: [String: StoredValue]
    /// Indices of the requested measures; nil for all.
    let wanted: [Int]?
    let testIndex: Int?
    private var found = FigureAmounts()
    /// The number of records that add to each measure.
    private var adding = FigureAmounts()
    private var counted: Int64 = 0
    private var leftOut: Int64 = 0
    /// The topics of records that count or were left out.
    private var concerned: Set<String> = []
    private var untold: [String: [String: Int64]] = [:]
    private var missing: [Explanation.Missing] = []
    private var erased: [ErasedPosition] = []

    init(_ figure: any Figure, _ wanted: [Int]?) {
        self.figure = figure
        postbackValues = figure.postbackValues
        self.wanted = wanted
        testIndex = figure.measures.firstIndex(of: "test")
    }

    /// Adds a record, and passes it on if it relates to the figure.
    mutating func take(
        _ folded: FoldedRecord, _ stream: String, _ topic: String,
        _ body: (ExplainedRecord) throws -> Void
    ) throws {
        let amounts = amounts(of: folded, topic: topic)
        found.add(amounts)
        let role: ExplainedRecord.Role
        if isWanted(amounts) {
            counted += 1
            for (measure, amount) in amounts.amounts.enumerated() where amount != 0 {
                adding.add(1, to: measure)
            }
            role = .counted
        } else if let reason = reasonLeftOut(folded, amounts) {
            leftOut += 1
            role = .leftOut(reason)
        } else if let reason = Self.reasonUntold(folded) {
            untold[topic, default: [:]][reason, default: 0] += 1
            role = .untold(reason)
        } else {
            return
        }
        if case .untold = role {} else { concerned.insert(topic) }
        try body(
            ExplainedRecord(
                stream: stream, topic: topic, folded: folded, role: role, amounts: amounts))
    }

    /// Records the number of records of a partition that the log lacks, or has in excess.
    mutating func add(
        missing records: Int64, _ readings: [RangeReading], topic: String, partition: Int32
    ) {
        erased += readings.flatMap(\.erased)
        guard records != 0 else { return }
        let positions =
            readings.compactMap { $0.gone.map(Explanation.Missing.Position.beforeBegin) }
            + readings.compactMap { $0.beyondEnd.map(Explanation.Missing.Position.afterEnd) }
        for position in records < 0 || positions.isEmpty ? [.between] : positions {
            missing.append(
                Explanation.Missing(
                    topic: topic, partition: partition, position: position, records: records))
        }
    }

    /// The results from the index of the stores.
    ///
    /// - Parameters:
    ///   - leftOut: the number of left-out records that were not taken.
    ///   - topics: those with records that count or were left out.
    ///   - unexamined: the number of records of these hours that were not accepted and not taken, for any number.
    func explanation(
        _ scan: FigureScan, _ indexed: [IndexedRecords], leftOut: Int64, topics: Set<String>,
        unexamined: Int64
    ) -> Explanation {
        var run = self
        run.concerned.formUnion(topics)
        run.found = scan.sums
        run.adding = FigureAmounts()
        run.counted = 0
        for records in indexed {
            for (measure, offsets) in records.adding {
                run.adding.add(Int128(offsets.count), to: measure)
            }
            run.counted += records.counted(wanted).count
        }
        run.leftOut += leftOut
        var explanation = run.explanation(scan)
        explanation.isVerified = false
        explanation.unexamined = unexamined
        return explanation
    }

    /// The results, compared with the stores.
    func explanation(_ scan: FigureScan) -> Explanation {
        let stored = scan.sums
        let names = figure.measures
        let isAnything = { (index: Int) in
            stored[index] != 0 || found[index] != 0 || adding[index] != 0
                || scan.unknown.contains(index)
        }
        let indices =
            wanted.map { $0.count == 1 ? $0 : $0.filter(isAnything) }
            ?? names.indices.filter(isAnything)
        // Amounts appear in the order of rows, which depends on the store's history.
        let bases = indices.map { names[$0].prefix { $0 != " " } }
        let ordered = indices.indices.sorted { left, right in
            let base = bases.firstIndex(of: bases[left])
            let other = bases.firstIndex(of: bases[right])
            return (base ?? 0, names[indices[left]]) < (other ?? 0, names[indices[right]])
        }.map { indices[$0] }
        var explanation = Explanation(
            dump: figure.name,
            measures: ordered.map {
                Explanation.Measure(
                    name: names[$0], index: $0,
                    stored: scan.unknown.contains($0) ? nil : stored[$0], found: found[$0],
                    records: Int64(adding[$0]), currency: scan.currency(of: $0))
            },
            counted: counted, leftOut: leftOut,
            untold: untoldOfConcern, missing: missing)
        explanation.erased = erased
        return explanation
    }

    /// Topics unrelated to the figure are omitted, unless all are unrelated.
    private var untoldOfConcern: [Explanation.Untold] {
        untold.filter { concerned.isEmpty || concerned.contains($0.key) }
            .sorted { $0.key < $1.key }
            .flatMap { topic, reasons in
                reasons.sorted { $0.key < $1.key }.map {
                    Explanation.Untold(topic: topic, reason: $0.key, records: $0.value)
                }
            }
    }

    private func amounts(of folded: FoldedRecord, topic: String) -> FigureAmounts {
        var amounts = FigureAmounts()
        for addition in folded.additions {
            guard let terms = addition.row.contribution(to: figure).terms else { continue }
            amounts.add(addition.measures, terms)
        }
        if let refusal = folded.refusal,
            figure.counts(StoredRefusal(refusal, of: folded.record), topic: topic)
        {
            amounts.add(1, to: 0)
        }
        return amounts
    }

    private func isWanted(_ amounts: FigureAmounts) -> Bool {
        guard let wanted else { return !amounts.isZero }
        return wanted.contains { amounts[$0] != 0 }
    }

    /// The reason why a record related to the figure is left out.
    private func reasonLeftOut(
        _ folded: FoldedRecord, _ amounts: FigureAmounts
    ) -> String? {
        switch folded.outcome {
        case .accepted:
            if let testIndex, amounts[testIndex] != 0 { return "test" }
            guard amounts.isZero else { return nil }
            return reasonNotTrusted(folded)
        case .duplicates, .conflicts, .rejected:
            guard folded.leftOut.contains(where: concerns) else { return nil }
            return Self.reason(folded)
        case .untrusted: return nil
        }
    }

    private func concerns(_ addition: Addition) -> Bool {
        let row = addition.row.contribution(to: figure)
        guard let terms = row.terms else { return row.concerns }
        var amounts = FigureAmounts()
        amounts.add(addition.measures, terms)
        return isWanted(amounts)
    }

    /// Accepted postbacks that are not trusted, or did not win, have their own rows.
    private func reasonNotTrusted(_ folded: FoldedRecord) -> String? {
        guard
            let row = folded.additions.first(where: { $0.row.contribution(to: figure).concerns })?
                .row
        else { return nil }
        return TrustColumns(row.table)?.reasonNotTrusted(row.columns)
    }

    private static func reason(_ folded: FoldedRecord) -> String {
        switch folded.outcome {
        case .duplicates:
            folded.originalOffset.map { "duplicate of offset \($0)" } ?? "duplicate"
        case .conflicts:
            folded.originalOffset.map { "conflict with offset \($0)" } ?? "conflict"
        default: folded.refusal?.reason ?? "rejected"
        }
    }

    /// The reason why a record without enough data to assign it is left out.
    private static func reasonUntold(_ folded: FoldedRecord) -> String? {
        switch folded.outcome {
        case .accepted, .duplicates, .conflicts: nil
        case .untrusted: "untrusted"
        case .rejected:
            folded.leftOut.isEmpty ? "rejected: \(folded.refusal?.reason ?? "")" : nil
        }
    }
}
