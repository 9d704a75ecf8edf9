import ConfigurationFiles
import Foundation
import History
import Logging
import Monitoring
import Program
import Reports
import Synchronization
import TestKit
import Testing
import Tokens

@testable import Dashboard
@testable import weir

/// The stores and the log of `ExampleDay`, made once for all tests of pages.
enum ExampleStores {
    static let shared = Result { () -> (files: TemporaryDirectory, data: String) in
        let files = try TemporaryDirectory()
        let data = "\(files.path)/data"
        try ExampleDay.fold(into: data)
        return (files, data)
    }

    static func source() throws -> Installation {
        try Installation.parse([
            "--data", try shared.get().data, "--pipelines", Repository.path("pipelines"),
        ])
    }
}

extension Installation {
    /// The values of the options of a command.
    static func parse(_ words: [String]) throws -> Installation {
        try DashboardCommand.parse(words).installation
    }
}

/// A page as text, and what is in it.
struct ReadPage {
    let status: Int
    let contentType: String
    let text: String

    /// Where links lead that are within the dashboard, with what they show.
    var links: [(address: String, text: String)] {
        text.matches(of: #/<a [^>]*href="(\/[^"]*)"[^>]*>([^<]*)</#).map {
            (String($0.1).replacing("&amp;", with: "&"), String($0.2))
        }
    }
}

extension PageRoute {
    /// The route of a path, as the router of the server finds it.
    init?(path: String) {
        let parts = path.split(separator: "/").map(String.init)
        if let route = PageRoute.all.first(where: { $0.path == path }) {
            self = route
        } else if parts.count == 2, let kind = OfDump(rawValue: parts[0]) {
            self.init(kind, file: parts[1])
        } else {
            return nil
        }
    }
}

/// Asks for pages as the server does, without a server.
struct PageAsker {
    var source: Installation
    var scope: [ReportRequest.Condition] = []

    private func making(_ address: String) throws -> PageBuilder {
        let parts = address.split(separator: "?", maxSplits: 1).map(String.init)
        let parameters = try #require(QueryParameters(parts.count > 1 ? parts[1] : ""))
        return PageBuilder(
            source: PageSource(source), route: PageRoute(path: parts[0]), path: parts[0],
            parameters: parameters, scope: scope)
    }

    /// The parts of an answer that is written while it is made.
    func parts(_ address: String) throws -> [AnswerPart] {
        var parts: [AnswerPart] = []
        try making(address).stream(formToken: nil, isWanted: { true }) { parts.append($0) }
        return parts
    }

    /// The file of a link to evidence.
    func file(_ address: String) throws -> Data { Data(try parts(address).bytes) }

    func page(_ address: String) throws -> ReadPage {
        let path = String(address.prefix { $0 != "?" })
        guard PageRoute(path: path)?.isStreamed == true else {
            let made = try making(address).response(formToken: nil)
            return ReadPage(
                status: made.status, contentType: made.contentType,
                text: String(decoding: made.body, as: UTF8.self))
        }
        let parts = try parts(address)
        guard case .head(let head) = parts.first else {
            throw TestFault("\(address) begins with no head")
        }
        return ReadPage(
            status: head.status, contentType: head.contentType,
            text: String(decoding: parts.bytes, as: UTF8.self))
    }
}

extension [AnswerPart] {
    var bytes: [UInt8] {
        flatMap { part -> [UInt8] in if case .bytes(let bytes) = part { bytes } else { [] } }
    }
}

@Suite("The dashboard", .timeLimit(.minutes(10)))
struct DashboardTests {
    private let asker: PageAsker

    init() throws { asker = PageAsker(source: try ExampleStores.source()) }

    private static let pages = DashboardPage.allCases.map(\.path)

