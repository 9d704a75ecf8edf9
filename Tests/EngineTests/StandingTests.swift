import ConfigurationFiles
import ConfigurationValues
import Engine
import EventLog
import Foundation
import Program
import Streams
import TestKit
import Testing

@testable import History
@testable import weir

@Suite("What weir check and weir explain say of a store and its log")
struct StandingTests {
    private func check(_ place: Workplace) throws -> CheckReport {
        var report = CheckReport()
        let store = try StoreCheck("postbacks", in: place.path + "/data")
        try #require(store).run(
            place.openLog(), topic: "postbacks", pipelines: PipelineDirectory(place.pipelines),
            into: &report)
        return report
    }

    @Test("a model that was edited is wrong before the worker refuses it, in the worker's words")
    func editedModel() throws {
        let place = try Workplace()
        try place.write("postbacks.yaml", Samples.trustedKeys)
        try place.write(Samples.modelFile, Samples.model)
        try place.publishPostbacks("t1")
        try place.foldPostbacks()
        #expect(try check(place).wrongCount == 0)
        let before = try place.contents("postbacks")
        try place.write(
            Samples.modelFile, Samples.model.replacingOccurrences(of: "max: 100", with: "max: 200"))
        let report = try check(place)
        let error = #expect(throws: WorkerError.self) { try place.foldPostbacks() }
        #expect(report.text == "wrong: \(try #require(error))\n")
        #expect(try place.contents("postbacks") == before, "looking changes nothing")
    }

    @Test("an explanation that does not add up ends with 1")
    func exitCode() throws {
        let place = try MeasuredPlace("bids")
        try place.fold(Samples.bids(0..<3000))
        func explain() throws {
            var command = try WeirCommand.parseAsRoot(
                ["explain", "bids", "--measure", "auctions", "--limit", "0"]
                    + place.place.commandLine())
            try command.run()
        }
        try explain()
        let earliest = try place.place.openLog().trim(topic: "bids", partition: 0, before: 2500)
        #expect(earliest > 0)
        let error = #expect(throws: CommandError.self) { try explain() }
        #expect(error == .differs)
        #expect(error?.exitCode == 1)
    }

    @Test("where records and number differ, the words say what is the cause")
    func causes() {
        func words(_ missing: [Explanation.Missing], foldedOn: [String] = []) -> String {
            var explanation = Explanation(
                dump: "bids",
                measures: [.init(name: "auctions", place: 0, stored: 9, found: 7, records: 7)],
                counted: 7, leftOut: 0, untold: [], missing: missing)
            explanation.foldedOn = foldedOn
            return explanation.summary.joined()
        }
        func missing(
            _ place: Explanation.Missing.Place, _ records: Int64 = 2
        ) -> [Explanation.Missing] {
            [.init(topic: "bids", partition: 0, place: place, records: records)]
        }
        #expect(words(missing(.beforeBegin(0..<2))).contains("and now starts later"))
        #expect(words(missing(.afterEnd(7..<9))).contains("the log lost its end or is another log"))
        #expect(words(missing(.between)).contains("it was compacted, is another log or is damaged"))
        #expect(
            words(missing(.between, -2)).contains("2 records of these hours more than were folded"))
        #expect(
            words([], foldedOn: ["bids/0"]).contains(
                "a worker has folded further records of bids/0"))
        #expect(words([]).contains("the store or the log is damaged or was changed by hand"))
    }
}
