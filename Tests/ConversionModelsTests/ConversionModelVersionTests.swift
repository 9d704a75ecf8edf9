import Testing

@testable import ConversionModels

@Suite("A version of a model")
struct ConversionModelVersionTests {
    private func version(
        _ fields: [FineField], from: Int64 = 0, currency: String = "USD",
        coarse: [Int: [CoarseValue: [ModelEvent]]] = [:]
    ) throws -> ConversionModelVersion {
        try ConversionModelVersion(
            id: "v", effectiveFromMilliseconds: from, currency: currency, fields: fields,
            coarse: coarse)
    }

    @Test("events of one name are added up, in the order of first appearance")
    func merged() throws {
        let fields = [
            try FineField(lowestBit: 5, highestBit: 5, kind: .flags([5: "trial"])),
            try FineField(
                lowestBit: 0, highestBit: 1,
                kind: .revenue(event: "order", boundsMicros: [0, 10], maxMicros: 30)),
            try FineField(
                lowestBit: 2, highestBit: 4,
                kind: .table([
                    1: [
                        try ModelEvent(event: "login"),
                        try ModelEvent(event: "trial", countMin: 2, countMax: 4),
                        try ModelEvent(
                            event: "order", countMin: 1, countMax: 2, revenueMinMicros: 3,
                            revenueMaxMicros: 5),
                    ]
                ])),
        ]
        let decoded = try version(fields).decode(fine: 0b100101)
        #expect(
            decoded == [
                DecodedEvent(
                    event: "trial", countMin: 3, countMax: 5, revenueMinMicros: 0,
                    revenueMaxMicros: 0),
                DecodedEvent(
                    event: "order", countMin: 1, countMax: 2, revenueMinMicros: 13,
                    revenueMaxMicros: 35),
                DecodedEvent(
                    event: "login", countMin: 1, countMax: 1, revenueMinMicros: 0,
                    revenueMaxMicros: 0),
            ])
    }

    @Test("names that differ only in Unicode's normal form stay two events")
    func names() throws {
        let events = [try ModelEvent(event: "caf\u{E9}"), try ModelEvent(event: "cafe\u{301}")]
        let field = try FineField(lowestBit: 0, highestBit: 0, kind: .table([1: events]))
        #expect(try version([field]).decode(fine: 1).count == 2)
    }

    @Test("sums beyond 64 bits are reported with the event, in fine and in coarse values")
    func overflow() throws {
        let huge = try ModelEvent(event: "huge", countMin: 0, countMax: .max)
        let one = try ModelEvent(event: "huge")
        let field = try FineField(lowestBit: 0, highestBit: 1, kind: .table([3: [huge, one]]))
        let path: [ModelFault.Step] = [.key("fine"), .key("fields")]
        #expect(throws: ModelFault(path: path, .overflow(event: "huge"))) { try version([field]) }
        let coarse: [ModelFault.Step] = [.key("coarse"), .key("2"), .key("medium")]
        #expect(throws: ModelFault(path: coarse, .overflow(event: "huge"))) {
            try version([], coarse: [2: [.medium: [one, huge]]])
        }
    }

    @Test("a bit belongs to one field, and one field counts days")
    func layout() throws {
        let days = try FineField(lowestBit: 0, highestBit: 2, kind: .days)
        let flags = try FineField(lowestBit: 2, highestBit: 3, kind: .flags([:]))
        let more = try FineField(lowestBit: 3, highestBit: 3, kind: .days)
        let path: [ModelFault.Step] = [.key("fine"), .key("fields"), .index(1)]
        #expect(throws: ModelFault(path: path + [.key("bits")], .overlappingBits(field: 0))) {
            try version([days, flags])
        }
        #expect(throws: ModelFault(path: path + [.key("kind")], .secondDaysField)) {
            try version([days, more])
        }
    }

    @Test("a flag's name belongs to one bit, whatever its field")
    func flagNames() throws {
        let fields = [
            try FineField(lowestBit: 0, highestBit: 1, kind: .flags([0: "a", 1: "b"])),
            try FineField(lowestBit: 4, highestBit: 5, kind: .flags([5: "a"])),
        ]
        let path: [ModelFault.Step] = [
            .key("fine"), .key("fields"), .index(1), .key("flags"), .key("5"),
        ]
        #expect(throws: ModelFault(path: path, .duplicateFlag)) { try version(fields) }
    }

    @Test("a version starts at a whole hour and has a currency of three capital letters")
    func scalars() throws {
        #expect(throws: ModelFault(path: [.key("effective_from")], .notWholeHour)) {
            try version([], from: 3_600_001)
        }
        #expect(try version([], from: -3_600_000).effectiveFromMilliseconds == -3_600_000)
        for currency in ["usd", "US", "USDT", "", "ÄÖÜ", "U D"] {
            #expect(throws: ModelFault(path: [.key("currency")], .badCurrency)) {
                try version([], currency: currency)
            }
        }
        #expect(throws: ModelFault(path: [.key("coarse"), .key("3")], .unknownWindow)) {
            try version([], coarse: [3: [:]])
        }
    }

    @Test("fine values outside 0 to 63 say nothing")
    func outside() throws {
        let field = try FineField(
            lowestBit: 0, highestBit: 5, kind: .events([0: try ModelEvent(event: "a")]))
        for fine in [-1, 64, -64, Int.max] {
            #expect(try version([field]).decode(fine: fine) == [])
        }
    }

    @Test("faults say where they are and what to do, in one line")
    func descriptions() {
        let fault = ModelFault(
            path: [.key("fine"), .key("fields"), .index(1), .key("bits")],
            .overlappingBits(field: 0))
        #expect(
            fault.description == "fine.fields[1].bits: overlap the bits of fields[0]:"
                + " assign every bit to only one field")
    }
}
