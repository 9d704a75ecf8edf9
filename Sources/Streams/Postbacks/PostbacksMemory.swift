import ConversionModels
import EventLog
import Signatures

/// The values of a postback that Apple does not sign: copies with different values are in conflict.
struct UnsignedValues: Equatable, Sendable {
    /// 0 to 63; nil if missing.
    var fineValue: Int?
    /// low, medium or high; nil if missing.
    var coarseValue: CoarseValue?
    /// Empty if missing.
    var country: String
    /// AdAttributionKit's word as sent, because several words count as `other`; nil if missing, and for SKAdNetwork,
    /// which signs it.
    var interaction: String?

    /// Texts are equal if their bytes are.
    static func == (left: UnsignedValues, right: UnsignedValues) -> Bool {
        left.fineValue == right.fineValue && left.coarseValue == right.coarseValue
            && left.country.utf8.elementsEqual(right.country.utf8)
            && (left.interaction == nil) == (right.interaction == nil)
            && (left.interaction ?? "").utf8.elementsEqual((right.interaction ?? "").utf8)
    }
}

/// The best accepted copy of a postback so far.
struct RememberedPostback: Equatable, Sendable {
    var rank: Int
    var offset: Int64
    var values: UnsignedValues
    /// The last published revision of the postback, by partner.
    var published: [String: Int64]
}

extension RememberedPostback: RecalledRow {
    typealias Key = RecordID

    static let table = MemoryTable(
        "postback_ids",
        "All accepted postbacks, with the verdict and the unsigned values of the best copy.",
        hasIDs: true,
        digest: """
            hex(id) || ' ' || rank || ' ' || offset || ' ' || coalesce(conversion_value, '-') || ' '
              || coalesce(coarse_value, '-') || ' '
              || CASE WHEN interaction IS NULL THEN '-' ELSE hex(interaction) END || ' '
              || coalesce(published, '-') || ' ' || hex(coalesce(country, ''))
            """,
        [
            .init(
                "id", .bytes, "first 16 bytes of SHA-256 of framework, network, transaction, index")
        ] + columns.declared)

    static let columns: MemoryColumns<RememberedPostback> = [
        .integer(
            "rank", note: "2 valid, 1 development, 0 invalid or unverifiable", { Int64($0.rank) },
            { $0.rank = Int($1) }),
        .integer("offset", note: "of the best copy", { $0.offset }, { $0.offset = $1 }),
        .optionalInteger(
            "conversion_value", { $0.values.fineValue.map(Int64.init) },
            { $0.values.fineValue = $1.map { Int($0) } }),
        .text(
            "coarse_value", isOptional: true, { $0.values.coarseValue?.rawValue },
            { $0.values.coarseValue = $1.flatMap(CoarseValue.init) }),
        .text("country", isOptional: true, { $0.values.country }, { $0.values.country = $1 ?? "" }),
        .value(
            .init("interaction", .text, "AdAttributionKit only, as received", isOptional: true),
            {
                // An empty word differs from a missing one.
                $0.values.interaction.map { .text($0) } ?? .none
            }, { $0.values.interaction = $1.text }),
        .text(
            "published",
            note: "partners with the revision that was published to each: 'acme=1,other=2'",
            isOptional: true,
            { $0.publishedText }, { $0.published = published($1 ?? "") }),
    ]

    init() { self.init(rank: 0, offset: 0, values: UnsignedValues(country: ""), published: [:]) }

    /// Reads `acme=1,other=2`; partner names contain neither sign.
    private static func published(_ text: String) -> [String: Int64] {
        var published: [String: Int64] = [:]
        for pair in text.split(separator: ",") {
            let parts = pair.split(separator: "=")
            if parts.count == 2 { published[String(parts[0])] = Int64(parts[1]) }
        }
        return published
    }

    /// Writes the input of `published`; nil if empty.
    private var publishedText: String? {
        published.isEmpty
            ? nil
            : published.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
                .joined(separator: ",")
    }
}

