import Foundation
import History
import TestKit
import Testing

@testable import weir

@Suite("The page Partners")
struct PartnersPageTests {
    private let workspace: UpWorkspace

    /// The section that lists them.
    private static let none = "Partners with stopped deliveries</h2><p class=\"empty\">None.</p>"

    init() throws {
        workspace = try UpWorkspace()
        let topics = try workspace.weir(
            "topics", "apply", "--data", workspace.data, "--topics", Repository.path("topics"))
        try #require(topics.status == 0, "\(topics.error)")
    }

    private func page(_ address: String = "/partners") throws -> String {
        let source = try Installation.parse([
            "--data", workspace.data, "--pipelines", workspace.pipelines,
        ])
        return try PageAsker(source: source).page(address).text
    }

    /// Publishes the sample postbacks of one line, folds them and delivers what is made of them.
    private func work(line: Int) throws {
        let program = try Program.shell(
            """
            set -e; sed -n \(line)p \(Repository.path("examples/postbacks.ndjson")) |
                weir publish --topic postbacks --data \(workspace.data) --topics \(Repository.path("topics"))
            for program in weir-postbacks weir-partner-postbacks; do
                $program --until-end --data \(workspace.data) --pipelines \(workspace.pipelines)
            done
            """)
        try #require(program.status == 0, "\(program.error)")
    }

    private func addPartner(_ name: String, url: String?, trust: String = "valid, invalid") throws {
        try workspace.files.write(
            """
            name: \(name)
            trust: [\(trust)]
            delivery: {\(url.map { "url: \"\($0)\", allow_private: true" } ?? "")}

            """, to: "pipelines/partners/\(name).yaml")
    }

    @Test(
        "a partner without a url is listed with what is held for it, and so is one without a file")
    func held() throws {
        try addPartner("off", url: nil)
        try addPartner("gone", url: nil)
        try work(line: 1)
        try FileManager.default.removeItem(atPath: "\(workspace.pipelines)/partners/gone.yaml")
        let page = try page()
        #expect(page.contains("no: its file has no url"))
        #expect(!page.contains(Self.none))
        #expect(
            page.contains("off: its file has no url. 1 document waits. Add delivery.url to "),
            "\(page)")
        #expect(page.contains("gone: its file is missing. 1 document waits. Add "), "\(page)")
        #expect(page.contains("weir deliveries list --partner gone --state held"))
        let missing = try self.page("/partners?partner=gone")
        #expect(missing.contains("gone: its file is missing. 1 document waits. Add "))
        #expect(missing.contains("<h2>Waiting: gone</h2>"))
    }

    @Test("a missing partner and a missing service that sends have words of their own")
    func nothing() throws {
        let idle = "No deliveries yet: weir-partner-postbacks has not run"
        try addPartner("off", url: nil)
        var text = try page()
        #expect(text.contains(idle) && text.contains("All partners are off"))
        #expect(text.contains("off: no url") && !text.contains("No partner is configured"))
        for file in try FileManager.default.contentsOfDirectory(
            atPath: "\(workspace.pipelines)/partners")
        {
            try FileManager.default.removeItem(atPath: "\(workspace.pipelines)/partners/\(file)")
        }
        text = try page()
        #expect(text.contains("No partner is configured") && text.contains(idle))
    }

    @Test(
        "a new partner, or one with another filter, is said to wait for weir-postbacks until that folds by it"
    )
    func notFolded() throws {
        let partner = try ScriptedPartner()
        try work(line: 1)
        try addPartner("acme", url: "http://127.0.0.1:\(partner.port)/")
        #expect(
            try page().contains(
                "acme: weir-postbacks does not publish documents for it yet. Restart weir-postbacks"
            ))
        try work(line: 2)
        #expect(try page().contains(Self.none))
        #expect(try page().contains(">yes<"))
        #expect(partner.requests.count == 1)
        let delivered = try page()
        #expect(delivered.contains(">127.0.0.1:\(partner.port)<"))
        #expect(delivered.contains("Nothing is due: no document waits"))
        let row = try #require(
            delivered.firstMatch(of: #/<tr><td[^>]*><a [^>]*>acme<.*?<\/tr>/#)?.0)
        #expect(row.contains(/[0-9T:.-]+Z/) && !row.contains("never"))
        #expect(
            row.matches(of: #/<td class="number">(?:<a [^>]*>)?([0-9]+)</#).map { String($0.1) }
                == ["1", "0", "0"])
        // The number leads to its deliveries.
        #expect(row.contains("/partners?partner=acme&amp;state=delivered\">1<"))
        let reached = try self.page("/partners?partner=acme&state=delivered")
        #expect(reached.contains("<h2>Delivered: acme</h2>") && !reached.contains("<h2>Failed"))
        #expect(reached.matches(of: #/href="\/delivery\?id=/#).count == 1)
        try addPartner("acme", url: "http://127.0.0.1:\(partner.port)/", trust: "valid")
        #expect(
            try page().contains(
                "acme: weir-postbacks still uses an earlier trust"))
        try work(line: 3)
        #expect(try page().contains(Self.none))
    }
}
