import ConversionModels
import Store
import Streams

struct FunnelSums {
    private var counts = Array(repeating: Int128(0), count: FunnelMeasure.allCases.count)
    var cost = FunnelCost()
    private(set) var revenueMinMicros: [StoredValue: Int128] = [:]
    private(set) var revenueMaxMicros: [StoredValue: Int128] = [:]
    var bounds = RevenueBounds()
    /// The bounds by window, if `FunnelFigure.tellsWindows`.
    private(set) var windowBounds: [RevenueBounds] = []
    private(set) var installsByDay = CohortSizes()
    /// The install days, with the data that determines the windows of their postbacks.
    private(set) var days = InstallDays()
    private(set) var apps: Set<Int64> = []
    private(set) var installs = InstallInterval()
    /// The streams with an unknown sum in these rows.
    private(set) var unknownStreams: Set<String> = []

    subscript(measure: FunnelMeasure) -> Int128 { counts[measure.rawValue] }

    mutating func add(_ amount: some BinaryInteger, to measure: FunnelMeasure) {
        counts[measure.rawValue] += Int128(amount)
    }

    mutating func add(revenueMinMicros least: Int64, max most: Int64, currency: StoredValue) {
        revenueMinMicros[currency, default: 0] += Int128(least)
        revenueMaxMicros[currency, default: 0] += Int128(most)
    }

    /// Transforms all amounts of revenue, each by currency.
    mutating func mapRevenue(_ change: ([StoredValue: Int128]) -> [StoredValue: Int128]) {
        revenueMinMicros = change(revenueMinMicros)
        revenueMaxMicros = change(revenueMaxMicros)
        bounds.mapAmounts(change)
        for window in windowBounds.indices { windowBounds[window].mapAmounts(change) }
    }

    /// Lets `body` add to the bounds of the revenue and to those of the window.
    mutating func addBounds(
        ofWindow window: Int, tellsWindows: Bool, _ body: (inout RevenueBounds) -> Void
    ) {
        body(&bounds)
        guard tellsWindows else { return }
        while windowBounds.count <= window { windowBounds.append(RevenueBounds()) }
        body(&windowBounds[window])
    }

    mutating func add(installs count: Int128, on day: String, app: Int64) {
        installsByDay.add(count, on: day, app: app)
    }

    mutating func add(_ other: FunnelSums) {
        for index in counts.indices { counts[index] += other.counts[index] }
        cost.add(other.cost)
        revenueMinMicros.merge(other.revenueMinMicros, uniquingKeysWith: +)
        revenueMaxMicros.merge(other.revenueMaxMicros, uniquingKeysWith: +)
        bounds.add(other.bounds)
        while windowBounds.count < other.windowBounds.count { windowBounds.append(RevenueBounds()) }
        for (window, bounds) in other.windowBounds.enumerated() { windowBounds[window].add(bounds) }
        installsByDay.add(other.installsByDay)
        days.formUnion(other.days)
        apps.formUnion(other.apps)
        installs.formUnion(other.installs)
        unknownStreams.formUnion(other.unknownStreams)
    }

    mutating func note(unknownIn stream: String) { unknownStreams.insert(stream) }

    mutating func add(day: String, app: Int64, kinds: CampaignIDKinds) {
        days.add(day: day, app: app, kinds: kinds)
    }

    mutating func add(app: Int64) { apps.insert(app) }

    mutating func add(installs interval: InstallInterval) { installs.formUnion(interval) }

    var isAnything: Bool {
        counts.contains { $0 != 0 } || !cost.isEmpty || !revenueMinMicros.isEmpty
    }
}

/// The cost of campaigns. On each campaign day, billing counts if there is any, otherwise the reported cost.
struct FunnelCost {
    /// The origin of the cost.
    enum Source: String {
        case billed, reported
        /// Both billed and reported cost counts, on the same days or on different ones.
        case both
    }

    /// A campaign day as events identify it: the day, the network, the app and the campaign's id. The catalog's names
    /// are excluded, so that the cost does not depend on them or on the grouping.
    typealias Day = RowKeyBytes

    /// By source, then by currency. If other rows have the billing, a day with ignored reports has an empty entry for
    /// billing.
    private var amounts: [Day: [Source: [StoredValue: Int128]]] = [:]

    var isEmpty: Bool { amounts.isEmpty }

    static func day(_ day: String, of entry: FunnelEntry) -> Day {
        Day([.text(day), .text(entry.network), .integer(entry.app), .text(entry.campaign)])
    }

    /// - Parameters:
    ///   - micros: in millionths; if billed, a sum of CPM prices, a thousand times the cost.
    ///   - source: billed or reported.
    mutating func add(
        _ micros: Int64, to source: Source, currency: StoredValue, on day: Day
    ) {
        amounts[day, default: [:]][source, default: [:]][currency, default: 0] += Int128(micros)
    }

    /// Ignores reports on campaign days with billing in any row.
    mutating func decide(billedOn days: Set<Day>) {
        for day in amounts.keys where days.contains(day) && amounts[day]?[.billed] == nil {
            amounts[day]?[.billed] = [:]
        }
    }

    /// Transforms all amounts, each by currency.
    func mapAmounts(
        _ change: ([StoredValue: Int128]) -> [StoredValue: Int128]
    ) -> FunnelCost {
        var cost = self
        cost.amounts = amounts.mapValues { $0.mapValues(change) }
        return cost
    }

    mutating func add(_ other: FunnelCost) {
        amounts.merge(other.amounts) { own, others in
            own.merging(others) { $0.merging($1, uniquingKeysWith: +) }
        }
    }

    /// The counted amounts as CPM prices in millionths by currency: a thousand times the cost.
    var pricesMicros: [StoredValue: Int128] {
        amounts.values.reduce(into: [:]) { sums, day in
            let reported = day[.reported]?.mapValues { $0 * 1000 }
            sums.merge(day[.billed] ?? reported ?? [:], uniquingKeysWith: +)
        }
    }

    /// The reported amounts in millionths by currency, counted or not.
    var reportedMicros: [StoredValue: Int128] {
        amounts.values.reduce(into: [:]) { $0.merge($1[.reported] ?? [:], uniquingKeysWith: +) }
    }

    /// Nil without a cost.
    var source: Source? {
        let sources = amounts.values.reduce(into: Set<Source>()) { $0.formUnion($1.keys) }
        return sources.count > 1 ? .both : sources.first
    }
}

struct AppSales {
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
struct InstallInterval {
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
        private(set) var postbacks = Int128(0)
        /// Postbacks with a value that the model defines.
        private(set) var valued = Int128(0)
        /// Twice the sum of the midpoints of their ranges, by currency.
        private(set) var doubledMiddleMicros: [StoredValue: Int128] = [:]

        fileprivate mutating func add(_ other: Window) {
            postbacks += other.postbacks
            valued += other.valued
            doubledMiddleMicros.merge(other.doubledMiddleMicros, uniquingKeysWith: +)
        }

        fileprivate mutating func mapAmounts(
            _ change: ([StoredValue: Int128]) -> [StoredValue: Int128]
        ) {
            doubledMiddleMicros = change(doubledMiddleMicros)
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

    /// Transforms all amounts, each by currency.
    mutating func mapAmounts(_ change: ([StoredValue: Int128]) -> [StoredValue: Int128]) {
        minMicros = change(minMicros)
        maxMicros = change(maxMicros)
        for timing in windows.keys { windows[timing]?.mapAmounts(change) }
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
