import ConfigurationValues
import Foundation
import Program
import Reports
import TestKit
import Testing

@testable import weir

@Suite("The command line")
struct CommandLineTests {
    @Test("an option goes before the environment, and the environment before the default")
    func precedence() throws {
        let set = Environment([
            "WEIR_DATA": "a:b", "WEIR_LOG": "sqlite:x", "WEIR_PIPELINES": "p", "WEIR_TOPICS": "t",
            "WEIR_FORMAT": "csv",
        ])
        let unset = Environment(["WEIR_LOG": ""])
        #expect(set.dataDirectories([]) == ["a", "b"])
        #expect(set.dataDirectories(["c"]) == ["c"])
        #expect(unset.dataDirectories([]) == ["data"])
        #expect(set.log(nil, dataDirectories: ["d"]) == "sqlite:x")
        #expect(set.log("sqlite:y", dataDirectories: ["d"]) == "sqlite:y")
        #expect(unset.log(nil, dataDirectories: ["d", "e"]) == "sqlite:d/log.sqlite")
        let place = { (environment: Environment) in
            [FilesPlace.Kind.pipelines, .topics].map {
                environment.place(of: $0, nil, data: []).path
            }
        }
        #expect(place(set) == ["p", "t"])
        // Tests run in the repository.
        #expect(place(unset) == ["pipelines", "topics"])
        #expect(try set.format(nil, default: DumpFormat.table) == .csv)
        #expect(try set.format("json", default: DumpFormat.table) == .json)
        #expect(try unset.format(nil, default: DumpFormat.table) == .table)
        #expect(throws: UsageError.self) { try set.format(nil, default: RecordFormat.ndjson) }
    }

