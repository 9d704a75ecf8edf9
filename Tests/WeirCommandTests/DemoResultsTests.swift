import Foundation
import TestKit
import Testing

/// The demo's sixty days that end on 2026-11-26.
enum DemoStores {
    static let shared = Result { () -> TemporaryDirectory in
        let files = try TemporaryDirectory()
        let demo = try Program(
            "weir",
            [
                "demo", "--end", "2026-11-26", "--data", files.path, "--pipelines",
                Repository.path("pipelines"), "--topics", Repository.path("topics"),
            ])
        // Half a minute of work, beside many other tests.
        try demo.waitForExit(seconds: 600)
        guard demo.status == 0 else { throw TestFault("weir demo: \(demo.error)") }
        return files
    }
}

/// The assumptions of the demo as reports show them.
@Suite("What the demo's reports show")
struct DemoResultsTests {
    private static let losing = "Daybreak breathing reels"
    /// Most of its clicks are automatic, and its installs bring almost nothing.
    private static let fraudulent = "Kings playable, tier 1"
    /// Brings the people back who have the app, so it has no installs.
    private static let reEngaging = "Daybreak come back"

    private typealias Row = [String: Any]

    /// The rows of a dump.
    private func dump(_ arguments: String...) throws -> [Row] {
        let path = try DemoStores.shared.get().path
        let ran = try Program.run(
            "weir",
            ["dump"] + arguments
                + ["--format", "json", "--data", path, "--pipelines", "\(path)/pipelines"])
        guard ran.status == 0 else { throw TestFault(ran.error) }
        return try #require(
            try JSONSerialization.jsonObject(with: Data(ran.output.utf8)) as? [Row])
    }

    /// Rows of campaigns that the catalog names.
    private func campaigns(_ arguments: String...) throws -> [String: Row] {
        let path = try DemoStores.shared.get().path
        let ran = try Program.run(
            "weir",
            ["dump"] + arguments
                + [
                    "--by", "name", "--in", "USD", "--format", "json", "--data", path,
                    "--pipelines", "\(path)/pipelines",
                ])
        guard ran.status == 0 else { throw TestFault(ran.error) }
        let rows = try JSONSerialization.jsonObject(with: Data(ran.output.utf8)) as? [Row]
        return Dictionary(
            uniqueKeysWithValues: (rows ?? []).compactMap { row in
                (row["name"] as? String).flatMap { $0.isEmpty ? nil : ($0, row) }
            })
    }

    private func number(_ row: Row?, _ column: String) throws -> Double {
        let value = try #require(row?[column] as? NSNumber, "\(column) of \(row ?? [:])")
        return value.doubleValue
    }

    @Test("costs per install, shares without a value and returns are of the size that buyers know")
    func sizes() throws {
        let funnel = try campaigns("funnel")
        let returns = try campaigns("roas", "--where", "through_day=7")
        #expect(funnel.count == 12)
        for (name, row) in funnel {
            #expect((0.1...0.4).contains(try number(row, "null_rate")), "\(name)")
            if name != Self.reEngaging {
                #expect((1...6).contains(try number(row, "cpi")), "\(name)")
            }
            let usual = name == Self.fraudulent ? 0...0.1 : 0.1...0.6
            #expect(usual.contains(try number(returns[name], "roas_min")), "\(name)")
        }
    }

    @Test(
        "one campaign loses money: its cost per install is the highest, and its return the lowest")
    func losing() throws {
        let funnel = try campaigns("funnel").filter { $0.key != Self.reEngaging }
        let highest = try funnel.max { try number($0.value, "cpi") < number($1.value, "cpi") }
        #expect(highest?.key == Self.losing)
        let large = try funnel.filter { try number($0.value, "installs") > 400 }
        let lowest = try large.min {
            try number($0.value, "roas_max") < number($1.value, "roas_max")
        }
        #expect(lowest?.key == Self.losing)
    }

    @Test("a quarter to half of the trials become purchases")
    func trials() throws {
        let rows = try dump(
            "cohorts", "--by", "bundle_id", "--measures", "trials,trial_conversions")
        let app = try #require(rows.first { $0["bundle_id"] as? String == "com.example.daybreak" })
        let share = try number(app, "trial_conversions") / number(app, "trials")
        #expect((0.25...0.45).contains(share), "\(share)")
    }

    @Test("only one network has many automatic clicks")
    func fraud() throws {
        let rows = try dump(
            "fraud-signals", "--by", "ad_network_id", "--where", "signal=automatic_clicks")
        let high = try rows.filter {
            guard $0["share_low"] is NSNumber else { return false }
            return try number($0, "share_low") > 0.1
        }
        #expect(high.map { $0["ad_network_id"] as? String } == ["kst8r5m3vd.skadnetwork"])
    }

    @Test("the day of the outage has no records of the exchange, and its costs are known")
    func outage() throws {
        let rows = try dump("funnel", "--by", "day", "--in", "USD", "--since", "2026-11-10")
        for row in rows {
            let isOutage = row["day"] as? String == "2026-11-14"
            #expect(try (number(row, "bids") == 0) == isOutage, "\(row)")
            #expect(try number(row, "cost_micros") > 200_000_000, "\(row)")
        }
        #expect(rows.count == 16)
    }

    @Test("postbacks of the late network begin to arrive later")
    func late() throws {
        /// The share of a network's installs that arrive in the first eight days.
        func share(_ network: String) throws -> Double {
            func installs(_ until: String) throws -> Double {
                let rows = try dump(
                    "funnel", "--by", "ad_network_id", "--where", "ad_network_id=\(network)",
                    "--until", until)
                return try number(rows.first, "installs")
            }
            return try installs("2026-10-05") / installs("2026-11-26")
        }
        let late = try share("tm3z9q5hwl.skadnetwork")
        let prompt = try share("bp6x1n8trc.skadnetwork")
        #expect(late > 0 && late < prompt * 0.75, "\(late) and \(prompt)")
    }

    @Test("only what is made wrong on purpose is refused, and every signature of the demo holds")
    func verdicts() throws {
        let verdicts = try dump("postbacks", "--by", "version,verdict")
        func postbacks(_ verdict: String) throws -> Double {
            try verdicts.filter { $0["verdict"] as? String == verdict }
                .reduce(0) { try $0 + number($1, "postbacks") }
        }
        // One fault of each kind a week, from the fourth day on. One postback of Apple is from a test of a developer.
        let weeks = 9.0
        #expect(try postbacks("invalid") == weeks)
        #expect(try postbacks("development") == 1)
        #expect(try postbacks("unverifiable") == 0)
        #expect(try postbacks("valid") > 10_000)
        let versions = Set(verdicts.compactMap { $0["version"] as? String })
        #expect(versions.isSuperset(of: ["", "2.2", "3.0", "4.0"]))
        let signatures = try dump("bid-signatures", "--by", "verdict")
        #expect(signatures.map { $0["verdict"] as? String } == ["valid"])
        let outcomes = try dump("outcomes", "--by", "topic")
        for (topic, measure) in [
            ("bids", "rejected"), ("impressions", "rejected"), ("postbacks", "rejected"),
            ("postbacks", "conflicts"), ("store-notifications", "untrusted"),
        ] {
            let row = outcomes.first { $0["topic"] as? String == topic }
            #expect(try number(row, measure) == weeks, "\(topic) \(measure)")
        }
    }

    @Test(
        "all windows, re-engagements, two currencies of cost, and every kind of subscription event")
    func variety() throws {
        let windows = try dump("postbacks", "--by", "sequence_index,conversion_type")
        #expect(Set(windows.compactMap { $0["sequence_index"] as? Int }).isSuperset(of: [0, 1, 2]))
        #expect(windows.contains { $0["conversion_type"] as? String == "re-engagement" })
        let costs = try dump("costs", "--by", "currency")
        #expect(Set(costs.compactMap { $0["currency"] as? String }) == ["EUR", "USD"])
        let path = try DemoStores.shared.get().path
        let table = try Program.run(
            "weir", ["dump", "costs", "--by", "total", "--format", "table", "--data", path])
        #expect(table.error.contains("weir dump funnel has all spend, in cost_micros"))
        let total = [
            "dump", "funnel", "--by", "total", "--measures", "cost_micros", "--data", path,
        ]
        #expect(try Program.run("weir", total).error.contains("--in USD converts them"))
        #expect(try !Program.run("weir", total + ["--in", "USD"]).error.contains("--in USD conv"))
        let sales = try dump("store-notifications", "--by", "currency")
        for measure in [
            "trials", "renewals", "recoveries", "renewal_failures", "expirations_voluntary",
            "refunds", "refunds_declined", "one_time_purchases",
        ] {
            #expect(try sales.reduce(0) { try $0 + number($1, measure) } > 0, "\(measure)")
        }
    }

    @Test("the subscription's model has two versions, and its correction changes the first only")
    func model() throws {
        let path = try DemoStores.shared.get().path
        let versions = try dump("decoded-events", "--by", "model", "--where", "event=annual_plan")
        #expect(
            Set(versions.compactMap { $0["model"] as? String }) == ["daybreak-1", "daybreak-2"])
        let compared = try Program.run(
            "weir",
            [
                "what-if", "--models", "\(path)/pipelines/corrections", "--data", path,
                "--pipelines", "\(path)/pipelines",
            ])
        #expect(compared.status == 0, "\(compared.error)")
        #expect(compared.output.contains("annual_plan"))
    }
}
