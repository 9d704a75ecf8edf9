import Store
import Streams

/// Adds cells up by the columns of a request.
struct FunnelGroups {
    static let dayIndex = 0

    private let figure: FunnelFigure
    private let needs: FunnelNeeds
    /// Whether groups have a day: it is shown, or rates depend on it.
    private var hasDay: Bool
    /// Whether the request groups by day.
    let isByDay: Bool
    /// The grouping columns except the day.
    private let columns: [Int]

    /// Campaigns with equal columns.
    private struct Base {
        let columns: [StoredValue]
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
        /// By slot.
        var sums: [Int128] = []
        /// The slots to which something was added, also zeros, as bits.
        var seen: [UInt64] = []
        var apps: [Int64] = []
        var cost = FunnelCost()
        var installs = InstallInterval()
        var unknownStreams: Set<String> = []

        /// - Parameter count: the number of slots.
        mutating func reserve(_ count: Int) {
            guard sums.count < count else { return }
            sums += Array(repeating: 0, count: count - sums.count)
            while seen.count * 64 < count { seen.append(0) }
        }

        /// - Parameter count: the number of slots.
        mutating func add(_ amount: Int128, to slot: Int, of count: Int) {
            reserve(count)
            sums[slot] += amount
            seen[slot >> 6] |= 1 << (UInt64(slot) & 63)
        }

        /// Adds the amounts of a cell.
        ///
        /// - Parameter slots: by number of the amount.
        mutating func add(
            _ cells: FunnelCells, _ range: Range<Int>, at slots: [Int32], of count: Int
        ) {
            reserve(count)
            for index in range {
                let slot = Int(slots[Int(cells.numbers[index])])
                sums[slot] += cells.amounts[index]
                seen[slot >> 6] |= 1 << (UInt64(slot) & 63)
            }
        }

        /// Adds everything except sums, with another cost.
        mutating func add(_ other: State, cost added: FunnelCost) {
            cost.add(added)
            for app in other.apps where !apps.contains(app) { apps.append(app) }
            installs.formUnion(other.installs)
            unknownStreams.formUnion(other.unknownStreams)
        }

        /// Calls `body` with each slot to which something was added, and its sum.
        func forEach(_ body: (_ slot: Int, _ sum: Int128) -> Void) {
            for (word, bits) in seen.enumerated() {
                var rest = bits
                while rest != 0 {
                    let slot = word * 64 + rest.trailingZeroBitCount
                    rest &= rest - 1
                    body(slot, sums[slot])
                }
            }
        }
    }

    private var bases: [Base] = []
    private var baseNumbers: [RowKeyBytes: Int32] = [:]
    /// By campaign: its base, or whether it is excluded.
    private var campaigns: [Int32] = []
    private var dayIsIncluded: [UInt8] = []
    /// By number of the day, or 0 if groups have no day, and by base; -1 without a group.
    private var groupNumbers: [[Int32]] = []
    private var states: [State] = []
    /// By group: the index of its converted state; empty without a conversion.
    private var converting: [Int32] = []
    private var daysOfGroups: [DayKey: CampaignIDKinds] = [:]
    private var cohorts: [DayKey: Int128] = [:]
    private var billedDays: Set<FunnelCells.BilledDay> = []
    private var unknownDays: Set<FunnelCells.BilledDay> = []
    private var reports: [Report] = []
    /// The amounts that occur, and by amount its slot or -1.
    private var amounts: [FunnelAmount] = []
    private var slots: [Int32] = []
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
        for amount in known.amounts.dropFirst(roles.count) {
            roles.append(Self.role(of: amount))
            slots.append(-1)
        }
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
        var onlySums = true
        for index in range {
            let number = Int(cells.numbers[index])
            if slots[number] < 0 {
                slots[number] = Int32(amounts.count)
                amounts.append(known.amounts[number])
            }
            if roles[number] != .sum { onlySums = false }
        }
        states[group].add(cells, range, at: slots, of: amounts.count)
        guard !onlySums else { return }
        for index in range {
            let number = cells.numbers[index]
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
        let group = self.number(base, hasDay ? Int(number) : 0, day: hasDay ? day : "")
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
        let index = hasDay ? Int(day) : 0
        if index < groupNumbers.count, Int(base) < groupNumbers[index].count {
            let number = groupNumbers[index][Int(base)]
            if number >= 0 { return number }
        }
        return number(base, index, day: hasDay ? known.days[index] : "")
    }

