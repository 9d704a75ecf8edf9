import ConversionModels

/// What a postback carries that Apple does not sign: copies that differ here are in conflict.
package struct UnsignedValues: Equatable, Sendable {
    /// 0 to 63; nil when absent.
    package var fineValue: Int?
    /// low, medium or high; nil when absent.
    package var coarseValue: CoarseValue?
    /// Empty when absent.
    package var country: String
    /// AdAttributionKit's `view` or `click`; empty when absent, and for SKAdNetwork, which signs it.
    package var interaction: String

    /// Takes the values.
    package init(
        fineValue: Int?, coarseValue: CoarseValue?, country: String, interaction: String
    ) {
        self.fineValue = fineValue
        self.coarseValue = coarseValue
        self.country = country
        self.interaction = interaction
    }

    /// Texts are equal when their bytes are.
    package static func == (left: UnsignedValues, right: UnsignedValues) -> Bool {
        left.fineValue == right.fineValue && left.coarseValue == right.coarseValue
            && left.country.utf8.elementsEqual(right.country.utf8)
            && left.interaction.utf8.elementsEqual(right.interaction.utf8)
    }
}

/// The best copy of a postback that was accepted so far.
package struct KnownPostback: Equatable, Sendable {
    /// Its verdict's rank.
    package var rank: Int
    /// Where it lies.
    package var offset: Int64
    /// What it carries unsigned.
    package var values: UnsignedValues
    /// The partners that the postback was published to, with the last revision.
    package var published: [String: Int64]

    /// Describes a copy.
    package init(rank: Int, offset: Int64, values: UnsignedValues, published: [String: Int64]) {
        self.rank = rank
        self.offset = offset
        self.values = values
        self.published = published
    }
}

extension KnownPostback {
    /// Every postback ever accepted.
    static let table = MemoryTable(
        "postback_ids",
        "Every postback ever accepted, with the best copy's verdict and unsigned values.",
        hasIDs: true,
        digest: """
            hex(id) || ' ' || rank || ' ' || offset || ' ' || coalesce(conversion_value, '-') || ' '
              || coalesce(coarse_value, '-') || ' ' || coalesce(interaction, '-') || ' '
              || coalesce(published, '-') || ' ' || hex(coalesce(country, ''))
            """,
        [
            .init(
                "id", .bytes, "first 16 bytes of SHA-256 of framework, network, transaction, index"),
            .init("rank", .integer, "2 valid, 1 development, 0 invalid or unverifiable"),
            .init("offset", .integer, "of the best copy"),
            .init("conversion_value", .integer, isOptional: true),
            .init("coarse_value", .text, isOptional: true),
            .init("country", .text, isOptional: true),
            .init("interaction", .text, "AdAttributionKit only", isOptional: true),
            .init(
                "published", .text,
                "partners that it was published to, with revisions: 'acme=1,other=2'",
                isOptional: true),
        ])

    /// Reads the columns after the id.
    init(_ row: [MemoryValue]) {
        self.init(
            rank: Int(row[0].integer ?? 0), offset: row[1].integer ?? 0,
            values: UnsignedValues(
                fineValue: row[2].integer.map { Int($0) },
                coarseValue: row[3].text.flatMap(CoarseValue.init), country: row[4].text ?? "",
                interaction: row[5].text ?? ""),
            published: Self.published(row[6].text ?? ""))
    }

    /// Writes what `init` reads.
    var row: [MemoryValue] {
        [
            .integer(Int64(rank)), .integer(offset),
            MemoryValue(values.fineValue.map { Int64($0) }),
            MemoryValue(values.coarseValue?.rawValue), MemoryValue(values.country),
            MemoryValue(values.interaction), MemoryValue(publishedText),
        ]
    }

    /// Reads `acme=1,other=2`; names of partners hold neither sign.
    private static func published(_ text: String) -> [String: Int64] {
        var published: [String: Int64] = [:]
        for pair in text.split(separator: ",") {
            let parts = pair.split(separator: "=")
            if parts.count == 2 { published[String(parts[0])] = Int64(parts[1]) }
        }
        return published
    }

    /// Writes what `published` reads; nil for none.
    private var publishedText: String? {
        published.isEmpty
            ? nil
            : published.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
                .joined(separator: ",")
    }
}
