import EventLog
import Foundation
import History
import Reports
import Streams
import TestKit
import Testing

@testable import Dashboard
@testable import weir

/// What pages and files answer when something is broken.
@Suite("Faults on pages", .timeLimit(.minutes(10)))
struct DashboardFaultsTests {
    private func makeWorkspace() throws -> Workspace {
        let workspace = try Workspace()
        try workspace.configurePostbacks()
        try workspace.write("costs.yaml", "batch_records: 100\n")
        try workspace.publishAuctions("a")
        try workspace.publish(
            "costs",
            Samples.record(
                "costs", #"{"source":"s","day":"2026-11-20","currency":"EUR","amount":5}"#,
                type: "cost.reported", partition: 0))
        try workspace.foldBids()
        try workspace.fold("costs", workspace.options())
        return workspace
    }

    private func asker(_ workspace: Workspace) throws -> PageAsker {
        PageAsker(
            source: try Installation.parse(
                workspace.commandLine() + ["--at", "2026-11-21T12:00:00Z"]))
    }

    private func makeFIFO(_ workspace: Workspace, _ name: String) throws {
        try #require(mkfifo(workspace.pipelines + "/" + name, 0o600) == 0)
    }

    @Test("a damaged store fails the parts that need it, and no others")
    func damagedStore() throws {
        let workspace = try makeWorkspace()
        let asker = try asker(workspace)
        let whole = try asker.page("/dump/bids?by=day").text
        try Data(repeating: 7, count: 8192).write(
            to: URL(fileURLWithPath: workspace.path + "/data/costs.sqlite"))
        let page = try asker.page("/dump/bids?by=day")
        #expect(page.status == 200)
        let table = #/<table.*<\/table>/#.dotMatchesNewlines()
        let rows = try #require(whole.firstMatch(of: table)).output
        #expect(try #require(page.text.firstMatch(of: table)).output == rows)
        #expect(try asker.page("/dump/costs?by=day").status != 200)
    }

    @Test(
        "a broken catalog is named where it is needed, and the rest of the page stays",
        arguments: [true, false])
    func catalog(_ isFIFO: Bool) throws {
        let workspace = try makeWorkspace()
        if isFIFO {
            try makeFIFO(workspace, "catalog.yaml")
        } else {
            try workspace.write("catalog.yaml", "networks: {one.example: [x]}\n")
        }
        let asker = try asker(workspace)
        let page = try asker.page("/campaigns?period=all")
        #expect(page.status == 200)
        #expect(page.text.contains("Not shown: a configuration file is invalid: "))
        #expect(page.text.contains("catalog.yaml"))
        #expect(page.text.contains(">EUR 5.00<"), "reported costs need no catalog")
        let today = try asker.page("/")
        #expect(today.status == 200 && today.text.contains("catalog.yaml"))
        #expect(today.text.contains("How fresh and how complete each stream is"))
        // Nothing of these can be shown.
        for address in ["/dump/funnel?by=day", "/campaign?campaign=1"] {
            let page = try asker.page(address)
            #expect(page.status == 500, "\(address)")
            #expect(page.text.contains("catalog.yaml"), "\(address)")
        }
    }

    @Test("a broken file of a partner is named, and the other partners are shown")
    func partners() throws {
        let workspace = try makeWorkspace()
        try workspace.write("partners/broken.yaml", "name: [broken]\n")
        try makeFIFO(workspace, "partners/pipe.yaml")
        let page = try asker(workspace).page("/partners")
        #expect(page.status == 200)
        #expect(page.text.contains("partners/broken.yaml:1"))
        #expect(page.text.contains("partners/pipe.yaml"))
        #expect(page.text.contains(">acme</a></td>"))
        let scoped = PageAsker(
            source: try asker(workspace).source,
            scope: [ReportRequest.Condition(column: "campaign", value: "1")])
        #expect(!(try scoped.page("/campaigns").text.contains("partners/")))
    }

