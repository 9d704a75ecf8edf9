import ConversionModels
import Store
import Streams

/// The sums of a group of the funnel.
struct FunnelSums {
    private var counts = Array(repeating: Int128(0), count: FunnelMeasure.allCases.count)
    var cost = FunnelCost()
    private(set) var revenueMinMicros: [StoredValue: Int128] = [:]
    private(set) var revenueMaxMicros: [StoredValue: Int128] = [:]
    /// The bounds by window, if they were asked for.
    private(set) var windowBounds: [RevenueBounds] = []
    var installsByDay = CohortSizes()
    /// The install days, with the data that determines the windows of their postbacks.
    var days = InstallDays()
    var apps: Set<Int64> = []
    var installs = InstallInterval()
    /// The streams with an unknown sum in these rows.
    var unknownStreams: Set<String> = []

    subscript(measure: FunnelMeasure) -> Int128 { counts[measure.rawValue] }

    /// The bounds of all windows.
    var bounds: RevenueBounds {
        windowBounds.reduce(into: RevenueBounds()) { $0.add($1) }
    }

    /// Adds a sum. Which reported costs count is decided elsewhere, because it depends on the billing of other rows.
    mutating func add(_ sum: Int128, to amount: FunnelAmount) {
        switch amount {
        case .count(let measure): counts[measure.rawValue] += sum
        case .revenueMin(let currency): revenueMinMicros[currency, default: 0] += sum
        case .revenueMax(let currency): revenueMaxMicros[currency, default: 0] += sum
        case .billed(let currency):
            cost.billed[currency, default: 0] += sum
            cost.hasBilling = true
        case .reported(let currency): cost.reportedMicros[currency, default: 0] += sum
        case .boundMin(let window, _), .boundMax(let window, _), .unbounded(let window),
            .postbacks(let window, _), .valued(let window, _), .doubledMiddle(let window, _, _):
            while windowBounds.count <= window { windowBounds.append(RevenueBounds()) }
            windowBounds[window].add(sum, to: amount)
        case .cohort: break
        }
    }

    var isAnything: Bool {
        counts.contains { $0 != 0 } || !cost.isEmpty || !revenueMinMicros.isEmpty
    }
}

/// The cost of campaigns. On each campaign day, billing counts if there is any, otherwise the reported cost. A campaign
/// day is the day, the network, the app and the campaign's id as events have them: the cost does not depend on the
/// catalog's names, or on the grouping.
struct FunnelCost {
    /// The origin of the cost.
    enum Source: String {
        case billed, reported
        /// Both billed and reported cost counts, on the same days or on different ones.
        case both
    }

    /// CPM prices in millionths, a thousand times the cost, by currency.
    var billed: [StoredValue: Int128] = [:]
    /// Reported amounts in millionths on campaign days without billing in any row.
    var countedReports: [StoredValue: Int128] = [:]
    /// The reported amounts in millionths by currency, counted or not.
    var reportedMicros: [StoredValue: Int128] = [:]
    /// Whether a campaign day has billing. If other rows have it, a day with ignored reports has some too.
    var hasBilling = false
    var hasReports = false

    var isEmpty: Bool { !hasBilling && !hasReports }

    /// Transforms all amounts, each by currency.
    func mapAmounts(
        _ change: ([StoredValue: Int128]) -> [StoredValue: Int128]
    ) -> FunnelCost {
        var cost = self
        cost.billed = change(billed)
        cost.countedReports = change(countedReports)
        cost.reportedMicros = change(reportedMicros)
        return cost
    }

    mutating func add(_ other: FunnelCost) {
        billed.merge(other.billed, uniquingKeysWith: +)
        countedReports.merge(other.countedReports, uniquingKeysWith: +)
        reportedMicros.merge(other.reportedMicros, uniquingKeysWith: +)
        hasBilling = hasBilling || other.hasBilling
        hasReports = hasReports || other.hasReports
    }

    /// The counted amounts as CPM prices in millionths by currency: a thousand times the cost.
    var pricesMicros: [StoredValue: Int128] {
        billed.merging(countedReports.mapValues { $0 * 1000 }, uniquingKeysWith: +)
    }

