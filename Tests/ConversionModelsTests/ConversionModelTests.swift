import Testing

@testable import ConversionModels

@Suite("Versions of a model")
struct ConversionModelTests {
    private let hour: Int64 = 3_600_000

    private func version(
        _ id: String, from hours: Int64, event: String = "a"
    ) throws -> ConversionModelVersion {
        try ConversionModelVersion(
            id: id, effectiveFromMilliseconds: hours * hour, currency: "USD",
            fields: [
                try FineField(
                    lowestBit: 0, highestBit: 5, kind: .events([1: try ModelEvent(event: event)]))
            ],
            coarse: [1: [.high: [try ModelEvent(event: "coarse \(event)")]]])
    }

    private func model() throws -> ConversionModel {
        try ConversionModel(
            app: 7,
            versions: [
                try version("one", from: 1000, event: "a"),
                try version("two", from: 2000, event: "b"),
            ])
    }

    private func decoding(
        _ timing: PostbackTiming, at received: Int64, fine: Int? = 1, coarse: CoarseValue? = nil,
        index: Int = 0
    ) throws -> ModelDecoding? {
        try model().decoding(
            received: received, timing: timing, fine: fine, coarse: coarse, sequenceIndex: index)
    }

    @Test("the version in effect at the latest instant decodes, from the very instant on")
    func inEffect() throws {
        let before = try decoding(.upTo3, at: 1024 * hour - 1)
        #expect(before == nil, "none in effect yet")
        let first = try decoding(.upTo3, at: 1024 * hour)
        #expect(first?.versionID == "one" && first?.versionIndex == 0)
        #expect(first?.events.map(\.event) == ["a"])
        #expect(try decoding(.upTo3, at: 2024 * hour - 1)?.versionID == "one")
        #expect(try decoding(.upTo3, at: 2024 * hour)?.versionID == "two")
        #expect(try decoding(.upTo3, at: 2024 * hour)?.events.map(\.event) == ["b"])
    }

    @Test(
        "it is ambiguous exactly while another version was in effect at the earliest instant",
        arguments: [
            (PostbackTiming.upTo3, 48), (.window0, 48 + 48), (.window1, 144 + 120),
            (.window2, 144 + 672),
        ] as [(PostbackTiming, Int64)])
    func ambiguity(timing: PostbackTiming, earliestHours: Int64) throws {
        #expect(try decoding(timing, at: 2024 * hour - 1)?.ambiguous == false)
        #expect(try decoding(timing, at: 2024 * hour)?.ambiguous == true)
        #expect(try decoding(timing, at: (2000 + earliestHours) * hour - 1)?.ambiguous == true)
        #expect(try decoding(timing, at: (2000 + earliestHours) * hour)?.ambiguous == false)
    }

    @Test("it is not ambiguous when no version was in effect at the earliest instant")
    func noneBefore() throws {
        for timing in PostbackTiming.allCases {
            #expect(try decoding(timing, at: 1024 * hour)?.ambiguous == false)
        }
    }

    @Test("a coarse value decodes in its window, and no value decodes to nothing, still a version")
    func coarse() throws {
        let at = 3000 * hour
        let high = try decoding(.window1, at: at, fine: nil, coarse: .high, index: 1)
        #expect(high?.events.map(\.event) == ["coarse b"])
        #expect(try decoding(.window1, at: at, fine: nil, coarse: .low, index: 1)?.events == [])
        #expect(try decoding(.window2, at: at, fine: nil, coarse: .high, index: 2)?.events == [])
        #expect(try decoding(.window2, at: at, fine: nil, coarse: .high, index: 3)?.events == [])
        let none = try decoding(.window0, at: at, fine: nil)
        #expect(none?.events == [] && none?.versionID == "two" && none?.currency == "USD")
    }

    @Test("versions ascend strictly, have ids of their own, and there is at least one")
    func versions() throws {
        #expect(throws: ModelFault(path: [.key("versions")], .noVersions)) {
            try ConversionModel(app: 7, versions: [])
        }
        #expect(throws: ModelFault(path: [.key("app")], .badApp)) {
            try ConversionModel(app: 0, versions: [try version("one", from: 1)])
        }
        let steps: [ModelFault.Step] = [.key("versions"), .index(1)]
        #expect(throws: ModelFault(path: steps + [.key("id")], .duplicateVersion)) {
            try ConversionModel(
                app: 7, versions: [try version("one", from: 1), try version("one", from: 2)])
        }
        for second: Int64 in [0, 1] {
            #expect(
                throws: ModelFault(path: steps + [.key("effective_from")], .versionsNotAscending)
            ) {
                try ConversionModel(
                    app: 7,
                    versions: [try version("one", from: 1), try version("two", from: second)])
            }
        }
    }
}
