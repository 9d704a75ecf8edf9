import ConfigurationValues
import ConversionValues
import DatabaseFiles
import EmbeddedLog
import EventLog
import Foundation
import Reports
import Store
import Streams
import TestKit
import Testing

@testable import History

/// Conversion updates of two installs, folded; and a rejected bid with the id of one of them.
final class ErasureWorkspace {
    static let person = "5B1C7E3A-8A41-4F0E-9C55-0D0A4E6B7F21"
    let workspace: Workspace
    var data: String { workspace.path + "/data" }

    init() throws {
        workspace = try Workspace()
        try publishUpdates(0..<12)
        try workspace.publish(
            "bids", Samples.bid("a1"),
            Samples.record("bids", "{\"device\":{\"ifa\":\"\(Self.person)\"", partition: 0),
            Samples.record("bids", "{\"device\":", partition: 0))
        try workspace.fold(.conversionUpdates)
        try workspace.foldBids()
    }

    /// Updates of the person and of another install in turns. All are in partition 0, and add 1 each.
    func publishUpdates(_ numbers: Range<Int>) throws {
        try workspace.publish(
            "conversion-updates",
            numbers.map { number in
                let id = number % 2 == 1 ? Self.person : "another-install"
                return Samples.record(
                    "conversion-updates",
                    """
                    {"update_id":"u\(number)","content":"c\(number)","install_id":"\(id)","app_id":1,\
                    "request":"conversion_value","framework":"skadnetwork","event":"ride","counted":true,\
                    "received_at_ms":\(Samples.start),"first_call_at_ms":\(Samples.start - 9),\
                    "starts_install":false,"total_revenue_micros":{},"uncounted_currencies":[],\
                    "windows":"single","sequence_index":0,"model":"m","outcome":"told",\
                    "fine":{"told":{"value":\(number),"model":"m"}},"lock_window":false,\
                    "reported_locks":[]}
                    """, key: id, partition: 0, at: Samples.start + Int64(number))
            })
    }

    func erasure(in log: (any LogBackend)? = nil, others: [String] = []) throws -> Erasure {
        var erasure = Erasure(
            of: try ErasureSubject(.install, Self.person.lowercased()),
            in: try log ?? workspace.openLog(), directories: [data],
            PipelineDirectory(workspace.pipelines), others: others)
        erasure.patience = .seconds(20)
        return erasure
    }

    /// Whether a file of the log or of a store contains the id.
    func hasBytes() throws -> Bool {
        let files =
            ["\(workspace.path)/log.sqlite"]
            + ["conversion-updates", "bids"].map {
                "\(data)/\($0).sqlite"
            }
        return files.flatMap { [$0, "\($0)-wal"] }.contains { path in
            let bytes = FileManager.default.contents(atPath: path) ?? Data()
            return bytes.range(of: Data(Self.person.utf8)) != nil
        }
    }

    func digest(_ data: String = "data") throws -> String {
        try workspace.stores(data).digest()
    }
}

@Suite("Erasing a person")
struct ErasureTests {
    private let place: ErasureWorkspace
    private var workspace: Workspace { place.workspace }

    init() throws { place = try ErasureWorkspace() }

    private func explanation(verifies: Bool = true) throws -> Explanation {
        var explainer = try workspace.explainer(workspace.stores())
        explainer.foldedOffsets = 0
        return try explainer.explain(
            DumpFigure(ReportRequest(name: "conversion-updates")),
            limit: verifies ? nil : 100
        ) { _ in }
    }

