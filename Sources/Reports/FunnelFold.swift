import ConversionModels
import Store
import Streams

/// Sums the aggregates of all streams into rows of the funnel.
struct FunnelFold {
    typealias Group = RowGroups<FunnelSums>.Group

    let figure: FunnelFigure
    private var rows: RowGroups<FunnelSums>
    private var salesByDay: [String: [Int64: AppSales]] = [:]
    /// The campaign days with billing, as far as they are needed.
    private var billedDays: Set<FunnelCost.Day> = []
    /// The campaign days with a reported cost, each with its day and its campaign.
    private var reportedDays: [FunnelCost.Day: (day: String, campaign: RowKeyBytes)] = [:]
    /// The streams with unknown sums that concern every row.
    private(set) var unknownStreams: Set<String> = []
    /// Whether a sum of the cost is unknown. The cost of a row depends on the billing in others.
    private(set) var hasUnknownCost = false
    /// The first unknown sum; nil if all are known.
    private(set) var unknown: InspectionError?
    /// The latest models of the apps, as recorded in the stores of postbacks.
    private(set) var models: [Int64: ConversionModel] = [:]

    init(_ figure: FunnelFigure) {
        self.figure = figure
        // Rates depend on the day.
        let indices = figure.selection.indices
        isByDay = indices.first == Self.dayIndex
        rows = RowGroups(
            by: figure.isConverted && !isByDay ? [Self.dayIndex] + indices : indices,
            empty: FunnelSums())
    }

    private static let dayIndex = 0
    private let isByDay: Bool

    /// The groups, sorted by their columns.
    var groups: [Group] {
        rows.sorted.map { group in
            var group = group
            group.sums.cost.decide(billedOn: billedDays)
            return group
        }
    }

    /// The groups with their amounts in one currency.
    func groups(converting conversion: CurrencyConversion) throws(InspectionError) -> [Group] {
        let columnCount = figure.selection.indices.count
        var converted = RowGroups(by: Array(0..<columnCount), empty: FunnelSums())
        for group in groups {
            let sums = group.sums.converted(by: conversion, on: group.columns[Self.dayIndex].text)
            converted.add(Array(group.columns.suffix(columnCount))) { $0.add(sums) }
        }
        try conversion.requireRates()
        return converted.sorted
    }

    /// Adds all stores of one state.
    mutating func add(_ slices: [StoreSlice]) throws {
        for slice in slices { try add(slice) }
        try findBilling(in: slices)
    }

    private mutating func add(_ slice: StoreSlice) throws {
        switch slice.stream {
        case PostbacksFold.streamName:
            do {
                try addPostbacks(slice)
            } catch let error as InspectionError {
                guard case .unknownSum = error else { throw error }
                unknownStreams.insert(slice.stream)
                unknown = unknown ?? error
            }
        case StoreNotificationsFold.streamName: try addNotifications(slice)
        default:
            let sources = FunnelSource.byStream.first { $0.stream == slice.stream }?.sources
            for source in sources ?? [] { try addCounts(of: source, slice) }
        }
    }

    /// Calls `body` for the group of an entry if that is selected; returns whether it is.
    @discardableResult private mutating func add(
        _ entry: FunnelEntry, at time: (milliseconds: Int64?, day: String),
        _ body: (inout FunnelSums) -> Void
    ) -> Bool {
        guard let values = figure.values(of: entry, at: time) else { return false }
        rows.add(values) { sums in
            body(&sums)
            sums.add(app: entry.app)
        }
        return true
    }

    /// Throws the first unknown sum, for reports that have no row without it.
    func requireKnown() throws(InspectionError) {
        if let unknown { throw unknown }
    }

    private mutating func note(
        unknownIn row: AnyTableRow, of source: FunnelSource, _ slice: StoreSlice
    ) {
        guard let index = row.firstUnknown else { return }
        let table = source.indices.table
        unknown = unknown ?? .unknownSum(table: table.name, measure: table.measures[index])
        if FunnelColumn.costStreams.contains(slice.stream) { hasUnknownCost = true }
    }

