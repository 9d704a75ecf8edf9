import Foundation
import Testing

@Suite("Runbooks")
struct RunbooksTests {
    private let ops = OpsDirectory()
    private let parts = ["Symptoms", "Meaning", "Safe actions", "Steps", "Done when"]

    @Test("every page has the same parts in the same order, and is in the list")
    func form() throws {
        let list = try ops.text("ops/runbooks/README.md")
        let pages = try ops.paths(endingIn: ".md").filter {
            $0.hasPrefix("ops/runbooks/") && !$0.hasSuffix("README.md")
        }
        #expect(pages.count >= 7)
        for page in pages {
            let headings = try ops.text(page).matches(of: /(?m)^## (.+)$/).map { String($0.1) }
            #expect(headings == parts, "\(page)")
            let name = page.dropFirst("ops/runbooks/".count)
            #expect(list.contains("](\(name))"), "\(page)")
        }
    }

    @Test("every line of a program that a page quotes is one that a program prints")
    func quotes() throws {
        let printed = try ops.texts(below: "Sources", endingIn: ".swift")
        let panels = try ops.text("ops/grafana/dashboards/weir.json")
        var found = 0
        for page in try ops.paths(endingIn: ".md") where page.hasPrefix("ops/runbooks/") {
            let text = try ops.text(page).replacing(/(?s)```.*?```/, with: "")
            let quotes = text.matches(of: /(?m)"([A-Za-z][^"`]{6,})"|^\| `([^`]* [^`]*…[^`]*)` \|/)
            for quote in quotes {
                // Names and numbers are an example's.
                let words = String(quote.1 ?? quote.2 ?? "").replacing(/\s+/, with: " ")
                let parts = words.split(separator: /…|\d+|bids(?:\/2)?/)
                for part in parts.map({ $0.trimmingCharacters(in: ["'", " ", ",", ":"]) }) {
                    guard part.count > 4 else { continue }
                    #expect(printed.contains(part) || panels.contains(part), "\(page): \(part)")
                    found += 1
                }
            }
        }
        #expect(found > 15)
    }

    @Test("every file of ops that a page names is there")
    func files() throws {
        for path in try ops.paths(endingIn: ".md") {
            for match in try ops.text(path).matches(of: /\bops\/[A-Za-z0-9@.\/-]*[A-Za-z0-9]/) {
                #expect(ops.exists(String(match.output)), "\(path): \(match.output)")
            }
        }
    }
}
