import TestKit

/// Section 8 of the contract.
struct CostsModel: EventModel {
    typealias Meaning = EventMeaning<Event>

    static let stream = "costs"
    static let dumps = ["outcomes", "costs"]
    static let types = ["cost.reported"]

    var history = EventHistory<Event>()

    /// A report of a cell.
    struct Event {
        var source: String
        /// As it is written: `2026-11-20`.
        var day: String
        var campaign: ModelCampaign
        var country: String
        var currency: String
        var words: Words

        var cell: [String] { [day, source] + campaign.columns + [country, currency] }
    }

    /// What a report says of its cell.
    struct Words: Equatable {
        var micros: Int64 = 0
        var impressions: Int64 = 0
        var clicks: Int64 = 0
        var installs: Int64 = 0
    }

    static func rows(of records: [LoggedMeaning<Meaning>]) -> ModelRows {
        var rows = ModelRows()
        // By partition, and by the bytes of a cell.
        var last: [Int32: [[[UInt8]]: Words]] = [:]
        for record in records {
            var outcome = "rejected"
            switch content(of: record) {
            case .rejected(let reason): rows.refuse(record, reason.rawValue)
            case .event(let report):
                let cell = report.cell.map { Array($0.utf8) }
                let before = last[record.partition]?[cell]
                outcome = before == report.words ? "duplicates" : "accepted"
                if before != report.words { replace(before, by: report, in: &rows) }
                last[record.partition, default: [:]][cell] = report.words
            }
            rows.add(
                "outcomes",
                [hourText(record.timestampMilliseconds), stream, outcomeType(of: record.meaning)],
                [outcome: 1])
        }
        return rows
    }

    /// A day may be the one after the record's own at the latest.
    private static func content(of record: LoggedMeaning<Meaning>) -> Meaning.Content {
        guard case .event(let report) = record.meaning.content else {
            return record.meaning.content
        }
        let latest = dayText(max(record.timestampMilliseconds, 0) + 86_400_000)
        // Days of four-digit years are in order as texts. After the year 9999 none is too late.
        guard latest.count > report.day.count || report.day <= latest else {
            return .rejected(.outOfRange)
        }
        return record.meaning.content
    }

    private static func replace(
        _ before: Words?, by report: Event, in rows: inout ModelRows
    ) {
        let (old, new) = (before ?? Words(), report.words)
        rows.add(
            "costs", report.cell,
            [
                "cost_micros": new.micros - old.micros,
                "reported_impressions": new.impressions - old.impressions,
                "reported_clicks": new.clicks - old.clicks,
                "reported_installs": new.installs - old.installs,
                "restatements": before == nil ? 0 : 1,
            ])
    }
}

// MARK: - Generator

extension CostsModel {
    /// The id decides the cell: its number chooses one, and its letters one beside it.
    static func makeEvent(id: String, using writer: inout DraftWriter) -> Draft<Event> {
        let digits = id.drop { !$0.isASCII || !$0.isNumber }
        var cell = DraftWriter(random: SeededGenerator(seed: (UInt64(digits) ?? 0) / 3))
        let (campaign, campaignMember) = cell.campaign()
        var report = Event(
            source: cell.pick(["apple-ads", "Apple-Ads", "a", "a:b", "café"]),
            day: cell.pick(days), campaign: campaign, country: cell.pick(["US", "us", "", "DE"]),
            currency: cell.pick(["USD", "EUR"]), words: Words())
        switch id.dropLast(digits.count) {
        case "A": report.currency = "JPY"
        case "\"\\/": report.country += "é"
        case "😀": report.day = writer.pick(days)
        default: break
        }
        let members = [
            writer.id("source", report.source), writer.day("day", report.day), campaignMember,
            writer.optionalText(
                "country", report.country.isEmpty && writer.chance(2) ? nil : report.country),
            writer.currency("currency", report.currency),
            writer.amount("amount", into: &report.words.micros),
            writer.count("impressions", into: &report.words.impressions),
            writer.count("clicks", into: &report.words.clicks),
            writer.count("installs", into: &report.words.installs),
            writer.unjudged("name", writer.pick([nil, "\"Spring\"", "7", "[{}]"])),
        ]
        // Another key, and so the cell is in two partitions: each has a last word.
        let isElsewhere = writer.chance(40)
        return Draft(
            type: types[0], event: report, members: members,
            key: isElsewhere
                ? Array(id.utf8) : Array("\(report.source):\(report.campaign.campaign)".utf8))
    }