    private mutating func addCounts(of source: FunnelSource, _ slice: StoreSlice) throws {
        try slice.forEachDay(of: source.indices, figure.choice(of: source)) { row in
            guard row.hasUnknown || source.isValue(row), let entry = source.entry(row, figure)
            else { return }
            let hour = figure.hours[entry.hour]
            let costDay = FunnelCost.day(hour.day, of: entry)
            let isBilled = source.billed.map { row[measure: $0] != 0 }
            let isSelected = add(entry, at: hour) { sums in
                for (index, measure) in entry.counts { sums.add(row[measure: index], to: measure) }
                for (index, measure) in entry.amounts where isBilled != false {
                    sums.cost.add(
                        row[measure: index],
                        to: measure == FunnelColumn.reported ? .reported : .billed,
                        currency: .text(entry.currency), on: costDay)
                }
                sums.add(day: hour.day, app: entry.app, kinds: CampaignIDKinds(entry.kind))
                if row.hasUnknown { sums.note(unknownIn: slice.stream) }
            }
            if isSelected { note(unknownIn: row, of: source, slice) }
            guard isSelected, !entry.amounts.isEmpty else { return }
            switch isBilled {
            case nil: reportedDays[costDay] = (hour.day, Self.campaign(of: entry))
            case true?: billedDays.insert(costDay)
            case false?: break
            }
        }
    }

    /// Searches billing on campaign days with reports, including rows that other conditions, names or hours exclude.
    /// The cost of a campaign day does not depend on the selected part of it.
    private mutating func findBilling(in slices: [StoreSlice]) throws {
        let open = reportedDays.filter { !billedDays.contains($0.key) }.values
        guard !open.isEmpty, figure.selection.isNarrowed else { return }
        let (days, campaigns) = (Set(open.map(\.day)), Set(open.map(\.campaign)))
        let (figure, source) = (figure, FunnelSource.bids)
        guard let billed = source.billed else { return }
        let choice = RowChoice(
            isHourWanted: { days.contains(figure.hours[$0].day) },
            isKeyWanted: { columns in
                source.entry(AnyTableRow(columns, of: source.indices), figure).map {
                    campaigns.contains(Self.campaign(of: $0))
                } ?? false
            })
        for slice in slices where slice.stream == BidsFold.streamName {
            try slice.forEachDay(of: source.indices, choice) { row in
                note(unknownIn: row, of: source, slice)
                guard row[measure: billed] != 0, let entry = source.entry(row, figure)
                else { return }
                billedDays.insert(FunnelCost.day(figure.hours[entry.hour].day, of: entry))
            }
        }
    }

    private static func campaign(of entry: FunnelEntry) -> RowKeyBytes {
        RowKeyBytes([.text(entry.network), .integer(entry.app), .text(entry.campaign)])
    }

    /// Sales appear in every row of their app, and in a row of their own.
    private mutating func addNotifications(_ slice: StoreSlice) throws {
        let source = FunnelSource.storeNotifications
        try slice.forEachDay(of: source.indices, figure.choice(of: source)) { row in
            if row.hasUnknown {
                unknownStreams.insert(slice.stream)
                note(unknownIn: row, of: source, slice)
            }
            guard source.isValue(row), let entry = source.entry(row, figure) else { return }
            let hour = figure.hours[entry.hour]
            guard figure.selection.includes(timeMilliseconds: hour.milliseconds) else { return }
            salesByDay[hour.day, default: [:]][entry.app, default: AppSales()] += AppSales(
                TableRow(row))
            add(entry, at: hour) { _ in }
        }
    }

    /// Sales and refunds of a group's apps: on the group's day if groups have one, otherwise in the whole selected
    /// time.
    func sales(of group: Group) -> AppSales {
        let days = isByDay ? group.columns.prefix(1).map(\.text) : Array(salesByDay.keys)
        var sum = AppSales()
        for day in days where figure.selection.includes(.text(day), ofColumn: "day") {
            guard let salesByApp = salesByDay[day] else { continue }
            for app in group.sums.apps {
                if let sales = salesByApp[app] { sum += sales }
            }
        }
        return sum
    }
}

extension FunnelFold {
    /// The postbacks of similar rows in a partition.
    private struct Counts {
        let partition: Int32
        let row: PostbackRow
        var postbacks = Int128(0)
        var nullValues = Int128(0)

        mutating func add(_ row: TableRow<PostbacksKey>) {
            postbacks += Int128(row[.postbacks])
            nullValues += Int128(row[.nullValues])
        }
    }

    /// Adds the postbacks of a store. Values that depend on several rows are computed for each partition separately, so
    /// they do not depend on the distribution of partitions over stores.
    private mutating func addPostbacks(_ slice: StoreSlice) throws {
        var counts: [RowKeyBytes: Counts] = [:]
        try slice.forEachRow(of: FunnelSource.postbackReader) { partition, row in
            let postbacks = PostbackRow(row, PostbackRow.columns)
            guard row.row.isCounted, !figure.postbacks(postbacks).counts.isEmpty else { return }
            let key = RowKeyBytes(partition, row.values(PostbackRow.columns))
            counts[key, default: Counts(partition: partition, row: postbacks)].add(row)
        }
        let zeros = figure.request.dateRule == .install ? try fineZeros(slice) : [:]
        let recorded = try slice.recordedDecodings()
        for decoding in recorded.values { models.add(decoding.models) }
        for (key, counts) in counts.sorted(by: { $0.key < $1.key }) {
            add(
                counts, model: recorded[counts.partition]?.models[counts.row.app],
                allAreZero: zeros[key] == counts.postbacks)
        }
        try addRevenue(slice)
        try addValues(slice, recorded)
    }

