import ConversionModels
import Store
import Streams

/// The revenue of a campaign's postbacks of some windows.
struct WindowRevenue {
    /// Amounts in micros of a currency.
    struct Amounts {
        /// The revenue of postbacks with a value.
        var knownLow: Int128 = 0
        var knownHigh: Int128 = 0
        /// The revenue of missing values, by the lowest, the middle and the highest amount of each value.
        var missingLow = AmountTotal.zero
        var missingMiddle = AmountTotal.zero
        var missingHigh = AmountTotal.zero

        mutating func add(_ other: Amounts) {
            knownLow += other.knownLow
            knownHigh += other.knownHigh
            missingLow = missingLow + other.missingLow
            missingMiddle = missingMiddle + other.missingMiddle
            missingHigh = missingHigh + other.missingHigh
        }
    }

    var postbacks: Int64 = 0
    var missing: Int64 = 0
    /// By currency.
    var amounts: [StoredValue: Amounts] = [:]
    /// Whether a model gives each known value a range of revenue.
    var isKnown = true
    /// Whether the missing values are estimated too.
    var isEstimated = true

    init(_ parts: [WindowRevenue] = []) { for part in parts { add(part) } }

    mutating func add(_ other: WindowRevenue) {
        postbacks += other.postbacks
        missing += other.missing
        for (currency, sums) in other.amounts { amounts[currency, default: Amounts()].add(sums) }
        isKnown = isKnown && other.isKnown
        isEstimated = isEstimated && other.isEstimated
    }
}

/// The postbacks of campaigns, by pool of comparable values.
struct RevenuePools {
    private struct Pool: Hashable {
        let app: Int64
        let sequenceIndex: Int64
        let conversionType: String
    }

    /// Everything that the revenue of a value depends on.
    private struct Meaning: Hashable {
        let partition: Int32
        let app: Int64
        let timing: PostbackTiming
        let sequenceIndex: Int64
        /// The first and the last version of the model that may have been in effect; -1 for none.
        let versions: [Int]
        /// The day of the rates; empty without a conversion.
        let day: String

        /// Within a pool.
        var order: [StoredValue] {
            [.integer(Int64(partition)), .text("\(timing)"), .text(day)]
                + versions.map { .integer(Int64($0)) }
        }
    }

    private struct Campaign {
        var postbacks: Int64 = 0
        /// The numbers of values; those of nil are missing.
        var counts: [Meaning: [PostbackValue?: Int64]] = [:]
    }

    /// Amounts of one postback by currency, in micros.
    fileprivate typealias Bounds = [StoredValue: (low: Int128, high: Int128)]

    private let figure: FunnelFigure
    private let conversion: CurrencyConversion?
    private var pools: [Pool: [[StoredValue]: Campaign]] = [:]
    private var models: [Int32: [Int64: ConversionModel]] = [:]
    /// An arrival for each meaning; all others give the same amounts.
    private var arrivals: [Meaning: Int64] = [:]
    private var bounds: [Meaning: [PostbackValue: Bounds?]] = [:]

    /// - Parameter figure: selects the postbacks, by the day of their install.
    init(_ figure: FunnelFigure, _ conversion: CurrencyConversion?) {
        (self.figure, self.conversion) = (figure, conversion)
    }

    // MARK: Reading

    mutating func add(_ slice: StoreSlice) throws {
        models.merge(try slice.recordedDecodings().mapValues(\.models)) { $1 }
        try slice.forEachRow(of: FunnelSource.postbackReader, figure.choice(of: .postbacks)) {
            partition, row in
            add(PostbackRow(row, PostbackRow.columns), partition) { campaign, meaning in
                campaign.postbacks += row[.postbacks]
                campaign.counts[meaning, default: [:]][.none, default: 0] += row[.nullValues]
            }
        }
        try slice.forEachRow(of: ValuedPostbacks.reader, figure.choice(of: .conversionValues)) {
            partition, row in
            guard let valued = ValuedPostbacks(row) else { return }
            add(valued.row, partition) { campaign, meaning in
                campaign.counts[meaning, default: [:]][valued.value, default: 0] += valued.count
            }
        }
    }

