import ConfigurationFiles
import ConfigurationValues
import Foundation
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

    @Test(
        "invisible characters and no-break spaces in a file change no report",
        arguments: [
            ("two-byte-order-marks", "generic"), ("no-break-spaces", "mapping-space"),
            ("no-break-spaces", "mapping-narrow-space"),
        ])
    func invisible(_ name: String, _ mapping: String) throws {
        let folder = "Tests/Fixtures/costs-import"
        let files = try TemporaryDirectory()
        for mapping in ["mapping-space", "mapping-narrow-space"] {
            try files.write(
                Repository.text("\(folder)/\(mapping).yaml"), to: "pipelines/costs/\(mapping).yaml")
        }
        let directory =
            mapping == "generic" ? Self.shipped : PipelineDirectory(files.path + "/pipelines")
        let bytes = try [UInt8](
            Data(contentsOf: Repository.root.appending(path: "\(folder)/\(name).csv")))
        let table = try CostsTable(bytes, directory.costMapping(mapping))
        let events = try table.lines.map { String(decoding: try $0.get().event, as: UTF8.self) }
        #expect(
            try events.map { $0 + "\n" }.joined() == Repository.text("\(folder)/\(name).ndjson"))
    }

    @Test(
        "unseen characters at the edge of a cell or header go, and inside an identifier are an error"
    )
    func unseen() throws {
        let unseen = [
            "\u{FEFF}", "\u{200B}", "\u{200E}", "\u{200F}", "\u{2060}", "\u{A0}", "\u{202F}",
        ]
        for character in unseen {
            func cell(_ campaign: String) throws -> CostsTable {
                try table(
                    "\(character)Day\(character),Campaign,Cost\n2026-11-20,\(campaign),1\n")
            }
            let edges = try cell("\(character)52 39\(character)").lines[0].get()
            #expect(edges.values[.campaign] == "52 39", "\(character.unicodeScalars)")
            let inside = amounts(try cell("52\(character)39"))[0]
            #expect(inside.hasPrefix("2: column 'Campaign' has '52\\u{"), "\(inside)")
        }
        let named = amounts(try table("Day,Campaign,Cost\n2026-11-20,52\u{200B}39,1\n"))
        #expect(
            named == [
                "2: column 'Campaign' has '52\\u{200B}39', which contains U+200B ZERO WIDTH SPACE: remove it"
            ])
        // A name is shown to people only, and emoji and scripts need joiners.
        let joined = try table("Day,Campaign,Cost,N\n2026-11-20,1,1,👨\u{200D}👩\n") {
            $0.columns[.name] = "N"
        }
        #expect(try joined.lines[0].get().values[.name] == "👨\u{200D}👩")
        let header = try table("Day,Cam\u{200B}paign,Cost\n2026-11-20,1,1\n")
        #expect(try header.lines[0].get().values[.campaign] == "1")
    }

    @Test("an identifier that a spreadsheet took for a number is an error that explains it")
    func spreadsheets() throws {
        for (changed, words) in [
            ("1.47852E+09", "a spreadsheet converted the identifier to a number"),
            ("1,47852E+09", "a spreadsheet converted the identifier to a number"),
            ("5E+3", "a spreadsheet converted the identifier to a number"),
            ("1478523690.0", "a program wrote the identifier as a number"),
            ("1,478,523,690", "a program wrote the identifier as a number"),
        ] {
            let found = amounts(
                try table("Day,Campaign,Cost\n2026-11-20,\"\(changed)\",1\n") {
                    $0.thousands = ","
                })[0]
            #expect(
                found.hasPrefix("2: column 'Campaign' has '\(changed)': \(words)"), "\(found)")
        }
        for kept in ["1478523690", "12E5", "spring_1.0", "0039"] {
            #expect(
                try table("Day,Campaign,Cost\n2026-11-20,\(kept),1\n").lines[0].get()
                    .values[.campaign] == kept)
        }
    }

    @Test("every space between thousands is the one of the mapping")
    func spaces() throws {
        for configured in [" ", "\u{A0}", "\u{202F}"] as [Character] {
            for written in [" ", "\u{A0}", "\u{2009}", "\u{202F}"] {
                let found = amounts(
                    try table("Day,Campaign,Cost\n2026-11-20,1,\"1\(written)234\(written)567,5\"\n")
                    {
                        $0.decimalPoint = ","
                        $0.thousands = configured
                    })
                #expect(found == ["1234567.5"])
            }
        }
        #expect(
            amounts(try table("Day,Campaign,Cost\n2026-11-20,1,1\u{A0}234\n"))[0].hasPrefix(
                "2: column 'Cost' has"))
    }

    @Test("lines may end with CR alone, and a CR in quotes is a part of its cell")
    func carriageReturns() throws {
        let text = "Day,Campaign,Cost\r2026-11-20,\"a\rb\",1\r\r2026-11-21,\"c\",2\r"
        let lines = try table(text).lines.map { try $0.get() }
        #expect(lines.map { $0.values[.campaign] } == ["a\rb", "c"])
        #expect(lines.map(\.line) == [2, 5])
    }

    @Test("files one after the other, each with its mark and its header, are one file")
    func concatenated() throws {
        let (mark, header) = ("\u{FEFF}", "\"Day\",Campaign,Cost\n")
        let text = mark + header + "2026-11-20,a,1\n" + mark + header + "2026-11-21,b,2\n"
        let lines = try table(text).lines.map { try $0.get() }
        #expect(lines.map { $0.values[.campaign] } == ["a", "b"])
        #expect(lines.map(\.line) == [2, 4])
        #expect(try table(text).skippedLines == 0)
        // Of other columns the header is no repetition, and the line is named.
        let other =
            mark + header + "2026-11-20,a,1\n" + mark + "Cost,Day,Campaign\n2,2026-11-21,b\n"
        #expect(amounts(try table(other))[1].hasPrefix("3: column 'Day' has 'Cost'"))
    }

    @Test("another encoding or separator than expected is named with what to do")
    func encodings() throws {
        func fault(_ bytes: [UInt8]) -> String {
            var mapping = CostMapping()
            mapping.columns = [.day: "Day", .campaign: "Campaign", .amount: "Cost"]
            mapping.fixed = [.source: "s", .currency: "EUR"]
            do throws(CostsLineFault) {
                return "\(try CostsTable(bytes, mapping).lines.count)"
            } catch {
                return "\(error.line): \(error)"
            }
        }
        let tabs = "Day\tCampaign\tCost\n2026-11-20\té\t1\n"
        let wide = tabs.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        #expect(
            fault([0xFF, 0xFE] + wide)
                == "1: a tab separates the columns (the file is UTF-16, which spreadsheets use for Unicode Text): write separator: tab in the mapping"
        )
        #expect(
            fault(Array(tabs.utf8))
                == "1: a tab separates the columns: write separator: tab in the mapping")
        let plain = "Day,Campaign,Cost\n2026-11-20,e,1\n"
        #expect(
            fault(plain.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }).hasPrefix(
                "1: the file contains zero bytes. It may be UTF-16"))
        #expect(
            fault(Array("Day,Campaign,Cost\n2026-11-20,".utf8) + [0xE9] + Array(",1\n".utf8))
                == "2: the file is not UTF-8: save it again as CSV in UTF-8")
    }

    @Test(
        "of several headers of a field the first in the file counts, and a value may stand above the header"
    )
    func alternatives() throws {
        let folder = "Tests/Fixtures/costs-import"
        let mapping = try Self.shipped.costMapping("apple-ads")
        let custom = try Repository.text("\(folder)/apple-ads-custom.csv")
        let table = try CostsTable(Array(custom.utf8), mapping)
        let events = try table.lines.map { String(decoding: try $0.get().event, as: UTF8.self) }
        #expect(
            try events.map { $0 + "\n" }.joined()
                == Repository.text("\(folder)/apple-ads-custom.ndjson"))
        #expect(table.skippedLines == 1)
        #expect(table.mapping.columns[.installs] == "Installs (Tap-Through)")
        let colon = custom.replacing("Currency,AUD", with: "\"Currency: AUD\"")
        #expect(
            try CostsTable(Array(colon.utf8), mapping).lines[0].get().values[.currency] == "AUD")
        func fault(_ text: String) -> String {
            do throws(CostsLineFault) {
                _ = try CostsTable(Array(text.utf8), mapping)
                return ""
            } catch {
                return error.explanation
            }
        }
        #expect(
            fault(custom.replacing("Currency,AUD\n", with: "")).hasSuffix(
                "lacks 'Currency' or a line above that begins with 'Currency'"))
        #expect(
            fault(custom.replacing("Day,", with: "Week,")).hasSuffix("lacks 'Day' or 'Date'"))
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
                "2: no line has all columns of the mapping; this line has the most and lacks 'Cost'"
            ),
            ("Day,Campaign,Cost,Cost\n", "1: column 'Cost' occurs twice"),
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
        #expect(found[1].hasPrefix("3: has 2 fields, but the header has 3"))
        #expect(found[2].hasPrefix("4: has the same day, campaign, country and currency as line 2"))
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
                "4: raises the amount that line 2 begins above 1000000000"
            ])
    }
}
