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
        let place = try makePlace(postbacks(300))
        let published = try place.records("partner-postbacks")
        #expect(published.count == 300)
        try place.replay(["postbacks"], place.order(mode: .present))
        try place.promote()
        #expect(try place.inForce("postbacks") == "set")
        #expect(try place.records("partner-postbacks").count == 300)
        let corrections = try place.corrections()
        #expect(corrections.count == 150)
        #expect(corrections.allSatisfy { $0.kind == .changed && $0.revision == 2 })
        #expect(try place.sendCorrections() == 150)
        #expect(try place.sendCorrections() == 0)
        let sent = try place.records("partner-postbacks").filter {
            $0.headers["ce_id"]?.hasSuffix(":2") == true
        }
        #expect(sent.count == 150)
        let wanted = Set(corrections.map { "\($0.postback.id):2" })
        #expect(Set(sent.compactMap { $0.headers["ce_id"] }) == wanted)
        for document in try documents(place) where document["revision"] as? Int == 2 {
            let id = try #require(document["id"] as? String)
            #expect(document["supersedes"] as? String == "\(id):1")
            let conversion = try #require(document["conversion"] as? [String: Any])
            let revenue = try #require(conversion["revenue"] as? [String: Any])
            #expect(revenue["max"] as? Int == 200)
        }
        // The worker goes on, and publishes none of it again.
        try place.foldPostbacks()
        #expect(try place.records("partner-postbacks").count == 450)
    }

    @Test("That the worker will refuse to go on with a set is said before it is put in force")
    func refusedSet() throws {
        let place = try makePlace([postback("t1")])
        try place.replay(["postbacks"], place.order(mode: .present))
        func refusals() throws -> [String?] {
            try place.promotion(.directory(place.path + "/set")).check().map(\.refusal)
        }
        #expect(try refusals() == [nil])
        try place.write(Samples.modelFile, Samples.model)
        let refusal = try #require(try refusals().first ?? nil)
        #expect(refusal.contains("was edited"), "\(refusal)")
    }

    @Test("Sending that is killed is finished by the same command, under the same ids and no other")
    func interruptedSending() throws {
        let place = try makePlace(postbacks(500))
        try place.replay(["postbacks"], place.order(mode: .present))
        try place.promote()
        var pieces = 0
        #expect(throws: Crash.self) {
            try place.sendCorrections {
                pieces += 1
                if pieces == 2 { throw Crash() }
            }
        }
        #expect(try place.sendCorrections() == 150)
        #expect(try place.sendCorrections() == 0)
        let sent = try place.records("partner-postbacks").compactMap { $0.headers["ce_id"] }
            .filter { $0.hasSuffix(":2") }
        #expect(sent.count == 350)
        #expect(Set(sent).count == 250)
        #expect(try place.corrections().allSatisfy { $0.state == .sent })
    }

    @Test("Better copies that come later have numbers of their own, through rollbacks too")
    func revisions() throws {
        let place = try makePlace([postback("t1", forged: true), postback("t2", value: 1)])
        try place.replay(["postbacks"], place.order(mode: .present))
        try place.promote()
        try place.sendCorrections()
        try place.publish("postbacks", postback("t1"))
        try place.foldPostbacks()
        func revisions() throws -> [Int] {
            let all = try documents(place).filter { document in
                (document["postback"] as? [String: Any])?["transaction_id"] as? String == "t1"
            }
            return all.compactMap { $0["revision"] as? Int }
        }
        #expect(try revisions() == [1, 2, 3])
        // Back under the first model: the worker would refuse to go on with the corrected one.
        try place.write(Samples.modelFile, Samples.model)
        let back = try place.promotion(.back).run(stop: StopSignal())
        #expect(back.map(\.refusal) == [nil])
        #expect(try place.inForce("postbacks") == "data")
        #expect(try place.corrections("data").map(\.revision) == [4])
        try place.sendCorrections("data")
        #expect(try revisions() == [1, 2, 3, 4])
        let last = try #require(try documents(place).first { $0["revision"] as? Int == 4 })
        #expect((last["supersedes"] as? String)?.hasSuffix(":3") == true)
        try place.foldPostbacks()
        #expect(try revisions() == [1, 2, 3, 4])
        // And forth again.
        try place.write(Samples.modelFile, Samples.correctedModel)
        try place.promote()
        #expect(try place.corrections().map(\.revision) == [5])
        #expect(
            try place.integer("SELECT max(revision) FROM outbox", stream: "postbacks", data: "set")
                == 2)
    }

    @Test("A correction that was listed and not sent leaves its number free, and is not sent late")
    func obsolete() throws {
        let place = try makePlace([postback("t1", forged: true)])
        try place.replay(["postbacks"], place.order(mode: .present))
        try place.promote()
        try place.publish("postbacks", postback("t1"))
        try place.foldPostbacks()
        let revisions = try documents(place).compactMap { $0["revision"] as? Int }
        #expect(revisions == [1, 3])
        #expect(try place.sendCorrections() == 0)
        #expect(try place.corrections().map(\.state) == [.obsolete])
    }

    @Test("What would not have been published is withdrawn, and what should have been is added")
    func withdrawnAndAdded() throws {
        let place = try makePlace([postback("t1", forged: true), postback("t2", value: 1)])
        try place.write("partners/acme.yaml", Samples.trusting("[valid]"))
        try place.write(
            "partners/other.yaml",
            Samples.partner.replacingOccurrences(of: "name: acme", with: "name: other"))
        try place.replay(["postbacks"], place.order(mode: .present))
        try place.promote()
        let corrections = try place.corrections()
        #expect(Set(corrections.map(\.kind)) == [.withdrawn, .added])
        #expect(corrections.count == 2)
        try place.sendCorrections()
        let all = try documents(place)
        let withdrawn = try #require(all.first { $0["withdrawn"] as? Bool == true })
        #expect(withdrawn["revision"] as? Int == 2)
        #expect((withdrawn["supersedes"] as? String)?.hasSuffix(":1") == true)
        #expect(withdrawn["conversion"] is NSNull)
        #expect((withdrawn["postback"] as? [String: Any])?["transaction_id"] as? String == "t1")
        let added = try #require(all.first { $0["partner"] as? String == "other" })
        #expect(added["revision"] as? Int == 1)
        #expect(added["supersedes"] == nil)
        // What was withdrawn is published again behind it, should it be trusted one day.
        try place.write("partners/acme.yaml", Samples.trusting("[valid, invalid]"))
        try place.replay(["postbacks"], place.order(into: "second", mode: .present))
        try place.promote("second")
        let again = try #require(try place.corrections("second").first)
        #expect(again.kind == .changed)
        #expect(again.revision == 3)
        #expect(again.supersedes?.hasSuffix(":2") == true)
    }

    @Test(
        "What the old store had not noted as published is published first, and has no other content under its number"
    )
    func unpublished() throws {
        let records = try ["t1", "t2"].map { try Samples.signed($0) }
        let place = try makePlace(records)
        // As after a crash between the append and its mark.
        try place.execute(
            "UPDATE partitions SET outbox_emitted = 1 WHERE partition = 0", stream: "postbacks")
        try place.openLog().reader(topic: "postbacks", group: "weir-postbacks").commit([0: 1])
        try place.replay(["postbacks"], place.order(mode: .present))
        try place.promote()
        #expect(try place.corrections().map(\.postback.originOffset) == [0, 1])
        try place.foldPostbacks()
        try place.sendCorrections()
        let published = try place.records("partner-postbacks")
        let first = published.filter { $0.headers["ce_id"]?.hasSuffix(":1") == true }
        #expect(first.count == 3 && Set(first.map(\.value)).count == 2)
        #expect(published.count { $0.headers["ce_id"]?.hasSuffix(":2") == true } == 2)
    }

    @Test(
        "Without the present store, or with an older one than its group has published of, nothing is promoted",
        arguments: [true, false])
    func unknownDocuments(isGone: Bool) throws {
        let place = try makePlace(postbacks(40))
        let store = place.path + "/data/postbacks.sqlite"
        if isGone {
            try FileManager.default.removeItem(atPath: store)
        } else {
            let range = ReplayRange(toOffset: 3)
            try place.replay(
                ["postbacks"], place.order(into: "older", mode: .present, range: range))
            try FileManager.default.removeItem(atPath: store)
            try FileManager.default.moveItem(
                atPath: place.path + "/older/postbacks.sqlite", toPath: store)
        }
        try place.replay(["postbacks"], place.order(mode: .present))
        let error = #expect(throws: PromotionError.self) { try place.promote() }
        #expect(
            "\(try #require(error))".contains("weir cannot determine which documents partners have")
        )
        #expect(throws: PromotionError.self) {
            try place.promotion(.directory(place.path + "/set")).check()
        }
        #expect(try place.inForce("postbacks") == "data")
        _ = try place.promotion(.directory(place.path + "/set"), acceptsLostHistory: true)
            .run(stop: StopSignal())
        try place.foldPostbacks()
        #expect(try place.sendCorrections() == 0)
        #expect(try place.records("partner-postbacks").count == 40)
    }

    @Test("Corrections are sent to the log that their set was folded from, and to no other")
    func correctionsOfOtherLog() throws {
        let place = try makePlace(postbacks(20))
        try place.replay(["postbacks"], place.order(mode: .present))
        try place.promote()
        let path = place.path + "/other.sqlite"
        let other = try EmbeddedLog(path: path, mode: .create)
        try other.createTopic("postbacks", partitionCount: 4)
        let sending = try CorrectionSending(
            directory: place.path + "/set", data: place.path + "/data",
            source: place.source(log: .sqlite(path: path)))
        let error = #expect(throws: WorkerError.self) { try sending.run(stop: StopSignal()) }
        #expect("\(try #require(error))".contains("postbacks"))
        #expect(try other.topics().map(\.name) == ["postbacks"])
        #expect(try place.sendCorrections() == 10)
    }

    @Test(
        "While corrections are sent no other set comes into force; those of a set that was left are not sent"
    )
    func sendingWhilePromoting() throws {
        let place = try makePlace(postbacks(20))
        try place.replay(["postbacks"], place.order(mode: .present))
        try place.promote()
        let sent = try place.sendCorrections {
            #expect(throws: PromotionError.self) {
                try place.promotion(.back, patienceSeconds: 0).run(stop: StopSignal())
            }
            #expect(throws: PromotionError.self) { try place.sendCorrections() }
            let inForce = try place.inForce("postbacks")
            #expect(inForce == "set")
        }
        #expect(sent == 10)
        _ = try place.promotion(.back).run(
            stop: StopSignal(),
            onStep: { step in
                guard step != .requested else { return }
                #expect(throws: PromotionError.self) { try place.sendCorrections() }
            })
        #expect(throws: PromotionError.notInForce(place.path + "/set")) {
            try place.sendCorrections()
        }
        #expect(try place.sendCorrections("data") == 10)
    }

    @Test(
        "A promoted set whose corrections are gone or emptied is not gone on with, unless that loss is accepted",
        arguments: [false, true])
    func lostCorrections(isEmptied: Bool) throws {
        let place = try makePlace(postbacks(20))
        try place.replay(["postbacks"], place.order(mode: .present))
        try place.promote()
        let path = place.path + "/set/corrections.sqlite"
        let lost = isEmptied ? StoreError.emptied(path: path) : .correctionsGone(path: path)
        try FileManager.default.removeItem(atPath: path)
        if isEmptied { try Data().write(to: URL(fileURLWithPath: path)) }
        for work in [
            { try place.foldPostbacks() },
            { _ = try place.promotion(.back).run(stop: StopSignal()) },
            { _ = try place.sendCorrections() },
        ] {
            let error = #expect(throws: (any Error).self) { try work() }
            #expect("\(error.map { "\($0)" } ?? "")".contains(lost.description))
        }
        for command in [
            try place.startWeir("check", []),
            try place.startWeir("check", ["--quick"]),
            try place.startWeir("promote", [place.path + "/set"]),
            try Program(
                "weir",
                [
                    "backup", "\(place.path)/b", "--data", "\(place.path)/data", "--log",
                    place.logAddress.description,
                ]),
        ] {
            try command.waitForExit()
            #expect(command.status == 1)
            #expect((command.output + command.error).contains(lost.description))
        }
        #expect(try place.inForce("postbacks") == "set")
        _ = try place.promotion(.back, acceptsLostHistory: true).run(stop: StopSignal())
        try place.write(Samples.modelFile, Samples.model)
        try place.foldPostbacks()
    }

    @Test("What a killed sender left of a transaction does not come back into later corrections")
    func interruptedMark() throws {
        let place = try makePlace(postbacks(40))
        try place.replay(["postbacks"], place.order(mode: .present))
        try place.promote()
        #expect(try place.corrections().count == 20)
        let path = "\(place.path)/set/corrections.sqlite"
        let files = ["", "-journal"].map { (path + $0, "\(place.path)/left\($0)") }
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
        try CorrectionStore.replace(in: place.path + "/set") { _ in }
        #expect(try place.corrections().isEmpty)
    }
}
