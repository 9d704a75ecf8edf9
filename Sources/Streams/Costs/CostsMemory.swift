/// The last report of a cell, which the next one replaces.
struct ReportedCost: Equatable, Sendable {
    var words: CostsWords
    /// The record's offset in its partition.
    var offset: Int64
}

extension ReportedCost: RecalledRow {
    typealias Key = RecordID

    static let table = MemoryTable(
        "cost_cells", "The last report by source, day, campaign, country and currency.",
        digest: """
            hex(cell) || ' ' || cost_micros || ' ' || impressions || ' ' || clicks || ' ' || installs
              || ' ' || offset
            """,
        [
            .init(
                "cell", .bytes,
                "first 16 bytes of SHA-256 of source, day, campaign's columns, country, currency")
        ] + columns.declared)

    static let columns: MemoryColumns<ReportedCost> = [
        .integer("cost_micros", { $0.words.costMicros }, { $0.words.costMicros = $1 }),
        .integer("impressions", { $0.words.impressions }, { $0.words.impressions = $1 }),
        .integer("clicks", { $0.words.clicks }, { $0.words.clicks = $1 }),
        .integer("installs", { $0.words.installs }, { $0.words.installs = $1 }),
        .integer("offset", note: "offset of the report", { $0.offset }, { $0.offset = $1 }),
    ]

    init() { self.init(words: CostsWords(), offset: 0) }
}

/// The recorded answer of memory about a report: the previous report.
extension ReportedCost {
    /// Reads the text of `answers`; nil for invalid bytes.
    init?(answers: [UInt8]) {
        var reader = AnswerReader(answers)
        var row: [MemoryValue] = []
        while let number = reader.number() { row.append(.integer(number)) }
        guard row.count == Self.table.columns.count - 1 else { return nil }
        self.init(row)
    }

    var answers: [UInt8] {
        var writer = AnswerWriter()
        for value in row { writer.add(value.integer ?? 0) }
        return writer.bytes
    }
}
