import ConfigurationFiles
import ConfigurationValues
import Testing

@Suite("The file of what is watched")
struct WatchFileTests {
    private func fault(_ yaml: String) throws -> String? {
        try TemporaryPipelines(["watch.yaml": yaml]).fault {
            directory throws(ConfigurationError) in _ = try directory.watch()
        }
    }

    @Test("what is wrong with a rule is named with its line and key")
    func faults() throws {
        let rate = "name: n, dump: postbacks, part: [null_values]"
        let budget = "name: n, cost: billed, currency: USD, amount: 5, period: day"
        for (yaml, words) in [
            ("silences: []\n", "watch.yaml:1: silences: unknown key; known here: silence, rates"),
            (
                "silence:\n  - {dump: bids, measures: [bids]}\n",
                "watch.yaml:2: silence[0].name: is missing"
            ),
            ("silence: [{name: n, dump: bids, measures: []}]\n", "silence[0].measures: is empty"),
            (
                "silence: [{name: n, dump: bids, by: seat, measures: [bids]}]\n",
                "by: must be a list"
            ),
            ("rates: [{\(rate)}]\n", "rates[0]: needs either 'of' (it includes the part"),
            ("rates: [{\(rate), of: [a], per: [b]}]\n", "rates[0]: needs either 'of'"),
            (
                "rates: [{\(rate), of: [a], least: 2}]\n",
                "least: is not a difference of rates: write 0 to 1"
            ),
            ("budgets: [{\(budget.replacing("5", with: "0"))}]\n", "amount: is 0"),
            (
                "budgets: [{\(budget.replacing("day", with: "year"))}]\n",
                "write one of day, week, month"
            ),
            (
                "budgets: [{\(budget.replacing("USD", with: "usd"))}]\n",
                "write three capital letters"
            ),
            (
                "budgets: [{\(budget)}, {\(budget)}]\n",
                "budgets[1]: has the name 'n' of an earlier rule"
            ),
            ("deliveries: [{limit: 0}]\n", "deliveries[0].limit: is 0: write 1 to"),
        ] {
            let found = try fault(yaml) ?? "nothing"
            #expect(found.contains(words), "\(yaml)\(found)")
        }
        #expect(
            try fault("rates: [{\(rate), per: [postbacks], least: 0.01}]\nbudgets: [{\(budget)}]\n")
                == nil)
        #expect(try fault("# nothing\n") == nil)
    }

    @Test("a fault in the file is one of the configuration, and a missing file is none")
    func checks() throws {
        #expect(try TemporaryPipelines(["watch.yaml": "x: 1\n"]).read { $0.check() }.count == 1)
        #expect(try TemporaryPipelines(["bids.yaml": ""]).read { $0.check() }.isEmpty)
        let missing = try TemporaryPipelines([:]).fault { directory throws(ConfigurationError) in
            _ = try directory.watch()
        }
        #expect(missing == "watch.yaml: does not exist: copy the file that Weir ships in pipelines")
    }
}