    private mutating func add(
        _ row: PostbackRow, _ partition: Int32, _ body: (inout Campaign, Meaning) -> Void
    ) {
        let entry = figure.postbacks(row)
        let model = models[partition]?[row.app]
        let time = figure.time(of: row, model: model)
        guard entry.isTrusted, ReturnWindow.all.indices.contains(Int(row.sequenceIndex)),
            let values = figure.values(of: entry, at: time)
        else { return }
        let received = figure.hours[row.hour].milliseconds
        let setting = row.timing.settingInterval(received: received)
        let meaning = Meaning(
            partition: partition, app: row.app, timing: row.timing,
            sequenceIndex: row.sequenceIndex,
            versions: [setting.earliest, setting.latest].map {
                model?.versionIndex(inEffectAtMilliseconds: $0) ?? -1
            }, day: conversion == nil ? "" : time.day)
        arrivals[meaning] = received
        let pool = Pool(
            app: row.app, sequenceIndex: row.sequenceIndex, conversionType: row.conversionType)
        // Network, app and campaign follow the day.
        body(&pools[pool, default: [:]][Array(values[1...3]), default: Campaign()], meaning)
    }

    // MARK: Estimating

    /// The selected campaigns with the revenue of each of their windows, sorted.
    mutating func campaigns(
        where isWanted: ([StoredValue]) -> Bool
    ) -> [(key: [StoredValue], windows: [WindowRevenue])] {
        var found: [[StoredValue]: [WindowRevenue]] = [:]
        let none = ReturnWindow.all.map { _ in WindowRevenue() }
        let sorted = pools.sorted {
            ($0.key.app, $0.key.sequenceIndex, $0.key.conversionType)
                < ($1.key.app, $1.key.sequenceIndex, $1.key.conversionType)
        }
        for (pool, campaigns) in sorted where campaigns.keys.contains(where: isWanted) {
            let sorted = campaigns.sorted { RowKeyBytes($0.key) < RowKeyBytes($1.key) }
            let values = PooledRevenue(sorted.map { $0.value.counts.values.flatMap { $0 } })
            for (index, (key, campaign)) in sorted.enumerated() where isWanted(key) {
                let revenue = revenue(of: campaign, at: index, values)
                found[key, default: none][Int(pool.sequenceIndex)].add(revenue)
            }
        }
        return found.sorted { RowKeyBytes($0.key) < RowKeyBytes($1.key) }
            .map { ($0.key, $0.value) }
    }

    private mutating func revenue(
        of campaign: Campaign, at index: Int, _ values: PooledRevenue
    ) -> WindowRevenue {
        var revenue = WindowRevenue()
        revenue.postbacks = campaign.postbacks
        var groups: [PooledRevenue.Group] = []
        for (meaning, counts) in campaign.counts.sorted(by: {
            $0.key.order.lexicographicallyPrecedes($1.key.order)
        }) {
            for case (let value?, let count) in counts where count != 0 {
                guard let bounds = bounds(of: value, meaning) else {
                    revenue.isKnown = false
                    continue
                }
                for (currency, amount) in bounds {
                    revenue.amounts[currency, default: .init()].knownLow +=
                        amount.low * Int128(count)
                    revenue.amounts[currency, default: .init()].knownHigh +=
                        amount.high * Int128(count)
                }
            }
            guard let count = counts[.none], count > 0 else { continue }
            revenue.missing += count
            let possible = values.possible.compactMap { bounds(of: $0, meaning) }
            guard !possible.isEmpty, possible.count == values.possible.count else {
                revenue.isEstimated = false
                continue
            }
            groups.append((count, possible))
        }
        revenue.isEstimated = revenue.isEstimated && revenue.isKnown
        guard revenue.isEstimated else { return revenue }
        for currency in Set(groups.flatMap { $0.bounds.flatMap(\.keys) }).sorted() {
            var amounts = revenue.amounts[currency] ?? .init()
            values.estimate(groups, of: currency, campaign: index, in: &amounts)
            revenue.amounts[currency] = amounts
        }
        return revenue
    }

