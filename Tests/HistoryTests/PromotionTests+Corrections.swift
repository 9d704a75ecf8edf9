import EmbeddedLog
import Engine
import EventLog
import Foundation
import GRDB
import GRDBSQLite
import Program
import Store
import Streams
import TestKit
import Testing

@testable import History

/// What partners are sent when another set is in force.
extension PromotionTests {
    @Test("What a corrected model changes is listed, and sent once and only when that is asked for")
    func corrections() throws {
        let workspace = try makeWorkspace(postbacks(300))
        let published = try workspace.records("partner-postbacks")
        #expect(published.count == 300)
        try workspace.replay(["postbacks"], workspace.order(mode: .present))
        try workspace.promote()
        #expect(try workspace.inForce("postbacks") == "set")
        #expect(try workspace.records("partner-postbacks").count == 300)
        let corrections = try workspace.corrections()
        #expect(corrections.count == 150)
        #expect(corrections.allSatisfy { $0.kind == .changed && $0.revision == 2 })
        #expect(try workspace.sendCorrections() == 150)
        #expect(try workspace.sendCorrections() == 0)
        let sent = try workspace.records("partner-postbacks").filter {
            $0.headers["ce_id"]?.hasSuffix(":2") == true
        }
        #expect(sent.count == 150)
        let wanted = Set(corrections.map { "\($0.postback.id):2" })
        #expect(Set(sent.compactMap { $0.headers["ce_id"] }) == wanted)
        for document in try documents(workspace) where document["revision"] as? Int == 2 {
            let id = try #require(document["id"] as? String)
            #expect(document["supersedes"] as? String == "\(id):1")
            let conversion = try #require(document["conversion"] as? [String: Any])
            let revenue = try #require(conversion["revenue"] as? [String: Any])
            #expect(revenue["max"] as? Int == 200)
        }
        // The worker goes on, and publishes none of it again.
        try workspace.foldPostbacks()
        #expect(try workspace.records("partner-postbacks").count == 450)
    }

    @Test("That the worker will refuse to go on with a set is said before it is put in force")
    func refusedSet() throws {
        let workspace = try makeWorkspace([postback("t1")])
        try workspace.replay(["postbacks"], workspace.order(mode: .present))
        func refusals() throws -> [String?] {
            try workspace.promotion(.directory(workspace.path + "/set")).check().map(\.refusal)
        }
        #expect(try refusals() == [nil])
        try workspace.write(Samples.modelFile, Samples.model)
        let refusal = try #require(try refusals().first ?? nil)
        #expect(refusal.contains("was edited"), "\(refusal)")
    }

