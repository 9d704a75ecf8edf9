import Foundation
import TestKit
import Testing

/// Links, widths and paths of the Markdown files.
@Suite("Documentation")
struct DocumentationTests {
    private static let files = Result { try MarkdownPage.all() }
    private let pages: [String: MarkdownPage]

    init() throws { pages = try Self.files.get() }

    @Test("every relative link leads to a file and a heading")
    func links() throws {
        var count = 0
        for page in pages.values {
            for link in page.links {
                #expect(
                    FileManager.default.fileExists(atPath: Repository.path(link.path)),
                    "\(page.path): \(link.path)")
                if let anchor = link.anchor, let target = pages[link.path] {
                    #expect(target.anchors.contains(anchor), "\(page.path): \(link.path)#\(anchor)")
                }
                count += 1
            }
        }
        #expect(count > 300)
    }

    @Test("links lead from docs/README.md to every page")
    func reachable() {
        var seen: Set = ["docs/README.md"]
        var rest = ["docs/README.md"]
        while let page = rest.popLast() {
            for link in pages[page]?.links ?? [] where seen.insert(link.path).inserted {
                rest.append(link.path)
            }
        }
        #expect(Set(pages.keys).subtracting(seen).sorted() == [])
    }

    @Test("no line of README.md and docs is wider than 120 characters, outside of tables and code")
    func widths() {
        for page in pages.values where page.path == "README.md" || page.path.hasPrefix("docs/") {
            for line in page.prose where line.text.count > 120 && !line.text.hasPrefix("|") {
                Issue.record("\(page.path):\(line.number) has \(line.text.count) characters")
            }
        }
    }

    @Test("every page that code, configuration and manifests name exists")
    func namedPages() throws {
        var count = 0
        for folder in ["Sources", "Tests", "examples", "ops", "pipelines", "topics"] {
            for path in try Repository.paths(below: folder) {
                guard let text = try? Repository.text(path) else { continue }
                for line in text.split(separator: "\n")
                where line.contains("docs/") || line.contains("ops/") {
                    for name in line.matches(of: /\b(?:docs|ops)\/[A-Za-z0-9_\/-]+\.(?:md|png)\b/) {
                        #expect(
                            FileManager.default.fileExists(
                                atPath: Repository.path(String(name.output))),
                            "\(path): \(name.output)")
                        count += 1
                    }
                }
            }
        }
        #expect(count > 50)
    }
}

/// The parts of a Markdown file that tests look at.
private struct MarkdownPage {
    let path: String
    /// Lines outside of code blocks and of parts that are generated from declarations.
    let prose: [(number: Int, text: String)]
    /// Anchors of headings, as GitHub makes them.
    let anchors: Set<String>
    /// Relative links, their paths relative to the repository.
    let links: [(path: String, anchor: String?)]

    /// All pages by their paths.
    static func all() throws -> [String: MarkdownPage] {
        try Repository.pages().reduce(into: [:]) { pages, path in
            pages[path] = MarkdownPage(path: path, text: try Repository.text(path))
        }
    }

    private init(path: String, text: String) {
        self.path = path
        var prose: [(number: Int, text: String)] = []
        var lines: [Substring] = []
        var isCode = false
        var isGenerated = false
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated()
        {
            if line.trimmingPrefix(while: \.isWhitespace).hasPrefix("```") {
                isCode.toggle()
            } else if !isCode {
                if line.hasPrefix("<!-- ") { isGenerated = !line.hasPrefix("<!-- end of ") }
                lines.append(line)
                if !isGenerated { prose.append((index + 1, String(line))) }
            }
        }
        self.prose = prose
        anchors = Self.anchors(of: lines)
        let withoutCode = lines.joined(separator: "\n").replacing(/`[^`\n]*`/, with: "")
        links = withoutCode.matches(of: /\]\(([^)\s#]*)(?:#([^)\s]+))?\)/)
            .filter { !$0.1.contains(":") }
            .map { match in
                let target =
                    match.1.isEmpty
                    ? path
                    : URL(filePath: "/" + path).deletingLastPathComponent()
                        .appending(path: String(match.1)).standardizedFileURL.path
                return (
                    target.hasPrefix("/") ? String(target.dropFirst()) : target,
                    match.2.map(String.init)
                )
            }
    }

    private static func anchors(of lines: [Substring]) -> Set<String> {
        var counts: [String: Int] = [:]
        var anchors: Set<String> = []
        for line in lines {
            guard let heading = line.wholeMatch(of: /#{1,6} (.*)/)?.1 else { continue }
            let name = String(
                heading.replacing(/\[([^\]]*)\]\([^)]*\)/) { $0.1 }.lowercased()
                    .filter { $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" || $0 == "_" }
            ).replacing(" ", with: "-")
            let count = counts[name, default: 0]
            counts[name] = count + 1
            anchors.insert(count == 0 ? name : "\(name)-\(count)")
        }
        return anchors
    }
}
