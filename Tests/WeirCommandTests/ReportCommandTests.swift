import Foundation
import Program
import TestKit
import Testing

@testable import weir

@Suite("Saved reports")
struct ReportCommandTests {
    private let place: UpPlace

    init() throws {
        place = try UpPlace()
        try place.files.write(
            """
            {"key":"s:1","timestamp_ms":1795219200000,"value":{"source":"s","day":"2026-11-20","campaign":{"ad_network_id":"n","source_identifier":"0001"},"currency":"USD","amount":3}}
            {"key":"s:1","timestamp_ms":1795219200000,"value":{"source":"s","day":"2026-11-12","campaign":{"ad_network_id":"n","source_identifier":"0001"},"currency":"USD","amount":100}}
            {"key":"s:2","timestamp_ms":1795305600000,"value":{"source":"s","day":"2026-11-19","campaign":{"ad_network_id":"n","source_identifier":"0002"},"currency":"EUR","amount":2}}

            """, to: "costs.ndjson")
        for arguments in [
            [
                "publish", "--topic", "costs", "--data", place.data, "--topics",
                Repository.path("topics"), place.files.path + "/costs.ndjson",
            ]
        ] {
            let ran = try place.weir(arguments)
            #expect(ran.status == 0, "\(ran.error)")
        }
        let ran = try Program.run(
            "weir-costs",
            ["--until-end", "--data", place.data, "--pipelines", place.pipelines])
        #expect(ran.status == 0, "\(ran.error)")
    }

    private func report(_ yaml: String, _ more: String...) throws -> Program {
        try place.files.write(yaml, to: "pipelines/reports/spend.yaml")
        return try place.weir(
            ["report", "spend", "--data", place.data, "--pipelines", place.pipelines] + more)
    }

    private let spend = """
        title: What was spent
        dump: costs
        period: last 7 days
        columns: [campaign, cost_micros]
        sort: cost_micros:desc

        """

    @Test("a report prints its columns of its period, which ends at the newest record")
    func printed() throws {
        let said = try report(spend)
        #expect(said.status == 0, "\(said.error)")
        #expect(
            said.output
                == """
                What was spent
                last 7 days: from 2026-11-15T00:00:00Z, before 2026-11-22T00:00:00Z; the newest record is of 2026-11-22T00:00:00Z

                campaign  cost_micros
                0002      EUR 2.00
                0001      USD 3.00

                """.replacing("EUR 2.00", with: "   EUR 2.00").replacing(
                    "USD 3.00", with: "   USD 3.00"))
        let csv = try report(spend, "--format", "csv")
        #expect(
            csv.output
                == "campaign,currency,cost_micros\r\n0002,EUR,2000000\r\n0001,USD,3000000\r\n")
        #expect(csv.error.contains("before 2026-11-22T00:00:00Z"))
        try place.files.write(
            "day,currency,base,rate\n2026-11-19,EUR,USD,2\n", to: "pipelines/rates.csv")
        let dollars = try report(spend + "in: USD\n", "--format", "csv")
        #expect(
            dollars.output
                == "campaign,currency,cost_micros\r\n0002,USD,4000000\r\n0001,USD,3000000\r\n")
        #expect(dollars.error.contains("EUR at 2.000000 (2026-11-19)"))
    }

    @Test("reports are listed with what they show")
    func listed() throws {
        _ = try report(spend)
        let said = try place.weir(["report", "--pipelines", place.pipelines])
        #expect(
            said.output
                == "report  dump   period       title\nspend   costs  last 7 days  What was spent\n"
        )
        let shipped = try place.weir(["report", "--pipelines", Repository.path("pipelines")])
        #expect(shipped.status == 0 && shipped.output.contains("campaigns  funnel"))
    }

    @Test("what is wrong with a report is named with its file, line and key")
    func faults() throws {
        for (yaml, words) in [
            ("dump: cost\n", "spend.yaml:1: dump: no dump 'cost'"),
            ("dump: costs\ncolor: red\n", "spend.yaml:2: color: unknown key"),
            ("title: t\n", "dump: is missing"),
            ("dump: costs\nby: [day]\ncolumns: [x]\n", "spend.yaml:3: columns: no column 'x'"),
            ("dump: costs\nby: [x]\n", "spend.yaml:2: by: no column 'x'"),
            ("dump: costs\nsort: a:up\n", "spend.yaml:2: sort: 'a:up' is not a sort order"),
            ("dump: costs\nwhere: {x: 1}\n", "spend.yaml:2: where: no column 'x'"),
            ("dump: costs\nperiod: last year\n", "spend.yaml:2: period: is 'last year'"),
            ("dump: costs\nformat: pdf\n", "spend.yaml:2: format: is 'pdf'"),
            ("dump: costs\ndate: install\n", "spend.yaml:1: dump: --date is an option of funnel"),
        ] {
            try place.files.write(yaml, to: "pipelines/reports/spend.yaml")
            #expect {
                var command = try WeirCommand.parseAsRoot([
                    "report", "spend", "--data", place.data, "--pipelines", place.pipelines,
                ])
                try command.run()
            } throws: { error in
                let fault = CommandError(error)
                return fault?.exitCode == 1 && fault?.explanation?.contains(words) == true
            }
        }
        // The others are listed, and weir check names columns too.
        try place.files.write("dump: costs\nby: [x]\n", to: "pipelines/reports/spend.yaml")
        let checked = try place.weir(
            ["check", "--data", place.data, "--pipelines", place.pipelines])
        #expect(
            checked.output.contains("spend.yaml:2: by: no column 'x' in costs"), "\(checked.output)"
        )
        try place.files.write("color: red\n", to: "pipelines/reports/bad.yaml")
        let list = try place.weir(["report", "--pipelines", place.pipelines])
        #expect(list.status == 1 && list.output.contains("spend   costs"), "\(list.output)")
        #expect(list.error.contains("bad.yaml:1: color: unknown key"))
        try FileManager.default.removeItem(atPath: place.pipelines + "/reports/bad.yaml")
        let missing = try place.weir(["report", "none", "--pipelines", place.pipelines])
        #expect(missing.status == 1 && missing.error.contains("there are spend"))
    }
}
