import Program
import Reports
import Streams

/// A table of cohorts by age. A measure shades its cells.
struct HeatMap {
    let title: String
    let answer: PageAnswer
    /// The columns of the cohorts and of their ages.
    let cohort: String
    let age: String
    let measure: String
    /// Shown beside each cohort; the same for all ages.
    let sizes: [String]
    let rows: [[ReportValue]]
    /// A cell also shows this quotient of its amount, and is shaded by it; nil for amounts of their own.
    var quotient: Quotient?
    /// The measure that sorts rows which are not days, largest first.
    var order: String?
    /// By age, the answers that count only the cohorts which have reached it; the others count all of them.
    /// Nil if all cohorts count at every age, also those that have not reached it.
    var mature: [String: PageAnswer]?
    /// Shown in each cell: what its quotient is of; nil for none.
    var whole: (measure: String, words: String)?
    /// The name of a row that is not a day; nil for days.
    var name: ((_ row: [ReportValue], _ column: Int) -> String)?

    struct Quotient {
        let measure: String
        /// Its words after the number: `of payments`, or `of` before the number of the whole.
        let words: String
    }

    private static let steps = 7
    /// The share of cells whose amounts determine the shades.
    private static let shaded = 0.95

    func write(to html: inout HTML) {
        guard let cohort = answer.index(of: cohort), let age = answer.index(of: age) else { return }
        let ages = shownAges(age)
        let byCohort = Dictionary(grouping: rows) { $0[cohort].plainText }
        let shades = rows.compactMap(amount).filter { $0 > 0 }.sorted()
        // One outlier must not make all other cells alike.
        let most =
            shades.isEmpty
            ? 0 : shades[min(shades.count - 1, Int(Double(shades.count) * Self.shaded))]
        let decimals = answer.fractionDigits(of: rows)
        let complete = newestComplete(cohort, age)
        html.table(named: title, class: "heat") { html in
            heading(ages, to: &html)
            html.element("tbody") { html in
                for key in order(byCohort) {
                    let own = byCohort[key] ?? []
                    html.element("tr") { html in
                        html.element(
                            "th", ["scope": "row"],
                            text: title(of: own.first, cohort, key))
                        for size in sizes {
                            html.element("td", ["class": "number"]) { html in
                                value(own.first, size, decimals, of: answer, to: &html)
                            }
                        }
                        // After the first age that no buyer or install has reached, sums only repeat.
                        var isReached = true
                        for wanted in ages {
                            let all = own.first { $0[age].plainText == wanted }
                            let reached = all.flatMap { matureRow(like: $0, at: wanted) }
                            let (row, answer) = reached ?? (all, self.answer)
                            let hidesYoung = mature != nil && reached == nil
                            let state =
                                isReached && !(hidesYoung && all.flatMap(maturity) ?? 1 < 1)
                                ? state(row, newest: complete[wanted] ?? "", cohort) : .notBegun
                            if all.flatMap(maturity) == 0 { isReached = false }
                            html.element("td", ["class": style(row, most, state)]) { html in
                                guard state != .notBegun else {
                                    return html.element("span", ["class": "unknown"], text: "–")
                                }
                                value(row, measure, decimals, of: answer, to: &html)
                                quotient(row, of: answer, to: &html)
                            }
                        }
                    }
                }
            }
        }
    }

    private func title(of row: [ReportValue]?, _ column: Int, _ day: String) -> String {
        if let row, let name { return name(row, column) }
        return PageContext.name(ofDay: day)
    }

    private func heading(_ ages: [String], to html: inout HTML) {
        html.element("thead") { html in
            html.element("tr") { html in
                html.element(
                    "th", ["scope": "col"],
                    text: name == nil ? "Cohort" : ShownValue.heading(cohort))
                for size in sizes {
                    html.element(
                        "th", ["scope": "col", "class": "number"],
                        text: ShownValue.heading(size))
                }
                for age in ages {
                    html.element(
                        "th", ["scope": "col", "class": "number"],
                        text: StepName.throughDay(age))
                }
            }
        }
    }