    /// The revenue of one postback; nil if no model was in effect.
    private mutating func bounds(of value: PostbackValue, _ meaning: Meaning) -> Bounds? {
        if let known = bounds[meaning]?[value] { return known }
        let found = models[meaning.partition]?[meaning.app]?.revenueBounds(
            received: arrivals[meaning] ?? 0, timing: meaning.timing, fine: value.fine,
            coarse: value.coarse, sequenceIndex: Int(meaning.sequenceIndex))
        let amounts = found?.reduce(into: Bounds()) { amounts, bound in
            let (currency, bound) = bound
            var (low, high) = (bound.minMicros, bound.maxMicros)
            guard let conversion else {
                amounts[.text(currency)] = (low, high)
                return
            }
            low = conversion.converted(low, of: currency, on: meaning.day)
            high = conversion.converted(high, of: currency, on: meaning.day)
            // The revenue of several versions is in one of their currencies.
            let other = amounts[.text(conversion.target)] ?? (low, high)
            amounts[.text(conversion.target)] = (min(low, other.low), max(high, other.high))
        }
        bounds[meaning, default: [:]][value] = .some(amounts)
        return amounts
    }
}

/// The values of a pool: fine or coarse ones, whichever are known more often.
private struct PooledRevenue {
    /// Missing values, with the amounts of each possible value.
    typealias Group = (count: Int64, bounds: [RevenuePools.Bounds])

    /// The values that some campaign has, then all others of the kind; empty without a known value.
    let possible: [PostbackValue]
    private let seenCount: Int
    private let pooled: PooledValues

    init(_ campaigns: [[(key: PostbackValue?, value: Int64)]]) {
        let counts = campaigns.map { values in
            values.reduce(into: [PostbackValue: Int64]()) { sums, count in
                if let value = count.key { sums[value, default: 0] += count.value }
            }
        }
        func known(_ value: PostbackValue) -> Int64 { counts.reduce(0) { $0 + ($1[value] ?? 0) } }
        func known(_ values: [PostbackValue]) -> Int64 { values.reduce(0) { $0 + known($1) } }
        let isFine = known(PostbackValue.allFine) >= known(PostbackValue.allCoarse)
        let all = isFine ? PostbackValue.allFine : PostbackValue.allCoarse
        let seen = all.filter { known($0) > 0 }
        seenCount = seen.count
        possible = seen.isEmpty ? [] : seen + all.filter { known($0) <= 0 }
        pooled = PooledValues(
            observed: counts.map { counts in seen.map { counts[$0] ?? 0 } },
            possibleCount: all.count)
    }

    /// Estimates the revenue of missing values. A value that no campaign has counts with the lowest and with the highest
    /// amount of all such values; the mean leaves it out.
    func estimate(
        _ groups: [Group], of currency: StoredValue, campaign: Int,
        in amounts: inout WindowRevenue.Amounts
    ) {
        func total(
            _ amount: ((low: Int128, high: Int128)) -> Double,
            unseen: ([Double]) -> Double?
        ) -> AmountTotal {
            pooled.total(
                of: groups.map { group in
                    let all = group.bounds.map { amount($0[currency] ?? (0, 0)) }
                    return MissingValues(
                        count: group.count, amounts: Array(all.prefix(seenCount)),
                        unseenAmount: unseen(Array(all.dropFirst(seenCount))))
                }, campaign: campaign)
        }
        amounts.missingLow = total({ Double($0.low) }, unseen: { $0.min() })
        amounts.missingMiddle = total({ Double($0.low + $0.high) / 2 }, unseen: { _ in nil })
        amounts.missingHigh = total({ Double($0.high) }, unseen: { $0.max() })
    }
}
