import Foundation
import Reports
import TestKit
import Testing

@testable import weir

@Suite("Explaining every number that there is", .serialized)
struct ExplainCommandTests {
    private func examplePlace() throws -> UpWorkspace {
        let workspace = try UpWorkspace()
        try ExampleDay.fold(into: workspace.data)
        return workspace
    }

    /// The conditions that a dump needs to have rows.
    private func selection(_ dump: String) -> [String] {
        dump == CampaignReturns.name ? ["--where", "through_day=3"] : []
    }

    @Test("each measure of each dump adds up, or the refusal says why no record adds to it")
    func everyMeasure() throws {
        let workspace = try examplePlace()
        func explain(_ name: String, _ arguments: [String]) throws -> Program {
            try workspace.weir(
                ["explain", name] + selection(name) + arguments + [
                    "--data", workspace.data, "--pipelines", Repository.path("pipelines"),
                    "--format", "json",
                ])
        }
        var refused: [String] = []
        for name in reportNames() {
            let report = try requireReport(name)
            if report.reasonWithoutNumber != nil {
                let said = try explain(name, [])
                #expect(said.status == 64)
                #expect(said.error.contains("explain "), "\(said.error)")
                continue
            }
            let measures = report.measureNames
            #expect(!measures.isEmpty, "\(name)")
            let isComputed = allReports.contains { $0.name == name }
            // Sums of one table are explained together, computed ones each by itself.
            for measure in isComputed ? measures : ["records"] {
                let currencies = isComputed ? [[]] : [[], ["--where", "currency=USD"]]
                let said = try currencies.lazy.map { currency in
                    try explain(name, currency + (isComputed ? ["--measure", measure] : []))
                }.first { !$0.error.contains("--where currency=") }
                let answer = try #require(said)
                if answer.status == 64 {
                    #expect(answer.error.contains("is not a sum of records"), "\(answer.error)")
                    refused.append("\(name).\(measure)")
                    continue
                }
                #expect(answer.status == 0, "\(name) \(measure): \(answer.error)")
                #expect(answer.output.contains("\"adds_up\":true"), "\(name) \(measure)")
            }
        }
        #expect(
            Set(refused) == [
                "funnel.cost_source", "funnel.install_earliest", "funnel.install_latest",
                "funnel.maturity", "funnel.final_after", "funnel.estimated_revenue_micros",
                "funnel.estimated_value_share", "roas.maturity",
            ])
    }

    @Test("a file has the amount of each record with its currency, and the amounts add up")
    func amountsInFiles() throws {
        let workspace = try examplePlace()
        func rows(_ arguments: String...) throws -> [[String: String]] {
            let said = try workspace.weir(
                arguments + ["--data", workspace.data, "--pipelines", Repository.path("pipelines")]
                    + ["--format", "csv"])
            #expect(said.status == 0, "\(said.error)")
            let lines = said.output.split(whereSeparator: \.isNewline).map {
                $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            }
            return lines.dropFirst().map { Dictionary(uniqueKeysWithValues: zip(lines[0], $0)) }
        }
        let measure = "price_micros"
        func amount(_ row: [String: String]) -> Int { row[measure].flatMap(Int.init) ?? 0 }
        let bids = try rows("dump", "bids", "--by", "currency").filter { amount($0) > 0 }
        #expect(!bids.isEmpty)
        for row in bids {
            let currency = try #require(row["currency"])
            let records = try rows(
                "explain", "bids", "--measure", measure, "--where", "currency=\(currency)",
                "--limit", "100000")
            #expect(records.map(amount).reduce(0, +) == amount(row), "\(currency)")
            #expect(Set(records.map { $0["currency"] }) == [currency])
        }
    }

    @Test("rates of roas and of placements stand as divisions, and roas is selected up to a day")
    func divisions() throws {
        let workspace = try examplePlace()
        func weir(_ arguments: String...) throws -> Program {
            try workspace.weir(
                arguments + ["--data", workspace.data, "--pipelines", Repository.path("pipelines")])
        }
        let day = try weir("dump", "roas", "--by", "total", "--where", "through_day=7")
        #expect(day.status == 0, "\(day.error)")
        #expect(day.output.split(separator: "\n").count == 2, "\(day.output)")
        let all = try weir("dump", "roas", "--by", "campaign,through_day", "--format", "csv")
        #expect(all.status == 0, "\(all.error)")
        let wrong = try weir("dump", "roas", "--where", "through_day=8")
        #expect(wrong.status == 64)
        #expect(wrong.error.contains("through_day is never '8': give 0, 3, 7 or 30"))
        let ctr = try weir("explain", "click-rates", "--measure", "ctr")
        #expect(ctr.output.contains("ctr = clicks / (presented + viewed) = "), "\(ctr.output)")
        let roas = try weir(
            "explain", "roas", "--where", "through_day=7", "--measure", "roas_max")
        #expect(roas.output.contains("roas_max = revenue_max_micros / cost_micros = "))
        let open = try weir("explain", "roas")
        #expect(open.status == 64)
        #expect(open.error.contains("give --where through_day=0, 3, 7 or 30"), "\(open.error)")
        let evidence = try weir("evidence", "roas", "--out", "\(workspace.data)/roas.tar")
        #expect(evidence.status == 64)
        #expect(evidence.error.contains("evidence proves sums of one"), "\(evidence.error)")
    }
}