    /// Nil without a cost.
    var source: Source? {
        if hasBilling { return hasReports ? .both : .billed }
        return hasReports ? .reported : nil
    }
}

struct AppSales: BitwiseCopyable {
    private(set) var refunds = Int128(0)
    private(set) var refundReversals = Int128(0)
    private(set) var sales = Int128(0)

    static func += (left: inout AppSales, right: AppSales) {
        left.refunds += right.refunds
        left.refundReversals += right.refundReversals
        left.sales += right.sales
    }

    var isAnything: Bool { refunds != 0 || refundReversals != 0 || sales != 0 }

    /// The measures that count sales.
    static let sold: [StoreNotificationsKey.Measure] = [
        .initialBuys, .resubscribes, .renewals, .recoveries, .oneTimePurchases,
    ]
    static let measures = [.refunds, .refundReversals] + sold

    init() {}

    init(_ row: TableRow<StoreNotificationsKey>) {
        refunds = Int128(row[.refunds])
        refundReversals = Int128(row[.refundReversals])
        sales = Self.sold.reduce(0) { $0 + Int128(row[$1]) }
    }
}

/// The time range of the installs of some postbacks, in whole hours.
struct InstallInterval: BitwiseCopyable {
    /// The beginning of the earliest hour, in milliseconds since 1970; nil when it is not known.
    private(set) var earliestMilliseconds: Int64?
    /// The end of the latest hour.
    private(set) var latestMilliseconds: Int64?
    private var isEarliestUnknown = false

    init() {}

    init(earliest: Int64?, latest: Int64) {
        earliestMilliseconds = earliest
        latestMilliseconds = latest
        isEarliestUnknown = earliest == nil
    }

    mutating func formUnion(_ other: InstallInterval) {
        guard let otherLatest = other.latestMilliseconds else { return }
        isEarliestUnknown = isEarliestUnknown || other.isEarliestUnknown
        let earliest = [earliestMilliseconds, other.earliestMilliseconds].compactMap { $0 }.min()
        earliestMilliseconds = isEarliestUnknown ? nil : earliest
        latestMilliseconds = max(latestMilliseconds ?? otherLatest, otherLatest)
    }
}

/// Bounds of the revenue of some postbacks, and the data of an estimate.
struct RevenueBounds {
    /// Postbacks of one kind of window, so that their values are comparable.
    struct Window {
        fileprivate(set) var postbacks = Int128(0)
        /// Postbacks with a value that the model defines.
        fileprivate(set) var valued = Int128(0)
        /// Twice the sum of the midpoints of their ranges, by currency.
        fileprivate(set) var doubledMiddleMicros: [StoredValue: Int128] = [:]

        fileprivate mutating func add(_ other: Window) {
            postbacks += other.postbacks
            valued += other.valued
            doubledMiddleMicros.merge(other.doubledMiddleMicros, uniquingKeysWith: +)
        }

        fileprivate mutating func add(_ count: Int128, saying decoding: ModelDecoding?) {
            postbacks += count
            guard let decoding else { return }
            valued += count
            let middle = decoding.events.reduce(Int128(0)) { sum, event in
                sum + Int128(event.revenueMinMicros) + Int128(event.revenueMaxMicros)
            }
            doubledMiddleMicros[.text(decoding.currency), default: 0] += middle * count
        }
    }

    private(set) var minMicros: [StoredValue: Int128] = [:]
    /// The maximum revenue of the bounded postbacks, by currency.
    private(set) var maxMicros: [StoredValue: Int128] = [:]
    /// The number of postbacks without a bound: their app had no model in effect.
    private(set) var unboundedPostbacks = Int128(0)
    /// The postbacks for an estimate, by kind of window.
    private(set) var windows: [PostbackTiming: Window] = [:]