    /// The ages up to the first that no cohort has reached: later ones repeat it.
    private func shownAges(_ age: Int) -> [String] {
        var ages: [String] = []
        for row in rows where !ages.contains(row[age].plainText) { ages.append(row[age].plainText) }
        ages.sort { (Int($0) ?? .max) < (Int($1) ?? .max) }
        guard answer.index(of: "maturity") != nil,
            let first = ages.firstIndex(where: { wanted in
                rows.allSatisfy { $0[age].plainText != wanted || (maturity(of: $0) ?? 0) == 0 }
            })
        else { return ages }
        return Array(mature == nil ? ages[...first] : ages[..<first])
    }

    /// Days from the newest, other rows from the largest.
    private func order(_ cohorts: [String: [[ReportValue]]]) -> [String] {
        guard name != nil, let order, let size = answer.index(of: order) else {
            return cohorts.keys.sorted(by: >)
        }
        func amount(_ key: String) -> Double {
            let row = cohorts[key]?.first
            return row.flatMap { ShownValue.amount($0[size], in: order) } ?? 0
        }
        return cohorts.keys.sorted { (amount($1), $0) < (amount($0), $1) }
    }

    // MARK: Cells

    /// The row with the same key, of the cohorts that have reached an age; nil without such cohorts.
    private func matureRow(
        like row: [ReportValue], at age: String
    ) -> (row: [ReportValue]?, answer: PageAnswer)? {
        guard let answer = mature?[age],
            let found = answer.rows.first(where: { $0.starts(with: row.prefix(answer.keyCount)) }),
            maturity(of: found) == 1
        else { return nil }
        return (found, answer)
    }

    private enum State {
        case complete
        /// The cell can still grow.
        case young
        /// The age has not begun, and there is nothing to show.
        case notBegun
    }

    private func maturity(of row: [ReportValue]) -> Double? {
        answer.index(of: "maturity").flatMap { ShownValue.amount(row[$0], in: "maturity") }
    }

    /// For each age the newest complete cohort. A cohort without installs has no maturity of its own.
    private func newestComplete(_ cohort: Int, _ age: Int) -> [String: String] {
        rows.reduce(into: [:]) { newest, row in
            guard maturity(of: row) == 1 else { return }
            newest[row[age].plainText] = max(
                newest[row[age].plainText] ?? "", row[cohort].plainText)
        }
    }

    private func state(_ row: [ReportValue]?, newest: String, _ cohort: Int) -> State {
        guard let row, answer.index(of: "maturity") != nil else { return .complete }
        if let maturity = maturity(of: row) { return maturity < 1 ? .young : .complete }
        guard name == nil else { return .young }
        return row[cohort].plainText <= newest ? .complete : .notBegun
    }

    private func value(
        _ row: [ReportValue]?, _ measure: String, _ decimals: [Int: Int], of answer: PageAnswer,
        to html: inout HTML
    ) {
        guard let row, let index = answer.index(of: measure) else { return }
        let isReturn = measure.hasPrefix("roas")
        NumberLink(answer, key: answer.key(of: row), row: row).write(
            row[index], of: measure, decimals: isReturn ? 2 : decimals[index],
            isShort: measure == self.measure, to: &html)
    }

    /// The amount that shades a cell.
    private func amount(_ row: [ReportValue]) -> Double? {
        let measure = quotient?.measure ?? measure
        return answer.index(of: measure).flatMap { ShownValue.amount(row[$0], in: measure) }
    }

    private func quotient(
        _ row: [ReportValue]?, of answer: PageAnswer, to html: inout HTML
    ) {
        guard let row, amount(row) != nil, quotient != nil || whole != nil else { return }
        let link = NumberLink(answer, key: answer.key(of: row), row: row)
        html.element("small") { html in
            if let quotient {
                link.write(
                    answer.value(row, quotient.measure), of: quotient.measure, decimals: 2,
                    to: &html)
                html.text(" \(quotient.words) ")
            } else {
                html.text("of ")
            }
            guard let whole else { return }
            // The explanation of the quotient links it.
            link.write(
                answer.value(row, whole.measure), of: whole.measure, isLinked: false, to: &html)
            html.text(" \(whole.words)")
        }
    }

    private func style(_ row: [ReportValue]?, _ most: Double, _ state: State) -> String {
        let amount = row.flatMap(amount) ?? 0
        let share = most > 0 ? min(amount / most, 1) : 0
        let step = amount > 0 ? max(1, Int((share * Double(Self.steps)).rounded())) : 0
        return "number h\(step)\(state == .complete ? "" : " young")"
    }
}
