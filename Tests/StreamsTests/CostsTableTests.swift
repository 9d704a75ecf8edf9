import ConfigurationFiles
import Streams
import TestKit
import Testing

@Suite("Costs in CSV files")
struct CostsTableTests {
    private static let shipped = PipelineDirectory(Repository.path("pipelines"))

    private func table(
        _ text: String, _ change: (inout CostMapping) -> Void = { _ in }
    ) throws
        -> CostsTable
    {
        var mapping = CostMapping()
        mapping.columns = [.day: "Day", .campaign: "Campaign", .amount: "Cost"]
        mapping.fixed = [.source: "s", .currency: "EUR"]
        change(&mapping)
        return try CostsTable(Array(text.utf8), mapping)
    }

    /// The amounts that were read, or what is wrong, a line each.
    private func amounts(_ table: CostsTable) -> [String] {
        table.lines.map { line in
            switch line {
            case .success(let report): report.values[.amount] ?? ""
            case .failure(let fault): "\(fault.line): \(fault)"
            }
        }
    }

    @Test(
        "the shipped mappings give the reports that stand beside the sample of a file",
        arguments: ["apple-ads", "google-ads", "google-ads-api", "meta", "generic"])
    func shipped(_ name: String) throws {
        let folder = "Tests/Fixtures/costs-import"
        let table = try CostsTable(
            Array(Repository.text("\(folder)/\(name).csv").utf8), Self.shipped.costMapping(name))
        let events = try table.lines.map { String(decoding: try $0.get().event, as: UTF8.self) }
        let expected = try Repository.text("\(folder)/\(name).ndjson")
        #expect(events.map { $0 + "\n" }.joined() == expected)
        let result = try foldCosts(events.map { TestRecord($0) })
        #expect(result.outcome(.accepted) == Int64(events.count), "\(result.refused)")
    }