    /// Runs begin on the first hour of 2026-11-21, and records come up to two hours late.
    private static let days = [
        "2026-11-19", "2026-11-20", "2026-11-20", "2026-11-21", "2026-11-21", "2026-11-22",
        "2026-11-23", "2026-11-28", "2026-11-29", "2026-11-30", "2026-12-01", "2027-01-31",
        "1970-01-01", "1970-01-02", "1970-01-03", "1969-12-31", "0000-01-01", "0000-02-29",
        "2024-02-29", "2000-02-29", "9999-12-31",
    ]
}

extension DraftWriter {
    fileprivate mutating func day(_ name: String, _ value: String) -> Member? {
        let others = [
            "2026-11-31", "2025-02-29", "1900-02-29", "2026-13-01", "2026-00-10", "2026-11-00",
            "2026-11-20T00:00:00Z", "20261120", "2026-1-20", " 2026-11-20", "2026-11-20 ",
            "26-11-2020", "2026/11/20", "+026-11-20", "2026-11-2\u{0662}", "",
        ]
        return judgedText(name, value, others: others)
    }

    fileprivate mutating func currency(_ name: String, _ value: String) -> Member? {
        judgedText(name, value, others: ["usd", "US", "USDX", "U D", "US\u{c4}", "US1", ""])
    }

    /// - Parameter into: gets the amount in millionths.
    fileprivate mutating func amount(_ name: String, into micros: inout Int64) -> Member? {
        let (text, worth) = pick(Self.amounts)
        micros = worth
        return judgedNumber(
            name, text, isRequired: true,
            others: [
                "1000000000.0000000000001", "1000000000.000001", "1000000001", "1e10", "1e308",
                "-1e-300", "-0.0000001", "-5", "18446744073709551616",
            ])
    }

    /// - Parameter into: gets the count, which is 0 when it is absent.
    fileprivate mutating func count(_ name: String, into count: inout Int64) -> Member? {
        let value: Int64? = pick([nil, nil, 0, 0, 1, 2, 7, 48_210, .max, .max - 1])
        count = value ?? 0
        return judgedNumber(name, value.map { number($0) }, others: ["-1", "-9223372036854775808"])
    }

    /// Amounts as they may be written, with what they are in millionths.
    private static let amounts: [(text: String, micros: Int64)] = [
        ("0", 0), ("-0", 0), ("-0.0", 0), ("-0e5", 0), ("0.0000005", 1), ("5e-7", 1),
        ("0.00000049999999999999999999", 0), ("4.9e-7", 0), ("1e-300", 0), ("1e-6", 1),
        ("0.0000015", 2), ("1.0000005", 1_000_001), ("1.00000049999999999999", 1_000_000),
        ("2.5", 2_500_000), ("2.50", 2_500_000), ("25e-1", 2_500_000), ("0.25E+1", 2_500_000),
        ("1234.56", 1_234_560_000), ("1229.1", 1_229_100_000), ("7", 7_000_000),
        ("0.0000024999999999999999999999", 2), ("0.0000025000000000000000000001", 3),
        ("123456789.1234565", 123_456_789_123_457), ("0.00000000000000000005e16", 500),
        ("18446744073709551616e-11", 184_467_440_737_096),
        ("999999999.9999994", 999_999_999_999_999), ("999999999.9999995", 1_000_000_000_000_000),
        ("999999999.99999999999999999999", 1_000_000_000_000_000),
        ("1000000000", 1_000_000_000_000_000), ("1e9", 1_000_000_000_000_000),
        ("1000000000.00000000000000", 1_000_000_000_000_000),
        ("10000000000e-1", 1_000_000_000_000_000), ("0.001E12", 1_000_000_000_000_000),
    ]
}