    private mutating func add(_ counts: Counts, model: ConversionModel?, allAreZero: Bool) {
        let row = counts.row
        let entry = figure.postbacks(row)
        let time = figure.time(of: row, model: model)
        let interval = installInterval(of: row, allAreZero: allAreZero)
        let received = figure.hours[row.hour].milliseconds
        let tellsWindows = figure.tellsWindows
        add(entry, at: time) { sums in
            sums.addBounds(ofWindow: Int(row.sequenceIndex), tellsWindows: tellsWindows) {
                $0.add(
                    counts.nullValues, model, received: received, timing: row.timing, fine: nil,
                    coarse: nil, sequenceIndex: Int(row.sequenceIndex))
            }
            for (index, measure) in entry.counts {
                let isOfNulls = index == PostbacksKey.Measure.nullValues.rawValue
                sums.add(isOfNulls ? counts.nullValues : counts.postbacks, to: measure)
                if tellsWindows, measure == .installs {
                    sums.add(installs: counts.postbacks, on: time.day, app: row.app)
                }
            }
            if !time.day.isEmpty {
                sums.add(day: time.day, app: row.app, kinds: CampaignIDKinds(row.kind))
                // Cohorts without installs have equal weight.
                if tellsWindows { sums.add(installs: 0, on: time.day, app: row.app) }
            }
            sums.add(installs: interval)
        }
    }

    /// Adds the bounds of the revenue of values.
    private mutating func addValues(
        _ slice: StoreSlice, _ recorded: [Int32: RecordedDecoding]
    ) throws {
        try slice.forEachRow(of: ValuedPostbacks.reader) { partition, row in
            guard let valued = ValuedPostbacks(row) else { return }
            let row = valued.row
            let entry = figure.postbacks(row)
            guard !entry.counts.isEmpty else { return }
            let model = recorded[partition]?.models[row.app]
            let received = figure.hours[row.hour].milliseconds
            let time = figure.time(of: row, model: model)
            let tellsWindows = figure.tellsWindows
            add(entry, at: time) { sums in
                sums.addBounds(ofWindow: Int(row.sequenceIndex), tellsWindows: tellsWindows) {
                    $0.add(
                        Int128(valued.count), model, received: received, timing: row.timing,
                        fine: valued.value.fine, coarse: valued.value.coarse,
                        sequenceIndex: Int(row.sequenceIndex))
                }
            }
        }
    }

    /// Adds the revenue of values.
    private mutating func addRevenue(_ slice: StoreSlice) throws {
        let source = figure.revenue
        try slice.forEachRow(of: source.indices) { _, row in
            guard let entry = source.entry(row, figure), !entry.currency.isEmpty,
                source.isValue(row), let revenue = entry.revenue
            else { return }
            add(entry, at: figure.time(of: entry)) { sums in
                sums.add(
                    revenueMinMicros: row[measure: revenue.min], max: row[measure: revenue.max],
                    currency: .text(entry.currency))
            }
        }
    }

    private func installInterval(of row: PostbackRow, allAreZero: Bool) -> InstallInterval {
        guard figure.request.dateRule == .install, row.hasInstall else { return InstallInterval() }
        let window = row.timing.installWindow(
            received: figure.hours[row.hour].milliseconds, fineIsZero: allAreZero,
            reEngagement: false, development: false)
        guard let latest = window.latest else { return InstallInterval() }
        return InstallInterval(earliest: window.earliest, latest: latest + Hour.milliseconds)
    }

    /// The number of postbacks with fine value 0 in each row of `postbacks`: up to version 3.0 only these bound the
    /// earliest install.
    private func fineZeros(_ slice: StoreSlice) throws -> [RowKeyBytes: Int128] {
        var zeros: [RowKeyBytes: Int128] = [:]
        try slice.forEachRow(of: ValuedPostbacks.reader) { partition, row in
            guard PostbackValue(row).fine == 0 else { return }
            zeros[RowKeyBytes(partition, row.values(ValuedPostbacks.columns)), default: 0] +=
                Int128(row[.postbacks])
        }
        return zeros
    }
}
