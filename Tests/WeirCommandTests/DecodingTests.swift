import ConfigurationFiles
import ConfigurationValues
import ConversionModels
import JSON
import Program
import Streams
import TestKit
import Testing

@testable import weir

@Suite("Decoding conversion values")
struct DecodingTests {
    @Test("values are 0 to 63, low, medium or high")
    func values() throws {
        #expect(try ConversionValue("0") == .fine(0))
        #expect(try ConversionValue("63") == .fine(63))
        #expect(try ConversionValue("high") == .coarse(.high))
        for text in ["64", "-1", "LOW", "", "1.0"] {
            #expect(throws: CommandError.self) { try ConversionValue(text) }
        }
    }

    private func model(_ app: Int64) throws -> ConversionModel {
        let models = try PipelineDirectory(Repository.path("pipelines")).conversionModels()
        return try #require(models.first { $0.app == app })
    }

    @Test("a fine value is decoded under each version, with day, counts and revenue")
    func fine() throws {
        let meanings = ValueMeaning.all(of: .fine(37), in: try model(525_463_029))
        #expect(meanings.map(\.version.id) == ["rides-2026-01", "rides-2026-03"])
        #expect(meanings.map(\.day) == [2, 2])
        #expect(
            meanings.first?.table == """
                rides-2026-01, in effect from 2026-01-01T00:00:00Z
                  day    2
                  event    count             revenue
                  revenue      0  34.99 to 49.99 USD

                """)
    }

    @Test("a coarse value is decoded in each window")
    func coarse() throws {
        let meanings = ValueMeaning.all(of: .coarse(.low), in: try model(525_463_029))
        #expect(meanings.map(\.window) == [0, 1, 2, 0, 1, 2])
        var json = JSONText()
        try #require(meanings.count == 6)
        json.object { meanings[1].writeMembers(to: &$0) }
        #expect(
            json.text
                == #"{"model":"rides-2026-01","effective_from":"2026-01-01T00:00:00Z","value":"low","#
                + #""window":1,"currency":"USD","day":null,"flags":[],"events":[{"name":"ride","#
                + #""count_min":1,"count_max":2,"revenue_min_micros":0,"revenue_max_micros":0}]}"#)
        #expect(meanings[0].table.hasSuffix("no events\n"))
    }
}