    @Test("every link of every page leads to a page")
    func links() throws {
        var seen: Set<String> = []
        for path in Self.pages {
            let page = try asker.page(path)
            #expect(page.status == 200, "\(path)")
            for link in page.links where seen.insert(link.address).inserted {
                // Other tests open explanations, which read the log, and dumps.
                guard !link.address.hasPrefix("/explain/"), !link.address.hasPrefix("/dump/") else {
                    continue
                }
                let parts = link.address.split(separator: "#", maxSplits: 1).map(String.init)
                let found = try asker.page(parts[0])
                #expect(found.status == 200, "\(path) leads to \(link.address)")
                guard let section = link.address.contains("#") ? parts.last : nil else { continue }
                #expect(
                    found.text.contains("id=\"\(section)\""), "\(path) leads to \(link.address)")
            }
        }
        #expect(seen.count > 100)
    }

    /// The words of a command, as a shell reads them.
    private func words(_ command: String) -> [String] {
        command.matches(of: #/'([^']*)'|[^ ]+/#).map { $0.1.map(String.init) ?? String($0.0) }
    }

    @Test("each command of a page is one that weir takes")
    func commands() throws {
        let record = "/record?topic=postbacks&partition=0&offset=0"
        let dumps = DumpDescription.all.map { "/dump/\($0.name)" }
        let others = [
            "/dump/funnel?by=day&campaign=5239&since=2026-11-01&date=install", "/dump/roas",
            "/dump/cohorts?by=cohort&curve=1", "/explain/bids?measure=bids",
            "/changes/bids?by=seat&from=2026-11-01",
        ]
        var seen: Set<String> = []
        for path in Self.pages + dumps + others + [record] {
            let text = try asker.page(path).text
            for found in text.matches(of: #/<pre>(weir [^<]*)<\/pre>/#) {
                let command = String(found.1).replacing("&#39;", with: "'")
                // Commands that differ in their numbers alone are parsed once: it takes a tenth of a second.
                guard seen.insert(command.replacing(#/\d+/#, with: "0")).inserted else { continue }
                #expect(throws: Never.self, "\(path): \(command)") {
                    try WeirCommand.parseAsRoot(Array(words(command).dropFirst()))
                }
            }
        }
        #expect(seen.contains("weir read --topic postbacks --partition 0 --from 0 --to 0"))
        #expect(seen.count > 40)
    }

    @Test("JSON is indented by its depth, and what is empty stays on its line")
    func indented() {
        let json = #"{"a":[1,{"b":"x,{\"y"}],"c":{},"d":[ ],"e":null}"#
        #expect(
            JSONLines.indented(Array(json.utf8)) == [
                "{", #"  "a": ["#, "    1,", "    {", #"      "b": "x,{\"y""#, "    }", "  ],",
                #"  "c": {},"#, #"  "d": [],"#, #"  "e": null"#, "}",
            ])
    }

    @Test("what a filter does not limit says so, and what a page does not know is refused")
    func filters() throws {
        func chips(_ address: String) throws -> [String] {
            try asker.page(address).text.matches(of: #/<li class="chip[^>]*>(.*?)<\/li>/#).map {
                String($0.1).replacing(#/<[^>]*>/#, with: " ")
            }
        }
        #expect(try chips("/live").isEmpty)
        for (address, words) in [
            ("/live?campaign=5239", "not used on this page"),
            ("/warnings?period=7d", "not used on this page"),
            ("/campaigns?source_app_id=1", "not possible for 4 parts of this page"),
            ("/subscriptions?ad_network_id=com.example", "not possible on this page"),
            ("/postbacks?country=US", "United States"),
            ("/publisher?source_app_id=880047117", "Source app"),
        ] {
            #expect(try chips(address).contains { $0.contains(words) }, "\(address)")
        }
        #expect(try chips("/postbacks?campaign=5239").allSatisfy { !$0.contains("not used") })
        let others = "bids, impressions, overlay clicks"
        #expect(
            try asker.page("/?period=all&country=DE").text.contains(
                "Not by country. These numbers also count records without a country: \(others). "
                    + "<a href=\"/?period=all\">Show all countries</a>"))
        #expect(
            try !asker.page("/postbacks?country=DE").text
                .contains("records without a country"))
        // Files and explanations have no place for a note.
        for address in [
            "/dump/funnel.csv?country=DE", "/explain/funnel?country=DE&measure=installs",
            "/changes/bids?country=DE&from=2026-11-20",
        ] {
            let page = try asker.page(address)
            #expect(page.status == 400 && page.text.contains("remove the parameter"), "\(address)")
        }
        let report = try asker.page("/dump/funnel?country=DE")
        #expect(report.status == 200 && !report.text.contains("<table"))
        for address in [
            "/live?topic=none", "/campaigns?campain=5239", "/?since=a&since=b", "/?period=2d",
            "/?compare=year", "/campaigns?sort=none", "/campaigns?columns=none",
            "/cohorts?show=none",
        ] {
            #expect(try asker.page(address).status == 400, "\(address)")
        }
    }

    @Test("a chip leads to the same page without its filter, and keeps everything else")
    func chips() throws {
        let page = try asker.page(
            "/campaigns?campaign=5239&app_id=525463029&period=all&sort=-installs")
        let found = page.text.matches(
            of: #/<a href="([^"]*)" aria-label="Remove the filter ([a-z ]*)"/#
        ).map { "\($0.2): \(String($0.1).replacing("&amp;", with: "&"))" }
        #expect(
            found == [
                "campaign: /campaigns?period=all&app_id=525463029&sort=-installs",
                "app: /campaigns?period=all&campaign=5239&sort=-installs",
            ])
    }

    @Test("filters show names of the catalog, and have ids as values")
    func pickers() throws {
        let page = try asker.page("/campaigns?campaign=5239").text
        #expect(
            page.contains("<option value=\"5239\" selected=\"\">Rides, launch, video</option>"))
        #expect(page.contains("<option value=\"com.example\">Example Network</option>"))
        #expect(page.contains("<optgroup label=\"Example Rides\">"))
        #expect(page.contains("<option value=\"US\">United States</option>"))
    }

    @Test("campaigns are sorted by the heading of the address, and unknown values come last")
    func sorting() throws {
        func installs(_ sort: String) throws -> [Int] {
            let page = try asker.page("/campaigns?period=all&columns=installs&sort=\(sort)").text
            let table = try #require(page.firstMatch(of: #/class="campaigns"(.*?)<\/tbody>/#)?.1)
            return table.matches(of: #/<td class="number"><a [^>]*>([0-9,]+)</#).compactMap {
                Int($0.1.replacing(",", with: ""))
            }
        }
        let down = try installs("-installs")
        #expect(down.count > 3 && down == down.sorted(by: >))
        #expect(try installs("installs") == down.reversed())
        let byCost = try asker.page("/campaigns?period=all&columns=spend&sort=spend").text
        let table = try #require(byCost.firstMatch(of: #/class="campaigns"(.*?)<\/tbody>/#)?.1)
        let cells = table.matches(of: #/<td class="number">(.*?)<\/td>/#).map {
            $0.1.contains("unknown\" title")
        }
        #expect(cells.contains(true) && cells.drop { !$0 }.allSatisfy { $0 })
    }

    @Test("tables have neither columns nor rows of zeros, a network once, and values by number")
    func zeros() throws {
        for path in ["/", "/campaigns", "/publisher", "/subscriptions", "/postbacks"] {
            for table in try asker.page(path).text.matches(of: #/<table[^>]*>(.*?)<\/table>/#) {
                let rows = String(table.1).matches(of: #/<tr>(.*?)<\/tr>/#).dropFirst().map { row in
                    String(row.1).matches(of: #/<td class="number">(.*?)<\/td>/#).map {
                        String($0.1).replacing(#/<[^>]*>/#, with: "")
                    }
                }
                guard let width = rows.first?.count, rows.allSatisfy({ $0.count == width }) else {
                    continue
                }
                for column in 0..<width where path != "/postbacks" {
                    #expect(
                        rows.contains { !["0", "–", "0.00"].contains($0[column]) },
                        "\(path): \(table.1.prefix(300))")
                }
            }
        }
        let campaigns = try asker.page("/campaigns").text
        let networks = try #require(
            campaigns.firstMatch(of: #/<h2>By ad network<\/h2>(.*?)<\/table>/#)?.1)
        let names = networks.matches(of: #/<th scope="row">([^<]*)</#).map { String($0.1) }
        #expect(!names.isEmpty && Set(names).count == names.count)
        let values = try asker.page("/dump/conversion-values?by=value").text
            .matches(of: #/<th scope="row">([0-9]+)</#).compactMap { Int($0.1) }
        #expect(values.count > 2 && values == values.sorted())
    }

    @Test("an amount of money leads to the records that it is made of, by its currency")
    func money() throws {
        let campaign = "campaign=5239&app_id=525463029&ad_network_id=com.example"
        for (measure, sums) in [
            ("cost_micros", ["USD 108.28 CPM"]), ("revenue_max_micros", ["USD 1,000.00"]),
            ("cpi", ["USD 108.28 CPM", "1"]),
        ] {
            let page = try asker.page("/explain/funnel?\(campaign)&measure=\(measure)")
            let shown = page.text.matches(of: #/<span class="amount">([^<]*)<\/span>/#)
                .map { String($0.1) }
            #expect(shown == sums, "\(measure)")
            #expect(page.text.contains("adds up: ") && !page.text.contains("0 records"))
        }
    }

    @Test("a question that is misspelt or asked twice is refused, not answered in part")
    func misspelt() throws {
        for question in ["campain=5239", "campaign=5239&campaign=5240"] {
            #expect(try asker.page("/dump/bids.csv?\(question)").status == 400, "\(question)")
        }
        #expect(try asker.page("/dump/bids?by=total").status == 200)
    }

    @Test(
        "a table as a file has the rows of the command that it names",
        arguments: ["/campaigns", "/postbacks", "/publisher", "/records"])
    func files(_ path: String) throws {
        let page = try asker.page(path)
        let tables = page.text.matches(
            of: #/href="(\/dump\/[^"]*\.csv[^"]*)".*?<pre>(weir dump [^<]*)<\/pre>/#)
        #expect(tables.count > 2)
        for table in tables {
            let address = String(table.1).replacing("&amp;", with: "&")
            let command = String(table.2).replacing("&#39;", with: "'").replacing(
                "&amp;", with: "&")
            let shell = Process()
            let output = Pipe()
            shell.executableURL = URL(fileURLWithPath: "/bin/sh")
            shell.arguments = [
                "-c",
                "exec \(try Program.directory())/\(command) --format csv --data \(try ExampleStores.shared.get().data) --pipelines \(Repository.path("pipelines"))",
            ]
            shell.standardOutput = output
            try Spawning.apart { try shell.run() }
            let printed = output.fileHandleForReading.readDataToEndOfFile()
            shell.waitUntilExit()
            #expect(shell.terminationStatus == 0, "\(command)")
            let file = try asker.page(address)
            #expect(file.text == String(decoding: printed, as: UTF8.self), "\(command)")
        }
    }

    @Test("evidence that is taken from a page is verified by the command")
    func evidence() throws {
        let files = try TemporaryDirectory()
        let parts = try asker.parts("/evidence/funnel?campaign=5239")
        guard case .head(let head) = parts.first else { throw TestFault("no head comes first") }
        #expect(head.fileName == "evidence.tar")
        let path = "\(files.path)/evidence.tar"
        try Data(parts.bytes).write(to: URL(fileURLWithPath: path))
        #expect(try Program.run("weir", ["evidence", "verify", path]).status == 0)
    }

    @Test("an explanation ends without a word when its reader has gone")
    func left() throws {
        var pieces = 0
        let parts = PageBuilder(
            source: PageSource(asker.source), route: PageRoute(path: "/explain/bids"),
            path: "/explain/bids",
            parameters: try #require(QueryParameters("measure=bids")), scope: [])
        parts.stream(formToken: nil, isWanted: { false }) { _ in pieces += 1 }
        #expect(pieces == 0)
    }

    @Test("what cannot be asked says so, with the status of its kind")
    func faults() throws {
        #expect(try asker.page("/nowhere").status == 404)
        #expect(try asker.page("/record?topic=bids&partition=0&offset=99999999").status == 404)
        let unknown = try asker.page("/dump/none")
        #expect(unknown.status == 400)
        #expect(unknown.text.contains("no dump &#39;none&#39;"))
        #expect(try asker.page("/dump/bids?by=colour").status == 400)
        #expect(try asker.page("/dump/bids?since=soon").status == 400)
        #expect(try asker.page("/explain/funnel?measure=nonsense").text.contains("no measure"))
    }

    @Test("stores that are not there are no error: pages say what to send")
    func empty() throws {
        let files = try TemporaryDirectory()
        let nothing = PageAsker(
            source: try Installation.parse([
                "--data", files.path, "--pipelines", Repository.path("pipelines"),
            ]))
        for path in [
            "/", "/campaigns", "/cohorts", "/publisher", "/subscriptions", "/postbacks",
            "/partners",
        ] {
            let page = try nothing.page(path)
            #expect(page.status == 200, "\(path)")
            #expect(page.text.contains("class=\"empty"), "\(path)")
        }
        #expect(try nothing.page("/publisher").text.contains("weir publish --topic"))
        let first = try nothing.page("/").text
        #expect(first.contains("No data yet") && first.contains("<pre>weir demo --data demo</pre>"))
        #expect(!first.contains("class=\"card\""))
    }

    /// Keeps messages of a server.
    private final class Messages: Sendable {
        private struct Handler: LogHandler {
            let messages: Messages
            var logLevel = Logger.Level.info
            var metadata: Logger.Metadata = [:]

            subscript(metadataKey key: String) -> Logger.Metadata.Value? {
                get { metadata[key] }
                set { metadata[key] = newValue }
            }

            func log(event: LogEvent) { messages.all.withLock { $0.append("\(event.message)") } }
        }

        let all = Mutex<[String]>([])
        var logger: Logger { Logger(label: "test") { _ in Handler(messages: self) } }
    }

    @Test("pages of large stores are built before a reader asks, and those of small stores are not")
    func firstPages() async throws {
        func messages(leastBytes: Int64) async throws -> [String] {
            let messages = Messages()
            let server = try DashboardServer(
                at: #require(ListenAddress("127.0.0.1:0")), source: try ExampleStores.source(),
                access: DashboardAccess(keys: TokenKeys([]), isOpen: true),
                limits: CollectorLimits(), trusted: [], logger: messages.logger,
                firstPagesBytes: leastBytes)
            defer { server.stop() }
            await server.waitForFirstPages()
            return messages.all.withLock { $0 }
        }
        #expect(try await messages(leastBytes: 1) == ["the dashboard has read the stores"])
        #expect(try await messages(leastBytes: 64 << 20) == [])
    }

    @Test("texts of records and of the address stay texts")
    func escaping() throws {
        let hostile = "%3Cscript%3Ealert(1)%3C%2Fscript%3E%22%27"
        for path in [
            "/campaign?campaign=\(hostile)", "/dump/bids?by=seat&seat=\(hostile)",
            "/explain/bids?seat=\(hostile)&measure=bids", "/\(hostile)",
        ] {
            let page = try asker.page(path)
            #expect(
                page.text.ranges(of: "<script").count == 1
                    && page.text.contains("<script src=\"/dashboard.js\"></script>"), "\(path)")
            #expect(!page.text.contains("alert(1)</"), "\(path)")
        }
        var html = HTML()
        html.element("p", ["title": "\" onclick=\"x"], text: "<b>\u{202E}&")
        let text = String(decoding: html.bytes, as: UTF8.self)
        #expect(text == #"<p title="&quot; onclick=&quot;x">&lt;b&gt;\u{202E}&amp;</p>"#)
    }
}
