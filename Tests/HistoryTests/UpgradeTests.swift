import ConfigurationFiles
import ConfigurationValues
import EmbeddedLog
import Engine
import EventLog
import Foundation
import GRDB
import Program
import Reports
import Store
import Streams
import TestKit
import Testing

@testable import History

/// Copies of a data directory that the programs of an earlier commit made: `Tests/Fixtures/upgrade/README.md`.
private final class EarlierInstallation {
    static let digest = "sha256:b37033069478b15ee3b8bda03474fc117cf996bb62a5b14b8ad2f2d0b79f2f25"
    private let directory: TemporaryDirectory
    var data: String { directory.path + "/data" }
    var pipelines: PipelineDirectory { PipelineDirectory(directory.path + "/pipelines") }
    var log: LogAddress { .sqlite(path: data + "/log.sqlite") }

    init() throws {
        directory = try TemporaryDirectory()
        let tar = Process()
        tar.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        tar.arguments = [
            "tar", "-xzf", Repository.path("Tests/Fixtures/upgrade/installation.tar.gz"), "-C",
            directory.path,
        ]
        try tar.run()
        tar.waitUntilExit()
        guard tar.terminationStatus == 0 else { throw TestFault("tar failed") }
    }

    var upgrade: Upgrade {
        Upgrade(
            UpgradeOrder(
                data: data,
                source: ReplaySource(log: log, archivePath: nil, pipelines: pipelines),
                threadCount: 2, patienceSeconds: 30))
    }

    func stores() throws -> OpenStores { try OpenStores(directories: [data]) }

    /// Renames a measure, as if another version had folded the store.
    func rename(_ measure: String, of table: String, stream: String) throws {
        try DatabaseQueue(path: "\(data)/\(stream).sqlite").inDatabase {
            try $0.execute(
                sql: "ALTER TABLE \(table)_sums RENAME COLUMN \(measure) TO \(measure)_2")
        }
    }
}

@Suite("Upgrading stores")
struct UpgradeTests {
    /// Ten auctions and a loss in the first hour, as an earlier version folded them that did not count losses.
    private func makeEarlier(_ place: Workplace) throws {
        try place.publish("bids", Samples.bids(0..<10) + [loss("a1")])
        try place.foldBids()
        try forgetLosses(place)
    }

    private func forgetLosses(_ place: Workplace, data: String = "data") throws {
        try place.execute(
            """
            DROP VIEW bids; DROP TABLE unknown_before;
            ALTER TABLE bids_sums DROP COLUMN losses;
            CREATE VIEW bids AS SELECT number, partition, hour FROM bids_sums
              JOIN slots ON slot = number >> 32
            """, stream: "bids", data: data)
    }

    private func loss(_ id: String, hours: Int64 = 0, seat: String = "dsp-1") -> OutgoingRecord {
        Samples.record(
            "bids",
            #"{"auction_id":"\#(id)","bid_id":"b","seat":"\#(seat)","price":0.5,"loss_reason":102}"#,
            type: "openrtb.loss", partition: 0, at: Samples.start + hours * Hour.milliseconds)
    }

    private func upgrade(_ place: Workplace, acceptsDifferences: Bool = false) -> Upgrade {
        Upgrade(
            UpgradeOrder(
                data: place.path + "/data", source: place.source(), threadCount: 2,
                patienceSeconds: 30, acceptsDifferences: acceptsDifferences))
    }

    @discardableResult
    private func run(_ place: Workplace, acceptsDifferences: Bool = false) throws -> UpgradeResult {
        try upgrade(place, acceptsDifferences: acceptsDifferences).run(stop: StopSignal())
    }

    /// The losses by day or in total; nil is unknown.
    private func losses(_ place: Workplace, by columns: [String] = []) throws -> [Int128?] {
        let dump = try place.stores().dump(
            DumpQuery(name: "bids", grouping: columns.isEmpty ? .total : .columns(columns)))
        let losses = try #require(dump.measures.firstIndex(of: "losses"))
        return dump.rows.map { $0.measures[losses] }
    }

    private func trim(_ place: Workplace, before offset: Int64) throws {
        try place.openLog().trim(topic: "bids", partition: 0, before: offset)
    }

    @Test("An installation of an earlier commit is changed in place, with the same digest")
    func inPlace() throws {
        let place = try EarlierInstallation()
        #expect(try place.stores().digest() == EarlierInstallation.digest)
        let plan = try place.upgrade.plan()
        #expect(plan.count == allStreams.count)
        #expect(plan.allSatisfy { $0.way == .inPlace && $0.reason == "adds unknown_before" })
        let result = try place.upgrade.run(stop: StopSignal())
        #expect(result.promoted.isEmpty && result.waiting.isEmpty)
        #expect(try place.upgrade.plan().allSatisfy { $0.way == .current })
        #expect(try place.stores().digest() == EarlierInstallation.digest)
        #expect(try DeliveryStore.existing(in: place.data) != nil)
        let log = try EmbeddedLog(path: place.data + "/log.sqlite", mode: .existing)
        #expect(try log.records(of: "partner-postbacks").count == 2)
    }

