import Store
import Testing

@testable import Reports

@Suite("Which columns and rows of a table are shown")
struct TableArrangementTests {
    private let table = ReportTable(
        columns: [
            .init("name"), .init("age", steps: ["0", "7", "14"]), .init("empty"),
            .init("clicks", isNumber: true), .init("cost_micros", isNumber: true),
            .init("ctr", isNumber: true),
        ],
        rows: [
            row("b", "14", 2, ["USD": 9], "0.500000"), row("a", "7", 10, ["USD": 11], nil),
            row("c", "", 2, ["EUR": 500], "-0.250000"), row("d", "0", 3, [:], "10.000000"),
        ], keyCount: 3)

    private static func row(
        _ name: String, _ age: String, _ clicks: Int128, _ micros: [String: Int128], _ ctr: String?
    ) -> [ReportValue] {
        [
            .text(name), .text(age), .text(""), .integer(clicks),
            .money(
                MoneyByCurrency(
                    Dictionary(
                        uniqueKeysWithValues: micros.map { (StoredValue.text($0), $1) }))),
            ctr.map { .decimal($0) } ?? .null,
        ]
    }

    private func names(sortedBy sort: String, limit: Int? = nil) throws -> String {
        try table.arranged(
            TableArrangement(columns: nil, sort: sort, limit: limit), as: .table, of: "t"
        ).rows.map { $0[0].plainText }.joined()
    }

    @Test(
        "rows are sorted by numbers as numbers, by steps in their order, and what is null is last")
    func sorting() throws {
        #expect(try names(sortedBy: "clicks") == "bcda")
        #expect(try names(sortedBy: "clicks:desc,name:desc") == "adcb")
        #expect(try names(sortedBy: "ctr") == "cbda")
        #expect(try names(sortedBy: "ctr:desc") == "dbca")
        #expect(try names(sortedBy: "age") == "cdab")
        #expect(try names(sortedBy: "clicks:desc", limit: 2) == "ad")
    }

    @Test("amounts of several currencies are not compared: their rows stand by currency")
    func currencies() throws {
        #expect(try names(sortedBy: "cost_micros") == "cbad")
        #expect(try names(sortedBy: "cost_micros:desc") == "cabd")
    }

    @Test("columns are shown as they are named, and programs get the currency of amounts too")
    func columns() throws {
        let arrangement = try TableArrangement(columns: "cost_micros,name", sort: nil, limit: 1)
        let shown = try table.arranged(arrangement, as: .table, of: "t")
        #expect(shown.text(as: .table) == " cost_micros  name\nUSD 0.000009  b\n")
        #expect(shown.text(as: .csv) == "currency,cost_micros,name\r\nUSD,9,b\r\n")
    }

    @Test("a column that is not there, and what is no order, are errors that say so")
    func faults() throws {
        for text in ["x", "name,x"] {
            #expect(throws: InspectionError.self) {
                try table.arranged(
                    TableArrangement(columns: text, sort: nil, limit: nil), as: .csv, of: "t")
            }
        }
        for sort in ["", "a:up", "a:desc:asc", ":desc", "a,a"] {
            #expect(throws: InspectionError.self, "\(sort)") {
                try TableArrangement(columns: nil, sort: sort, limit: nil)
            }
        }
        for columns in ["", "a,", "a,a"] {
            #expect(throws: InspectionError.self, "\(columns)") {
                try TableArrangement(columns: columns, sort: nil, limit: nil)
            }
        }
    }

    @Test("a minus before a column sorts as :desc does")
    func minus() throws {
        #expect(try names(sortedBy: "-clicks,-name") == "adcb")
        for sort in ["-", "--clicks", "-clicks:desc", "-clicks:asc"] {
            #expect(throws: InspectionError.self, "\(sort)") {
                try TableArrangement(columns: nil, sort: sort, limit: nil)
            }
        }
    }

    @Test("texts of digits are sorted as numbers, after nothing and before words")
    func digits() throws {
        let texts = ["10", "9", "b", "009", "1", "a", ""]
        let table = ReportTable(columns: [.init("t")], rows: texts.map { [.text($0)] }, keyCount: 1)
        let sorted = try table.arranged(
            TableArrangement(columns: nil, sort: "t", limit: nil), as: .table, of: "t")
        #expect(sorted.rows.map { $0[0].plainText } == ["", "1", "009", "9", "10", "a", "b"])
    }

    @Test("a vertical table has a line a value")
    func vertical() throws {
        let one = try table.arranged(
            TableArrangement(columns: "name,ctr", sort: nil, limit: 2), as: .table, of: "t")
        #expect(
            one.verticalLines
                == ["row   1", "name  b", "ctr   0.500000", "", "row   2", "name  a", "ctr"])
    }

    @Test("for people digits in texts are in the order of their values, before words")
    func natural() {
        let rows = ["10", "low", "2", "13", "0", "", "1"].map { [ReportValue.text($0)] }
        let table = ReportTable(columns: [ReportTable.Column("value")], rows: rows, keyCount: 1)
        #expect(
            table.inNaturalOrder.rows.map { $0[0].plainText } == [
                "", "0", "1", "2", "10", "13", "low",
            ])
    }
}
