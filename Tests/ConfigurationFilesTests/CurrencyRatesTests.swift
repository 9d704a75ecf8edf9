import ConfigurationFiles
import ConfigurationValues
import Testing

@Suite("Rates of currencies")
struct CurrencyRatesTests {
    private let header = "day,currency,base,rate\n"

    @Test("a rate is read exactly, by day and currency")
    func read() throws {
        let text = header + "# a note\n\n2026-11-20,EUR,USD,1.0841\r\n2026-11-20,JPY,USD,0.0064\n"
        let pipelines = try TemporaryPipelines(["rates.csv": text])
        let rates = try pipelines.read { directory throws(ConfigurationError) in
            try directory.rates()
        }
        #expect(rates.base == "USD")
        #expect(rates.parts(of: "EUR", on: "2026-11-20") == 1_084_100_000_000)
        #expect(rates.parts(of: "JPY", on: "2026-11-20") == 6_400_000_000)
        #expect(rates.parts(of: "USD", on: "1999-01-01") == CurrencyRates.partsInUnit)
        #expect(rates.parts(of: "EUR", on: "2026-11-21") == nil)
    }

    @Test("what is wrong with a file is named with its line and column")
    func faults() throws {
        let line = "2026-11-20,EUR,USD,1.0841\n"
        for (text, words) in [
            (line, "rates.csv:1: must start with the line day,currency,base,rate"),
            (header, "has no rates"),
            (header + "2026-11-20,EUR,USD\n", "rates.csv:2: has 3 fields"),
            (header + line + "20.11.2026,EUR,USD,1\n", "rates.csv:3: day: is '20.11.2026'"),
            (header + "2026-11-20,eur,USD,1\n", "rates.csv:2: currency: is 'eur'"),
            (
                header + line + "2026-11-21,USD,EUR,1\n",
                "rates.csv:3: base: is EUR, but USD in earlier lines"
            ),
            (header + "2026-11-20,USD,USD,1\n", "rates.csv:2: currency: is the base"),
            (header + "2026-11-20,EUR,USD,0\n", "rates.csv:2: rate: is '0'"),
            (header + "2026-11-20,EUR,USD,1e3\n", "rates.csv:2: rate: is '1e3'"),
            (header + "2026-11-20,EUR,USD,1.0000000000001\n", "rates.csv:2: rate: is"),
            (header + line + line, "rates.csv:3: day: EUR has a rate for 2026-11-20"),
        ] {
            let pipelines = try TemporaryPipelines(["rates.csv": text])
            let found = pipelines.fault { directory throws(ConfigurationError) in
                _ = try directory.rates()
            }
            #expect(found?.contains(words) == true, "\(text)\n\(found ?? "nothing")")
            #expect(pipelines.read { $0.check() }.count == 1)
        }
        let none = try TemporaryPipelines([:])
        let missing = none.fault { directory throws(ConfigurationError) in
            _ = try directory.rates()
        }
        #expect(missing?.contains("does not exist") == true)
    }

    @Test(
        "the currency of pages has rates",
        arguments: [
            ("USD", nil), ("EUR", nil),
            ("CHF", "catalog.yaml:2: report_currency: is CHF, for which"),
            ("eur", "catalog.yaml:2: report_currency: is 'eur': write three capital letters"),
        ] as [(String, String?)])
    func reportCurrency(_ currency: String, _ fault: String?) throws {
        let catalog = "apps: {}\nreport_currency: \(currency)\n"
        let rates = header + "2026-11-20,EUR,USD,1.0841\n"
        let pipelines = try TemporaryPipelines(["catalog.yaml": catalog, "rates.csv": rates])
        let found = pipelines.read { $0.check() }.map(\.description)
        #expect(found.count == (fault == nil ? 0 : 1), "\(found)")
        if let fault { #expect(found.first?.contains(fault) == true, "\(found)") }
        let without = try TemporaryPipelines(["catalog.yaml": catalog])
        #expect(without.read { $0.check() }.count == 1)
    }
}
