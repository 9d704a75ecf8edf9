import ConversionModels
import Testing

@Suite("Encoding a state")
struct EncodingTests {
    /// Revenue in bits 0 to 2, days in 3 and 4, a flag in 5.
    private func revenueModel() throws -> ConversionModelVersion {
        try ConversionModelVersion(
            id: "v", effectiveFromMilliseconds: 0, currency: "USD",
            fields: [
                try FineField(
                    lowestBit: 0, highestBit: 2,
                    kind: .revenue(event: "revenue", boundsMicros: [0, 10, 25], maxMicros: 90)),
                try FineField(lowestBit: 3, highestBit: 4, kind: .days),
                try FineField(lowestBit: 5, highestBit: 5, kind: .flags([5: "trial"])),
            ])
    }

    private func version(
        _ kind: FineField.Kind, coarse: [Int: [CoarseValue: [ModelEvent]]] = [:]
    ) throws -> ConversionModelVersion {
        try ConversionModelVersion(
            id: "v", effectiveFromMilliseconds: 0, currency: "USD",
            fields: [try FineField(lowestBit: 1, highestBit: 3, kind: kind)], coarse: coarse)
    }

    @Test(
        "revenue goes into its bucket, on a bound into the upper one, above max into the last",
        arguments: [(0, 0), (9, 0), (10, 1), (24, 1), (25, 2), (90, 2), (91, 2), (.max, 2)]
            as [(Int64, Int)])
    func revenue(micros: Int64, fine: Int) throws {
        let state = ConversionState(revenueMicros: ["revenue": micros])
        #expect(try revenueModel().encode(state) == fine)
    }

    @Test("the day and the flags are told as they are, a day beyond the field as its last")
    func dayAndFlags() throws {
        let model = try revenueModel()
        #expect(try model.encode(ConversionState(day: 2)) == 0b010000)
        #expect(try model.encode(ConversionState(day: 9)) == 0b011000)
        #expect(try model.encode(ConversionState(flags: ["trial", "unknown"])) == 0b100000)
    }

    @Test("bits of no field stay 0, and of the numbers that say nothing the lowest is taken")
    func silence() throws {
        let model = try version(.events([2: try ModelEvent(event: "a")]))
        #expect(try model.encode(ConversionState()) == 0)
        #expect(try model.encode(ConversionState(eventCounts: ["a": 1])) == 2 << 1)
    }

    @Test("of several events that happened the one with the highest number is told")
    func highest() throws {
        let model = try version(
            .events([
                1: try ModelEvent(event: "signup"), 2: try ModelEvent(event: "purchase"),
                3: try ModelEvent(event: "subscription"),
            ]))
        let state = ConversionState(eventCounts: ["signup": 1, "purchase": 5])
        #expect(try model.encode(state) == 2 << 1, "five times counts as the most that can be said")
    }

    @Test(
        "the value that speaks of more is taken, then that with the higher minimum, then narrower")
    func preference() throws {
        let model = try version(
            .table([
                1: [try ModelEvent(event: "a", countMin: 1, countMax: 9)],
                2: [try ModelEvent(event: "a", countMin: 4, countMax: 9)],
                3: [try ModelEvent(event: "a", countMin: 4, countMax: 6)],
                4: [
                    try ModelEvent(event: "a", countMin: 1, countMax: 8),
                    try ModelEvent(event: "b"),
                ],
                5: [try ModelEvent(event: "b")],
            ]))
        func encode(_ counts: [String: Int64]) throws -> Int {
            try model.encode(ConversionState(eventCounts: counts)) >> 1
        }
        #expect(try encode(["a": 2]) == 1)
        #expect(try encode(["a": 5]) == 3, "narrower than 2")
        #expect(try encode(["a": 7]) == 2)
        #expect(try encode(["a": 5, "b": 1]) == 4, "speaks of both")
        #expect(try encode(["b": 1]) == 5)
    }

    @Test("a state that no value contains, and a negative figure, are refused")
    func faults() throws {
        let always = Dictionary(
            uniqueKeysWithValues: try (0...7).map { ($0, try ModelEvent(event: "a")) })
        #expect(throws: EncodingFault.noValueFits(version: "v")) {
            try version(.events(always)).encode(ConversionState())
        }
        let model = try revenueModel()
        #expect(throws: EncodingFault.negative("x")) {
            try model.encode(ConversionState(eventCounts: ["x": -1]))
        }
        #expect(throws: EncodingFault.negative("y")) {
            try model.encode(ConversionState(revenueMicros: ["y": -1]))
        }
        #expect(throws: EncodingFault.negative("day")) {
            try model.encode(ConversionState(day: -1))
        }
    }

    @Test("a coarse value tells most about the state; a window without any is refused")
    func coarse() throws {
        let purchase = try ModelEvent(
            event: "purchase", countMax: 9, revenueMinMicros: 5, revenueMaxMicros: 50)
        let model = try version(
            .days, coarse: [1: [.medium: [try ModelEvent(event: "trial")], .high: [purchase]]])
        func encode(_ state: ConversionState) throws -> CoarseValue {
            try model.encodeCoarse(state, sequenceIndex: 1)
        }
        #expect(try encode(ConversionState()) == .low)
        #expect(try encode(ConversionState(flags: ["trial"])) == .medium)
        let bought = ConversionState(
            eventCounts: ["trial": 1, "purchase": 2], revenueMicros: ["purchase": 70])
        #expect(try encode(bought) == .high)
        for index in [0, 2, 3] {
            #expect(throws: EncodingFault.noCoarseValues(version: "v", sequenceIndex: index)) {
                try model.encodeCoarse(bought, sequenceIndex: index)
            }
        }
    }
}
