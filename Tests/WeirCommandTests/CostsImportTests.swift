import ConfigurationValues
import EmbeddedLog
import Engine
import EventLog
import Foundation
import Program
import Reports
import Streams
import TestKit
import Testing

@testable import weir

@Suite("Importing costs")
struct CostsImportTests {
    /// A directory with a log, the shipped configuration and a file to import.
    private struct Place {
        let files: TemporaryDirectory
        var path: String { files.path }

        init() throws { files = try TemporaryDirectory() }

        func run(_ file: String, _ mapping: String, _ more: [String] = []) throws {
            var command = try WeirCommand.parseAsRoot(
                [
                    "costs", "import", file, "--mapping", mapping, "--log",
                    "sqlite:\(path)/log.sqlite", "--data", path, "--pipelines",
                    Repository.path("pipelines"), "--topics", Repository.path("topics"),
                ] + more)
            try command.run()
        }

        var hasLog: Bool { FileManager.default.fileExists(atPath: path + "/log.sqlite") }

        func records() throws -> [ReadRecord] {
            try EmbeddedLog(path: path + "/log.sqlite", mode: .existing).records(of: "costs")
        }

        func fold() throws -> Dump {
            let options = WorkerOptions(
                log: try LogAddress("sqlite:\(path)/log.sqlite"), data: path,
                pipelines: Repository.path("pipelines"), untilEnd: true)
            try CostsFold.work(options, stop: StopSignal())
            return try OpenStores(directories: [path]).dump(
                ReportRequest(name: "costs", grouping: .columns(["day", "currency"])))
        }
    }

    private let sample = Repository.path("Tests/Fixtures/costs-import/apple-ads.csv")

    @Test("a file is published as reports that the worker takes, each under its campaign")
    func published() throws {
        let place = try Place()
        try place.run(sample, "apple-ads")
        let records = try place.records()
        #expect(records.count == 2)
        #expect(Set(records.map(\.key)) == ["apple-ads:1478523690"])
        #expect(records.allSatisfy { $0.headers["ce_type"] == "cost.reported" })
        #expect(records.allSatisfy { $0.headers["ce_source"] == "/costs/apple-ads" })
        #expect(Set(records.map(\.partition)).count == 1)
        let rows = try place.fold().rows
        #expect(rows.map { $0.measures[0] } == [1_234_560_000, 500_000])
    }

    @Test("a file that is imported again changes nothing, a corrected one what it corrects")
    func again() throws {
        let place = try Place()
        try place.run(sample, "apple-ads")
        try place.run(sample, "apple-ads")
        let text = try Repository.text("Tests/Fixtures/costs-import/apple-ads.csv")
        let corrected = try place.files.write(
            text.replacing("$1,234.56", with: "$1,234.50"), to: "corrected.csv")
        try place.run(corrected, "apple-ads")
        let rows = try place.fold().rows
        #expect(rows.map { $0.measures[0] } == [1_234_500_000, 500_000])
        #expect(rows.map { $0.measures[4] } == [1, 0])
    }

