import Foundation
import History
import TestKit
import Testing

@testable import Dashboard
@testable import weir

/// What the page Postbacks says, held against what the commands print.
@Suite("The page Postbacks", .timeLimit(.minutes(10)))
struct PostbacksPageTests {
    private let asker: PageAsker

    init() throws { asker = PageAsker(source: try ExampleStores.source()) }

    private func rows(_ arguments: [String]) throws -> [[String: Any]] {
        let program = try Program.run(
            "weir",
            arguments + [
                "--format", "json", "--data", try ExampleStores.shared.get().data, "--pipelines",
                Repository.path("pipelines"),
            ])
        #expect(program.status == 0, "\(arguments): \(program.error)")
        let value = try JSONSerialization.jsonObject(with: Data(program.output.utf8))
        return try #require(value as? [[String: Any]])
    }

    /// The cells of the rows of the only table in a section.
    private func cells(_ title: String, of page: String) throws -> [[String]] {
        let start = try #require(page.range(of: "<h2>\(title)</h2>")).upperBound
        let table = try #require(page[start...].firstMatch(of: #/<table[^>]*>(.*?)<\/table>/#))
        return String(table.1).matches(of: #/<tr>(.*?)<\/tr>/#).map { row in
            String(row.1).matches(of: #/<t[hd][^>]*>(.*?)<\/t[hd]>/#).map {
                String($0.1).replacing(#/<[^>]*>/#, with: "")
            }
        }
    }

    @Test("a day is one row, with a column for each verdict")
    func days() throws {
        let table = try cells("By day", of: asker.page("/postbacks?period=all").text)
        let headings = try #require(table.first)
        let days = table.dropFirst().map { $0[0] }
        #expect(!days.isEmpty && Set(days).count == days.count)
        var found = 0
        for row in try rows(["dump", "postbacks", "--by", "day,verdict"]) {
            let (day, verdict) = (row["day"] as? String, row["verdict"] as? String)
            let column = try #require(headings.firstIndex { $0 == verdict })
            let cells = try #require(table.first { $0[0] == day })
            #expect(cells[column] == "\((row["postbacks"] as? NSNumber)?.intValue ?? 0)")
            found += 1
        }
        #expect(found > days.count)
    }

    @Test("a country is shown with its framework, and rows add up to all postbacks")
    func countries() throws {
        let table = try cells(
            "By country and marketplace", of: asker.page("/postbacks?period=all").text)
        let headings = try #require(table.first)
        #expect(headings.prefix(3) == ["framework", "marketplace", "country"])
        let column = try #require(headings.firstIndex(of: "postbacks"))
        let all = try rows(["dump", "postbacks", "--by", "total"])
        #expect(
            table.dropFirst().reduce(0) { $0 + (Int($1[column]) ?? 0) }
                == (all.first?["postbacks"] as? NSNumber)?.intValue)
    }

    @Test("copies are compared for the chosen days and filters")
    func reconciliation() throws {
        let days = ["2026-11-18", "2026-11-19", "2026-11-20", "2026-11-21"]
        let title = "Network copies compared with developer copies"
        var counts: [Int] = []
        for (since, until) in zip(days, days.dropFirst()) {
            let page = try asker.page("/postbacks?since=\(since)&until=\(until)").text
            #expect(
                page.contains("weir reconcile --by ad_network_id --since \(since) --until \(until)")
            )
            let printed = try rows([
                "reconcile", "--by", "ad_network_id", "--since", since, "--until", until,
            ])
            counts.append(printed.count)
            guard !printed.isEmpty else { continue }
            let table = try cells(title, of: page)
            var counted = printed.map { ($0["postbacks"] as? NSNumber)?.intValue ?? -1 }
            // Several networks have a total.
            if counted.count > 1 { counted.append(counted.reduce(0, +)) }
            #expect(table.dropFirst().map { $0[1] } == counted.map(String.init))
        }
        #expect(counts.contains { $0 > 0 })
        let filtered = try asker.page("/postbacks?period=all&ad_network_id=com.example").text
        #expect(
            filtered.contains("weir reconcile --by ad_network_id --where ad_network_id=com.example")
        )
        #expect(
            try asker.page("/postbacks?period=all&country=US").text
                .contains("Not by country. Weir reconcile has no country."))
    }

    @Test("a number of compared copies leads to as many postbacks, each with its records")
    func copies() throws {
        let page = try asker.page("/postbacks?period=all")
        let links = page.links.filter { $0.address.contains("copies=") }
        #expect(links.count > 2)
        for link in links.prefix(4) + links.suffix(2) {
            let count = try #require(Int(link.text.replacing(",", with: "")))
            let list = try asker.page(link.address).text
            #expect(
                list.contains(
                    "\(count) \(count == 1 ? "postback" : "postbacks") with this result."),
                "\(link.address)")
            #expect(list.contains("/record?topic=postbacks&amp;partition="))
        }
        #expect(try asker.page("/postbacks?copies=none").status == 400)
    }

    @Test("a list of copies has the copies of each network and their sums, and can be longer")
    func sumsOfCopies() throws {
        let page = try asker.page("/postbacks?period=all&copies=postbacks").text
        let printed = try rows(["reconcile", "--records", "--all"])
        func copies(_ column: String) -> Int {
            printed.reduce(0) {
                $0 + (($1[column] as? String)?.split(separator: " ").count ?? 0)
            }
        }
        let sums = [printed.count, copies("network_offsets"), copies("developer_offsets")]
        #expect(sums.allSatisfy { $0 > 0 })
        let table = try cells(
            "Network copies compared with developer copies: Postbacks", of: page)
        #expect(table.first == ["network", "postbacks", "network copies", "developer copies"])
        let networks = table.dropFirst().filter { $0[0] != "all networks" }
        #expect(
            networks.count == Set(printed.compactMap { $0["ad_network_id"] as? String }).count)
        for (index, sum) in sums.enumerated() {
            #expect(networks.reduce(0) { $0 + (Int($1[index + 1]) ?? 0) } == sum)
            if networks.count > 1 { #expect(table.last?[index + 1] == "\(sum)") }
        }
        #expect(try asker.page("/postbacks?period=all&copies=postbacks&rows=all").status == 200)
        #expect(try asker.page("/postbacks?period=all&copies=postbacks&rows=9").status == 400)
    }
}
