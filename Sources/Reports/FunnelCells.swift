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

    /// The values of a case, as they are written.
    var written: [StoredValue] {
        func of(
            _ name: String, window: Int = 0, _ timing: PostbackTiming = .upTo3
        ) -> [StoredValue] {
            let index = PostbackTiming.allCases.firstIndex(of: timing) ?? 0
            let integers = [window, index].map { StoredValue.integer(Int64($0)) }
            return [.text(name)] + integers + [currency ?? .text("")]
        }
        return switch self {
        case .count(let measure): of("count", window: measure.rawValue)
        case .revenueMin: of("revenue min")
        case .revenueMax: of("revenue max")
        case .billed: of("billed")
        case .reported: of("reported")
        case .boundMin(let window, _): of("bound min", window: window)
        case .boundMax(let window, _): of("bound max", window: window)
        case .unbounded(let window): of("unbounded", window: window)
        case .postbacks(let window, let timing): of("postbacks", window: window, timing)
        case .valued(let window, let timing): of("valued", window: window, timing)
        case .doubledMiddle(let window, let timing, _):
            of("doubled middle", window: window, timing)
        case .cohort: of("cohort")
        }
    }

    /// Nil for other values.
    init?(written values: [StoredValue]) {
        let (window, currency) = (Int(values[1].integer), values[3])
        let timing = PostbackTiming.allCases[Int(values[2].integer)]
        switch values[0].text {
        case "count":
            guard let measure = FunnelMeasure(rawValue: window) else { return nil }
            self = .count(measure)
        case "revenue min": self = .revenueMin(currency)
        case "revenue max": self = .revenueMax(currency)
        case "billed": self = .billed(currency)
        case "reported": self = .reported(currency)
        case "bound min": self = .boundMin(window: window, currency)
        case "bound max": self = .boundMax(window: window, currency)
        case "unbounded": self = .unbounded(window: window)
        case "postbacks": self = .postbacks(window: window, timing)
        case "valued": self = .valued(window: window, timing)
        case "doubled middle": self = .doubledMiddle(window: window, timing, currency)
        case "cohort": self = .cohort
        default: return nil
        }
    }
}

/// Numbers for campaigns, days and amounts. They stay the same while a process runs.
final class FunnelNumbers: KeptList {
    /// A campaign as rows identify it.
    struct Campaign: Hashable, Sendable {
        let network: StoredValue
        let app: Int64
        let campaign: StoredValue
        let kind: CampaignIDKind

        init(network: StoredValue, app: Int64, campaign: StoredValue, kind: CampaignIDKind) {
            self.network = network
            self.app = app
            self.campaign = campaign
            self.kind = kind
        }

        init(_ entry: FunnelEntry) {
            self.init(
                network: .text(entry.network), app: entry.app, campaign: .text(entry.campaign),
                kind: entry.kind)
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
        /// Everything with a number, in order.
        var entries: [[StoredValue]] = []
    }

    let name = "funnel"
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
            state.entries.append(Entry.campaign(campaign).values)
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
            state.entries.append(Entry.day(day).values)
            return number
        }
    }

    func number(of amount: FunnelAmount) -> UInt16 {
        state.withLock { state in
            if let number = state.amounts[amount] { return number }
            let number = UInt16(state.known.amounts.count)
            state.amounts[amount] = number
            state.known.amounts.append(amount)
            state.entries.append(Entry.amount(amount).values)
            return number
        }
    }

    func add(_ entry: [StoredValue]) {
        switch Entry(entry) {
        case .campaign(let campaign): _ = number(of: campaign)
        case .day(let day): _ = number(ofDay: day)
        case .amount(let amount): _ = number(of: amount)
        case nil: break
        }
    }

    func entries(from index: Int) -> ArraySlice<[StoredValue]> {
        state.withLock { $0.entries[index...] }
    }
}

extension FunnelNumbers {
    /// Something with a number, as it is written.
    private enum Entry {
        case campaign(Campaign)
        case day(String)
        case amount(FunnelAmount)

        private static let kinds: [CampaignIDKind] = [.campaignID, .sourceIdentifier, .either]

        var values: [StoredValue] {
            switch self {
            case .campaign(let own):
                let kind = Self.kinds.firstIndex(of: own.kind) ?? 0
                return [
                    .text("campaign"), own.network, .integer(own.app), own.campaign,
                    .integer(Int64(kind)),
                ]
            case .day(let day): return [.text("day"), .text(day)]
            case .amount(let amount): return [.text("amount")] + amount.written
            }
        }

        init?(_ values: [StoredValue]) {
            switch values[0].text {
            case "campaign":
                self = .campaign(
                    Campaign(
                        network: values[1], app: values[2].integer, campaign: values[3],
                        kind: Self.kinds[Int(values[4].integer)]))
            case "day": self = .day(values[1].text)
            default:
                guard let amount = FunnelAmount(written: Array(values[1...])) else { return nil }
                self = .amount(amount)
            }
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

    /// Nil with an unknown sum, so that its error is found again.
    var written: [UInt8]? {
        guard unknown == nil, sales.allSatisfy({ $0.unknown == nil }) else { return nil }
        var writer = KeptWriter()
        writer.append(cells)
        writer.append(numbers)
        writer.append(amounts)
        writer.append(Array(installs.keys))
        writer.append(Array(installs.values))
        writer.append(Array(billedDays))
        writer.append(Array(unknownDays))
        writer.append(sales.count)
        for sale in sales {
            writer.append(sale.hourMilliseconds)
            writer.append(sale.day)
            writer.append(sale.dayNumber)
            writer.append([sale.app])
            writer.append(sale.bundle)
            writer.append([sale.sales])
        }
        return writer.bytes
    }

    init() {}

    init(_ reader: inout KeptReader) throws {
        cells = try reader.array()
        numbers = try reader.array()
        amounts = try reader.array()
        let indices: [Int] = try reader.array()
        installs = Dictionary(
            uniqueKeysWithValues: zip(indices, try reader.array(of: InstallInterval.self)))
        billedDays = Set(try reader.array(of: BilledDay.self))
        unknownDays = Set(try reader.array(of: BilledDay.self))
        sales = try (0..<reader.integer(Int.self)).map { _ in
            Sale(
                hourMilliseconds: try reader.integer(), day: try reader.text(),
                dayNumber: try reader.integer(), app: try reader.array(of: Int64?.self)[0],
                bundle: try reader.text(), sales: try reader.array(of: AppSales.self)[0])
        }
    }

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
