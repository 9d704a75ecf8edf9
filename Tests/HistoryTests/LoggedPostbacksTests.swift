import ConfigurationFiles
import ConfigurationValues
import EmbeddedLog
import EventLog
import Foundation
import History
import Reports
import Streams
import TestKit
import Testing

@Suite("Exports of all accepted postbacks")
struct LoggedPostbacksTests {
    private let workspace: Workspace

    init() throws {
        workspace = try Workspace()
        try workspace.write(
            "postbacks.yaml", SignedPostbacks.configuration(trustsDevelopment: false))
        try workspace.write(Samples.modelFile, Samples.model)
    }

    private func log(_ archive: String? = nil) throws -> LoggedPostbacks {
        let log = try workspace.openLog()
        return LoggedPostbacks(
            openReader: { topic in
                let reader = try log.reader(topic: topic)
                return try archive.map { try ArchivedLogReader(path: $0, before: reader) } ?? reader
            }, address: workspace.path, rules: .pipelines(PipelineDirectory(workspace.pipelines)))
    }

    private func export(
        _ query: ExportQuery = ExportQuery(profile: .weir), data: String..., archive: String? = nil
    ) throws -> (lines: [String], written: WrittenExport) {
        let directories = (data.isEmpty ? ["data"] : data).map { workspace.path + "/" + $0 }
        var text: [UInt8] = []
        let written = try OpenStores(directories: directories).export(
            query, catalog: Catalog(), log: try log(archive), as: .ndjson
        ) { text += $0 }
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init)
        #expect(lines.count == written.rowCount)
        return (lines, written)
    }

    /// What a dump counts over all of its rows.
    private func total(_ dump: String, _ measure: String, topic: String? = nil) throws -> Int64 {
        let query = ReportRequest(
            name: dump, grouping: .total,
            conditions: topic.map { [.init(column: "topic", value: $0)] } ?? [])
        let table = try workspace.stores().dump(query)
        let column = try #require(table.measures.firstIndex(of: measure))
        let row = try #require(table.rows.first)
        return Int64(try #require(row.measures[column]))
    }

    private func partner(_ trust: String) -> String {
        "name: every\ntrust: \(trust)\ndelivery: {url: \"https://partner.example.com/postbacks\"}\n"
    }

    @Test(
        "have each accepted postback once, as many as outcomes and postbacks count, whichever partners there are"
    )
    func all() throws {
        var postbacks = SignedPostbacks(seed: 5)
        try workspace.publish("postbacks", try postbacks.records(900))
        try workspace.write("partners/every.yaml", partner("[valid]"))
        try workspace.foldPostbacks()
        let (lines, written) = try export()
        let accepted = try total("outcomes", "accepted", topic: "postbacks")
        #expect(accepted == (try total("postbacks", "postbacks")))
        #expect(written.acceptedRecords == accepted)
        // Better copies came of some of them: these count once more, and have one row.
        #expect(written.replacedRecords > 5)
        #expect(Int64(lines.count) == accepted - written.replacedRecords)
        let sent = try export(ExportQuery(profile: .weir, partner: "every")).lines
        #expect(sent.count < lines.count)
        #expect(Set(sent).isSubset(of: lines))
        // A partner that is sent everything is sent the same.
        try workspace.write(
            "partners/every.yaml", partner("[valid, development, invalid, unverifiable]"))
        try workspace.foldPostbacks(data: "everything")
        let everything = ExportQuery(profile: .weir, partner: "every")
        #expect(try export(everything, data: "everything").lines == lines)
        // Keys tell postbacks apart.
        let keys = lines.compactMap { $0.firstMatch(of: /"key":"([^"]*)"/)?.1 }
        #expect(Set(keys).count == lines.count)
    }

    @Test("are decoded under the configurations in which their records were folded")
    func epochs() throws {
        var postbacks = SignedPostbacks(seed: 6)
        let records = try postbacks.records(600)
        try workspace.publish("postbacks", Array(records[..<300]))
        try workspace.foldPostbacks()
        let first = try export().lines
        #expect(first.contains { $0.contains("\"model\":\"first\"") })
        // From here on another version decodes, which was in force in no record before.
        try workspace.write(
            Samples.modelFile,
            Samples.model + """
                  - id: second
                    effective_from: 2026-12-24T00:00:00Z
                    currency: EUR
                    fine:
                      fields:
                        - {bits: [0, 3], kind: revenue, buckets: [0, 1, 5, 10, 50], max: 100}

                """)
        try workspace.publish("postbacks", Array(records[300...]))
        try workspace.foldPostbacks()
        let second = try export()
        #expect(second.lines.contains { $0.contains("\"model\":\"second\"") })
        // What was exported stays as it is, but for postbacks of which a better copy came.
        let replaced = Set(first).subtracting(second.lines).count
        #expect(replaced < 50 && Int64(replaced) <= second.written.replacedRecords)
        let cursor = second.written.cursor
        #expect(try export(ExportQuery(profile: .weir, changedSince: cursor)).lines.isEmpty)
    }

    @Test("go on where the last one ended: merged by key, changes make the whole")
    func changes() throws {
        var postbacks = SignedPostbacks(seed: 7)
        let records = try postbacks.records(500)
        try workspace.publish("postbacks", Array(records[..<250]))
        try workspace.foldPostbacks()
        let first = try export()
        try workspace.publish("postbacks", Array(records[250...]))
        try workspace.foldPostbacks()
        let changed = try export(
            ExportQuery(profile: .weir, changedSince: first.written.cursor))
        func byKey(_ lines: [String]) -> [String: String] {
            Dictionary(
                lines.map { (String($0.firstMatch(of: /"key":"([^"]*)"/)?.1 ?? ""), $0) },
                uniquingKeysWith: { $1 })
        }
        let whole = byKey(try export().lines)
        #expect(byKey(first.lines).merging(byKey(changed.lines)) { $1 } == whole)
        #expect(changed.lines.count < whole.count && !changed.lines.isEmpty)
        #expect(!changed.lines.contains { $0.contains("\"withdrawn\":true") })
    }

    @Test("of several directories have the furthest copy of each partition, as dumps do")
    func severalDirectories() throws {
        var postbacks = SignedPostbacks(seed: 8)
        let records = try postbacks.records(400)
        try workspace.publish("postbacks", Array(records[..<200]))
        try workspace.foldPostbacks(data: "early")
        try workspace.publish("postbacks", Array(records[200...]))
        try workspace.foldPostbacks()
        #expect(try export(data: "early", "data").lines == export().lines)
    }

    @Test("leave out what a profile has no column for, and count it")
    func profiles() throws {
        var postbacks = SignedPostbacks(seed: 9)
        try workspace.publish("postbacks", try postbacks.records(400))
        try workspace.foldPostbacks()
        let all = try export().lines
        for profile in [ExportProfile.adjust, .singular] {
            let (lines, written) = try export(ExportQuery(profile: profile))
            #expect(lines.count == all.count && written.omissions == ExportOmissions())
        }
        // AppsFlyer's columns do not tell a forged postback from a true one.
        let valid = all.count { $0.contains("\"valid\":true") }
        let (lines, written) = try export(ExportQuery(profile: .appsflyer))
        #expect(valid > 0 && valid < all.count && lines.count == valid)
        #expect(written.omissions == ExportOmissions(unproven: all.count - valid))
        let until = Samples.start + 20 * 86_400_000
        let early = try export(ExportQuery(profile: .weir, untilMilliseconds: until))
        #expect(early.lines.count + early.written.omissions.otherTimes == all.count)
        #expect(early.written.omissions.otherTimes > 0)
    }

    @Test(
        "name the records that the log no longer has, before a row is written; an archive has them")
    func trimmed() throws {
        var postbacks = SignedPostbacks(seed: 10)
        try workspace.publish("postbacks", try postbacks.records(400))
        try workspace.foldPostbacks()
        let whole = try export().lines
        let log = try workspace.openLog()
        let archive = workspace.path + "/archive.sqlite"
        let copy = try ArchiveCopy(
            from: log.reader(topic: "postbacks"), to: EmbeddedLog(path: archive, mode: .create))
        try copy.copyToEnd()
        try log.trim(topic: "postbacks", partition: 0, before: 20)
        try log.trim(topic: "postbacks", partition: 2, before: 10)
        var pieces = 0
        #expect {
            _ = try workspace.stores().export(
                ExportQuery(profile: .weir), catalog: Catalog(), log: try self.log(), as: .ndjson
            ) { _ in pieces += 1 }
        } throws: { error in
            "\(error)".hasPrefix("the log no longer has offsets ")
                && "\(error)".contains(" to 19 of postbacks/0, offsets ")
                && "\(error)".contains(" to 9 of postbacks/2: give --archive an archive")
        }
        #expect(pieces == 0)
        #expect(try export(archive: archive).lines == whole)
    }
}
