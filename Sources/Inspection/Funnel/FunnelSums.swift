import AggregateStore

/// What is added up for a row of the funnel.
struct FunnelSums {
    /// The plain counts, in the order of the columns.
    enum Count: Int, CaseIterable {
        case bids, overlayRequested, overlayEligible, wins, presented, viewed, clicks
        case automaticClicks, installs, redownloads, reengagements, postbacks, nullValues
    }

    private var counts = Array(repeating: Int128(0), count: Count.allCases.count)
    /// Sums of billed CPM prices in millionths, by currency: a thousand times the cost.
    private(set) var billedPriceMicros: [StoredValue: Int128] = [:]
    private(set) var revenueMinMicros: [StoredValue: Int128] = [:]
    private(set) var revenueMaxMicros: [StoredValue: Int128] = [:]
    /// What kinds of postbacks there can be for the row's ads, by day.
    private(set) var kindsByDay: [String: PostbackKinds] = [:]
    /// The apps that the row is about.
    private(set) var apps: Set<Int64> = []
    private(set) var installs = InstallInterval()

    subscript(count: Count) -> Int128 { counts[count.rawValue] }

    mutating func add(_ amount: some BinaryInteger, to count: Count) {
        counts[count.rawValue] += Int128(amount)
    }

    mutating func add(billedPriceMicros micros: Int64, currency: StoredValue) {
        billedPriceMicros[currency, default: 0] += Int128(micros)
    }

    mutating func add(revenueMinMicros least: Int64, max most: Int64, currency: StoredValue) {
        revenueMinMicros[currency, default: 0] += Int128(least)
        revenueMaxMicros[currency, default: 0] += Int128(most)
    }

    mutating func note(day: String, kinds: PostbackKinds) {
        kindsByDay[day, default: []].formUnion(kinds)
    }

    mutating func note(app: Int64) { apps.insert(app) }

    mutating func note(installs interval: InstallInterval) { installs.formUnion(interval) }

    /// Whether anything was counted.
    var isAnything: Bool {
        counts.contains { $0 != 0 } || !billedPriceMicros.isEmpty || !revenueMinMicros.isEmpty
    }
}

/// When the installs of some postbacks took place, as whole hours.
struct InstallInterval {
    /// The earliest hour's beginning, in milliseconds since 1970; nil when it is not known.
    private(set) var earliestMilliseconds: Int64?
    /// The latest hour's end.
    private(set) var latestMilliseconds: Int64?
    private var isEarliestUnknown = false

    /// Of no postback.
    init() {}

    /// - Parameters:
    ///   - earliest: nil when it is not known.
    ///   - latest: the end.
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

/// What an app sold and paid back.
struct AppSales {
    private(set) var refunds = Int128(0)
    private(set) var sales = Int128(0)

    static func += (left: inout AppSales, right: AppSales) {
        left.refunds += right.refunds
        left.sales += right.sales
    }

    /// Takes refunds, then what of the app was sold.
    init(_ measures: [Int64] = []) {
        refunds = Int128(measures.first ?? 0)
        sales = measures.dropFirst().reduce(0) { $0 + Int128($1) }
    }
}
