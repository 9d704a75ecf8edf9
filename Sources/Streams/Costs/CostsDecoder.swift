import JSON

struct CostsDecoder: EventDecoder, ~Copyable {
    private static let names = JSONNames(
        "source", "day", "campaign", "country", "currency", "amount", "impressions", "clicks",
        "installs")

    private var idBuilder = RecordIDBuilder()

    mutating func decode(
        _ value: JSONValue, _ kind: CostsEventType, symbols: inout SymbolTable
    ) throws(Rejection) -> CostsEvent {
        var faults = FieldFaults()
        let members = value.members(Self.names)
        let source = faults.requiredID(members[0], "source")
        let day = faults.requiredDay(members[1], "day")
        let campaign = CampaignKey(members[2], symbols: &symbols, faults: &faults)
        let country = faults.text(members[3], "country")
        let currency = faults.requiredCurrency(members[4], "currency")
        let words = CostsWords(
            costMicros: faults.requiredAmountMicros(members[5], "amount"),
            impressions: faults.count(members[6], "impressions"),
            clicks: faults.count(members[7], "clicks"),
            installs: faults.count(members[8], "installs"))
        if let rejection = faults.rejection { throw rejection }
        let key = CostsKey(
            source: symbols.intern(source), campaign: campaign,
            country: country.map { symbols.intern($0) } ?? .empty,
            currency: symbols.intern(currency))
        return CostsEvent(day: day, key: key, cell: cell(day, key, symbols), words: words)
    }

    /// A day may be over, in progress, or the day after the record's: reporters are in other time zones.
    static func check(
        _ event: CostsEvent, at timestampMilliseconds: Int64
    ) throws(Rejection) {
        let today = Hour(containing: timestampMilliseconds).startOfDay
        guard event.day.hoursSince1970 <= today.hoursSince1970 + 24 else {
            throw Rejection(.outOfRange, "day is later than the day after the record's own")
        }
    }

    private mutating func cell(
        _ day: Hour, _ key: CostsKey, _ symbols: borrowing SymbolTable
    ) -> RecordID {
        idBuilder.begin()
        idBuilder.add(day.hoursSince1970)
        symbols.withBytes(of: key.source) { idBuilder.add($0) }
        symbols.withBytes(of: key.campaign.adNetworkID) { idBuilder.add($0) }
        symbols.withBytes(of: key.campaign.campaign) { idBuilder.add($0) }
        symbols.withBytes(of: key.country) { idBuilder.add($0) }
        symbols.withBytes(of: key.currency) { idBuilder.add($0) }
        idBuilder.add(key.campaign.appID)
        idBuilder.add(key.campaign.sourceAppID)
        return idBuilder.finish()
    }
}

extension FieldFaults {
    /// A required text, which may be empty.
    private mutating func requiredText(
        _ value: JSONValue?, _ field: StaticString
    ) -> UnsafeRawBufferPointer? {
        if value == nil { _ = missing(field) }
        return text(value, field)
    }

    /// A day such as `2026-11-20`, as its first hour.
    fileprivate mutating func requiredDay(_ value: JSONValue?, _ field: StaticString) -> Hour {
        guard let text = requiredText(value, field) else { return Hour(hoursSince1970: 0) }
        if let day = UTC.day(text) { return day }
        report(.outOfRange, field, "is not a day, for example 2026-11-20")
        return Hour(hoursSince1970: 0)
    }

    /// Three capital letters; the decoder does not check that the currency exists.
    fileprivate mutating func requiredCurrency(
        _ value: JSONValue?, _ field: StaticString
    ) -> UnsafeRawBufferPointer {
        guard let text = requiredText(value, field) else {
            return UnsafeRawBufferPointer(start: nil, count: 0)
        }
        if text.count != 3 || !text.allSatisfy({ (0x41...0x5A).contains($0) }) {
            report(.outOfRange, field, "is not three capital letters")
        }
        return text
    }

    /// An amount of money in millionths of the unit, judged as written.
    fileprivate mutating func requiredAmountMicros(
        _ value: JSONValue?, _ field: StaticString
    ) -> Int64 {
        if value == nil { _ = missing(field) }
        guard let value else { return 0 }
        guard let text = value.numberText else {
            report(.wrongType, field, "is not a number")
            return 0
        }
        if case .micros(let micros) = DecimalMicros(text) { return micros }
        report(.outOfRange, field, "is not between 0 and 1000000000")
        return 0
    }

    /// A count; 0 if missing.
    fileprivate mutating func count(_ value: JSONValue?, _ field: StaticString) -> Int64 {
        guard let count = integer(value, field) else { return 0 }
        if count < 0 { report(.outOfRange, field, "is negative") }
        return count
    }
}

extension CostsFold: ProducedStream {
    static func makeEventKeys() -> any EventKeying {
        EventKeys<CostsFold, CostsDecoder>()
    }

    /// The source, a colon and the campaign's text, so that all reports of a cell are in one partition.
    static func key(
        of event: JSONValue, _ kind: CostsEventType, _ faults: inout FieldFaults
    ) -> [UInt8] {
        Array(faults.requiredID(event, "source")) + [UInt8(ascii: ":")]
            + CampaignKey.campaignText(of: event, &faults)
    }
}
