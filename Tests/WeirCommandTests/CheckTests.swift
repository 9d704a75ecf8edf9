import ConfigurationFiles
import ConfigurationValues
import EmbeddedLog
import EventLog
import Foundation
import Store
import Streams
import TestKit
import Testing

@testable import weir

@Suite("Checks")
struct CheckTests {
    private func words(_ report: CheckReport) -> [String] {
        report.findings.compactMap { if case .wrong(let words) = $0 { words } else { nil } }
    }

    /// A store of bids that was begun with a topic of this identity, folded up to an offset.
    private func makeStore(
        _ place: TemporaryDirectory, identity: String, nextOffset: Int64 = 0
    ) throws {
        let store = try AggregateStore(
            path: "\(place.path)/bids.sqlite", fold: BidsFold.self, topic: "bids",
            logIdentity: identity, partitionCount: 2)
        try store.beginPartition(0, at: nextOffset, logStart: 0, emitFrom: 0)
    }

    private func check(_ place: TemporaryDirectory, _ log: EmbeddedLog) throws -> CheckReport {
        var report = CheckReport()
        try #require(try StoreCheck("bids", in: place.path)).run(log, topic: "bids", into: &report)
        return report
    }

    @Test("the configuration that is shipped is right")
    func shippedConfiguration() throws {
        var report = CheckReport()
        report.check(PipelineDirectory(Repository.path("pipelines")))
        #expect(words(report) == [])
        let right = try #require(report.text.split(separator: "\n").first)
        #expect(right.hasPrefix("ok: configuration "))
        let pieces = right.split(separator: ", ")
        #expect(Set(pieces).count == pieces.count)
        #expect(pieces.filter { $0.hasSuffix(" conversion models") }.count == 1)
    }

    @Test("every fault of the configuration has its line, keys that are none among them")
    func configurationFaults() throws {
        let place = try TemporaryDirectory()
        var report = CheckReport()
        report.check(PipelineDirectory("\(place.path)/none"))
        #expect(report.wrongCount > 0)
        for stream in ["bids", "impressions", "overlay-clicks"] {
            try place.write("topic: \(stream)\n", to: "\(stream).yaml")
        }
        try place.write("trusted_keys: {production: [AAAA]}\n", to: "postbacks.yaml")
        report = CheckReport()
        report.check(PipelineDirectory(place.path))
        #expect(report.wrongCount == 1)
        #expect(words(report).first?.contains("postbacks.yaml:1") == true)
    }