    @Test("the options of a dump become its question")
    func dumpOptions() throws {
        let command = try #require(
            try WeirCommand.parseAsRoot([
                "dump", "bids", "--by", "day,seat", "--since", "1970-01-02", "--until",
                "1795318668500",
                "--where", "seat=a=b", "--where", "app_id=1", "--data", "x", "--data", "y",
            ]) as? DumpCommand)
        let query = try command.request()
        #expect(query.name == "bids")
        #expect(query.grouping == .columns(["day", "seat"]))
        #expect(query.sinceMilliseconds == 86_400_000)
        #expect(query.untilMilliseconds == 1_795_318_668_500)
        #expect(
            query.conditions == [
                .init(column: "seat", value: "a=b"), .init(column: "app_id", value: "1"),
            ])
        #expect(command.data.directories == ["x", "y"])
    }

    @Test("a column has one condition")
    func repeatedCondition() throws {
        let command = try #require(
            try WeirCommand.parseAsRoot([
                "dump", "bids", "--where", "seat=a", "--where", "app_id=1", "--where", "seat=b",
            ]) as? DumpCommand)
        let error = try #require(throws: CommandError.self) { try command.request() }
        #expect(error.explanation == "--where seat=b: seat is given twice: keep one")
    }

    @Test("the options of a funnel become its request, beside the configuration's names and trust")
    func funnelOptions() throws {
        let workspace = try TemporaryDirectory()
        for (name, text) in [
            ("bids.yaml", ""), ("postbacks.yaml", "trust_development: true"),
            ("catalog.yaml", "apps: {7: Seven}"),
        ] {
            try workspace.write(text, to: name)
        }
        func command(_ arguments: String...) throws -> DumpCommand {
            try #require(
                try WeirCommand.parseAsRoot(["dump", "funnel"] + arguments) as? DumpCommand)
        }
        let funnel = try command(
            "--by", "day,name", "--date", "install", "--pipelines", workspace.path)
        let request = try funnel.request()
        #expect(request.grouping == .columns(["day", "name"]))
        #expect(request.dateRule == .install)
        let configuration = funnel.installation.configuration
        #expect(try configuration.trustsDevelopment())
        #expect(try configuration.catalog().appName(7) == "Seven")
        #expect(try command("--pipelines", workspace.path).request().dateRule == nil)
        #expect(throws: CommandError.self) {
            try command("--date", "noon", "--pipelines", workspace.path).request()
        }
        let absent = try command("--pipelines", "\(workspace.path)/none")
        #expect(throws: ConfigurationError.self) {
            try FunnelFigure(absent.request(), absent.installation.configuration)
        }
    }

    @Test("an export reports how many postbacks it has, and how many it left out and why")
    func exportNotices() throws {
        let command = try #require(
            try WeirCommand.parseAsRoot(["export", "postbacks", "--profile", "adjust"])
                as? ExportCommand)
        let cursor = try #require(
            ExportCursor("c1:0123456789abcdef:0=12@fedcba9876543210:b763e21a"))
        let whole = WrittenExport(
            rowCount: 4,
            omissions: ExportOmissions(adAttributionKit: 2, otherTimes: 1, unproven: 3),
            cursor: cursor, acceptedRecords: 12, replacedRecords: 2)
        #expect(
            command.notices(whole, isOfChanges: false) == [
                "2 postbacks are left out: the profile has no columns for AdAttributionKit; the profile weir has them",
                "3 postbacks are left out: no production key verifies the signature, and the profile has no column for this; the profile weir has one",
                "1 postback is left out: outside --since and --until",
                "exported 4 postbacks; the stores have accepted 12 records, 2 replaced by a better copy",
            ])
        let ofPartner = try #require(
            try WeirCommand.parseAsRoot([
                "export", "postbacks", "--profile", "adjust", "--partner", "acme",
            ]) as? ExportCommand)
        #expect(
            ofPartner.notices(
                WrittenExport(rowCount: 1, cursor: cursor, acceptedRecords: nil), isOfChanges: true)
                == ["exported 1 postback that changed, and was published for partner acme"])
    }

    @Test("an export has one of the known profiles")
    func exportOptions() throws {
        func query(_ profile: String) throws -> ExportQuery? {
            let command = try WeirCommand.parseAsRoot([
                "export", "postbacks", "--profile", profile, "--partner", "acme", "--since",
                "1795318668500",
            ])
            return try (command as? ExportCommand)?.query()
        }
        #expect(try query("adjust")?.profile == .adjust)
        #expect(try query("singular")?.partner == "acme")
        #expect(try query("appsflyer")?.sinceMilliseconds == 1_795_318_668_500)
        #expect(throws: CommandError.self) { try query("branch") }
    }

    @Test("what changed is asked for by a cursor or start, and by no other time")
    func exportCursor() throws {
        func query(_ options: String...) throws -> ExportQuery? {
            let words = ["export", "postbacks", "--profile", "weir"] + options
            return try (try WeirCommand.parseAsRoot(words) as? ExportCommand)?.query()
        }
        let cursor = "c1:0123456789abcdef:0=12@fedcba9876543210:b763e21a"
        #expect(try query("--changed-since", cursor + "\n")?.changedSince?.description == cursor)
        #expect(try query("--changed-since", "start")?.changedSince == nil)
        #expect(throws: CommandError.self) { try query("--changed-since", "") }
        #expect(throws: CommandError.self) { try query("--changed-since", "c1") }
        #expect(throws: CommandError.self) {
            try query("--changed-since", cursor, "--since", "1795318668500")
        }
        #expect(throws: CommandError.self) { try query("--partner", "") }
    }

    @Test("what the next export would not bring is not left out, and only a file is replaced")
    func nextCursor() throws {
        let workspace = try TemporaryDirectory()
        func fault(_ options: String...) throws -> String {
            let words =
                ["export", "postbacks", "--profile", "weir", "--data", workspace.path] + options
            do {
                var command = try WeirCommand.parseAsRoot(words)
                try command.run()
                return ""
            } catch {
                return CommandError(error)?.explanation ?? "\(error)"
            }
        }
        let file = workspace.path + "/cursor"
        #expect(
            try fault("--changed-since", "start", "--until", "1795318668500", "--next-cursor", file)
                .hasPrefix("--next-cursor excludes --since and --until"))
        #expect(try fault("--next-cursor", "").hasPrefix("--next-cursor is empty"))
        #expect(try fault("--next-cursor", workspace.path).contains("is not a file"))
        #expect(mkfifo(file, 0o600) == 0)
        #expect(try fault("--next-cursor", file).contains("is not a file"))
        #expect(
            try fault("--next-cursor", workspace.path + "/a/b").contains("there is no directory"))
    }

    @Test("a flag is set by its option, or by a variable that says yes")
    func flags() throws {
        #expect(try Environment([:]).isSet("WEIR_NAMES", option: true))
        #expect(try !Environment([:]).isSet("WEIR_NAMES", option: false))
        #expect(try Environment(["WEIR_NAMES": "1"]).isSet("WEIR_NAMES", option: false))
        #expect(try !Environment(["WEIR_NAMES": "no"]).isSet("WEIR_NAMES", option: false))
        #expect(throws: UsageError.self) {
            try Environment(["WEIR_NAMES": "maybe"]).isSet("WEIR_NAMES", option: false)
        }
    }

    @Test("bad questions end with 64, what fails with 1")
    func exitCodes() {
        let usage: [any Error] = [
            InspectionError.unknownDump("x", valid: []), InspectionError.badColumns("x"),
        ]
        #expect(usage.allSatisfy { CommandError($0)?.exitCode == 64 })
        #expect(CommandError(InspectionError.noStore(streams: [], directories: []))?.exitCode == 1)
        for option in [["--where", "seat"], ["--where", "=1"], ["--since", "someday"]] {
            #expect {
                try (WeirCommand.parseAsRoot(["dump", "bids"] + option) as? DumpCommand)?
                    .request()
            } throws: { ($0 as? CommandError)?.exitCode == 64 }
        }
    }
}