    /// The sums of these postbacks, as those of a window.
    func amounts(ofWindow window: Int) -> [(FunnelAmount, Int128)] {
        var amounts: [(FunnelAmount, Int128)] = []
        for (currency, sum) in minMicros {
            amounts.append((.boundMin(window: window, currency), sum))
        }
        for (currency, sum) in maxMicros {
            amounts.append((.boundMax(window: window, currency), sum))
        }
        if unboundedPostbacks != 0 {
            amounts.append((.unbounded(window: window), unboundedPostbacks))
        }
        for (timing, own) in windows {
            amounts.append((.postbacks(window: window, timing), own.postbacks))
            if own.valued != 0 { amounts.append((.valued(window: window, timing), own.valued)) }
            for (currency, sum) in own.doubledMiddleMicros {
                amounts.append((.doubledMiddle(window: window, timing, currency), sum))
            }
        }
        return amounts
    }

    /// Adds a sum of a window's postbacks.
    mutating func add(_ sum: Int128, to amount: FunnelAmount) {
        switch amount {
        case .boundMin(_, let currency): minMicros[currency, default: 0] += sum
        case .boundMax(_, let currency): maxMicros[currency, default: 0] += sum
        case .unbounded: unboundedPostbacks += sum
        case .postbacks(_, let timing): windows[timing, default: Window()].postbacks += sum
        case .valued(_, let timing): windows[timing, default: Window()].valued += sum
        case .doubledMiddle(_, let timing, let currency):
            windows[timing, default: Window()].doubledMiddleMicros[currency, default: 0] += sum
        case .count, .revenueMin, .revenueMax, .billed, .reported, .cohort: break
        }
    }

    mutating func add(_ other: RevenueBounds) {
        minMicros.merge(other.minMicros, uniquingKeysWith: +)
        maxMicros.merge(other.maxMicros, uniquingKeysWith: +)
        unboundedPostbacks += other.unboundedPostbacks
        for (timing, window) in other.windows { windows[timing, default: Window()].add(window) }
    }

    /// Adds postbacks of one value, or without a value.
    ///
    /// - Parameters:
    ///   - model: the model of their app; nil without one.
    ///   - received: the hour of their arrival, in milliseconds since 1970.
    mutating func add(
        _ count: Int128, _ model: ConversionModel?, received: Int64, timing: PostbackTiming,
        fine: Int?, coarse: CoarseValue?, sequenceIndex: Int
    ) {
        guard count != 0 else { return }
        guard let model,
            let bounds = model.revenueBounds(
                received: received, timing: timing, fine: fine, coarse: coarse,
                sequenceIndex: sequenceIndex)
        else {
            unboundedPostbacks += count
            return
        }
        for (currency, amounts) in bounds {
            minMicros[.text(currency), default: 0] += amounts.minMicros * count
            maxMicros[.text(currency), default: 0] += amounts.maxMicros * count
        }
        let decoding = model.decoding(
            received: received, timing: timing, fine: fine, coarse: coarse,
            sequenceIndex: sequenceIndex)
        let speaks =
            decoding.map { decoding in
                model.versions[decoding.versionIndex].speaks(
                    fine: fine, coarse: coarse, sequenceIndex: sequenceIndex)
            } ?? false
        windows[timing, default: Window()].add(count, saying: speaks ? decoding : nil)
    }

    /// The revenue, assuming that postbacks without a value resemble those with one of the same kind of window: the
    /// midpoints of the ranges, scaled up. Fractions of a micro are truncated.
    ///
    /// Nil when it cannot be estimated: some postbacks have no model, or all postbacks of a kind of window lack a
    /// value.
    var estimatedMicros: [StoredValue: Int128]? {
        guard unboundedPostbacks == 0 else { return nil }
        var estimate: [StoredValue: Int128] = [:]
        for window in windows.values {
            guard window.valued > 0 else { return nil }
            for (currency, doubled) in window.doubledMiddleMicros {
                estimate[currency, default: 0] += doubled * window.postbacks / (2 * window.valued)
            }
        }
        return estimate
    }

    /// The number of postbacks with a value that a model defines.
    var valuedPostbacks: Int128 { windows.values.reduce(0) { $0 + $1.valued } }
}