    @Test("The log of an earlier commit is folded again, with the same digest, and back")
    func earlierRefold() throws {
        let place = try EarlierInstallation()
        try place.rename("losses", of: "bids", stream: "bids")
        try place.rename("postbacks", of: "postbacks", stream: "postbacks")
        let plan = try place.upgrade.plan()
        #expect(plan.filter { $0.way == .refold }.map(\.stream).sorted() == ["bids", "postbacks"])
        let result = try place.upgrade.run(stop: StopSignal())
        #expect(result.promoted.map(\.stream).sorted() == ["bids", "postbacks"])
        #expect(try place.stores().digest() == EarlierInstallation.digest)
    }

    @Test("A worker continues a store without a new measure, which stays unknown")
    func worksOn() throws {
        let place = try Workplace()
        try makeEarlier(place)
        #expect(try losses(place) == [nil])
        try place.publish("bids", [Samples.bid("later"), loss("later")])
        try place.foldBids()
        #expect(try losses(place) == [nil])
        #expect(try place.sum("auctions", of: "bids", stream: "bids") == 11)
    }

    @Test("The log is folded again beside the live store and promoted; back, new records count too")
    func refold() throws {
        let place = try Workplace()
        try makeEarlier(place)
        let result = try run(place)
        #expect(result.stores.map(\.way) == [.refold])
        #expect(try place.inForce("bids") == "data/sets/upgrade-1")
        #expect(try losses(place) == [1])
        try place.publish("bids", [Samples.bid("later"), loss("later")])
        try place.foldBids()
        try place.foldBids(data: "fresh")
        #expect(
            try place.contents("bids", data: "data/sets/upgrade-1")
                == place.contents("bids", data: "fresh"))
        #expect(try run(place).stores.map(\.way) == [.current])
        _ = try upgrade(place).back(stop: StopSignal())
        #expect(try place.inForce("bids") == "data")
        #expect(try losses(place) == [nil])
        #expect(try place.folded("bids") == 13)
        try place.publishAuctions("last")
        try place.foldBids()
        try run(place)
        #expect(try place.inForce("bids") == "data/sets/upgrade-2")
        #expect(try losses(place) == [2])
    }

    @Test("Without the first records, rows continue, and new measures are unknown before")
    func continues() throws {
        let place = try Workplace()
        try makeEarlier(place)
        try trim(place, before: 3)
        let before = try place.stores().digest()
        let result = try run(place)
        #expect(result.stores.map(\.way) == [.extend])
        #expect(try place.stores().digest() == before, "nothing is known that was not")
        // A row of the old hour, a new key in it, and a later hour.
        try place.publish(
            "bids",
            [loss("a2"), loss("a3", seat: "new"), Samples.bid("b", at: Samples.start + 86_400_000)]
                + [loss("b", hours: 24), loss("c", hours: 24)])
        try place.foldBids()
        #expect(try losses(place, by: ["day"]) == [nil, 2])
        #expect(try losses(place, by: ["seat"]) == [nil, nil])
        #expect(try losses(place) == [nil])
        #expect(
            try place.sum("auctions", of: "bids", stream: "bids", data: "data/sets/upgrade-1")
                == 11)
        let unknown = try place.stores().unknownMeasures(of: ["bids"])
        #expect(
            unknown.flatMap { $0.measures }
                == [UnknownMeasure(table: "bids", measure: "losses", knownFrom: [0: 11])])
        #expect(try place.stores().digest() != before)
        // SQL shows the same.
        #expect(
            try place.texts(
                "SELECT DISTINCT hour FROM bids WHERE losses IS NULL", stream: "bids",
                data: "data/sets/upgrade-1"
            ).count == 1)
        try readsUnknown(place)
        #expect(try run(place).stores.map(\.way) == [.current], "it is continued once")
        _ = try upgrade(place).back(stop: StopSignal())
        #expect(try place.inForce("bids") == "data")
        #expect(try losses(place, by: ["day"]) == [nil, nil])
    }

    /// JSON, large dumps, explanations and evidence of a measure that is unknown on the first day.
    private func readsUnknown(_ place: Workplace) throws {
        let query = DumpQuery(name: "bids", grouping: .columns(["day"]))
        var text: [UInt8] = []
        try place.stores().write(query, as: .ndjson, memoryBytes: 1) { text += $0 }
        let rows = try String(decoding: text, as: UTF8.self).split(separator: "\n").map {
            try jsonObject(String($0))
        }
        #expect(rows.count == 2)
        #expect(rows[0]["losses"] is NSNull)
        #expect(rows[1]["losses"] as? Int == 2)
        let first = try #require(rows[0]["day"] as? String)
        let day = DumpQuery.Condition(column: "day", value: first)
        let cell = DumpQuery(name: "bids", grouping: .total, conditions: [day])
        let explainer = try place.explainer(place.stores())
        let explanation = try explainer.explain(
            DumpFigure(cell), measures: { _ in ["losses"] }, { _ in })
        #expect(explanation.measures.map(\.stored) == [nil])
        #expect(!explanation.addsUp)
        #expect(explanation.summary[0].hasPrefix("not known: "))
        #expect(throws: ExplanationError.notCounted(measure: "losses", dump: "bids")) {
            try explainer.writeEvidence(
                of: DumpFigure(cell), measure: "losses", to: place.path + "/evidence.tar",
                measures: { _ in ["losses"] }, mask: { _ in nil })
        }
        let funnel = try place.stores().funnel(FunnelQuery(catalog: Catalog()))
        #expect(!funnel.table.rows.isEmpty, "it needs no losses")
    }

    @Test("A report that needs an unknown measure is null there, or refuses")
    func reports() throws {
        let place = try Workplace()
        try makeEarlier(place)
        try place.execute("ALTER TABLE bids_sums DROP COLUMN wins", stream: "bids")
        let funnel = try place.stores().funnel(FunnelQuery(catalog: Catalog())).table
        let bids = try #require(funnel.columns.firstIndex { $0.name == "bids" })
        #expect(!funnel.rows.isEmpty)
        #expect(funnel.rows.allSatisfy { $0[bids] == .null })
        let error = #expect(throws: InspectionError.self) {
            _ = try place.stores().returns(
                FunnelQuery(
                    query: DumpQuery(
                        name: "roas", conditions: [.init(column: "through_day", value: "7")]),
                    catalog: Catalog()))
        }
        #expect(error?.description.contains("weir upgrade") == true)
    }

    @Test("Killed after any step, the earlier stores are in force and readable, and it continues")
    func kills() throws {
        for (step, isTrimmed) in UpgradeStep.all.flatMap({ [($0, false), ($0, true)] }) {
            let place = try Workplace()
            try makeEarlier(place)
            if isTrimmed { try trim(place, before: 3) }
            let before = try place.stores().digest()
            #expect(throws: Crash.self) {
                try upgrade(place).run(
                    stop: StopSignal(), onStep: { if $0 == step { throw Crash() } })
            }
            let isIn = step == .promoting(.switched)
            #expect(
                try place.inForce("bids") == (isIn ? "data/sets/upgrade-1" : "data"), "\(step)")
            #expect(try isIn || place.stores().digest() == before, "\(step)")
            try place.publish("bids", [Samples.bid("later"), loss("later", hours: 30)])
            try place.foldBids()
            try run(place)
            #expect(try place.inForce("bids") == "data/sets/upgrade-1", "\(step)")
            #expect(try losses(place) == [isTrimmed ? nil : 2], "\(step)")
            #expect(
                try losses(place, by: ["day"])
                    == (isTrimmed ? [nil, step == .begun ? nil : 1] : [1, 1]),
                "\(step)")
            let auctions = try place.sum(
                "auctions", of: "bids", stream: "bids", data: "data/sets/upgrade-1")
            #expect(auctions == 11, "\(step)")
        }
    }

    @Test("Sums that should be equal and differ stop it, unless that is accepted")
    func differs() throws {
        let place = try Workplace()
        try makeEarlier(place)
        try place.execute("UPDATE bids_sums SET bids = bids + 5 WHERE bids > 0", stream: "bids")
        do {
            try run(place)
            Issue.record("it was promoted")
        } catch UpgradeError.differs(_, let lines) {
            #expect(lines == ["bids bids: 15 before, 10 now"])
        }
        #expect(try place.inForce("bids") == "data")
        let result = try run(place, acceptsDifferences: true)
        #expect(result.differences.count == 1)
        #expect(try place.inForce("bids") == "data/sets/upgrade-1")
    }

    @Test("A store of other rules is folded under the present configuration, if its records exist")
    func otherRules() throws {
        let place = try Workplace()
        try place.publish("bids", Samples.bids(0..<10))
        try place.foldBids()
        try place.execute(
            """
            UPDATE epochs SET configuration = replace(configuration, '"rules":2', '"rules":1'),
              configuration_hash = 'x'
            """, stream: "bids")
        #expect(try upgrade(place).plan().map(\.reason) == ["rules 1, now 2"])
        let result = try run(place)
        #expect(result.stores.map(\.mode) == [.present])
        #expect(try place.inForce("bids") == "data/sets/upgrade-1")
        try place.foldBids()

        let trimmed = try Workplace()
        try makeEarlier(trimmed)
        try trimmed.execute(
            "ALTER TABLE bids_keys RENAME COLUMN seat TO bidder", stream: "bids")
        try trim(trimmed, before: 3)
        #expect(throws: UpgradeError.self) { try run(trimmed) }
        #expect(try trimmed.inForce("bids") == "data")
    }

    @Test("Stores that this version cannot continue are put back by the version that folded them")
    func cannotGoBack() throws {
        let place = try Workplace()
        try place.publishAuctions("a")
        try place.foldBids()
        try place.execute("ALTER TABLE bids_sums RENAME COLUMN wins TO won", stream: "bids")
        try run(place)
        try place.publishAuctions("b")
        try place.foldBids()
        do {
            _ = try upgrade(place).back(stop: StopSignal())
            Issue.record("it went back")
        } catch UpgradeError.cannotGoBack {}
        #expect(try place.inForce("bids") == "data/sets/upgrade-1")
    }
}
