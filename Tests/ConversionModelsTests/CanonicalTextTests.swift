import ConversionModels
import Testing

@Suite("The canonical text of a model")
struct CanonicalTextTests {
    private func version(
        countMax: Int64? = nil, currency: String = "USD", values: [Int: [ModelEvent]] = [:],
        coarse: [Int: [CoarseValue: [ModelEvent]]] = [:], locks: [Int: Int] = [:]
    ) throws -> ConversionModelVersion {
        try ConversionModelVersion(
            id: "v \"1\"\\", effectiveFromMilliseconds: 7_200_000, currency: currency,
            fields: [
                try FineField(
                    lowestBit: 0, highestBit: 1,
                    kind: .revenue(
                        event: "revenue", boundsMicros: [0, 990_000], maxMicros: 5_000_000)),
                try FineField(
                    lowestBit: 2, highestBit: 2,
                    kind: .events([1: try ModelEvent(event: "a", countMax: countMax)])),
                try FineField(lowestBit: 3, highestBit: 3, kind: .days),
                try FineField(lowestBit: 4, highestBit: 4, kind: .flags([4: "b"])),
                try FineField(lowestBit: 5, highestBit: 5, kind: .table(values)),
            ],
            coarse: coarse, lockHours: locks)
    }

    @Test("it is one line of JSON with every default written out")
    func text() throws {
        let events = [try ModelEvent(event: "c", revenueMinMicros: 2)]
        let model = try ConversionModel(
            app: 9, versions: [try version(values: [1: events], coarse: [2: [.low: events]])])
        let event = #"{"event":"c","count":[1,1],"revenue_micros":[2,2]}"#
        #expect(
            model.canonicalText == #"{"app":9,"versions":[{"id":"v \"1\"\\","#
                + #""effective_from_ms":7200000,"currency":"USD","fine":["#
                + #"{"bits":[0,1],"kind":"revenue","event":"revenue","buckets":[0,990000],"#
                + #""max":5000000},{"bits":[2,2],"kind":"events","values":"#
                + #"{"1":{"event":"a","count":[1,1],"revenue_micros":[0,0]}}},"#
                + #"{"bits":[3,3],"kind":"days"},{"bits":[4,4],"kind":"flags","flags":{"4":"b"}},"#
                + #"{"bits":[5,5],"kind":"table","values":{"1":["# + event + #"]}}],"#
                + #""coarse":{"2":{"low":["# + event + #"]}}}]}"#)
    }

    @Test("what changes no decoding changes no text")
    func equalContent() throws {
        let plain = try version().canonicalText
        #expect(try version(countMax: 1).canonicalText == plain)
        #expect(try version(values: [0: []]).canonicalText == plain)
        #expect(try version(coarse: [0: [.low: []], 1: [:]]).canonicalText == plain)
    }

    @Test("what changes decoding changes the text")
    func otherContent() throws {
        let plain = try version().canonicalText
        #expect(try version(countMax: 2).canonicalText != plain)
        #expect(try version(currency: "EUR").canonicalText != plain)
        #expect(
            try version(locks: [1: 24, 0: 5]).canonicalText.contains(
                #""currency":"USD","lock_hours":{"0":5,"1":24},"fine":"#))
        #expect(
            try version(coarse: [0: [.low: [try ModelEvent(event: "c")]]]).canonicalText != plain)
    }

    @Test("random versions of different decodings have different texts, equal ones the same")
    func random() throws {
        var models = RandomModels(seed: 3)
        var decodings: [String: [[DecodedEvent]]] = [:]
        for _ in 0..<500 {
            let version = try models.version()
            let decoding = (0...63).map { version.decode(fine: $0) }
            #expect(decodings[version.canonicalText] ?? decoding == decoding)
            decodings[version.canonicalText] = decoding
            #expect(!version.canonicalText.contains("\n"))
        }
    }
}