    @Test("a dry run finds everything and changes nothing")
    func dryRun() throws {
        let records = try workspace.records("conversion-updates")
        let findings = try place.erasure().find()
        #expect(
            findings.records.map(\.topic).sorted() == ["bids", "bids.dlq", "conversion-updates"])
        let updates = findings.records.first { $0.topic == "conversion-updates" }
        #expect(updates?.records.map(\.offset) == [1, 3, 5, 7, 9, 11])
        #expect(findings.refused.map { $0.places.map(\.offset) } == [[1]])
        #expect(try workspace.records("conversion-updates") == records)
        #expect(try place.hasBytes())
    }

    @Test("keeps digests and outcomes, leaves no bytes, and has nothing to do a second time")
    func run() throws {
        func outcomes() throws -> [String] {
            try workspace.contents("bids").filter { $0.hasPrefix("outcomes ") }
        }
        let (digest, before) = (try place.digest(), try outcomes())
        _ = try place.erasure().run()
        #expect(try place.digest() == digest)
        #expect(try outcomes() == before && !before.isEmpty)
        #expect(try !place.hasBytes())
        #expect(try place.erasure().run().isEmpty)
        #expect(try workspace.openLog().verifyRecords() == 12 + 1 + 3 + 2)
    }

    @Test("after an end at any step, a second run completes", arguments: ErasureStep.allCases)
    func interrupted(_ last: ErasureStep) throws {
        let digest = try place.digest()
        #expect(throws: Crash.self) {
            try place.erasure().run { if $0 == last { throw Crash() } }
        }
        #expect(try place.digest() == digest)
        try workspace.openLog().verifyRecords()
        _ = try place.erasure().run()
        #expect(try !place.hasBytes())
        #expect(try place.erasure().find().isEmpty)
    }

    @Test(
        "workers continue: they find their log again and count erased records they had not folded")
    func workers() throws {
        try place.publishUpdates(12..<14)
        _ = try place.erasure().run()
        try place.publishUpdates(14..<15)
        try workspace.fold(.conversionUpdates)
        // The update at 13, and the notice.
        #expect(try workspace.refused(for: "erased", "conversion-updates").count == 2)
        #expect(try workspace.outcome(.accepted, "conversion-updates") == 12 + 2)
        let letters = try workspace.records("conversion-updates.dlq")
        #expect(letters.allSatisfy { $0.headers["weir_reason"] == "erased" && $0.key == nil })
    }

    @Test("a worker that runs beside it releases its store and continues")
    func runningWorker() throws {
        let worker = try workspace.start("weir-bids", [])
        try workspace.publishAuctions("a2")
        try workspace.waitUntilFolded(4, "bids")
        let findings = try place.erasure().run()
        #expect(findings.refused.map { $0.places.count } == [1])
        #expect(try !place.hasBytes())
        try workspace.publishAuctions("a3")
        try workspace.waitUntilFolded(5, "bids")
        let status = try worker.stop()
        #expect(status == 0, "\(worker.error)")
    }

    @Test(
        "the state of the install is deleted, and does not come back from what is left of the log")
    func installs() throws {
        let path = place.data + "/conversions.sqlite"
        func count(_ id: String) throws -> Int { try StoredInstalls.count(id: id, at: path) }
        try StoredInstalls.follow(workspace.openLog(), at: path)
        #expect(try count(ErasureWorkspace.person) == 1 && count("another-install") == 1)
        let findings = try place.erasure().run()
        #expect(findings.installs.map(\.states) == [1])
        #expect(try count(ErasureWorkspace.person) == 0 && count("another-install") == 1)
        let bytes = FileManager.default.contents(atPath: path) ?? Data()
        #expect(bytes.range(of: Data(ErasureWorkspace.person.utf8)) == nil)
        for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + end) }
        try StoredInstalls.follow(workspace.openLog(), at: path)
        #expect(try count(ErasureWorkspace.person) == 0 && count("another-install") == 1)
        #expect(try place.erasure().find().isEmpty)
    }

    @Test("explanations name the erased records, and report no difference")
    func explanations() throws {
        let before = try explanation()
        #expect(before.addsUp)
        _ = try place.erasure().run()
        let folded = try explanation()
        #expect(!folded.addsUp && !folded.differs)
        #expect(folded.erased.map(\.offset) == [1, 3, 5, 7, 9, 11])
        #expect(folded.summary[0].hasPrefix("cannot be verified: 6 records add 6"))
        #expect(folded.missing.isEmpty)
        // The index of the store knows which records counted.
        let indexed = try explanation(verifies: false)
        #expect(!indexed.isVerified && indexed.counted == before.counted)
        #expect(indexed.measures.map(\.stored) == before.measures.map(\.stored))
    }

    @Test("a replay counts the erased records, and a promotion reports them")
    func replay() throws {
        _ = try place.erasure().run()
        let order = workspace.order()
        let replayed = try workspace.replay(["conversion-updates", "bids"], order)
        #expect(replayed.streams.map(\.erased).sorted() == [1, 6])
        #expect(try workspace.outcome(.accepted, "conversion-updates", data: "set") == 6)
        let promoted = try workspace.promote()
        #expect(promoted.map(\.erased).sorted() == [1, 6])
        #expect(promoted.compactMap(\.erasedWarning).count == 2)
    }

    @Test("erased dead letters are listed, and not requeued")
    func deadLetters() throws {
        _ = try place.erasure().run()
        let kept = try workspace.stores().deadLetters(DeadLetterQuery(), limit: 10) { $0 }
        let letters = kept.map(DeadLetter.init).filter { $0.position.topic == "bids" }
        #expect(letters.map(\.reason) == ["malformed_json", "malformed_json"])
        #expect(letters[0].erased?.valueBytes == 55)
        #expect(letters[0].obstacle?.contains("erased") == true)
        #expect(letters[1].obstacle == nil)
    }

    @Test("copies are named: logs, backups, snapshots, and files that were set aside")
    func copies() throws {
        let files = FileManager.default
        let backup = workspace.path + "/backup"
        try files.createDirectory(atPath: backup, withIntermediateDirectories: true)
        for name in ["log.sqlite", "data/bids.sqlite"] {
            try FileCopy.write(
                "\(workspace.path)/\(name)", to: "\(backup)/\((name as NSString).lastPathComponent)"
            )
        }
        try Data("{}".utf8).write(to: URL(fileURLWithPath: backup + "/backup.json"))
        var erasure = try place.erasure(others: [backup])
        erasure.isBackup = { files.fileExists(atPath: $0 + "/backup.json") }
        let copies = try erasure.run().copies
        #expect(copies.map(\.path) == ["bids.sqlite", "log.sqlite"].map { "\(backup)/\($0)" })
        #expect(copies.map(\.records) == [1, 8])
        #expect(copies.allSatisfy { $0.remedy.contains("take a new backup") })
        // A copy of the log can be erased as the log itself.
        let copy = try EmbeddedLog(path: backup + "/log.sqlite", mode: .existing)
        _ = try place.erasure(in: copy).run()
        #expect(try place.erasure(others: [backup]).find().copies.map(\.records) == [1])
    }

    @Test("an id that is short or would break out of its quotes is refused")
    func badIDs() {
        for id in [
            "", "1234567", "has space in it", "quote\"in-it", String(repeating: "x", count: 256),
        ] {
            #expect(throws: ErasureError.self) { try ErasureSubject(.install, id) }
        }
    }

    @Test("only the whole id is found, in any case, in any layer of Base64")
    func search() throws {
        let subject = try ErasureSubject(.install, "abcd-1234")
        for text in ["abcd-1234", "{\"id\":\"ABCD-1234\"}", "=abcd-1234&"] {
            #expect(subject.isIn(text))
            let once = Data(text.utf8).base64EncodedString()
            #expect(subject.isIn("\"\(once)\""))
            let twice = Data("{\"p\":\"\(once)\"}".utf8).base64EncodedString()
                .replacingOccurrences(of: "=", with: "")
            #expect(subject.isIn("e30.\(twice).c2ln"))
        }
        for text in ["abcd-12345", "xabcd-1234", "abcd_1234", "abcd-123"] {
            #expect(!subject.isIn(text))
        }
    }

    @Test("a UUID is found after escapes of URLs, and without its hyphens")
    func forms() throws {
        let id = ErasureWorkspace.person
        let subject = try ErasureSubject(.install, id)
        let bare = id.replacing("-", with: "").lowercased()
        for text in ["idfv%3D\(id)%26x", "idfv%3d\(bare)", "{\"idfv\":\"\(bare)\"}"] {
            #expect(subject.isIn(text))
            #expect(subject.isIn(Data(text.utf8).base64EncodedString()))
        }
        for text in ["D\(id)", "3D\(id)", "%3G\(bare)", "\(bare)0"] {
            #expect(!subject.isIn(text))
        }
    }

    @Test("the search for copies keeps the locks of the log: other programs must not truncate it")
    func locks() throws {
        let log = try workspace.openLog()
        let path = "\(workspace.path)/log.sqlite"
        func isLocked(_ path: String) throws -> Bool {
            var found = stat()
            #expect(stat(path, &found) == 0)
            return try String(contentsOfFile: "/proc/locks", encoding: .utf8).contains(
                ":\(found.st_ino) ")
        }
        _ = try log.topics()
        #expect(try isLocked(path) && isLocked(path + "-shm"))
        var erasure = try place.erasure(in: log, others: [workspace.path])
        erasure.isBackup = { _ in false }
        _ = try erasure.run()
        #expect(try isLocked(path) && isLocked(path + "-shm"))
    }
}