    private mutating func number(_ base: Int32, _ index: Int, day: String) -> Int32 {
        while groupNumbers.count <= index { groupNumbers.append([]) }
        while groupNumbers[index].count <= Int(base) { groupNumbers[index].append(-1) }
        if groupNumbers[index][Int(base)] >= 0 { return groupNumbers[index][Int(base)] }
        let number = Int32(states.count)
        groupNumbers[index][Int(base)] = number
        states.append(State(base: base, day: day))
        return number
    }

    // MARK: Results

    /// Decides which reports count, once all billing is noted.
    ///
    /// - Returns: whether the billing of a campaign day with a report may be unknown.
    mutating func finishCost(_ known: FunnelNumbers.Known) -> Bool {
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

    /// Converts all amounts at the rates of their days. Days of equal columns are added up if the request does not group
    /// by day.
    mutating func convert(by conversion: CurrencyConversion) {
        var slots = Dictionary(uniqueKeysWithValues: zip(amounts, 0...))
        // By slot: the currency of its amount, and the slot of the converted amount.
        let converted = amounts.map { amount -> (currency: StoredValue, slot: Int)? in
            guard let currency = amount.currency else { return nil }
            let target = amount.of(.text(conversion.target))
            let slot = slots[target] ?? amounts.count
            if slot == amounts.count {
                slots[target] = slot
                amounts.append(target)
            }
            return (currency, slot)
        }
        var merged: [State] = []
        var indices: [Int32: Int32] = [:]
        converting = states.map { state in
            let key = isByDay ? Int32(merged.count) : state.base
            let index = indices[key] ?? Int32(merged.count)
            if index == merged.count {
                indices[key] = index
                merged.append(State(base: state.base, day: isByDay ? state.day : ""))
            }
            state.forEach { slot, sum in
                guard let (currency, own) = converted[slot] else {
                    return merged[Int(index)].add(sum, to: slot, of: amounts.count)
                }
                merged[Int(index)].add(
                    conversion.converted(sum, of: currency.text, on: state.day), to: own,
                    of: amounts.count)
            }
            merged[Int(index)].add(
                state, cost: state.cost.mapAmounts { conversion.converted($0, on: state.day) })
            return index
        }
        states = merged
        hasDay = isByDay
    }

    /// The groups, in any order.
    var groups: [FunnelFold.Group] {
        var groups = states.map { state -> FunnelFold.Group in
            let columns = (hasDay ? [.text(state.day)] : []) + bases[Int(state.base)].columns
            return FunnelFold.Group(
                key: RowKeyBytes(columns), columns: columns, sums: sums(of: state))
        }
        for (key, kinds) in daysOfGroups {
            groups[index(of: key.group)].sums.days.add(
                day: dayNames[Int(key.day)], app: key.app, kinds: kinds)
        }
        for (key, size) in cohorts {
            groups[index(of: key.group)].sums.installsByDay.add(
                size, on: dayNames[Int(key.day)], app: key.app)
        }
        return groups
    }

    /// The index of a group's state, which a conversion may have joined with others.
    private func index(of group: Int32) -> Int {
        converting.isEmpty ? Int(group) : Int(converting[Int(group)])
    }

    private func sums(of state: State) -> FunnelSums {
        var sums = FunnelSums()
        sums.cost = state.cost
        state.forEach { sums.add($1, to: amounts[$0]) }
        sums.apps = Set(state.apps)
        sums.installs = state.installs
        sums.unknownStreams = state.unknownStreams
        return sums
    }
}