    @Test("an error of a file has the format of the file")
    func formats() throws {
        let workspace = try makeWorkspace()
        defer { withExtendedLifetime(workspace) {} }
        let asker = try asker(workspace)
        for (address, status) in [
            ("/dump/bids.json?by=colour", 400), ("/dump/none.json", 400), ("/nowhere.json", 404),
            ("/explain/bids.json?measure=bids&nonsense=1", 400),
            ("/dump/bids.ndjson?by=colour", 400),
        ] {
            let answer = try asker.page(address)
            #expect(answer.status == status, "\(address)")
            #expect(answer.contentType.hasPrefix("application/"), "\(address)")
            let object = try JSONSerialization.jsonObject(with: Data(answer.text.utf8))
            let members = try #require(object as? [String: String], "\(address)")
            #expect(members.keys.sorted() == ["error"] && members["error"] != "", "\(address)")
        }
        for address in ["/dump/bids.csv?by=colour", "/changes/bids.csv?from=soon"] {
            let answer = try asker.page(address)
            #expect(answer.status == 400, "\(address)")
            #expect(answer.contentType == "text/plain; charset=utf-8", "\(address)")
            #expect(!answer.text.contains("<") && answer.text.hasSuffix("\n"), "\(address)")
        }
        let page = try asker.page("/dump/bids?by=colour")
        #expect(page.contentType.hasPrefix("text/html") && page.text.contains("<h1>Not shown"))
    }

    @Test("an unknown parameter is answered with the known ones, each once")
    func parameters() throws {
        let asker = PageAsker(source: try ExampleStores.source())
        for address in ["/dump/funnel?campain=1", "/campaigns?campain=1"] {
            let text = try asker.page(address).text
            let list = try #require(text.firstMatch(of: #/use one of ([a-z_, ]*)/#)?.1)
            let names = list.split(separator: ", ").map(String.init)
            #expect(names.count == Set(names).count && names.contains("campaign"), "\(list)")
        }
    }

    @Test("without by, a dump has the rows of weir dump, on the page and as files")
    func rows() throws {
        let workspace = try makeWorkspace()
        let asker = try asker(workspace)
        for name in ["bids", "costs", Funnel.name] {
            for format in ["csv", "json"] {
                let printed = try Program.run(
                    "weir",
                    ["dump", name, "--format", format, "--at", "2026-11-21T12:00:00Z"]
                        + workspace.commandLine())
                #expect(try asker.page("/dump/\(name).\(format)").text == printed.output)
            }
            let page = try asker.page("/dump/\(name)")
            #expect(page.status == 200)
            #expect(page.text.contains("<pre>weir dump \(name) --at 2026-11-21T12:00:00Z</pre>"))
            #expect(page.links.contains { $0.address == "/dump/\(name).csv" })
        }
        let total = try asker.page("/dump/bids.csv?by=total&measures=bids").text
        #expect(total == "bids\r\n1\r\n")
        #expect(try asker.page("/dump/bids?by=total").text.contains("/dump/bids.csv?by=total"))
    }

    @Test("each command beside a page looks at the time of the page")
    func clock() throws {
        let workspace = try makeWorkspace()
        defer { withExtendedLifetime(workspace) {} }
        let asker = try asker(workspace)
        for address in [
            "/campaigns", "/records", "/dump/bids?by=seat", "/explain/bids?measure=bids",
            "/changes/bids?from=2026-11-01",
        ] {
            let text = try asker.page(address).text
            let commands = text.matches(
                of: #/<pre>(weir (?:dump|explain|changes|reconcile)[^<]*)<\/pre>/#
            ).map { String($0.1) }
            #expect(!commands.isEmpty, "\(address)")
            for command in commands {
                #expect(command.hasSuffix(" --at 2026-11-21T12:00:00Z"), "\(command)")
            }
        }
        let without = PageAsker(source: try ExampleStores.source())
        #expect(!(try without.page("/campaigns").text.contains("--at ")))
    }
}
