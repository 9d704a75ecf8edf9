import EventLog
import Streams
import TestKit
import Testing

/// A file of `Tests/Fixtures`: records, and the rows that they give.
///
/// A record has `value` (JSON), `text` (any text, sent word for word) or neither (a tombstone), and may
/// have `key`, `type`, `via`, `headers`, `partition` and `time`. `sign` names who signs a postback, which
/// happens when the fixture is read; `header` and `claims` are those of a JWS. `payload` is that of a
/// notification of version 2: it and the objects in its `signed…` members are signed with a chain of the
/// tests' own, by `chain` "stranger" with one that nobody trusts. Rows leave out what is
/// empty, 0 or false, and the hour 2026-11-21T05:00:00Z, which records without a `time` fall into.
struct Fixture: CustomTestStringConvertible {
    let stream: String
    let name: String

    var testDescription: String { name }

    static func all(of stream: String) -> [Fixture] {
        let files = try? Repository.files(in: "Tests/Fixtures/\(stream)", endingIn: ".json")
        return (files ?? []).map {
            Fixture(stream: stream, name: $0.deletingPathExtension().lastPathComponent)
        }
    }

    func document() throws -> Document {
        try Document(text: Repository.text("Tests/Fixtures/\(stream)/\(name).json"))
    }

    static func records(of document: Document) throws -> [TestRecord] {
        try (document["records"]?.elements ?? []).map { try record($0) }
    }

    private static func record(_ document: Document) throws -> TestRecord {
        var record: TestRecord
        if let payload = document["payload"] {
            let signer: Notifications.Signer =
                document["chain"]?.string == "stranger" ? .stranger : .apple
            record = TestRecord(try Notifications.body(payload, by: signer))
        } else if let claims = document["claims"] {
            record = TestRecord(
                try SignedPostback.adAttributionKit(
                    claims, unsigned: document["value"] ?? [:], header: document["header"],
                    by: signer(document) ?? .stranger), type: "adattributionkit.postback")
        } else if let signer = try signer(document), let value = document["value"] {
            record = TestRecord(try SignedPostback.skAdNetwork(value, by: signer))
        } else {
            record = TestRecord(
                document["value"].map(\.text).map { Array($0.utf8) }
                    ?? document["text"]?.string.map { Array($0.utf8) })
        }
        if let type = document["type"]?.string { record.headers.append(.init("ce_type", type)) }
        if let via = document["via"]?.string { record = record.via(via) }
        for header in document["headers"]?.members ?? [] {
            record.headers.append(.init(header.name, header.value.string ?? ""))
        }
        if let key = document["key"]?.string { record = record.keyed(key) }
        if let partition = document["partition"]?.integer { record.partition = Int32(partition) }
        if let time = document["time"]?.string {
            guard let timestamp = UTC.milliseconds(text: time) else {
                throw TestFault("\(time) is no time")
            }
            record.timestamp = timestamp
        }
        return record
    }

    private static func signer(_ document: Document) throws -> SigningKeys.Signer? {
        guard let name = document["sign"]?.string else { return nil }
        guard let signer = SigningKeys.Signer(rawValue: name) else {
            throw TestFault("\(name) signs nothing")
        }
        return signer
    }

    /// Holds the result against the rows of every dump that the fixture names.
    static func check(_ result: FoldResult, against expected: Document) {
        for dump in expected.members {
            let rows =
                dump.name == "rejected"
                ? Set(result.refused.map { row($0) }) : result.rows(dump.name)
            let wanted = Set(dump.value.elements.map { row($0) })
            #expect(wanted.count == dump.value.elements.count, "\(dump.name): a row comes twice")
            for row in wanted.subtracting(rows) { Issue.record("\(dump.name) lacks \(row)") }
            for row in rows.subtracting(wanted) { Issue.record("\(dump.name) has \(row)") }
        }
        // Whatever becomes of records, outcomes add up to them.
        let outcomes = Outcome.allCases.map { result.outcome($0) }.reduce(0, +)
        #expect(outcomes == result.records)
    }

    private static func row(_ refused: FoldResult.Refused) -> Row {
        let row: Row = [
            "partition": .integer(Int64(refused.partition)), "offset": .integer(refused.offset),
            "type": .text(refused.type), "reason": .text(refused.reason),
        ]
        return row.filter { !$0.value.isDefault }
    }

    private static func row(_ document: Document) -> Row {
        var row: Row = [:]
        for member in document.members {
            switch member.value {
            case .string(let text): row[member.name] = .text(text)
            case .boolean(let boolean): row[member.name] = .boolean(boolean)
            default: row[member.name] = .integer(member.value.integer ?? 0)
            }
        }
        return row.filter { !$0.value.isDefault }
    }
}
