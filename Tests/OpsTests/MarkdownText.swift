/// Text of declarations as Markdown: wrapped, with names as code.
struct MarkdownText {
    private static let width = 100
    /// Words that are code: options, variables, files, and names that a caller adds.
    private let code: Regex<AnyRegexOutput>
    /// The folder of the page that the text is for.
    private let page: String

    init(page: String, names: [String] = []) throws {
        self.page = page
        let terms = names.sorted { ($0.count, $0) > ($1.count, $1) }.joined(separator: "|")
        let words =
            #"--[a-z][a-z-]*|WEIR_[A-Z_]+(?:=1)?|[A-Za-z*<>/:-]+\.(?:yaml|sqlite|csv)|[a-z]+(?:_[a-z0-9]+)+"#
        code = try Regex(#"(?:\#(terms.isEmpty ? "" : terms + "|")\#(words))(?![\w`-])"#)
    }

    /// Paragraphs of a text, separated by empty lines. Lines that begin with two spaces are a block of code.
    func paragraphs(_ text: String) -> [String] {
        var lines: [String] = []
        var block: [Substring] = []
        var isCode = false
        func close() {
            guard !block.isEmpty else { return }
            if !lines.isEmpty { lines.append("") }
            lines +=
                isCode
                ? ["```"] + block.map { String($0.dropFirst(2)) } + ["```"]
                : wrapped(block.joined(separator: " "))
            block = []
        }
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            let lineIsCode = line.hasPrefix("  ")
            if line.allSatisfy(\.isWhitespace) {
                close()
            } else {
                if lineIsCode != isCode { close() }
                isCode = lineIsCode
                block.append(line)
            }
        }
        close()
        return lines
    }

    /// An item of a list.
    func item(_ text: String) -> [String] {
        wrapped(text, indent: 2).enumerated().map { $0 == 0 ? "- " + $1 : "  " + $1 }
    }

    /// A text in lines, with its names as code. No line ends within code or a link.
    private func wrapped(_ text: String, indent: Int = 0) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in words(marked(text)) {
            // A line that begins like this would be an item or a heading.
            let isMark = word.wholeMatch(of: /[-+*#>]+|\d+\./) != nil
            if !line.isEmpty, line.count + 1 + word.count > Self.width - indent, !isMark {
                lines.append(line)
                line = word
            } else {
                line += line.isEmpty ? word : " " + word
            }
        }
        return line.isEmpty ? lines : lines + [line]
    }

    private func words(_ text: String) -> [String] {
        var words: [String] = []
        var isOpen = false
        for word in text.split(separator: " ") {
            if isOpen, let last = words.indices.last {
                words[last] += " " + word
            } else {
                words.append(String(word))
            }
            if word.count(where: { $0 == "`" }) % 2 == 1 { isOpen.toggle() }
        }
        return words
    }

    /// Names as code, pages as links; outside of code, characters of Markdown are escaped.
    private func marked(_ text: String) -> String {
        let parts = text.split(separator: "`", omittingEmptySubsequences: false)
        return parts.enumerated().map { index, part in
            guard index.isMultiple(of: 2) || index == parts.count - 1 else { return "`\(part)`" }
            var made = ""
            var rest = part
            while let found = rest.firstMatch(of: code) {
                let before = rest[..<found.range.lowerBound]
                let isPart = before.last.map { $0.isLetter || $0.isNumber || "/.-_\"".contains($0) }
                made += plain(before)
                made += isPart == true ? plain(rest[found.range]) : "`\(rest[found.range])`"
                rest = rest[found.range.upperBound...]
            }
            return made.replacing("` `", with: " ") + plain(rest)
        }.joined()
    }

    private func plain(_ text: Substring) -> String {
        String(text).replacing(/[<*|\[\]]/) { "\\\($0.0)" }
            .replacing(/docs\/([a-z]+)\/([a-z-]+)\.md/) { link in
                let name = link.2.replacing("-", with: " ")
                return "[\(name)](\(link.1 == page ? "" : "../\(link.1)/")\(link.2).md)"
            }
    }
}
