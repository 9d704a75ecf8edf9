import Reports
import Streams

/// The names of ages of cohorts. A row counts the days since the step before; a curve counts all days up to the step.
enum StepName {
    /// The days of a row: `Day 15–30`. Nil for a column without ranges.
    static func ownDays(_ step: String, in column: String) -> String? {
        guard column == "age", let index = CohortAge.all.firstIndex(where: { "\($0.name)" == step })
        else { return nil }
        let before = index > 0 ? CohortAge.all[index - 1].lastDay ?? 0 : -1
        guard let last = CohortAge.all[index].lastDay else { return "After day \(before)" }
        return before + 1 == last ? "Day \(last)" : "Day \(before + 1)–\(last)"
    }

    /// All days up to a step: `Through day 30`.
    static func throughDay(_ step: String) -> String {
        step == "+" ? "All days" : "Through day \(step)"
    }
}

extension PageAnswer {
    /// The name of a step; nil for a value of another column.
    func stepName(_ value: String, in column: String) -> String? {
        guard request.name == CohortsKey.table.name, let own = StepName.ownDays(value, in: column)
        else { return nil }
        return request.curve ? StepName.throughDay(value) : own
    }
}
