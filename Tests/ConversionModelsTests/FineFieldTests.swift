import Testing

@testable import ConversionModels

@Suite("Fields of a fine value")
struct FineFieldTests {
    private func decode(_ field: FineField, _ fine: Int) throws -> [DecodedEvent] {
        try ConversionModelVersion(
            id: "v", effectiveFromMilliseconds: 0, currency: "USD", fields: [field]
        ).decode(fine: fine)
    }

    @Test("a revenue number is the span from its bound to the next, and the last ends at max")
    func revenueBuckets() throws {
        let field = try FineField(
            lowestBit: 2, highestBit: 3,
            kind: .revenue(event: "order", boundsMicros: [0, 10, 25], maxMicros: 90))
        func order(_ low: Int64, _ high: Int64) -> [DecodedEvent] {
            [
                DecodedEvent(
                    event: "order", countMin: 0, countMax: 0, revenueMinMicros: low,
                    revenueMaxMicros: high)
            ]
        }
        #expect(try decode(field, 0b0000) == order(0, 10))
        #expect(try decode(field, 0b0100) == order(10, 25))
        #expect(try decode(field, 0b1000) == order(25, 90))
        #expect(try decode(field, 0b1100) == [], "beyond the last bucket")
        #expect(try decode(field, 0b110111) == order(10, 25), "other bits play no part")
    }

    @Test("an events number gives its event, and nothing when it is not listed")
    func events() throws {
        let purchase = try ModelEvent(
            event: "purchase", countMin: 2, countMax: 3, revenueMinMicros: 5, revenueMaxMicros: 8)
        let field = try FineField(lowestBit: 0, highestBit: 1, kind: .events([2: purchase]))
        #expect(
            try decode(field, 2) == [
                DecodedEvent(
                    event: "purchase", countMin: 2, countMax: 3, revenueMinMicros: 5,
                    revenueMaxMicros: 8)
            ])
        for fine in [0, 1, 3] { #expect(try decode(field, fine) == []) }
    }

    @Test("flags are absolute bits, each one event without revenue, lowest bit first")
    func flags() throws {
        let field = try FineField(
            lowestBit: 3, highestBit: 5, kind: .flags([5: "trial", 3: "login"]))
        func once(_ event: String) -> DecodedEvent {
            DecodedEvent(
                event: event, countMin: 1, countMax: 1, revenueMinMicros: 0, revenueMaxMicros: 0)
        }
        #expect(try decode(field, 0b101111) == [once("login"), once("trial")])
        #expect(try decode(field, 0b100000) == [once("trial")])
        #expect(try decode(field, 0b010111) == [], "bit 4 has no name")
    }

    @Test("days give no event, and the day is their number")
    func days() throws {
        let field = try FineField(lowestBit: 4, highestBit: 5, kind: .days)
        let version = try ConversionModelVersion(
            id: "v", effectiveFromMilliseconds: 0, currency: "USD", fields: [field])
        #expect(version.decode(fine: 63) == [])
        #expect(version.day(fine: 0b101111) == 2)
    }

    @Test("a table number gives all its events")
    func table() throws {
        let events = [try ModelEvent(event: "a"), try ModelEvent(event: "b", countMin: 0)]
        let field = try FineField(lowestBit: 0, highestBit: 5, kind: .table([63: events]))
        #expect(try decode(field, 63).map(\.event) == ["a", "b"])
        #expect(try decode(field, 63).map(\.countMax) == [1, 0])
        #expect(try decode(field, 62) == [])
    }

    @Test("bits outside 0 to 5 or in the wrong order are refused")
    func bits() {
        for (lowest, highest) in [(-1, 2), (0, 6), (3, 2), (6, 6), (Int.min, Int.max)] {
            #expect(throws: ModelFault(path: [.key("bits")], .badBits)) {
                try FineField(lowestBit: lowest, highestBit: highest, kind: .days)
            }
        }
    }

    @Test(
        "buckets are at least one, not negative, strictly ascending, and no more than the numbers",
        arguments: [
            ([], 5, ModelFault(path: [.key("buckets")], .noBuckets)),
            ([-1], 5, ModelFault(path: [.key("buckets"), .index(0)], .negative)),
            ([0, 3, 3], 5, ModelFault(path: [.key("buckets"), .index(2)], .bucketsNotAscending)),
            ([0, 4, 3], 5, ModelFault(path: [.key("buckets"), .index(2)], .bucketsNotAscending)),
            ([0, 1, 2, 3, 4], 5, ModelFault(path: [.key("buckets")], .tooManyBuckets(numbers: 4))),
            ([0, 1, 6], 5, ModelFault(path: [.key("max")], .maxBelowLastBucket)),
        ] as [([Int64], Int64, ModelFault)])
    func buckets(bounds: [Int64], max: Int64, fault: ModelFault) {
        #expect(throws: fault) {
            try FineField(
                lowestBit: 0, highestBit: 1,
                kind: .revenue(event: "r", boundsMicros: bounds, maxMicros: max))
        }
    }

    @Test("a last bucket of one amount, and as many buckets as numbers, are allowed")
    func fullBuckets() throws {
        let field = try FineField(
            lowestBit: 0, highestBit: 1,
            kind: .revenue(event: "r", boundsMicros: [0, 1, 2, 3], maxMicros: 3))
        #expect(try decode(field, 3).map(\.revenueMaxMicros) == [3])
    }

    @Test("numbers must fit into the bits, and a flag's bit must be one of its field's")
    func numbers() throws {
        let event = try ModelEvent(event: "a")
        let fault = ModelFault(path: [.key("values"), .key("4")], .numberBeyondField(largest: 3))
        #expect(throws: fault) {
            try FineField(lowestBit: 4, highestBit: 5, kind: .events([0: event, 4: event]))
        }
        #expect(throws: fault) {
            try FineField(lowestBit: 0, highestBit: 1, kind: .table([4: [event]]))
        }
        #expect(
            throws: ModelFault(path: [.key("flags"), .key("2")], .flagOutsideField(bits: 3...4))
        ) { try FineField(lowestBit: 3, highestBit: 4, kind: .flags([3: "a", 2: "b"])) }
    }

    @Test("an event defaults to once without revenue, and each maximum to its minimum")
    func eventDefaults() throws {
        let plain = try ModelEvent(event: "a")
        #expect((plain.countMin, plain.countMax) == (1, 1))
        #expect((plain.revenueMinMicros, plain.revenueMaxMicros) == (0, 0))
        let given = try ModelEvent(event: "a", countMin: 4, revenueMinMicros: 9)
        #expect((given.countMax, given.revenueMaxMicros) == (4, 9))
    }

    @Test("an event with a bad name, a negative figure or a maximum below its minimum is refused")
    func badEvents() {
        func fault(_ key: String, _ problem: ModelFault.Problem) -> ModelFault {
            ModelFault(path: [.key(key)], problem)
        }
        for name in ["", "a\nb", String(repeating: "a", count: 256)] {
            #expect(throws: fault("event", .badName)) { try ModelEvent(event: name) }
        }
        #expect(throws: fault("count_min", .negative)) { try ModelEvent(event: "a", countMin: -1) }
        #expect(throws: fault("count_max", .maximumBelowMinimum)) {
            try ModelEvent(event: "a", countMin: 2, countMax: 1)
        }
        #expect(throws: fault("revenue_min", .negative)) {
            try ModelEvent(event: "a", revenueMinMicros: -1)
        }
        #expect(throws: fault("revenue_max", .maximumBelowMinimum)) {
            try ModelEvent(event: "a", revenueMinMicros: 2, revenueMaxMicros: 1)
        }
    }
}
