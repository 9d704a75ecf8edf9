import Foundation
import Testing

@testable import Dashboard

@Suite("What the dashboard looks like")
struct StylesheetTests {
    /// The colours of the variables, first those of light paper, then those of dark.
    private func palettes() -> [[String: [Double]]] {
        let pairs = Stylesheet.text.matches(
            of: #/--([a-z0-9]+): light-dark\(#([0-9a-f]{6}), #([0-9a-f]{6})\)/#)
        return [false, true].map { isDark in
            Dictionary(
                pairs.map { match in
                    let digits = Array(isDark ? match.3 : match.2)
                    let parts = stride(from: 0, to: 6, by: 2).map { index in
                        Double(Int(String(digits[index...index + 1]), radix: 16) ?? 0) / 255
                    }
                    return (String(match.1), parts)
                }, uniquingKeysWith: { first, _ in first })
        }
    }

    /// WCAG 2.2, relative luminance.
    private func luminance(_ colour: [Double]) -> Double {
        let linear = colour.map { $0 <= 0.04045 ? $0 / 12.92 : pow(($0 + 0.055) / 1.055, 2.4) }
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    }

    @Test(
        "every text has a contrast of 4.5 at least, and every line one of 3, on light paper and dark"
    )
    func contrast() throws {
        let palettes = palettes()
        #expect(palettes.count == 2 && palettes.allSatisfy { $0.count >= 13 })
        for palette in palettes {
            func contrast(_ one: String, _ other: String) throws -> Double {
                let both = [
                    luminance(try #require(palette[one])), luminance(try #require(palette[other])),
                ]
                return ((both.max() ?? 0) + 0.05) / ((both.min() ?? 0) + 0.05)
            }
            for paper in ["paper", "fill", "side"] {
                for text in ["ink", "soft", "door", "bad", "good"] {
                    #expect(try contrast(text, paper) >= 4.5, "\(text) on \(paper)")
                }
            }
            for line in ["s0", "s1", "s2", "s3"] {
                #expect(try contrast(line, "paper") >= 3, "\(line)")
            }
        }
    }

    @Test(
        "every field has a label, every table a header, every chart words, and pages say their language"
    )
    func labels() throws {
        let asker = PageAsker(source: try ExampleStores.source())
        for path in DashboardPage.allCases.map(\.path) {
            let text = try asker.page(path).text
            #expect(text.hasPrefix("<!doctype html><html lang=\"en\">"), "\(path)")
            #expect(text.contains("<h1>") && text.contains("<main id=\"content\">"), "\(path)")
            for field in text.matches(of: #/<(input|select)[^>]*>/#)
            where !field.0.contains("hidden") {
                let before = text[..<field.range.lowerBound]
                let opened =
                    before.ranges(of: "<label").count - before.ranges(of: "</label>").count
                #expect(opened == 1, "\(path): \(field.0)")
            }
            #expect(text.ranges(of: "<table").count == text.ranges(of: "<thead>").count, "\(path)")
            // A bar repeats the number beside it.
            for image in text.matches(of: #/<svg [^>]*>/#) {
                #expect(
                    image.0.contains("role=\"img\" aria-label=\"")
                        || image.0.contains("aria-hidden=\"true\""), "\(path)")
            }
            // Only the box of a table scrolls, and the keyboard reaches it.
            #expect(
                text.ranges(of: "<table").count
                    == text.ranges(of: "class=\"scroll\" tabindex=\"0\" role=\"group\"").count,
                "\(path)")
        }
    }
}