    @Test("every shipped mapping has a sample, and nothing is wrong with it")
    func samples() throws {
        #expect(
            try Self.shipped.costMappingNames() == [
                "apple-ads", "generic", "google-ads", "google-ads-api", "meta",
            ])
    }

    @Test("amounts are read by the marks of the mapping, and nothing else passes for one")
    func marks() throws {
        func amount(
            _ text: String, _ change: (inout CostMapping) -> Void = { _ in }
        ) throws
            -> String
        {
            amounts(try table("Day,Campaign,Cost\n2026-11-20,1,\"\(text)\"\n", change))[0]
        }
        #expect(try amount("0012.50") == "12.50")
        #expect(try amount(".5") == "0.5")
        #expect(try amount("1e-7") == "1e-7")
        #expect(try amount("-3") == "-3")
        for bad in ["1,234.5", "1.2.3", "12 EUR", ".", "", "1.", "0x10", "NaN", "١"] {
            #expect(try amount(bad).hasPrefix("2: column 'Cost' "), "\(bad)")
        }
        func german(_ mapping: inout CostMapping) {
            mapping.decimalPoint = ","
            mapping.thousands = "."
            mapping.symbols = ["€"]
        }
        #expect(try amount("1.234.567,89 €", german) == "1234567.89")
        #expect(try amount("\u{A0}12,5\u{A0}", german) == "12.5")
        // A point before two digits is a decimal point that the mapping does not know.
        #expect(try amount("12.50", german).hasPrefix("2: column 'Cost' "))
        #expect(try amount("1234567", { $0.isInMicros = true }) == "1234567e-6")
        #expect(try amount("--", { $0.empty = ["--"] }).contains("is empty"))
    }

    @Test("of several cells of a line that are wrong the first is named, each time")
    func severalFaults() throws {
        let text = "source,currency,day,amount,clicks\nads,EUR,never,much,few\n"
        for _ in 0..<20 {
            let line = try #require(CostsTable(namedColumns: Array(text.utf8)).lines.first)
            let fault = #expect(throws: CostsLineFault.self) { try line.get() }
            #expect(fault.map { "\($0)".contains("day") } == true, "\(String(describing: fault))")
        }
    }

    @Test("days are read in the form of the mapping")
    func days() throws {
        func day(_ text: String, _ format: String) throws -> String? {
            let files = try TemporaryDirectory()
            try files.write(
                """
                source: s
                currency: EUR
                columns: {day: Day, amount: Cost}
                day_format: "\(format)"
                """, to: "pipelines/costs/m.yaml")
            let mapping = try PipelineDirectory(files.path + "/pipelines").costMapping("m")
            let table = try CostsTable(Array("Day,Cost\n\(text),1\n".utf8), mapping)
            return try? table.lines[0].get().values[.day]
        }
        #expect(try day("20.11.2026", "dd.MM.yyyy") == "2026-11-20")
        #expect(try day("1/2/2026", "M/d/yyyy") == "2026-01-02")
        #expect(try day("20261120", "yyyyMMdd") == "2026-11-20")
        #expect(try day("2026-11-31", "yyyy-MM-dd") == nil)
        #expect(try day("2026-11-20 ", "yyyy-MM-dd") == "2026-11-20")
        #expect(try day("20.11.26", "dd.MM.yyyy") == nil)
        #expect(try day("2026-1-2", "yyyyMMdd") == nil)
    }

    @Test(
        "quotes, line ends, marks of the order of bytes and other separators are those of the field"
    )
    func forms() throws {
        let quoted = "\"Day\",Campaign,\"Cost\"\r\n2026-11-20,\"a\r\nb\",\"1\"\r\n\n2026-11-20,c,2"
        let lines = try table(quoted).lines.map { try $0.get() }
        #expect(lines.map { $0.values[.campaign] } == ["a\r\nb", "c"])
        #expect(lines.map(\.line) == [2, 5])
        let tabs = "Day\tCampaign\tCost\n2026-11-20\té\t1\n"
        var mapping = CostMapping()
        mapping.columns = [.day: "Day", .campaign: "Campaign", .amount: "Cost"]
        mapping.fixed = [.source: "s", .currency: "EUR"]
        mapping.separator = UInt8(ascii: "\t")
        let wide: [UInt8] =
            [0xFF, 0xFE]
            + tabs.utf16.flatMap { unit -> [UInt8] in
                [UInt8(unit & 0xFF), UInt8(unit >> 8)]
            }
        let marked: [UInt8] = [0xEF, 0xBB, 0xBF] + Array(tabs.utf8)
        for bytes in [Array(tabs.utf8), marked, wide] {
            let table = try CostsTable(bytes, mapping)
            #expect(try table.lines.map { try $0.get().values[.campaign] } == ["é"])
        }
    }

    @Test(
        "what is no table is refused with its line",
        arguments: [
            ("", "1: the file is empty"), ("a,b\n1,2\n", "1: no line has all columns"),
            (
                "x\nDay,Campaign\n",
                "2: no line has all columns of the mapping; this one comes closest and lacks 'Cost'"
            ),
            ("Day,Campaign,Cost,Cost\n", "1: column 'Cost' is there twice"),
            ("Day,Campaign,Cost\n2026-11-20,\"1,2\n", "2: a quote is not closed"),
            ("Day,Campaign,Cost\n2026-11-20,\"1\"x,2\n", "2: text comes after a closing quote"),
        ])
    func faults(text: String, words: String) throws {
        do throws(CostsLineFault) {
            var mapping = CostMapping()
            mapping.columns = [.day: "Day", .campaign: "Campaign", .amount: "Cost"]
            mapping.fixed = [.source: "s", .currency: "EUR"]
            _ = try CostsTable(Array(text.utf8), mapping)
            Issue.record("it is taken")
        } catch {
            #expect("\(error.line): \(error)".hasPrefix(words), "\(error)")
        }
    }

    @Test(
        "a line with other fields than the header, and a cell that comes again, are faults; totals are skipped"
    )
    func lines() throws {
        let text = """
            Day,Campaign,Cost
            2026-11-20,1,1
            2026-11-20,2
            2026-11-20,1,2
            Total,,3
            2026-11-21,1,4

            """
        let skip = CostMapping.Skip(column: "Day", values: ["Total"])
        let refused = try table(text) { $0.skip = [skip] }
        #expect(refused.skippedLines == 1)
        let found = amounts(refused)
        #expect(found.count == 4 && found[0] == "1" && found[3] == "4")
        #expect(found[1].hasPrefix("3: has 2 fields, and the header has 3"))
        #expect(found[2].hasPrefix("4: has the day, campaign, country and currency of line 2"))
        let added = try table(text.replacing("2026-11-20,2\n", with: "")) {
            $0.skip = [skip]
            $0.repeatedRows = .addUp
        }
        #expect(try added.lines.map { try $0.get().amountMicros } == [3_000_000, 4_000_000])
    }

    @Test("of lines that are added up, the one at fault is named")
    func addedFaults() throws {
        func faults(_ amounts: String...) throws -> [String] {
            let lines = amounts.map { "2026-11-20,1,\($0)\n" }.joined()
            return try table("Day,Campaign,Cost\n" + lines) { $0.repeatedRows = .addUp }.lines
                .compactMap {
                    guard case .failure(let fault) = $0 else { return nil }
                    return "\(fault.line): \(fault)"
                }
        }
        #expect(try faults("1", "2").isEmpty)
        #expect(try faults("-1", "2") == ["2: has an amount that is not between 0 and 1000000000"])
        #expect(try faults("1", "-2") == ["3: has an amount that is not between 0 and 1000000000"])
        #expect(
            try faults("1", "600000000", "700000000") == [
                "4: brings the amount of its cell, which begins in line 2, above 1000000000"
            ])
    }
}
