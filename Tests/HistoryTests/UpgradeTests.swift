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
        try Spawning.apart { try tar.run() }
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
    @Test("An installation of an earlier commit is changed in place, with the same digest")
    func inPlace() throws {
        let workspace = try EarlierInstallation()
        #expect(try workspace.stores().digest() == EarlierInstallation.digest)
        let plan = try workspace.upgrade.plan()
        #expect(plan.count == allStreams.count)
        let reason = "adds unknown_before, contributions"
        #expect(plan.allSatisfy { $0.way == .inPlace && $0.reason == reason })
        let result = try workspace.upgrade.run(stop: StopSignal())
        #expect(result.promoted.isEmpty && result.waiting.isEmpty)
        #expect(try workspace.upgrade.plan().allSatisfy { $0.way == .current })
        #expect(try workspace.stores().digest() == EarlierInstallation.digest)
        #expect(try DeliveryStore.existing(in: workspace.data) != nil)
        let log = try EmbeddedLog(path: workspace.data + "/log.sqlite", mode: .existing)
        #expect(try log.records(of: "partner-postbacks").count == 2)
    }

    @Test("The log of an earlier commit is folded again, with the same digest, and back")
    func earlierRefold() throws {
        let workspace = try EarlierInstallation()
        try workspace.rename("losses", of: "bids", stream: "bids")
        try workspace.rename("postbacks", of: "postbacks", stream: "postbacks")
        let plan = try workspace.upgrade.plan()
        #expect(plan.filter { $0.way == .refold }.map(\.stream).sorted() == ["bids", "postbacks"])
        let result = try workspace.upgrade.run(stop: StopSignal())
        #expect(result.promoted.map(\.stream).sorted() == ["bids", "postbacks"])
        #expect(try workspace.stores().digest() == EarlierInstallation.digest)
    }

    @Test("A worker continues a store without a new measure, which stays unknown")
    func worksOn() throws {
        let workspace = try Workspace()
        try workspace.makeEarlierBids()
        #expect(try workspace.losses() == [nil])
        try workspace.publish("bids", [Samples.bid("later"), Samples.loss("later")])
        try workspace.foldBids()
        #expect(try workspace.losses() == [nil])
        #expect(try workspace.sum("auctions", of: "bids", stream: "bids") == 11)
    }

    @Test("The log is folded again beside the live store and promoted; back, new records count too")
    func refold() throws {
        let workspace = try Workspace()
        try workspace.makeEarlierBids()
        let result = try workspace.runUpgrade()
        #expect(result.stores.map(\.way) == [.refold])
        #expect(try workspace.inForce("bids") == "data/sets/upgrade-1")
        #expect(try workspace.losses() == [1])
        try workspace.publish("bids", [Samples.bid("later"), Samples.loss("later")])
        try workspace.foldBids()
        try workspace.foldBids(data: "fresh")
        #expect(
            try workspace.contents("bids", data: "data/sets/upgrade-1")
                == workspace.contents("bids", data: "fresh"))
        #expect(try workspace.runUpgrade().stores.map(\.way) == [.current])
        _ = try workspace.upgrade().back(stop: StopSignal())
        #expect(try workspace.inForce("bids") == "data")
        #expect(try workspace.losses() == [nil])
        #expect(workspace.folded("bids") == 13)
        try workspace.publishAuctions("last")
        try workspace.foldBids()
        try workspace.runUpgrade()
        #expect(try workspace.inForce("bids") == "data/sets/upgrade-2")
        #expect(try workspace.losses() == [2])
    }

    @Test("Without the first records, rows continue, and new measures are unknown before")
    func continues() throws {
        let workspace = try Workspace()
        try workspace.makeEarlierBids()
        try workspace.trimBids(before: 3)
        let before = try workspace.stores().digest()
        let result = try workspace.runUpgrade()
        #expect(result.stores.map(\.way) == [.extend])
        #expect(try workspace.stores().digest() == before, "nothing is known that was not")
        // A row of the old hour, a new key in it, and a later hour.
        try workspace.publish(
            "bids",
            [
                Samples.loss("a2"), Samples.loss("a3", seat: "new"),
                Samples.bid("b", at: Samples.start + 86_400_000),
            ]
                + [Samples.loss("b", hours: 24), Samples.loss("c", hours: 24)])
        try workspace.foldBids()
        #expect(try workspace.losses(by: ["day"]) == [nil, 2])
        #expect(try workspace.losses(by: ["seat"]) == [nil, nil, nil])
        #expect(try workspace.losses() == [nil])
        #expect(
            try workspace.sum("auctions", of: "bids", stream: "bids", data: "data/sets/upgrade-1")
                == 11)
        let unknown = try workspace.stores().unknownMeasures(of: ["bids"])
        #expect(
            unknown.flatMap { $0.measures }
                == [UnknownMeasure(table: "bids", measure: "losses", knownFrom: [0: 11])])
        #expect(try workspace.stores().digest() != before)
        // SQL shows the same.
        #expect(
            try workspace.texts(
                "SELECT DISTINCT hour FROM bids WHERE losses IS NULL", stream: "bids",
                data: "data/sets/upgrade-1"
            ).count == 1)
        try readsUnknown(workspace)
        #expect(try workspace.runUpgrade().stores.map(\.way) == [.current], "it is continued once")
        _ = try workspace.upgrade().back(stop: StopSignal())
        #expect(try workspace.inForce("bids") == "data")
        #expect(try workspace.losses(by: ["day"]) == [nil, nil])
    }

    /// JSON, large dumps, explanations and evidence of a measure that is unknown on the first day.
    private func readsUnknown(_ workspace: Workspace) throws {
        let query = ReportRequest(name: "bids", grouping: .columns(["day"]))
        var text: [UInt8] = []
        try workspace.stores().write(query, as: .ndjson, memoryBytes: 1) { text += $0 }
        let rows = try String(decoding: text, as: UTF8.self).split(separator: "\n").map {
            try jsonObject(String($0))
        }
        #expect(rows.count == 2)
        #expect(rows[0]["losses"] is NSNull)
        #expect(rows[1]["losses"] as? Int == 2)
        let first = try #require(rows[0]["day"] as? String)
        let day = ReportRequest.Condition(column: "day", value: first)
        let cell = ReportRequest(name: "bids", grouping: .total, conditions: [day])
        let explainer = try workspace.explainer(workspace.stores())
        let explanation = try explainer.explain(
            DumpFigure(cell), measures: { _ in ["losses"] }, { _ in })
        #expect(explanation.measures.map(\.stored) == [nil])
        #expect(!explanation.addsUp)
        #expect(explanation.summary[0].hasPrefix("not known: "))
        #expect(throws: ExplanationError.notCounted(measure: "losses", dump: "bids")) {
            try explainer.writeEvidence(
                of: DumpFigure(cell), measure: "losses", to: workspace.path + "/evidence.tar",
                measures: { _ in ["losses"] }, mask: { _ in nil })
        }
        let funnel = try workspace.stores().funnel(
            ReportRequest(name: Funnel.name),
            ReportConfiguration(catalog: Catalog(), trustsDevelopment: false, appsByBundle: [:]))
        #expect(!funnel.table.rows.isEmpty, "it needs no losses")
    }

    @Test("A report that needs an unknown measure is null there, or refuses")
    func reports() throws {
        let workspace = try Workspace()
        try workspace.makeEarlierBids()
        try workspace.execute("ALTER TABLE bids_sums DROP COLUMN wins", stream: "bids")
        let funnel = try workspace.stores().funnel(
            ReportRequest(name: Funnel.name),
            ReportConfiguration(catalog: Catalog(), trustsDevelopment: false, appsByBundle: [:])
        ).table
        let bids = try #require(funnel.columns.firstIndex { $0.name == "bids" })
        #expect(!funnel.rows.isEmpty)
        #expect(funnel.rows.allSatisfy { $0[bids] == .null })
        let error = #expect(throws: InspectionError.self) {
            _ = try workspace.stores().returns(
                ReportRequest(
                    name: "roas", conditions: [.init(column: "through_day", value: "7")]),
                ReportConfiguration(catalog: Catalog(), trustsDevelopment: false, appsByBundle: [:])
            )
        }
        #expect(error?.description.contains("weir upgrade") == true)
    }

    @Test("Killed after any step, the earlier stores are in force and readable, and it continues")
    func kills() throws {
        for (step, isTrimmed) in UpgradeStep.all.flatMap({ [($0, false), ($0, true)] }) {
            let workspace = try Workspace()
            try workspace.makeEarlierBids()
            if isTrimmed { try workspace.trimBids(before: 3) }
            let before = try workspace.stores().digest()
            #expect(throws: Crash.self) {
                try workspace.upgrade().run(
                    stop: StopSignal(), onStep: { if $0 == step { throw Crash() } })
            }
            let isIn = step == .promoting(.switched)
            #expect(
                try workspace.inForce("bids") == (isIn ? "data/sets/upgrade-1" : "data"), "\(step)")
            #expect(try isIn || workspace.stores().digest() == before, "\(step)")
            try workspace.publish("bids", [Samples.bid("later"), Samples.loss("later", hours: 30)])
            try workspace.foldBids()
            try workspace.runUpgrade()
            #expect(try workspace.inForce("bids") == "data/sets/upgrade-1", "\(step)")
            #expect(try workspace.losses() == [isTrimmed ? nil : 2], "\(step)")
            #expect(
                try workspace.losses(by: ["day"])
                    == (isTrimmed ? [nil, step == .begun ? nil : 1] : [1, 1]),
                "\(step)")
            let auctions = try workspace.sum(
                "auctions", of: "bids", stream: "bids", data: "data/sets/upgrade-1")
            #expect(auctions == 11, "\(step)")
        }
    }

    @Test("Sums that should be equal and differ stop it, unless that is accepted")
    func differs() throws {
        let workspace = try Workspace()
        try workspace.makeEarlierBids()
        try workspace.execute("UPDATE bids_sums SET bids = bids + 5 WHERE bids > 0", stream: "bids")
        do {
            try workspace.runUpgrade()
            Issue.record("it was promoted")
        } catch UpgradeError.differs(_, let lines, _) {
            #expect(lines == ["bids bids: 15 before, 10 now"])
        }
        #expect(try workspace.inForce("bids") == "data")
        let result = try workspace.runUpgrade(acceptsDifferences: true)
        #expect(result.differences.count == 1)
        #expect(try workspace.inForce("bids") == "data/sets/upgrade-1")
    }

    @Test("A store of other rules is folded under the present configuration, if its records exist")
    func otherRules() throws {
        let workspace = try Workspace()
        try workspace.publish("bids", Samples.bids(0..<10))
        try workspace.foldBids()
        try workspace.useRules(1, insteadOf: 2, stream: "bids")
        #expect(try workspace.upgrade().plan().map(\.reason) == ["rules 1, now 2"])
        let result = try workspace.runUpgrade()
        #expect(result.stores.map(\.mode) == [.present])
        #expect(try workspace.inForce("bids") == "data/sets/upgrade-1")
        try workspace.foldBids()

        let trimmed = try Workspace()
        try trimmed.makeEarlierBids()
        try trimmed.execute(
            "ALTER TABLE bids_keys RENAME COLUMN seat TO bidder", stream: "bids")
        try trimmed.trimBids(before: 3)
        #expect(throws: UpgradeError.self) { try trimmed.runUpgrade() }
        #expect(try trimmed.inForce("bids") == "data")
    }

    @Test("A store that is behind the log is compared at its own progress")
    func behind() throws {
        let workspace = try Workspace()
        try workspace.makeEarlierBids()
        try workspace.publish("bids", [Samples.bid("later"), Samples.loss("later")])
        try workspace.runUpgrade()
        #expect(try workspace.inForce("bids") == "data/sets/upgrade-1")
        #expect(try workspace.losses() == [1])
        try workspace.foldBids()
        #expect(try workspace.losses() == [2])
    }

    @Test("A set that is further than an older copy of the store in force is not used")
    func olderCopy() throws {
        let workspace = try Workspace()
        try workspace.makeEarlierBids()
        let path = workspace.path + "/data/bids.sqlite"
        try FileManager.default.copyItem(atPath: path, toPath: path + ".copy")
        try workspace.publish("bids", [Samples.bid("later")])
        try workspace.foldBids()
        #expect(throws: Crash.self) {
            try workspace.upgrade().run(
                stop: StopSignal(), onStep: { if $0 == .folded { throw Crash() } })
        }
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.moveItem(atPath: path + ".copy", toPath: path)
        try workspace.runUpgrade()
        #expect(try workspace.inForce("bids") == "data/sets/upgrade-2")
    }

    @Test("A store without records is upgraded, and knows everything afterwards")
    func empty() throws {
        let workspace = try Workspace()
        try workspace.openLog().createTopic("bids", partitionCount: 4)
        try workspace.foldBids()
        try workspace.forgetLosses()
        try workspace.runUpgrade()
        #expect(try workspace.inForce("bids") == "data/sets/upgrade-1")
        try workspace.publish("bids", [Samples.bid("a"), Samples.loss("a")])
        try workspace.foldBids()
        #expect(try workspace.losses() == [1])
    }
}
