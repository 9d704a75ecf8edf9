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

    private func plain(_ html: Substring) -> String {
        String(html).replacing(#/<[^>]*>/#, with: "").replacing("&amp;", with: "&")
            .trimmingCharacters(in: .whitespaces)
    }

    // MARK: Adding up

    private func check(_ number: Number) throws {
        let page = try asker.page(number.address)
        let place = Comment(rawValue: "\(number.text) of \(number.page): \(number.address)")
        #expect(page.status == 200 && !page.text.contains("does not add up"), place)
        // A converted amount is the sum of its currencies, whose records have the recorded amounts.
        if page.text.contains("<h2>Converted to ") {
            let converted = page.text.matches(
                of: #/<a href="\/dump\/[^"]*">([^<]*)<\/a><\/td><\/tr>/#
            ).flatMap { Amount.all(in: plain($0.1)) }
            let shown = try #require(Amount.all(in: number.text).first, place)
            let sum = converted.reduce(0) { $0 + $1.value }
            #expect(converted.allSatisfy { $0.currency == shown.currency }, place)
            return #expect(abs(sum - shown.value) < 0.01 * Double(converted.count), place)
        }
        guard let division = page.text.firstMatch(of: #/<p class="division">(.*?)<\/p>/#)?.1 else {
            let sums = try sums(of: page, number.address)
            for shown in Amount.all(in: number.text) {
                // The upper bound of an interval has the currency of the lower one.
                let only = sums.count == 1 ? sums.first?.value : nil
                // A sum of prices for a thousand ads is a term of earnings.
                let scale = number.text.hasSuffix(" CPM") ? 1000.0 : 1
                #expect(
                    shown.isRounded(from: (sums[shown.currency] ?? only ?? 0) * scale), place)
            }
            return
        }
        let result = try #require(calculated(plain(division[...])), place)
        let shown = try #require(Amount.all(in: number.text).first, place)
        #expect(shown.isRounded(from: shown.isPercentage ? result * 100 : result), place)
        for term in division.matches(of: #/<a href="([^"]*)" class="amount">([^<]*)</#) {
            let term = Number(page: number.address, address: plain(term.1), text: plain(term.2))
            try check(term)
        }
    }

    /// The sums of an explanation's records by currency, in units; without one for counts.
    private func sums(of page: ReadPage, _ address: String) throws -> [String: Double] {
        var found: [String: Double] = [:]
        guard !page.text.contains("<h2>By currency</h2>") else {
            let list = page.text.firstMatch(of: #/<p class="choices">(.*?)<\/p>/#)?.1 ?? ""
            for choice in list.matches(of: #/<a href="([^"]*)"[^>]*>([^<]*)</#) {
                let chosen: String = plain(choice.1)
                let ofCurrency = try sums(of: asker.page(chosen), chosen)
                found[plain(choice.2)] = ofCurrency.values.reduce(0, +)
            }
            return found
        }
        #expect(page.text.contains("adds up: "), "\(address)")
        let given = address.firstMatch(of: #/currency=([A-Z]*)/#).map { String($0.1) } ?? ""
        for (name, amount) in try recordSums(of: page) {
            let words = name.split(separator: " ").map(String.init)
            guard words[0].hasSuffix("_micros") else {
                found["", default: 0] += amount
                continue
            }
            let scale = words[0] == "billed_price_micros" ? 1e9 : 1e6
            found[words.count > 1 ? words[1] : given, default: 0] += amount / scale
        }
        return found
    }

    /// The sums of each measure over the records in the explanation's file. A file has the first records of many, and
    /// then the number itself.
    private func recordSums(of page: ReadPage) throws -> [String: Double] {
        var file: String?
        for link in page.links where link.text == "JSON" && link.address.hasPrefix("/explain/") {
            file = link.address
        }
        guard let file else { return [:] }
        let text = try asker.page(file).text
        let json = try JSONDecoder().decode(Records.self, from: Data(text.utf8))
        guard json.records.count == json.counted else { return json.number }
        var sums: [String: Double] = [:]
        for record in json.records {
            for (name, amount) in record.adds { sums[name, default: 0] += amount }
        }
        return sums
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
            side.components(separatedBy: " × ").reduce(1.0) { product, factor in
                product
                    * factor.matches(of: #/(- )?(?:[A-Z]{3} )?(-?[0-9][0-9,.]*)/#).reduce(0.0) {
                        let value = Double($1.2.replacing(",", with: "")) ?? .nan
                        return $0 + ($1.1 == nil ? value : -value)
                    }
            }
        }
        return sides.dropFirst().reduce(sides[0], /)
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
