import Program
import Reports
import Streams

extension PageWriter {
    static let returnMeasures = [
        "roas_min", "roas_max", "revenue_min_micros", "revenue_max_micros",
    ]
    static let buyerMeasures = [
        "gross_micros", "trial_conversions", "renewals", "refunded_micros", "buyers",
    ]

    mutating func writeCohorts() throws {
        try section(
            "Return on spend by cohort",
            "A cohort is the installs of one estimated day. Columns are days after the install, and each includes all earlier days. Hatched cells can still grow."
        ) { try $0.writeReturnMap() }
        try section(
            "Buyers by day of first purchase",
            "Columns are days since the first purchase: day 0 is its first 24 hours, and each column includes all earlier days. Hatched cells can still grow."
        ) { try $0.writeBuyerMap() }
        try section(
            "Installs by cohort and window",
            "A window is a period in which a postback can arrive. Each one includes the postbacks of earlier windows. Maturity is the share of installs with a window that is over."
        ) { page in
            var installs = ReportAddress("install-cohorts", by: ["cohort", "window"])
            installs.curve = true
            installs.measures = ["installs", "postbacks", "null_values"]
            let answer = try page.answer(installs)
            let window = answer.index(of: "window")
            // The last window is cumulative and has the total maturity.
            let last = answer.rows.filter { row in window.map { row[$0] == .integer(2) } ?? false }
            page.draw(
                "Installs by cohort, and postbacks of all windows (dashed: windows are open)",
                answer, last, by: "cohort",
                [
                    ("installs", "installs", "installs"), ("postbacks", "postbacks", "postbacks"),
                    ("null values", "null_values", "null_values"),
                ])
            page.files(of: answer)
        }
        try section(
            "Installs by cohort, each window on its own",
            "Click a number to see its postbacks."
        ) {
            try $0.table(
                ReportAddress("install-cohorts", by: ["cohort", "window", "currency"]), limit: 60)
        }
        try section(
            "Buyers by day of first purchase, each age on its own",
            "Each event counts only at its own days since the first purchase."
        ) {
            try $0.table(ReportAddress("cohorts", by: ["cohort", "age", "currency"]), limit: 60)
        }
    }

    private mutating func writeReturnMap() throws {
        let measure = try choice("show", of: Self.returnMeasures)
        var answer = try answer(
            ReportAddress(CampaignReturns.name, by: ["day", CampaignReturns.throughDay]))
        answer.leaveOutEmptyRows()
        guard !answer.rows.isEmpty else {
            writeNoRows()
            return files(of: answer)
        }
        writeCurrencies(of: answer)
        let map = HeatMap(
            title: "Return on spend by cohort", answer: answer, cohort: "day",
            age: CampaignReturns.throughDay, measure: measure, sizes: ["installs", "cost_micros"],
            rows: answer.rows)
        write { map.write(to: &$0) }
        files(of: answer)
    }

    private mutating func writeBuyerMap() throws {
        let measure = try choice("buyers", of: Self.buyerMeasures)
        let isMoney = MoneyByCurrency.isMoney(measure)
        var request = ReportAddress(
            "cohorts", by: ["cohort", "age"] + (isMoney ? ["currency"] : []))
        request.curve = true
        // With amounts a row would be of one currency only.
        if !isMoney { request.measures = Array(Set(["buyers", measure])).sorted() }
        let answer = try answer(request)
        guard !answer.rows.isEmpty else {
            writeNoRows()
            return files(of: answer)
        }
        let currency = isMoney ? answer.index(of: "currency") : nil
        let groups = Dictionary(grouping: answer.rows) { row in
            currency.map { row[$0].plainText } ?? ""
        }
        let index = answer.index(of: measure) ?? 0
        func total(_ rows: [[ReportValue]]) -> Double {
            rows.reduce(0) { $0 + (ShownValue.amount($1[index], in: measure) ?? 0) }
        }
        for (name, rows) in groups.sorted(by: { total($0.value) > total($1.value) }) {
            let map = HeatMap(
                title: "Buyers by day of first purchase \(name)", answer: answer, cohort: "cohort",
                age: "age", measure: measure, sizes: [], rows: rows)
            write { html in
                if groups.count > 1 { html.element("h3", text: name.isEmpty ? "Others" : name) }
                map.write(to: &html)
            }
        }
        files(of: answer)
    }

    /// The chosen measure, and links to the others.
    mutating func choice(
        _ parameter: String, of measures: [String], label: String = "Show"
    ) throws -> String {
        let chosen = context.parameters[parameter].nonempty ?? measures[0]
        guard measures.contains(chosen) else {
            throw CommandError.usage(
                "unknown \(parameter) '\(chosen)': use one of \(measures.joined(separator: ", "))")
        }
        let context = context
        write { html in
            html.element("p", ["class": "choices switch"]) { html in
                html.text("\(label) ")
                for measure in measures {
                    html.link(
                        ShownValue.heading(measure),
                        to: context.address(changing: [parameter: measure]),
                        class: measure == chosen ? "chosen" : nil)
                    html.text(" ")
                }
            }
        }
        return chosen
    }
}
