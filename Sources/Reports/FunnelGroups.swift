import Store
import Streams

/// Adds cells up by the columns of a request.
struct FunnelGroups {
    static let dayIndex = 0

    private let figure: FunnelFigure
    private let needs: FunnelNeeds
    /// Whether groups have a day: it is shown, or rates depend on it.
    private let hasDay: Bool
    /// Whether the request groups by day.
    let isByDay: Bool
    /// The grouping columns except the day.
    private let columns: [Int]

    /// Campaigns with equal columns.
    private struct Base {
        let columns: [StoredValue]
    }

    private struct GroupKey: Hashable {
        let base: Int32
        /// -1 if groups have no day.
        let day: Int32
    }

    private struct DayKey: Hashable {
        let group: Int32
        let day: Int32
        let app: Int64
    }

    private struct Report {
        let group: Int32
        let amount: UInt16
        let day: FunnelCells.BilledDay
        let sum: Int128
    }

    private enum Role { case sum, report, cohort }

    private struct State {
        var base: Int32
        var day: String
        var sums: [Int128] = []
        /// The amounts that were added, also zeros, as bits.
        var seen: [UInt64] = []
        var apps: [Int64] = []
        var cost = FunnelCost()
        var installs = InstallInterval()
        var unknownStreams: Set<String> = []
    }

    private var bases: [Base] = []
    private var baseNumbers: [RowKeyBytes: Int32] = [:]
    /// By campaign: its base, or whether it is excluded.
    private var campaigns: [Int32] = []
    private var dayIsIncluded: [UInt8] = []
    private var groupNumbers: [GroupKey: Int32] = [:]
    private var states: [State] = []
    private var daysOfGroups: [DayKey: CampaignIDKinds] = [:]
    private var cohorts: [DayKey: Int128] = [:]
    private var billedDays: Set<FunnelCells.BilledDay> = []
    private var unknownDays: Set<FunnelCells.BilledDay> = []
    private var reports: [Report] = []
    private var amounts: [FunnelAmount] = []
    /// By amount: whether more than its sum is needed.
    private var roles: [Role] = []
    private var dayNames: [String] = []

    private static let unresolved: Int32 = -2
    private static let excluded: Int32 = -1

    init(_ figure: FunnelFigure, _ needs: FunnelNeeds) {
        self.figure = figure
        self.needs = needs
        let indices = figure.selection.indices
        isByDay = indices.first == Self.dayIndex
        hasDay = isByDay || figure.isConverted
        columns = indices.filter { $0 != Self.dayIndex }
    }

    mutating func note(billingOf cells: FunnelCells) {
        billedDays.formUnion(cells.billedDays)
        unknownDays.formUnion(cells.unknownDays)
    }

    /// The campaign days with a report and no known billing.
    var openReports: [FunnelCells.BilledDay] {
        reports.map(\.day).filter { !billedDays.contains($0) }
    }

    /// Adds the selected cells.
    ///
    /// - Parameter isChecked: whether all rows of the cells are of the selected time.
    /// - Returns: whether a selected cell has an unknown sum.
    mutating func add(
        _ cells: FunnelCells, _ isChecked: Bool, of stream: String, _ known: FunnelNumbers.Known
    ) -> Bool {
        while campaigns.count < known.campaigns.count { campaigns.append(Self.unresolved) }
        while dayIsIncluded.count < known.days.count { dayIsIncluded.append(0) }
        for amount in known.amounts.dropFirst(roles.count) { roles.append(Self.role(of: amount)) }
        var hasUnknown = false
        var start = 0
        for (index, cell) in cells.cells.enumerated() {
            let range = start..<Int(cell.end)
            start = range.upperBound
            var base = campaigns[Int(cell.campaign)]
            if base == Self.unresolved { base = resolve(cell.campaign, known) }
            guard base >= 0, isChecked || includes(cell.day, known) else { continue }
            let group = number(ofGroup: base, day: cell.day, known)
            let app = known.apps[Int(cell.campaign)]
            add(cells, range, to: Int(group), cell, known)
            if states[Int(group)].apps.last != app, !states[Int(group)].apps.contains(app) {
                states[Int(group)].apps.append(app)
            }
            if cell.hasDay, needs.contains(.maturity) {
                daysOfGroups[DayKey(group: group, day: cell.day, app: app), default: []]
                    .formUnion(known.kinds[Int(cell.campaign)])
            }
            if let interval = cells.installs[index] {
                states[Int(group)].installs.formUnion(interval)
            }
            if cell.hasUnknown {
                hasUnknown = true
                states[Int(group)].unknownStreams.insert(stream)
            }
        }
        return hasUnknown
    }

    private static func role(of amount: FunnelAmount) -> Role {
        switch amount {
        case .reported: .report
        case .cohort: .cohort
        default: .sum
        }
    }

