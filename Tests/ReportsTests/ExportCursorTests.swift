import ConfigurationValues
import Foundation
import Reports
import Signatures
import Streams
import TestKit
import Testing

/// Exports of what changed since an earlier one, as a warehouse takes them.
@Suite("Exports that go on where the last one ended")
struct ExportCursorTests {
    private let stores = SampleStores()

    /// A copy of the first postback whose signature does not fit.
    private static var forged: SampleStores.Record {
        var forged = SampleStores.Record.postback(0)
        forged.value = forged.value?.replacing("\"campaign-id\":42", with: "\"campaign-id\":43")
        return forged
    }

    private func fold(_ records: SampleStores.Record..., trust: Set<Verdict>) throws {
        try stores.foldPostbacks(
            records,
            partners: [PartnerRule(name: "acme", trust: trust, networks: nil, apps: nil)])
    }

    /// The rows of an export by key, with their revision, and the next cursor.
    private func rows(
        since cursor: ExportCursor? = nil, partner: String? = nil,
        profile: ExportProfile = .weir
    ) throws -> (rows: [String: Row], omissions: ExportOmissions, cursor: ExportCursor) {
        var text: [UInt8] = []
        let written = try stores.stores("data").export(
            ExportQuery(profile: profile, partner: partner, changedSince: cursor),
            catalog: Catalog(), log: DocumentsOfOutbox(), as: .ndjson
        ) { text += $0 }
        var rows: [String: Row] = [:]
        for line in String(decoding: text, as: UTF8.self).split(separator: "\n") {
            let row = try JSONDecoder().decode(Row.self, from: Data(line.utf8))
            rows[row.key ?? "\(rows.count)"] = row
        }
        #expect(rows.count == written.rowCount)
        return (rows, written.omissions, written.cursor)
    }

    private struct Row: Decodable, Equatable {
        var key: String?
        var revision: Int64?
        var withdrawn: Bool?
        var campaign: String?
        var valid: Bool?
    }

    @Test("what changed, merged by key, is what a whole export has")
    func merging() throws {
        try fold(Self.forged, .losingPostback(1), trust: [.valid, .invalid])
        let first = try rows()
        #expect(first.rows.count == 2)
        #expect(try rows(since: first.cursor).rows.isEmpty)
        // The true copy of the first, and the second once more.
        try fold(.postback(2), .losingPostback(3), trust: [.valid, .invalid])
        let second = try rows(since: first.cursor)
        #expect(second.rows.count == 1)
        let changed = try #require(second.rows.first)
        let before = try #require(first.rows[changed.key])
        #expect((before.campaign, before.valid) == ("43", false))
        #expect((changed.value.campaign, changed.value.valid) == ("42", true))
        #expect((before.revision, changed.value.revision) == (0, 2))
        let merged = first.rows.merging(second.rows) { $1 }
        #expect(merged == (try rows().rows))
        #expect(try rows(since: second.cursor).rows.isEmpty)
    }

    @Test("a postback whose better copy no partner got is withdrawn")
    func withdrawn() throws {
        try fold(Self.forged, .losingPostback(1), trust: [.invalid])
        let first = try rows(partner: "acme")
        let whole = try rows(partner: "acme", profile: .adjust)
        let key = try #require(first.rows.values.first { $0.campaign == "43" }?.key)
        try fold(.postback(2), trust: [.invalid])
        let second = try rows(since: first.cursor, partner: "acme")
        #expect(Array(second.rows.keys) == [key])
        let row = try #require(second.rows[key])
        #expect((row.withdrawn, row.revision, row.campaign) == (true, 2, nil))
        #expect(try rows(partner: "acme").rows[key] == nil)
        let services = try rows(since: whole.cursor, partner: "acme", profile: .adjust)
        #expect(services.rows.isEmpty)
        #expect(services.omissions == ExportOmissions(withdrawn: 1))
    }

    @Test("a partition that is new comes whole")
    func newPartition() throws {
        try fold(.postback(0), trust: [.valid])
        let first = try rows()
        var other = SampleStores.Record.losingPostback(0)
        other.partition = 3
        try fold(other, trust: [.valid])
        #expect(try rows(since: first.cursor).rows.map(\.key).first?.hasPrefix("3-") == true)
    }

    @Test("a cursor reads as it was written, and nothing else is one")
    func text() throws {
        try fold(.postback(0), trust: [.valid])
        let cursor = try rows().cursor
        #expect(ExportCursor("\(cursor)") == cursor)
        let text = "\(cursor)"
        for end in 0..<text.count { #expect(ExportCursor(String(text.prefix(end))) == nil) }
        for (part, other) in [("0=1", "0=2"), ("0=1", "0=+1"), ("0=1", "0=0"), ("c1:", "c2:")] {
            #expect(text.contains(part))
            #expect(ExportCursor(text.replacing(part, with: other)) == nil, "\(other)")
        }
        #expect(ExportCursor(text + ",1=2@b") == nil)
    }

    @Test("a cursor of records that a restored log does not have is refused")
    func restored() throws {
        try fold(.postback(0), .losingPostback(1), trust: [.valid])
        let cursor = try rows().cursor
        #expect(throws: InspectionError.self) { try rows(since: cursor, profile: .adjust) }
        try stores.change(
            "UPDATE postback_copies SET timestamp_ms = timestamp_ms + 1 WHERE offset = 1",
            stream: "postbacks")
        #expect(throws: InspectionError.self) { try rows(since: cursor) }
    }

    @Test("a cursor of other rows is refused, and says what to do")
    func stale() throws {
        try fold(.postback(0), .losingPostback(1), trust: [.valid])
        let cursor = try rows().cursor
        func reason(_ body: () throws -> Void) -> String {
            do {
                try body()
                return ""
            } catch {
                return "\(error)"
            }
        }
        #expect(
            reason { _ = try rows(since: cursor, partner: "acme") }
                == "--changed-since cannot continue from this cursor: it belongs to another log, topic, --partner "
                + "or --profile, or to a version that exported only published postbacks; export everything with --changed-since start, and replace the loaded data"
        )
        try stores.change("UPDATE partitions SET next_offset = 1", stream: "postbacks")
        #expect(
            reason { _ = try rows(since: cursor) }
                .contains(
                    "partition 0 is folded up to 1, and was folded up to 2 at the last export;"))
        try stores.change(
            "UPDATE partitions SET next_offset = 2; UPDATE epochs SET configuration = '{\"a\":1}'",
            stream: "postbacks")
        #expect(
            reason { _ = try rows(since: cursor) }
                .contains(
                    "partition 0 contains other records than at the last export, or was folded again under another"
                ))
        try stores.change(
            "UPDATE partitions SET partition = 2; UPDATE slots SET partition = 2;"
                + "UPDATE hours SET partition = 2", stream: "postbacks")
        #expect(reason { _ = try rows(since: cursor) }.contains("no store contains partition 0;"))
    }
}
