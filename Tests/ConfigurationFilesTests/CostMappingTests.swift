import ConfigurationFiles
import ConfigurationValues
import Testing

@Suite("Mappings of costs")
struct CostMappingTests {
    private func fault(_ yaml: String) throws -> String? {
        let pipelines = try TemporaryPipelines(["costs/m.yaml": yaml])
        return pipelines.fault { directory throws(ConfigurationError) in
            _ = try directory.costMapping("m")
        }
    }

    private let good = """
        source: s
        currency: EUR
        columns: {day: Day, amount: Cost}

        """

    @Test("what is wrong with a mapping is named with its line and key")
    func faults() throws {
        #expect(try fault(good) == nil)
        for (yaml, words) in [
            (good + "colour: red\n", "costs/m.yaml:4: colour: unknown key"),
            ("source: s\ncolumns: {day: D, amount: A, cost: C}\n", "columns.cost: unknown field"),
            ("source: s\ncolumns: {day: D, amount: A}\n", "currency is missing"),
            ("currency: EUR\ncolumns: {day: D, amount: A}\n", "source is missing"),
            ("source: s\ncurrency: EUR\ncolumns: {day: D}\n", "amount is missing"),
            (
                "source: s\ncurrency: EUR\ncolumns: {day: D, amount: A, source: S}\n",
                "source: is also given as a column or a line above"
            ),
            (good.replacing("EUR", with: "eur"), "write three capital letters"),
            (good + "day_format: yyyy-MMM-dd\n", "day_format: is not a day format"),
            (good + "day_format: yyyy-MM\n", "day_format: is not a day format"),
            (good + "separator: \"|\"\n", "write comma, semicolon or tab"),
            (good + "thousands: \".\"\n", "equals decimal_point"),
            (good + "skip: [{column: Day}]\n", "needs either values or a prefix"),
            (good + "repeated_rows: keep\n", "write one of refuse, add_up"),
            (
                "source: s\ncurrency: EUR\ncolumns: {day: [], amount: A}\n",
                "columns.day: is empty: name a column"
            ),
            (good + "above: {day: Day}\n", "above.day: is not a field for all lines"),
            (
                good + "above: {currency: Currency}\n",
                "currency: is also given as a column or a line above"
            ),
            (good + "app_id: x\n", "app_id: must be a whole number"),
        ] {
            let found = try fault(yaml) ?? ""
            #expect(found.contains(words), "\(yaml)\n\(found)")
        }
    }

    @Test("a name without a file names those that there are")
    func names() throws {
        let pipelines = try TemporaryPipelines(["costs/a.yaml": good, "costs/b.yaml": good])
        let words = pipelines.fault { directory throws(ConfigurationError) in
            _ = try directory.costMapping("c")
        }
        #expect(words?.contains("did you mean a? There are a, b") == true, "\(words ?? "")")
    }

    @Test("a fault of a mapping is one of the configuration")
    func check() throws {
        let pipelines = try TemporaryPipelines(["costs/a.yaml": "source: s\n"])
        #expect(pipelines.read { $0.check() }.count == 1)
    }
}
