/// The last report of a cell, which the next one takes the place of.
struct CostsReport: Equatable, Sendable {
    var words: CostsWords
    /// Where it lies in its partition.
    var offset: Int64
}

extension CostsReport {
    static let table = MemoryTable(
        "cost_cells", "The last report of every source, day, campaign, country and currency.",
        digest: """
            hex(cell) || ' ' || cost_micros || ' ' || impressions || ' ' || clicks || ' ' || installs
              || ' ' || offset
            """,
        [
            .init(
                "cell", .bytes,
                "first 16 bytes of SHA-256 of source, day, campaign's columns, country, currency"),
            .init("cost_micros", .integer), .init("impressions", .integer),
            .init("clicks", .integer), .init("installs", .integer),
            .init("offset", .integer, "where it was reported"),
        ])

    init(_ row: [MemoryValue]) {
        let numbers = row.map { $0.integer ?? 0 }
        self.init(
            words: CostsWords(
                costMicros: numbers[0], impressions: numbers[1], clicks: numbers[2],
                installs: numbers[3]),
            offset: numbers[4])
    }

    var row: [MemoryValue] { numbers.map { .integer($0) } }

    private var numbers: [Int64] {
        [words.costMicros, words.impressions, words.clicks, words.installs, offset]
    }
}

/// What is noted of a memory's answers about a report: the one before it.
extension CostsReport {
    /// Reads what `answers` wrote; nil for what is no such thing.
    init?(answers: [UInt8]) {
        var reader = AnswerReader(answers)
        var row: [MemoryValue] = []
        while let number = reader.number() { row.append(.integer(number)) }
        guard row.count == Self.table.columns.count - 1 else { return nil }
        self.init(row)
    }

    var answers: [UInt8] {
        var writer = AnswerWriter()
        for number in numbers { writer.add(number) }
        return writer.bytes
    }
}
