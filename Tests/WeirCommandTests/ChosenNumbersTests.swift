import Demonstration
import Foundation
import History
import Reports
import TestKit
import Testing

@testable import Dashboard

/// Numbers of all pages, chosen at random with a fixed seed, and added up from the files of their explanations.
///
/// `WEIR_TEST_NUMBERS` is how many of the demo's sixty days; without it a few of the example's.
@Suite("Chosen numbers", .timeLimit(.minutes(60)))
struct ChosenNumbersTests {
    private static let count = ProcessInfo.processInfo.environment["WEIR_TEST_NUMBERS"].flatMap {
        Int($0)
    }

    private let asker: PageAsker

    init() throws {
        guard Self.count != nil else {
            asker = PageAsker(source: try ExampleStores.source())
            return
        }
        let data = try DemoStores.shared.get().path
        asker = PageAsker(
            source: try Installation.parse([
                "--data", data, "--pipelines", "\(data)/pipelines", "--at", "2026-11-25T23:59:00Z",
            ]))
    }

    @Test("a number of any page leads to records that add up to it")
    func numbers() throws {
        for number in try chosen(Self.count ?? 12) {
            try check(number)
        }
    }

    // MARK: Choosing

    private struct Number {
        let page: String
        let address: String
        let text: String
    }