    @Test("campaigns whose last digits collide are warned of, and nothing is wrong")
    func collidingCampaigns() throws {
        let place = try TemporaryDirectory()
        let directory = "\(place.path)/pipelines"
        try FileManager.default.copyItem(atPath: Repository.path("pipelines"), toPath: directory)
        try place.write(
            """
            campaigns:
              - {name: one, network: n, app: 1, source_identifier: "5239"}
              - {name: two, network: n, app: 1, source_identifier: "7239"}
            """, to: "pipelines/catalog.yaml")
        var report = CheckReport()
        report.check(PipelineDirectory(directory))
        #expect(report.wrongCount == 0)
        let warnings = report.text.split(separator: "\n").filter { $0.hasPrefix("warning: ") }
        #expect(warnings.count == 2)
        #expect(
            warnings.first?.contains(
                "'239' is ambiguous: the identifiers of 'one', 'two' end with it") == true)
    }

    @Test("campaigns that nothing can be of are warned of, and nothing is wrong")
    func doubtfulCampaigns() throws {
        let place = try TemporaryDirectory()
        let directory = "\(place.path)/pipelines"
        try FileManager.default.copyItem(atPath: Repository.path("pipelines"), toPath: directory)
        func warnings(_ sections: String) throws -> [String] {
            try place.write(
                sections + """
                    campaigns:
                      - {name: no id, network: net, app: 1}
                      - {name: other network, network: nte, app: 1, campaign_id: 1}
                      - {name: other app, network: net, app: 2, source_identifier: "0239"}
                      - {name: offer, network: net, app: 1, offers: [introductory]}
                    """, to: "pipelines/catalog.yaml")
            var report = CheckReport()
            report.check(PipelineDirectory(directory))
            #expect(report.wrongCount == 0)
            return report.text.split(separator: "\n").filter { $0.hasPrefix("warning: ") }.map {
                $0.split(separator: ": ").dropFirst(2).joined(separator: ": ")
            }
        }
        let named = try warnings("networks: {Net: N}\napps: {1: App}\n")
        #expect(named.count == 3)
        #expect(named[0].hasPrefix("campaign 'no id': it has no id of a campaign"))
        #expect(named[1].hasPrefix("campaign 'other network': its network nte is not under"))
        #expect(named[2].hasPrefix("campaign 'other app': its app 2 is not under apps"))
        #expect(try warnings("").count == 1)
    }

    @Test("a store that goes on where the log does is right")
    func rightStore() throws {
        let place = try TemporaryDirectory()
        let log = try place.log("bids")
        let identity = try #require(try log.topics().first?.identity)
        try makeStore(place, identity: identity)
        #expect(words(try check(place, log)) == [])
        #expect(try check(place, log).text.hasPrefix("ok: store "))
    }

    @Test("a store of another log, or ahead of its log, is wrong")
    func wrongStores() throws {
        let other = try TemporaryDirectory()
        try makeStore(other, identity: "other")
        #expect(
            words(try check(other, other.log("bids"))).first?.contains("was recreated") == true)
        let without = try TemporaryDirectory()
        #expect(words(try check(other, without.log("t"))).first?.contains("no topic") == true)
        let ahead = try TemporaryDirectory()
        let log = try ahead.log("bids")
        try makeStore(ahead, identity: log.topics()[0].identity, nextOffset: 7)
        #expect(words(try check(ahead, log)).first?.contains("ends at offset 0") == true)
    }

    @Test("a file that is no store is wrong")
    func noStore() throws {
        let place = try TemporaryDirectory()
        try place.write("not a database, but a text of some length", to: "bids.sqlite")
        #expect(try check(place, place.log("bids")).wrongCount == 1)
        #expect(try StoreCheck("postbacks", in: place.path) == nil)
    }

    @Test("a promotion of a stream that there is none of is warned of, and nothing is wrong")
    func unknownStreamOfSets() throws {
        let place = try TemporaryDirectory()
        var sets = try PromotionJournal(directory: place.path)
        try sets.append(
            StorePromotion(
                atMilliseconds: 1, kind: .promote,
                streams: [
                    "bids": .init(to: "sets/a", from: "."), "bidz": .init(to: "sets/a", from: "."),
                ]))
        var report = CheckReport()
        try report.checkSets(in: place.path)
        #expect(report.wrongCount == 0)
        #expect(report.findings.count == 1)
        #expect(report.text.hasPrefix("warning: \(place.path)/sets.json promotes 'bidz'"))
    }

    @Test("topics that are missing in the log are named, and nothing is wrong")
    func missingTopics() throws {
        let place = try TemporaryDirectory()
        for name in ["a", "b", "c"] {
            try place.write(
                "channels: {x: {address: \(name), bindings: {kafka: {partitions: 2}}}}",
                to: "topics/\(name).yaml")
        }
        let log = try place.log("b", partitions: 2)
        var report = CheckReport()
        try report.check(log, against: TopicDirectory("\(place.path)/topics"))
        #expect(report.wrongCount == 0)
        #expect(report.text.contains(": 1 of 3 are in the log. "))
        #expect(report.text.hasSuffix(": a, c\n"))
    }

    @Test("topics that differ from their description are wrong")
    func topics() throws {
        let place = try TemporaryDirectory()
        for (name, count) in [("a", 2), ("b", 3), ("c", 1)] {
            try place.write(
                "channels: {x: {address: \(name), bindings: {kafka: {partitions: \(count)}}}}",
                to: "topics/\(name).yaml")
        }
        let log = try place.log("a", partitions: 2)
        try log.createTopic("b", partitionCount: 2)
        var report = CheckReport()
        try report.check(log, against: TopicDirectory("\(place.path)/topics"))
        #expect(report.wrongCount == 1)
        #expect(words(report)[0].contains("topic b"))
    }
}
