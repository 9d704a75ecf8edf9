import ConfigurationValues
import ConversionModels
import Store
import Streams
import Synchronization

/// A sum of the funnel that rows add to, apart from their campaign and day.
enum FunnelAmount: Hashable, Sendable {
    case count(FunnelMeasure)
    /// The decoded revenue, in millionths of a currency.
    case revenueMin(StoredValue)
    case revenueMax(StoredValue)
    /// The cost: CPM prices in millionths, a thousand times the cost.
    case billed(StoredValue)
    /// Reported costs in millionths.
    case reported(StoredValue)
    /// Bounds of the revenue of a window's postbacks, and the data of an estimate.
    case boundMin(window: Int, StoredValue)
    case boundMax(window: Int, StoredValue)
    case unbounded(window: Int)
    case postbacks(window: Int, PostbackTiming)
    case valued(window: Int, PostbackTiming)
    case doubledMiddle(window: Int, PostbackTiming, StoredValue)
    /// The installs that weigh a cohort's day. A cohort without installs has a zero.
    case cohort

    /// Nil for counts.
    var currency: StoredValue? {
        switch self {
        case .revenueMin(let currency), .revenueMax(let currency), .billed(let currency),
            .reported(let currency), .boundMin(_, let currency), .boundMax(_, let currency),
            .doubledMiddle(_, _, let currency):
            currency
        case .count, .unbounded, .postbacks, .valued, .cohort: nil
        }
    }

    /// The same amount in another currency.
    func of(_ currency: StoredValue) -> FunnelAmount {
        switch self {
        case .revenueMin: .revenueMin(currency)
        case .revenueMax: .revenueMax(currency)
        case .billed: .billed(currency)
        case .reported: .reported(currency)
        case .boundMin(let window, _): .boundMin(window: window, currency)
        case .boundMax(let window, _): .boundMax(window: window, currency)
        case .doubledMiddle(let window, let timing, _):
            .doubledMiddle(window: window, timing, currency)
        case .count, .unbounded, .postbacks, .valued, .cohort: self
        }
    }
}

/// Numbers for campaigns, days and amounts. They stay the same while a process runs.
final class FunnelNumbers: Sendable {
    /// A campaign as rows identify it.
    struct Campaign: Hashable, Sendable {
        let network: StoredValue
        let app: Int64
        let campaign: StoredValue
        let kind: CampaignIDKind

        init(_ entry: FunnelEntry) {
            network = .text(entry.network)
            app = entry.app
            campaign = .text(entry.campaign)
            kind = entry.kind
        }
    }

    /// A campaign whatever the kind of its id, for billing.
    private struct Payer: Hashable {
        let network: StoredValue
        let app: Int64
        let campaign: StoredValue
    }

    struct Known: Sendable {
        fileprivate(set) var campaigns: [Campaign] = []
        fileprivate(set) var apps: [Int64] = []
        fileprivate(set) var kinds: [CampaignIDKinds] = []
        /// By campaign, the number that its kinds share.
        fileprivate(set) var payers: [Int32] = []
        /// Days as texts; empty if unknown.
        fileprivate(set) var days: [String] = []
        fileprivate(set) var amounts: [FunnelAmount] = []
    }

    private struct State {
        var known = Known()
        var campaigns: [Campaign: Int32] = [:]
        var payers: [Payer: Int32] = [:]
        var days: [String: Int32] = [:]
        var amounts: [FunnelAmount: UInt16] = [:]
    }

    private let state = Mutex(State())

    /// All numbers that were given so far.
    var known: Known { state.withLock { $0.known } }

    func number(of campaign: Campaign) -> Int32 {
        state.withLock { state in
            if let number = state.campaigns[campaign] { return number }
            let number = Int32(state.known.campaigns.count)
            let payer = Payer(
                network: campaign.network, app: campaign.app, campaign: campaign.campaign)
            let shared = state.payers[payer] ?? Int32(state.payers.count)
            state.payers[payer] = shared
            state.campaigns[campaign] = number
            state.known.campaigns.append(campaign)
            state.known.apps.append(campaign.app)
            state.known.kinds.append(CampaignIDKinds(campaign.kind))
            state.known.payers.append(shared)
            return number
        }
    }

    func payer(of campaign: Campaign) -> Int32 {
        let number = number(of: campaign)
        return state.withLock { $0.known.payers[Int(number)] }
    }

    func number(ofDay day: String) -> Int32 {
        state.withLock { state in
            if let number = state.days[day] { return number }
            let number = Int32(state.known.days.count)
            state.days[day] = number
            state.known.days.append(day)
            return number
        }
    }

    func number(of amount: FunnelAmount) -> UInt16 {
        state.withLock { state in
            if let number = state.amounts[amount] { return number }
            let number = UInt16(state.known.amounts.count)
            state.amounts[amount] = number
            state.known.amounts.append(amount)
            return number
        }
    }
}