    @Test("a network that the catalog does not have is reported by the import and by weir check")
    func unknownNetwork() throws {
        let place = try Place()
        try FileManager.default.copyItem(
            atPath: Repository.path("pipelines"), toPath: place.path + "/pipelines")
        try place.files.write(
            """
            columns: {source: source, day: day, ad_network_id: network, currency: currency, amount: amount}
            day_format: yyyy-MM-dd

            """, to: "pipelines/costs/networks.yaml")
        try place.files.write(
            """
            source,day,network,currency,amount
            s,2026-11-19,Com.Example,USD,1
            s,2026-11-20,com.exampel,USD,2
            s,2026-11-21,,USD,3

            """, to: "costs.csv")
        try place.files.write(
            "source,day,network,currency,amount\ns,2026-11-19,com.ex\u{430}mple,USD,1\n",
            to: "alike.csv")
        func run(_ line: String) throws -> Program {
            try Program.shell("cd \(place.path) && \(line)")
        }
        let topics = Repository.path("topics")
        for more in ["--dry-run", ""] {
            let imported = try run(
                "weir costs import costs.csv --mapping networks --topics \(topics) \(more)")
            #expect(imported.status == 0, "\(imported.error)")
            let warnings = imported.error.split(separator: "\n").filter { $0.contains("warning") }
            #expect(warnings.count == 1)
            #expect(
                warnings.first?.contains(
                    "costs of network 'com.exampel': pipelines/catalog.yaml does not contain")
                    == true)
        }
        let alike = try run("weir costs import alike.csv --mapping networks --dry-run")
        #expect(alike.error.contains("costs of network 'com.ex\\u{430}mple': "), "\(alike.error)")
        #expect(try run("weir-costs --until-end").status == 0)
        let check = try run("weir check --quick --topics \(topics)")
        #expect(check.output.components(separatedBy: "costs of network").count == 2)
        #expect(check.output.contains("warning: costs of network 'com.exampel'"), "\(check.output)")
    }

    @Test(
        "the repaired copy of a file with byte order marks in its cells restates, and does not add")
    func repaired() throws {
        let place = try Place()
        let folder = "Tests/Fixtures/costs-import"
        try place.run(Repository.path("\(folder)/two-byte-order-marks.csv"), "generic")
        #expect(try place.records().map(\.key) == ["finance:5239"])
        try place.run(Repository.path("\(folder)/two-byte-order-marks-repaired.csv"), "generic")
        let rows = try place.fold().rows
        #expect(rows.map { $0.measures[0] } == [12_750_000])
        #expect(rows.map { $0.measures[4] } == [1])
    }

    @Test("a dry run publishes nothing, and makes no log")
    func dryRun() throws {
        let place = try Place()
        try place.run(sample, "apple-ads", ["--dry-run"])
        #expect(!place.hasLog)
    }

    @Test(
        "a fault is named with file, line and column, and nothing is published",
        arguments: [
            ("1,234.56", "12,34.56", "bad.csv:5: column 'Spend' has '$12,34.56'"),
            ("2026-11-20,", "2026-11-32,", "bad.csv:6: column 'Date' has '2026-11-32'"),
            (
                "DE,EUR", "DE,Euro",
                "bad.csv:6: column 'Currency' has 'Euro': out_of_range: currency is not three capital letters"
            ),
            (
                "2026-11-19,1", "9999-11-19,1",
                "bad.csv:5: column 'Date' has '9999-11-19': out_of_range: day is later"
            ),
            (
                "0.5,10", "1e400,10",
                "bad.csv:6: column 'Spend' has '1e400', which is not between 0 and"
            ),
            ("0.5,10", "2e9,10", "bad.csv:6: column 'Spend' has '2e9': out_of_range: amount"),
            ("48,210", "48.5", "bad.csv:5: column 'Impressions' has '48.5'"),
            ("Taps", "Clicks", "bad.csv:4: no line has all columns"),
        ])
    func faults(_ text: String, _ fault: String, _ words: String) throws {
        let place = try Place()
        let sample = try Repository.text("Tests/Fixtures/costs-import/apple-ads.csv")
        let file = try place.files.write(sample.replacing(text, with: fault), to: "bad.csv")
        #expect {
            try place.run(file, "apple-ads")
        } throws: { error in
            guard let error = error as? CommandError, let said = error.explanation else {
                return false
            }
            return said.contains(words) && error.exitCode == 1 && !said.contains("\n")
        }
        #expect(!place.hasLog)
    }

    @Test("a mapping that is not there names those that are")
    func unknownMapping() throws {
        let place = try Place()
        #expect {
            try place.run(sample, "applovin")
        } throws: { error in
            "\(error)".contains("there are apple-ads, generic, google-ads, google-ads-api, meta")
        }
    }
}