    /// From each page in turn, one of each kind of figure before a second one of a kind.
    private func chosen(_ count: Int) throws -> [Number] {
        var generator = SeededGenerator(seed: 45)
        var pages = try addresses().map { page in
            let found = try asker.page(page).text
                .matches(of: #/<a [^>]*href="(\/explain\/[^"]*)"[^>]*>(.*?)<\/a>/#)
                .map { Number(page: page, address: plain($0.1), text: plain($0.2)) }
                .filter { $0.text.contains(#/[0-9]/#) }
            return Dictionary(grouping: found) { $0.address.replacing(#/\?.*measure=/#, with: " ") }
                .sorted { $0.key < $1.key }.map { $0.value.shuffled(using: &generator) }
                .shuffled(using: &generator)
        }.shuffled(using: &generator)
        #expect(pages.joined().joined().count > 500)
        var chosen: [Number] = []
        while chosen.count < count, !pages.allSatisfy(\.isEmpty) {
            for index in pages.indices where !pages[index].isEmpty {
                var kind = pages[index].removeFirst()
                chosen.append(kind.removeFirst())
                if !kind.isEmpty { pages[index].append(kind) }
            }
        }
        return Array(chosen.prefix(count))
    }

    /// Every page of days, the pages of two campaigns, and reports with changes.
    private func addresses() throws -> [String] {
        let campaigns = try asker.page("/campaigns?period=all").links.map(\.address)
            .filter { $0.hasPrefix("/campaign?") }
        let pages = DashboardPage.allCases.filter(\.isOfDays).map { "\($0.path)?period=all" }
        let dumps = reportNames(.groups).map { "/dump/\($0)?by=total" }
        return pages + campaigns.prefix(2) + dumps
            + ["/", "/changes/postbacks?by=total&from=2026-11-20"]
    }

    private func plain(_ html: some StringProtocol) -> String {
        html.replacing(#/<[^>]*>/#, with: "").replacing("&amp;", with: "&")
            .trimmingCharacters(in: .whitespaces)
    }

    // MARK: Adding up

    private func check(_ number: Number) throws {
        let page = try asker.page(number.address)
        let place = Comment(rawValue: "\(number.text) of \(number.page): \(number.address)")
        #expect(page.status == 200 && !page.text.contains("does not add up"), place)
        guard let division = page.text.firstMatch(of: #/<p class="division">(.*?)<\/p>/#)?.1 else {
            let sums = try sums(of: page, number.address)
            for shown in Amount.all(in: number.text) {
                // The upper bound of an interval has the currency of the lower one.
                let only = sums.count == 1 ? sums.first?.value : nil
                #expect(shown.isRounded(from: sums[shown.currency] ?? only ?? 0), place)
            }
            return
        }
        let result = try #require(calculated(plain(division)), place)
        let shown = try #require(Amount.all(in: number.text).first, place)
        #expect(shown.isRounded(from: shown.isPercentage ? result * 100 : result), place)
        for term in division.matches(of: #/<a href="([^"]*)" class="amount">([^<]*)</#) {
            let term = Number(page: number.address, address: plain(term.1), text: plain(term.2))
            try check(term)
        }
    }

    /// The sums of an explanation's records by currency, in units; without one for counts.
    private func sums(of page: ReadPage, _ address: String) throws -> [String: Double] {
        let choices = page.text.firstMatch(of: #/<p class="choices">(.*?)<\/p>/#)?.1 ?? ""
        if page.text.contains("<h2>By currency</h2>") {
            return try choices.matches(of: #/<a href="([^"]*)"[^>]*>([^<]*)</#).reduce(into: [:]) {
                let address = plain($1.1)
                let sums = try sums(of: asker.page(address), address)
                $0[plain($1.2)] = sums.values.reduce(0, +)
            }
        }
        #expect(page.text.contains("adds up: "), "\(address)")
        guard
            let file = page.links.first(where: {
                $0.address.hasPrefix("/explain/") && $0.text == "JSON"
            })
        else { return [:] }
        let json = try JSONDecoder().decode(
            Records.self, from: Data(asker.page(file.address).text.utf8))
        // A file has the first records of many.
        let sums =
            json.records.count == json.counted
            ? json.records.flatMap(\.adds).map { ($0.key, $0.value) }
            : json.number.map { ($0.key, $0.value) }
        let given = address.firstMatch(of: #/currency=([A-Z]*)/#).map { String($0.1) } ?? ""
        return sums.reduce(into: [:]) { sums, part in
            let words = part.0.split(separator: " ").map(String.init)
            let isPrice = words[0] == "billed_price_micros"
            let scale = !words[0].hasSuffix("_micros") ? 1 : isPrice ? 1e9 : 1e6
            sums[words.count > 1 ? words[1] : scale > 1 ? given : "", default: 0] +=
                part.1 / scale
        }
    }

    private struct Records: Decodable {
        struct Record: Decodable { let adds: [String: Double] }
        let records: [Record]
        let counted: Int
        let number: [String: Double]
    }

    /// The value of `name = formula = (USD 6 - 2) / 8 = …`.
    private func calculated(_ division: String) -> Double? {
        let parts = division.components(separatedBy: " = ")
        guard parts.count > 3 else { return nil }
        let sides = parts[2].components(separatedBy: " / ").map { side in
            side.matches(of: #/(- )?(?:[A-Z]{3} )?(-?[0-9][0-9,.]*)/#).reduce(0.0) {
                let value = Double($1.2.replacing(",", with: "")) ?? .nan
                return $0 + ($1.1 == nil ? value : -value)
            }
        }
        return sides.count == 1 ? sides[0] : sides[0] / sides[1]
    }
}

/// A number as a page shows it.
private struct Amount {
    let currency: String
    let value: Double
    let fractionDigits: Int
    let isPercentage: Bool

    static func all(in text: String) -> [Amount] {
        text.matches(of: #/(?:([A-Z]{3}) )?(-?[0-9][0-9,]*)(?:\.([0-9]+))?( %)?/#).compactMap {
            let fraction = $0.3.map(String.init) ?? ""
            guard let value = Double("\($0.2.replacing(",", with: "")).\(fraction)0") else {
                return nil
            }
            return Amount(
                currency: $0.1.map(String.init) ?? "", value: value,
                fractionDigits: fraction.count, isPercentage: $0.4 != nil)
        }
    }

    /// Half of the last shown digit, and of the millionth of a term.
    func isRounded(from exact: Double) -> Bool {
        abs(value - exact) <= 0.500_001 * pow(10, -Double(fractionDigits)) + 0.000_001
    }
}