/// What some rows of a stream add to the funnel, by campaign and day. Sums of any selection and grouping follow from
/// cells without reading rows.
struct FunnelCells: UnitValue {
    struct Cell: Sendable {
        let campaign: Int32
        let day: Int32
        /// Whether the day counts for maturity. Rows of revenue alone have no day.
        var hasDay: Bool
        var hasUnknown: Bool
        /// The end of its amounts; they begin at the end of the previous cell.
        fileprivate(set) var end: Int32
    }

    /// The sales of an app in an hour.
    struct Sale: Sendable {
        let hourMilliseconds: Int64
        let day: String
        let dayNumber: Int32
        /// The app; nil for a bundle id without a configured app, and if only an unknown sum is noted.
        var app: Int64?
        var bundle = ""
        var sales = AppSales()
        var unknown: InspectionError?
    }

    /// A day of a campaign with billing.
    struct BilledDay: Hashable, Sendable {
        let day: Int32
        let payer: Int32
    }

    private(set) var cells: [Cell] = []
    private(set) var numbers: [UInt16] = []
    private(set) var amounts: [Int128] = []
    /// The times of installs, by the index of the cell, if they were asked for.
    private(set) var installs: [Int: InstallInterval] = [:]
    var billedDays: Set<BilledDay> = []
    /// The days of campaigns whose billing may be unknown.
    var unknownDays: Set<BilledDay> = []
    var sales: [Sale] = []
    /// The first unknown sum; nil if all are known.
    var unknown: InspectionError?

    var byteCount: Int {
        256 + cells.count * 20 + numbers.count * 18 + sales.count * 150 + billedDays.count * 16
            + installs.count * 64
    }

    mutating func append(
        campaign: Int32, day: Int32, hasDay: Bool, hasUnknown: Bool,
        _ sums: [(number: UInt16, amount: Int128)], installs interval: InstallInterval?
    ) {
        for sum in sums {
            numbers.append(sum.number)
            amounts.append(sum.amount)
        }
        if let interval { installs[cells.count] = interval }
        cells.append(
            Cell(
                campaign: campaign, day: day, hasDay: hasDay, hasUnknown: hasUnknown,
                end: Int32(numbers.count)))
    }
}

/// Adds up cells while rows are read.
struct FunnelCellBuilder {
    private struct Key: Hashable {
        let campaign: FunnelNumbers.Campaign
        let day: String
    }

    struct Sums {
        fileprivate var amounts: [(number: UInt16, amount: Int128)] = []
        var hasDay = false
        var hasUnknown = false
        var installs: InstallInterval?

        mutating func add(_ amount: Int128, to number: UInt16) {
            for index in amounts.indices where amounts[index].number == number {
                amounts[index].amount += amount
                return
            }
            amounts.append((number, amount))
        }
    }

    private let numbers: FunnelNumbers
    private var indices: [Key: Int] = [:]
    private var keys: [Key] = []
    private var sums: [Sums] = []
    private var amountNumbers: [FunnelAmount: UInt16] = [:]
    private var billedDays: Set<FunnelCells.BilledDay> = []
    private var unknownDays: Set<FunnelCells.BilledDay> = []
    var sales: [FunnelCells.Sale] = []
    var unknown: InspectionError?

    init(_ numbers: FunnelNumbers) { self.numbers = numbers }

    mutating func number(of amount: FunnelAmount) -> UInt16 {
        if let number = amountNumbers[amount] { return number }
        let number = numbers.number(of: amount)
        amountNumbers[amount] = number
        return number
    }

    /// Lets `body` add to the cell of an entry.
    mutating func add(_ entry: FunnelEntry, on day: String, _ body: (inout Sums) -> Void) {
        let key = Key(campaign: FunnelNumbers.Campaign(entry), day: day)
        let index = indices[key] ?? keys.count
        if index == keys.count {
            indices[key] = index
            keys.append(key)
            sums.append(Sums())
        }
        body(&sums[index])
    }

    mutating func noteBilling(of entry: FunnelEntry, on day: String, isKnown: Bool) {
        let day = FunnelCells.BilledDay(
            day: numbers.number(ofDay: day),
            payer: numbers.payer(of: FunnelNumbers.Campaign(entry)))
        if isKnown { billedDays.insert(day) } else { unknownDays.insert(day) }
    }

    func finish() -> FunnelCells {
        var cells = FunnelCells()
        for (key, sums) in zip(keys, sums) {
            cells.append(
                campaign: numbers.number(of: key.campaign), day: numbers.number(ofDay: key.day),
                hasDay: sums.hasDay, hasUnknown: sums.hasUnknown, sums.amounts,
                installs: sums.installs)
        }
        cells.billedDays = billedDays
        cells.unknownDays = unknownDays
        cells.sales = sales
        cells.unknown = unknown
        return cells
    }
}