    private mutating func add(
        _ cells: FunnelCells, _ range: Range<Int>, to group: Int, _ cell: FunnelCells.Cell,
        _ known: FunnelNumbers.Known
    ) {
        if states[group].sums.count < known.amounts.count {
            let missing = known.amounts.count - states[group].sums.count
            states[group].sums += Array(repeating: 0, count: missing)
            while states[group].seen.count * 64 < known.amounts.count {
                states[group].seen.append(0)
            }
        }
        for index in range {
            let number = cells.numbers[index]
            states[group].sums[Int(number)] += cells.amounts[index]
            states[group].seen[Int(number) >> 6] |= 1 << (UInt64(number) & 63)
            switch roles[Int(number)] {
            case .sum: break
            case .report:
                let day = FunnelCells.BilledDay(
                    day: cell.day, payer: known.payers[Int(cell.campaign)])
                reports.append(
                    Report(
                        group: Int32(group), amount: number, day: day, sum: cells.amounts[index]))
            case .cohort:
                let app = known.apps[Int(cell.campaign)]
                cohorts[DayKey(group: Int32(group), day: cell.day, app: app), default: 0] +=
                    cells.amounts[index]
            }
        }
    }

    /// Adds an app that only has sales.
    mutating func add(app: Int64, on day: String, number: Int32) {
        guard figure.selection.includes(.text(day), ofColumn: "day") else { return }
        let campaign = FunnelNumbers.Campaign(
            FunnelEntry(
                hour: "", network: "", campaign: "", app: app, kind: .sourceIdentifier))
        guard let base = base(of: campaign) else { return }
        let group = self.number(
            GroupKey(base: base, day: hasDay ? number : -1), day: hasDay ? day : "")
        if !states[Int(group)].apps.contains(app) { states[Int(group)].apps.append(app) }
    }

    private func includes(_ day: String) -> Bool {
        let time = day.isEmpty ? nil : figure.hours[day].milliseconds
        return figure.selection.includes(timeMilliseconds: time)
            && figure.selection.includes(.text(day), ofColumn: "day")
    }

    private mutating func includes(_ day: Int32, _ known: FunnelNumbers.Known) -> Bool {
        if dayIsIncluded[Int(day)] == 0 {
            dayIsIncluded[Int(day)] = includes(known.days[Int(day)]) ? 1 : 2
        }
        return dayIsIncluded[Int(day)] == 1
    }

    private mutating func resolve(_ campaign: Int32, _ known: FunnelNumbers.Known) -> Int32 {
        let base = base(of: known.campaigns[Int(campaign)]) ?? Self.excluded
        campaigns[Int(campaign)] = base
        return base
    }

    /// Nil for a campaign that the conditions exclude.
    private mutating func base(of campaign: FunnelNumbers.Campaign) -> Int32? {
        let values = figure.values(of: campaign)
        guard figure.selection.includesBesideTime(values) else { return nil }
        let shown = columns.map { values[$0] }
        let key = RowKeyBytes(shown)
        if let number = baseNumbers[key] { return number }
        let number = Int32(bases.count)
        baseNumbers[key] = number
        bases.append(Base(columns: shown))
        return number
    }

    private mutating func number(
        ofGroup base: Int32, day: Int32, _ known: FunnelNumbers.Known
    ) -> Int32 {
        guard hasDay else { return number(GroupKey(base: base, day: -1), day: "") }
        return number(GroupKey(base: base, day: day), day: known.days[Int(day)])
    }

    private mutating func number(_ key: GroupKey, day: String) -> Int32 {
        if let number = groupNumbers[key] { return number }
        let number = Int32(states.count)
        groupNumbers[key] = number
        states.append(State(base: key.base, day: day))
        return number
    }

    // MARK: Results

    /// Decides which reports count, once all billing is noted.
    ///
    /// - Returns: whether the billing of a campaign day with a report may be unknown.
    mutating func finishCost(_ known: FunnelNumbers.Known) -> Bool {
        amounts = known.amounts
        dayNames = known.days
        for report in reports {
            guard case .reported(let currency) = known.amounts[Int(report.amount)] else { continue }
            states[Int(report.group)].cost.hasReports = true
            if billedDays.contains(report.day) {
                states[Int(report.group)].cost.hasBilling = true
            } else {
                states[Int(report.group)].cost.countedReports[currency, default: 0] += report.sum
            }
        }
        return reports.contains { unknownDays.contains($0.day) }
    }

    /// The groups, in any order.
    var groups: [FunnelFold.Group] {
        var groups = states.map { state -> FunnelFold.Group in
            let columns = (hasDay ? [.text(state.day)] : []) + bases[Int(state.base)].columns
            return FunnelFold.Group(
                key: RowKeyBytes(columns), columns: columns, sums: sums(of: state))
        }
        for (key, kinds) in daysOfGroups {
            groups[Int(key.group)].sums.days.add(
                day: dayNames[Int(key.day)], app: key.app, kinds: kinds)
        }
        for (key, size) in cohorts {
            groups[Int(key.group)].sums.installsByDay.add(
                size, on: dayNames[Int(key.day)], app: key.app)
        }
        return groups
    }

    private func sums(of state: State) -> FunnelSums {
        var sums = FunnelSums()
        sums.cost = state.cost
        for (word, bits) in state.seen.enumerated() {
            var rest = bits
            while rest != 0 {
                let number = word * 64 + rest.trailingZeroBitCount
                rest &= rest - 1
                sums.add(state.sums[number], to: amounts[number])
            }
        }
        sums.apps = Set(state.apps)
        sums.installs = state.installs
        sums.unknownStreams = state.unknownStreams
        return sums
    }
}
