import ConfigurationValues
import Foundation
import Reports
import Streams
import TestKit
import Testing
import Yams

@testable import Store

/// Parts of pages are made from declarations. With `WEIR_UPDATE_DOCS=1` these tests write them.
@Suite("Pages that are made from declarations")
struct GeneratedPagesTests {
    @Test("docs/reference/stores.md lists every table of every store")
    func tables() throws {
        var stores: [String: [String]] = [:]
        var rows: [String: String] = [:]
        var order: [String] = []
        for fold in allStreams {
            let schema = StoreSchema.text(of: fold)
            for match in schema.matches(of: /CREATE TABLE (\w+) \(\n((?:  -- .*\n)+)/) {
                let name = String(match.1).replacing(/_keys$/, with: "")
                if rows[name] == nil { order.append(name) }
                stores[name, default: []].append("`\(fold.streamName)`")
                rows[name] = match.2.split(separator: "\n").map { $0.dropFirst("  -- ".count) }
                    .joined(separator: " ")
            }
        }
        let lines = order.map { name in
            let names = stores[name] ?? []
            let writers = names.count == allStreams.count ? "all" : names.joined(separator: ", ")
            return "| `\(name)` | \(writers) | \(rows[name] ?? "") |"
        }
        try GeneratedPart(page: "docs/reference/stores.md", name: "tables").expect(
            ["| table | stores | rows |", "|---|---|---|"] + lines)
    }

    @Test("docs/reference/dumps.md lists every column and measure of every dump")
    func columns() throws {
        let parts = DumpDescription.all.map { dump in
            let columns = dump.columns.map { column in
                "| `\(column.name)` | \(column.note.unit?.rawValue ?? column.kind.explanation) | "
                    + "\(column.note.text)\(column.isDefault ? "" : "; only when asked for") |"
            }
            let measures = dump.measures.map { name in
                let (unit, text) = dump.note(ofMeasure: name)
                return "| `\(name)` | \(unit.rawValue) | \(text) |"
            }
            let stores =
                dump.streams.count == allStreams.count
                ? "all stores" : dump.streams.map { "`\($0).sqlite`" }.joined(separator: " and ")
            return [
                "## `\(dump.name)`", "", "\(dump.note) From \(stores).", "",
                "| column | kind | what it is |", "|---|---|---|",
            ] + columns + ["", "| measure | unit | what it counts |", "|---|---|---|"] + measures
        }
        try GeneratedPart(page: "docs/reference/dumps.md", name: "columns").expect(
            Array(parts.joined(separator: [""])))
    }

    @Test("docs/reference/commands.md lists every program and command with its options")
    func commands() throws {
        let programs =
            ["weir", "weir-collector", "weir-partner-postbacks"] + allStreams.map { $0.programName }
        let dumps = try programs.map { name in
            let help = try Program.run(name, ["--experimental-dump-help"]).output
            return try JSONDecoder().decode(HelpDump.self, from: Data(help.utf8))
        }
        try GeneratedPart(page: "docs/reference/commands.md", name: "commands").expect(
            CommandReference(dumps).lines)
    }

    @Test("docs/reference/configuration.md lists every key of the configuration files")
    func configuration() throws {
        try GeneratedPart(page: "docs/reference/configuration.md", name: "keys").expect(
            ConfigurationReference().lines)
    }

    @Test(
        "pages that people write name every key of their files",
        arguments: [
            ("partner-delivery", PartnerFile.allKeys), ("costs-files", CostMapping.keys),
            ("conversion-models", ConversionModelFile.allKeys),
        ])
    func writtenPages(page: String, keys: [String]) throws {
        let text = try Repository.text("docs/reference/\(page).md")
        for key in keys {
            #expect(text.contains("`\(key)`") || text.contains(".\(key)`"), "\(key)")
        }
    }

    @Test("docs/reference/events.md lists every event of the topics with its fields")
    func events() throws {
        let ops = OpsDirectory()
        let topics = try Repository.files(in: "topics", endingIn: ".yaml")
            .map { $0.deletingPathExtension().lastPathComponent }
            .filter { !$0.hasSuffix(".dlq") }
            .map { (name: $0, document: try ops.document("topics/\($0).yaml")) }
        try GeneratedPart(page: "docs/reference/events.md", name: "events").expect(
            EventReference(topics).lines)
    }
}

/// The lines of a page between `<!-- NAME: … -->` and `<!-- end of NAME -->`.
private struct GeneratedPart {
    let page: String
    let name: String

    func expect(_ lines: [String]) throws {
        let text = try Repository.text(page)
        let made = lines.joined(separator: "\n")
        let begin = try #require(text.firstRange(of: try Regex("<!-- \(name): .*-->\n\n")))
        let end = try #require(text.firstRange(of: "\n\n<!-- end of \(name) -->"))
        let written = String(text[begin.upperBound..<end.lowerBound])
        if ProcessInfo.processInfo.environment["WEIR_UPDATE_DOCS"] == "1", written != made {
            let updated = text[..<begin.upperBound] + made + text[end.lowerBound...]
            try Data(updated.utf8).write(to: Repository.root.appending(path: page))
            return
        }
        #expect(
            written == made,
            "\(page) differs from the declarations: run this test with WEIR_UPDATE_DOCS=1")
    }
}

extension AggregateTable.ColumnKind {
    fileprivate var explanation: String {
        switch self {
        case .hour: "hour"
        case .day: "day"
        case .text: "text"
        case .integer: "integer"
        case .boolean: "true or false"
        }
    }
}
