import ConfigurationFiles
import ConfigurationValues
import Store
import Streams

/// The costs that a budget is compared with: by hour for bids, by day for reports.
struct WatchedBudget {
    let budget: WatchFile.Budget
    let figure: DumpFigure
    /// Index of the cost in the dump's measures.
    let measure: Int
    /// The divisor of the measure: bid prices are per thousand impressions.
    let divisor: Int128

    init(_ budget: WatchFile.Budget) throws(ConfigurationError) {
        self.budget = budget
        let (dump, measure) =
            budget.cost == .billed ? ("bids", "billed_price_micros") : ("costs", "cost_micros")
        divisor = budget.cost == .billed ? 1000 : 1
        for condition in budget.conditions { try condition.check(of: dump) }
        let request = ReportRequest(
            name: dump, grouping: .total,
            conditions: budget.conditions.map(\.ofQuery)
                + [.init(column: "currency", value: budget.currency)])
        guard let figure = try? DumpFigure(request),
            let index = figure.measures.firstIndex(of: measure)
        else { preconditionFailure("\(dump) has other columns") }
        self.figure = figure
        self.measure = index
    }
}

extension WatchFile.Budget.Period {
    /// The hours of the period that contains an hour.
    func hours(around hour: Hour) -> Range<Int64> {
        let day = hour.startOfDay.hoursSince1970
        switch self {
        case .day: return day..<day + 24
        case .week:
            // 1970 began on a Thursday.
            let sinceMonday = ((day / 24 + 3) % 7 + 7) % 7
            let monday = day - sinceMonday * 24
            return monday..<monday + 7 * 24
        case .month:
            let month = hour.day.prefix(7)
            var (first, next) = (day, day)
            while Hour(hoursSince1970: first - 24).day.hasPrefix(month) { first -= 24 }
            while Hour(hoursSince1970: next).day.hasPrefix(month) { next += 24 }
            return first..<next
        }
    }
}

extension StoreView {
    /// Opens a warning when the budget reaches a step before the same share of its period is over.
    func judge(_ watched: WatchedBudget, _ report: inout WatchReport) throws {
        let budget = watched.budget
        let missing = Set(watched.figure.streams).subtracting(streams)
        guard missing.isEmpty else {
            report.missingStreams.formUnion(missing)
            return
        }
        report.judgedCount += 1
        let now = report.nowMilliseconds
        let period = budget.period.hours(around: Hour(containing: now))
        var byHour: [Int64: Int128] = [:]
        let begun = Hour(containing: now - 1).hoursSince1970 + 1
        let sums = WatchedHourSums(
            figure: watched.figure, measures: [watched.measure], less: [], columns: [],
            hours: period.clamped(to: period.lowerBound..<max(begun, period.lowerBound)))
        try sums.forEach(in: slices) { byHour[$1, default: 0] += $2 }
        var spent: Int128 = 0
        var opened: [Int64: Int64] = [:]
        for (hour, cost) in byHour.sorted(by: { $0.key < $1.key }) {
            spent += cost
            for step in LimitStep.percents where opened[step] == nil {
                guard spent * 100 >= Int128(budget.amountMicros) * watched.divisor * Int128(step)
                else { continue }
                opened[step] = hour
            }
        }
        spent /= watched.divisor
        let start = period.lowerBound * Hour.milliseconds
        let elapsed = now - start
        let length = Int64(period.count) * Hour.milliseconds
        guard let step = LimitStep.reached(spent, of: budget.amountMicros),
            step == 100 || elapsed * 100 < length * step
        else { return }
        func units(_ micros: Int128) -> String {
            MoneyByCurrency([.text(budget.currency): micros]).plainText
        }
        report.warnings.append(
            WatchWarning(
                kind: .budget, rule: budget.name,
                series: budget.conditions.map(\.ofQuery), step: step,
                openedMilliseconds: opened[step].map { $0 * Hour.milliseconds },
                found: .ratio(spent, 1_000_000),
                limit: .ratio(Int128(budget.amountMicros), 1_000_000), unit: budget.currency,
                words:
                    "\(step) % of \(units(Int128(budget.amountMicros))) per \(budget.period.rawValue) is spent: "
                    + "\(units(spent)) after \(elapsed * 100 / length) % of the \(budget.period.rawValue)",
                look: Self.look(watched, start)))
    }

    private static func look(_ watched: WatchedBudget, _ start: Int64) -> String {
        let conditions = watched.figure.request.conditions.map {
            "--where '\($0.column)=\($0.value)'"
        }
        return
            ([
                "weir dump \(watched.figure.name) --by day,currency --since \(UTC.text(milliseconds: start))"
            ]
            + conditions).joined(separator: " ")
    }
}