extension RememberedPostback {
    /// The copy as the answer to a record: the values to compare the record with and, for an accepted record, the
    /// revisions published earlier.
    func answers(withPublished: Bool) -> [UInt8] {
        var writer = AnswerWriter()
        writer.add(rank)
        writer.add(offset)
        writer.add(optional: values.fineValue.map(Int64.init))
        writer.add(values.coarseValue?.rawValue ?? "")
        writer.add(values.country)
        writer.add(optional: values.interaction)
        let partners = withPublished ? published.keys.sorted() : []
        writer.add(partners.count)
        for partner in partners {
            writer.add(partner)
            writer.add(published[partner] ?? 0)
        }
        return writer.bytes
    }

    /// Reads the output of `answers`; nil for invalid bytes.
    init?(answers: [UInt8]) {
        var reader = AnswerReader(answers)
        guard let rank = reader.number(), let offset = reader.number(),
            let fine = reader.optionalNumber(), let coarse = reader.text(),
            let country = reader.text(), let interaction = reader.optionalText(),
            let count = reader.number(), count >= 0
        else { return nil }
        var published: [String: Int64] = [:]
        for _ in 0..<count {
            guard let partner = reader.text(), let revision = reader.number() else { return nil }
            published[partner] = revision
        }
        self.init(
            rank: Int(truncatingIfNeeded: rank), offset: offset,
            values: UnsignedValues(
                fineValue: fine.map { Int(truncatingIfNeeded: $0) },
                coarseValue: CoarseValue(rawValue: coarse), country: country,
                interaction: interaction),
            published: published)
    }
}

/// A decoded copy of a postback with any outcome, for comparing the copies of several routes.
struct PostbackCopy: Sendable {
    var id: RecordID
    var route: PostbackRoute
    var partition: Int32
    var offset: Int64
    var timestampMilliseconds: Int64
    var outcome: Outcome
    var verdict: Verdict
    var values: UnsignedValues
    var campaign: CampaignKey
    /// 0 to 2; 0 below 4.0.
    var sequenceIndex: Int
    /// Whether the campaign is a source identifier, not a campaign id.
    var hasSourceIdentifier: Bool
    /// Whether its network won.
    var didWin: Bool
}

extension PostbackCopy {
    static let table = MemoryTable(
        "postback_copies",
        "All decoded copies of postbacks with their outcome, in order.",
        [
            .init("offset", .integer),
            .init("id", .bytes, "as in postback_ids"),
            .init("route", .text, "'device', 'developer-copy', 'relay'"),
            .init("timestamp_ms", .integer),
            .init("outcome", .text, "'accepted', 'duplicates', 'conflicts'"),
            .init("verdict", .text, "'valid', 'development', 'invalid', 'unverifiable'"),
            .init("conversion_value", .integer, isOptional: true),
            .init("coarse_value", .text, isOptional: true),
            .init("country", .text, isOptional: true),
            .init("ad_network_id", .text),
            .init("campaign", .text, "source identifier, or campaign id below 4.0"),
            .init("app_id", .integer, "advertised app"),
            .init("source_app_id", .integer, "publisher's app; 0 if absent"),
            .init("sequence_index", .integer, "0, 1 or 2; 0 below 4.0"),
            .init(
                "has_source_identifier", .integer,
                "1: campaign is a source identifier, 0: it is a campaign id"),
            .init("did_win", .integer, "1 or 0; developers receive copies only of winning ones"),
        ])

    func row(_ symbols: SymbolTable) -> [MemoryValue] {
        [
            .integer(offset), .id(id), .text("\(route.name)"), .integer(timestampMilliseconds),
            .text(OutcomeKey.table.measures[outcome.rawValue]), .text(verdict.name),
            MemoryValue(values.fineValue.map { Int64($0) }),
            MemoryValue(values.coarseValue?.rawValue), MemoryValue(values.country),
            .text(symbols.text(campaign.adNetworkID)), .text(symbols.text(campaign.campaign)),
            .integer(campaign.appID), .integer(campaign.sourceAppID),
            .integer(Int64(sequenceIndex)), .integer(hasSourceIdentifier ? 1 : 0),
            .integer(didWin ? 1 : 0),
        ]
    }
}
