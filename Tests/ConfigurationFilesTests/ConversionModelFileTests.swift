import ConfigurationValues
import ConversionModels
import Testing

@Suite("Files of conversion models")
struct ConversionModelFileTests {
    private func model(_ text: String) throws -> ConversionModel {
        try #require(
            try TemporaryPipelines(["conversion-models/7.yaml": text]).read {
                try $0.conversionModels()
            }.first)
    }

    private let head = """
        app: 7
        versions:
          - id: one
            effective_from: 2026-01-01T00:00:00Z
            currency: USD

        """

    @Test("every kind of field and the coarse values are read")
    func everyKey() throws {
        let version = try #require(
            try model(
                head + """
                        fine:
                          fields:
                            - {kind: revenue, bits: [0, 1], buckets: [0, 0.99, 4.99], max: 10}
                            - {kind: events, bits: [2, 2], values: {"1": {event: a, count_max: 3}}}
                            - {kind: flags, bits: [3, 3], flags: {3: b}}
                            - {kind: days, bits: [4, 4]}
                            - kind: table
                              bits: [5, 5]
                              values: {1: [{event: c, count_min: 2, revenue_min: 1.5}, {event: d}]}
                        coarse:
                          0: {low: [{event: e}]}
                          "2": {high: [{event: f, count_min: 0, count_max: 9, revenue_max: 2}]}
                    """
            ).versions.first
        )
        func event(_ name: String, _ figures: (Int64, Int64, Int64, Int64)) -> DecodedEvent {
            DecodedEvent(
                event: name, countMin: figures.0, countMax: figures.1, revenueMinMicros: figures.2,
                revenueMaxMicros: figures.3)
        }
        #expect(
            version.decode(fine: 0b101101) == [
                event("revenue", (0, 0, 990_000, 4_990_000)), event("a", (1, 3, 0, 0)),
                event("b", (1, 1, 0, 0)), event("c", (2, 2, 1_500_000, 1_500_000)),
                event("d", (1, 1, 0, 0)),
            ])
        #expect(version.decode(fine: 2) == [event("revenue", (0, 0, 4_990_000, 10_000_000))])
        #expect(version.day(fine: 16) == 1)
        #expect(version.decode(coarse: .low, sequenceIndex: 0) == [event("e", (1, 1, 0, 0))])
        #expect(
            version.decode(coarse: .high, sequenceIndex: 2) == [event("f", (0, 9, 0, 2_000_000))])
        #expect(version.decode(coarse: .high, sequenceIndex: 0) == [])
        #expect(version.effectiveFromMilliseconds == 1_767_225_600_000)
    }

    @Test("equal content written differently has equal canonical text")
    func canonical() throws {
        let plain = try model(
            head + """
                    fine:
                      fields:
                        - {kind: revenue, bits: [0, 3], buckets: [0, 5], max: 10}
                        - {kind: events, bits: [4, 5], values: {"1": {event: a}, "2": {event: b}}}
                """)
        let other = try model(
            """
            # The same again.
            versions:
            - currency: 'USD'
              coarse: {"0": {low: []}}
              fine: {"fields": [
                {max: 10.0, buckets: [0.0, 5.000000], bits: [0, 3], event: revenue, kind: revenue},
                {bits: [4, 5], kind: 'events', values: {
                  2: {event: b, revenue_max: 0, count_min: 1},
                  1: {count_max: 1, event: "a", count_min: 1, revenue_min: 0.00}}}]}
              effective_from: "2026-01-01T02:00:00.000+02:00"
              id: "one"
            app: "7"
            """)
        #expect(plain.canonicalText == other.canonicalText)
        let changed = try model(
            head + "    fine: {fields: [{kind: revenue, bits: [0, 3], buckets: [0, 5], max: 11}]}")
        #expect(plain.canonicalText != changed.canonicalText)
    }

    @Test(
        "instants are RFC 3339 and whole hours of UTC",
        arguments: [
            ("2026-01-01T05:00:00Z", 1_767_243_600_000),
            ("2026-01-01t05:00:00z", 1_767_243_600_000),
            ("2026-01-01T10:30:00+05:30", 1_767_243_600_000),
            ("2025-12-31T21:00:00.000-08:00", 1_767_243_600_000),
            ("1970-01-01T00:00:00Z", 0), ("1969-12-31T23:00:00Z", -3_600_000),
            ("2024-02-29T00:00:00Z", 1_709_164_800_000), ("2000-03-01T00:00:00Z", 951_868_800_000),
            ("2026-01-01T05:30:00Z", nil), ("2026-01-01T05:00:01Z", nil),
            ("2026-01-01T05:00:00.001Z", nil), ("2026-01-01T05:00:00+05:30", nil),
            ("2026-01-01 05:00:00Z", nil), ("2026-01-01T05:00:00", nil), ("2026-01-01", nil),
            ("2026-02-29T00:00:00Z", nil), ("2026-13-01T00:00:00Z", nil),
            ("2100-02-29T00:00:00Z", nil), ("2026-00-01T00:00:00Z", nil),
            ("2026-04-31T00:00:00Z", nil), ("2026-01-01T24:00:00Z", nil),
            ("2026-01-01T05:60:00Z", nil), ("2026-01-01T05:00:60Z", nil), ("1767243600000", nil),
        ] as [(String, Int64?)]
    )
    func instants(text: String, milliseconds: Int64?) throws {
        let file = """
            app: 7
            versions: [{id: a, effective_from: "\(text)", currency: USD, fine: {fields: []}}]
            """
        guard let milliseconds else {
            let pipelines = try TemporaryPipelines(["conversion-models/7.yaml": file])
            let fault = pipelines.fault { dir throws(ConfigurationError) in
                try dir.conversionModels()
            }
            #expect(
                fault?.hasPrefix("conversion-models/7.yaml:2: versions[0].effective_from: is")
                    == true)
            return
        }
        #expect(try model(file).versions.map(\.effectiveFromMilliseconds) == [milliseconds])
    }
}
