import AggregateStore

/// What is added up for a row of the funnel.
struct FunnelSums {
    /// The plain counts, in the order of the columns.
    enum Count: Int, CaseIterable {
        case bids, overlayRequested, overlayEligible, wins, presented, viewed, skadnImpressions
        case clicks, automaticClicks, installs, redownloads, reengagements, postbacks, nullValues
    }

    private var counts = Array(repeating: Int128(0), count: Count.allCases.count)
    /// Sums of billed CPM prices in millionths, by currency: a thousand times the cost.
    private(set) var billedPriceMicros: [StoredValue: Int128] = [:]
    private(set) var revenueMinMicros: [StoredValue: Int128] = [:]
    private(set) var revenueMaxMicros: [StoredValue: Int128] = [:]
    /// What the revenue can be, whatever values leave open.
    var reach = RevenueReach()
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