    @Test("Sending that is killed is finished by the same command, under the same ids and no other")
    func interruptedSending() throws {
        let workspace = try makeWorkspace(postbacks(500))
        try workspace.replay(["postbacks"], workspace.order(mode: .present))
        try workspace.promote()
        var pieces = 0
        #expect(throws: Crash.self) {
            try workspace.sendCorrections {
                pieces += 1
                if pieces == 2 { throw Crash() }
            }
        }
        #expect(try workspace.sendCorrections() == 150)
        #expect(try workspace.sendCorrections() == 0)
        let sent = try workspace.records("partner-postbacks").compactMap { $0.headers["ce_id"] }
            .filter { $0.hasSuffix(":2") }
        #expect(sent.count == 350)
        #expect(Set(sent).count == 250)
        #expect(try workspace.corrections().allSatisfy { $0.state == .sent })
    }

    @Test("Better copies that come later have numbers of their own, through rollbacks too")
    func revisions() throws {
        let workspace = try makeWorkspace([postback("t1", forged: true), postback("t2", value: 1)])
        try workspace.replay(["postbacks"], workspace.order(mode: .present))
        try workspace.promote()
        try workspace.sendCorrections()
        try workspace.publish("postbacks", postback("t1"))
        try workspace.foldPostbacks()
        func revisions() throws -> [Int] {
            let all = try documents(workspace).filter { document in
                (document["postback"] as? [String: Any])?["transaction_id"] as? String == "t1"
            }
            return all.compactMap { $0["revision"] as? Int }
        }
        #expect(try revisions() == [1, 2, 3])
        // Back under the first model: the worker would refuse to go on with the corrected one.
        try workspace.write(Samples.modelFile, Samples.model)
        let back = try workspace.promotion(.back).run(stop: StopSignal())
        #expect(back.map(\.refusal) == [nil])
        #expect(try workspace.inForce("postbacks") == "data")
        #expect(try workspace.corrections("data").map(\.revision) == [4])
        try workspace.sendCorrections("data")
        #expect(try revisions() == [1, 2, 3, 4])
        let last = try #require(try documents(workspace).first { $0["revision"] as? Int == 4 })
        #expect((last["supersedes"] as? String)?.hasSuffix(":3") == true)
        try workspace.foldPostbacks()
        #expect(try revisions() == [1, 2, 3, 4])
        // And forth again.
        try workspace.write(Samples.modelFile, Samples.correctedModel)
        try workspace.promote()
        #expect(try workspace.corrections().map(\.revision) == [5])
        #expect(
            try workspace.integer(
                "SELECT max(revision) FROM outbox", stream: "postbacks", data: "set")
                == 2)
    }

    @Test("A correction that was listed and not sent leaves its number free, and is not sent late")
    func obsolete() throws {
        let workspace = try makeWorkspace([postback("t1", forged: true)])
        try workspace.replay(["postbacks"], workspace.order(mode: .present))
        try workspace.promote()
        try workspace.publish("postbacks", postback("t1"))
        try workspace.foldPostbacks()
        let revisions = try documents(workspace).compactMap { $0["revision"] as? Int }
        #expect(revisions == [1, 3])
        #expect(try workspace.sendCorrections() == 0)
        #expect(try workspace.corrections().map(\.state) == [.obsolete])
    }

    @Test("What would not have been published is withdrawn, and what should have been is added")
    func withdrawnAndAdded() throws {
        let workspace = try makeWorkspace([postback("t1", forged: true), postback("t2", value: 1)])
        try workspace.write("partners/acme.yaml", Samples.trusting("[valid]"))
        try workspace.write(
            "partners/other.yaml",
            Samples.partner.replacingOccurrences(of: "name: acme", with: "name: other"))
        try workspace.replay(["postbacks"], workspace.order(mode: .present))
        try workspace.promote()
        let corrections = try workspace.corrections()
        #expect(Set(corrections.map(\.kind)) == [.withdrawn, .added])
        #expect(corrections.count == 2)
        try workspace.sendCorrections()
        let all = try documents(workspace)
        let withdrawn = try #require(all.first { $0["withdrawn"] as? Bool == true })
        #expect(withdrawn["revision"] as? Int == 2)
        #expect((withdrawn["supersedes"] as? String)?.hasSuffix(":1") == true)
        #expect(withdrawn["conversion"] is NSNull)
        #expect((withdrawn["postback"] as? [String: Any])?["transaction_id"] as? String == "t1")
        let added = try #require(all.first { $0["partner"] as? String == "other" })
        #expect(added["revision"] as? Int == 1)
        #expect(added["supersedes"] == nil)
        // What was withdrawn is published again behind it, should it be trusted one day.
        try workspace.write("partners/acme.yaml", Samples.trusting("[valid, invalid]"))
        try workspace.replay(["postbacks"], workspace.order(into: "second", mode: .present))
        try workspace.promote("second")
        let again = try #require(try workspace.corrections("second").first)
        #expect(again.kind == .changed)
        #expect(again.revision == 3)
        #expect(again.supersedes?.hasSuffix(":2") == true)
    }

    @Test(
        "What the old store had not noted as published is published first, and has no other content under its number"
    )
    func unpublished() throws {
        let records = try ["t1", "t2"].map { try Samples.signed($0) }
        let workspace = try makeWorkspace(records)
        // As after a crash between the append and its mark.
        try workspace.execute(
            "UPDATE partitions SET outbox_emitted = 1 WHERE partition = 0", stream: "postbacks")
        try workspace.openLog().reader(topic: "postbacks", group: "weir-postbacks").commit([0: 1])
        try workspace.replay(["postbacks"], workspace.order(mode: .present))
        try workspace.promote()
        #expect(try workspace.corrections().map(\.postback.originOffset) == [0, 1])
        try workspace.foldPostbacks()
        try workspace.sendCorrections()
        let published = try workspace.records("partner-postbacks")
        let first = published.filter { $0.headers["ce_id"]?.hasSuffix(":1") == true }
        #expect(first.count == 3 && Set(first.map(\.value)).count == 2)
        #expect(published.count { $0.headers["ce_id"]?.hasSuffix(":2") == true } == 2)
    }

    @Test(
        "Without the present store, or with an older one than its group has published of, nothing is promoted",
        arguments: [true, false])
    func unknownDocuments(isGone: Bool) throws {
        let workspace = try makeWorkspace(postbacks(40))
        let store = workspace.path + "/data/postbacks.sqlite"
        if isGone {
            try FileManager.default.removeItem(atPath: store)
        } else {
            let range = ReplayRange(toOffset: 3)
            try workspace.replay(
                ["postbacks"], workspace.order(into: "older", mode: .present, range: range))
            try FileManager.default.removeItem(atPath: store)
            try FileManager.default.moveItem(
                atPath: workspace.path + "/older/postbacks.sqlite", toPath: store)
        }
        try workspace.replay(["postbacks"], workspace.order(mode: .present))
        let error = #expect(throws: PromotionError.self) { try workspace.promote() }
        #expect(
            "\(try #require(error))".contains("weir cannot determine which documents partners have")
        )
        #expect(throws: PromotionError.self) {
            try workspace.promotion(.directory(workspace.path + "/set")).check()
        }
        #expect(try workspace.inForce("postbacks") == "data")
        _ = try workspace.promotion(.directory(workspace.path + "/set"), acceptsLostHistory: true)
            .run(stop: StopSignal())
        try workspace.foldPostbacks()
        #expect(try workspace.sendCorrections() == 0)
        #expect(try workspace.records("partner-postbacks").count == 40)
    }

    @Test("Corrections are sent to the log that their set was folded from, and to no other")
    func correctionsOfOtherLog() throws {
        let workspace = try makeWorkspace(postbacks(20))
        try workspace.replay(["postbacks"], workspace.order(mode: .present))
        try workspace.promote()
        let path = workspace.path + "/other.sqlite"
        let other = try EmbeddedLog(path: path, mode: .create)
        try other.createTopic("postbacks", partitionCount: 4)
        let sending = try CorrectionSending(
            directory: workspace.path + "/set", data: workspace.path + "/data",
            source: workspace.source(log: .sqlite(path: path)))
        let error = #expect(throws: WorkerError.self) { try sending.run(stop: StopSignal()) }
        #expect("\(try #require(error))".contains("postbacks"))
        #expect(try other.topics().map(\.name) == ["postbacks"])
        #expect(try workspace.sendCorrections() == 10)
    }

    @Test(
        "While corrections are sent no other set comes into force; those of a set that was left are not sent"
    )
    func sendingWhilePromoting() throws {
        let workspace = try makeWorkspace(postbacks(20))
        try workspace.replay(["postbacks"], workspace.order(mode: .present))
        try workspace.promote()
        let sent = try workspace.sendCorrections {
            #expect(throws: PromotionError.self) {
                try workspace.promotion(.back, patienceSeconds: 0).run(stop: StopSignal())
            }
            #expect(throws: PromotionError.self) { try workspace.sendCorrections() }
            let inForce = try workspace.inForce("postbacks")
            #expect(inForce == "set")
        }
        #expect(sent == 10)
        _ = try workspace.promotion(.back).run(
            stop: StopSignal(),
            onStep: { step in
                guard step != .requested else { return }
                #expect(throws: PromotionError.self) { try workspace.sendCorrections() }
            })
        #expect(throws: PromotionError.notInForce(workspace.path + "/set")) {
            try workspace.sendCorrections()
        }
        #expect(try workspace.sendCorrections("data") == 10)
    }

    @Test(
        "A promoted set whose corrections are gone or emptied is not gone on with, unless that loss is accepted",
        arguments: [false, true])
    func lostCorrections(isEmptied: Bool) throws {
        let workspace = try makeWorkspace(postbacks(20))
        try workspace.replay(["postbacks"], workspace.order(mode: .present))
        try workspace.promote()
        let path = workspace.path + "/set/corrections.sqlite"
        let lost = isEmptied ? StoreError.emptied(path: path) : .correctionsGone(path: path)
        try FileManager.default.removeItem(atPath: path)
        if isEmptied { try Data().write(to: URL(fileURLWithPath: path)) }
        for work in [
            { try workspace.foldPostbacks() },
            { _ = try workspace.promotion(.back).run(stop: StopSignal()) },
            { _ = try workspace.sendCorrections() },
        ] {
            let error = #expect(throws: (any Error).self) { try work() }
            #expect("\(error.map { "\($0)" } ?? "")".contains(lost.description))
        }
        for command in [
            try workspace.startWeir("check", []),
            try workspace.startWeir("check", ["--quick"]),
            try workspace.startWeir("promote", [workspace.path + "/set"]),
            try Program(
                "weir",
                [
                    "backup", "\(workspace.path)/b", "--data", "\(workspace.path)/data", "--log",
                    workspace.logAddress.description,
                ]),
        ] {
            try command.waitForExit()
            #expect(command.status == 1)
            #expect((command.output + command.error).contains(lost.description))
        }
        #expect(try workspace.inForce("postbacks") == "set")
        _ = try workspace.promotion(.back, acceptsLostHistory: true).run(stop: StopSignal())
        try workspace.write(Samples.modelFile, Samples.model)
        try workspace.foldPostbacks()
    }

    @Test("What a killed sender left of a transaction does not come back into later corrections")
    func interruptedMark() throws {
        let workspace = try makeWorkspace(postbacks(40))
        try workspace.replay(["postbacks"], workspace.order(mode: .present))
        try workspace.promote()
        #expect(try workspace.corrections().count == 20)
        let path = "\(workspace.path)/set/corrections.sqlite"
        let files = ["", "-journal"].map { (path + $0, "\(workspace.path)/left\($0)") }
        try DatabaseQueue(path: path).writeWithoutTransaction { db in
            try db.execute(sql: "BEGIN IMMEDIATE; DELETE FROM corrections")
            #expect(sqlite3_db_cacheflush(db.sqliteConnection) == SQLITE_OK)
            for (file, copy) in files {
                try FileManager.default.copyItem(atPath: file, toPath: copy)
            }
            try db.execute(sql: "ROLLBACK")
        }
        for (file, copy) in files {
            unlink(file)
            try FileManager.default.moveItem(atPath: copy, toPath: file)
        }
        try CorrectionStore.replace(in: workspace.path + "/set") { _ in }
        #expect(try workspace.corrections().isEmpty)
    }
}
