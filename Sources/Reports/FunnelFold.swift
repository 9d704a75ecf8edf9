import ConversionModels
import Store
import Streams

/// Sums the aggregates of all streams into rows of the funnel.
struct FunnelFold {
    typealias Group = RowGroups<FunnelSums>.Group

    let number: FunnelNumber
    private var rows: RowGroups<FunnelSums>
    private var salesByDay: [String: [Int64: AppSales]] = [:]

    init(_ number: FunnelNumber) {
        self.number = number
        // Rates are of days.
        let places = number.selection.places
        isByDay = places.first == Self.dayPlace
        rows = RowGroups(
            by: number.isConverted && !isByDay ? [Self.dayPlace] + places : places,
            empty: FunnelSums())
    }

    private static let dayPlace = 0
    private let isByDay: Bool

    /// The groups in order of their columns.
    var groups: [Group] { rows.sorted }

    /// The groups with their amounts in one currency.
    func groups(converting conversion: CurrencyConversion) throws(InspectionError) -> [Group] {
        let columnCount = number.selection.places.count
        var converted = RowGroups(by: Array(0..<columnCount), empty: FunnelSums())
        for group in groups {
            let sums = group.sums.converted(by: conversion, on: group.columns[0].text)
            converted.add(Array(group.columns.suffix(columnCount))) { $0.add(sums) }
        }
        try conversion.requireRates()
        return converted.sorted
    }

    mutating func add(_ slice: StoreSlice) throws {
        switch slice.stream {
        case PostbacksFold.streamName: try addPostbacks(slice)
        case StoreNotificationsFold.streamName: try addNotifications(slice)
        default:
            let sources = FunnelSource.byStream.first { $0.stream == slice.stream }?.sources
            for source in sources ?? [] { try addCounts(of: source, slice) }
        }
    }

    /// Lets `body` add to the group of an entry, if that is selected. It is given the values of the funnel's columns.
    private mutating func add(
        _ entry: FunnelEntry, at time: (milliseconds: Int64?, day: String),
        _ body: (inout FunnelSums, [StoredValue]) -> Void
    ) {
        guard let values = number.values(of: entry, at: time) else { return }
        rows.add(values) { sums in
            body(&sums, values)
            sums.note(app: entry.app)
        }
    }

    private mutating func addCounts(of source: FunnelSource, _ slice: StoreSlice) throws {
        let billedPlace = source.table.measures.firstIndex(of: "billed")
        try slice.forEachDay(of: source.table, number.choice(of: source)) { columns, measures in
            guard measures.contains(where: { $0 != 0 }),
                let entry = number.entry(of: source, columns)
            else { return }
            let hour = number.hours[entry.hour]
            add(entry, at: hour) { sums, values in
                for (place, measure) in entry.counts { sums.add(measures[place], to: measure) }
                for (place, measure) in entry.amounts {
                    if let billedPlace, measures[billedPlace] == 0 { continue }
                    sums.cost.add(
                        measures[place], to: measure == FunnelColumn.reported ? .reported : .billed,
                        currency: .text(entry.currency), on: values)
                }
                sums.note(day: hour.day, kinds: CampaignIDKinds(entry.kind))
            }
        }
    }

    /// Sales stand in every row of their app, and in one of its own.
    private mutating func addNotifications(_ slice: StoreSlice) throws {
        let source = FunnelSource.storeNotifications
        try slice.forEachDay(of: source.table, number.choice(of: source)) { columns, measures in
            guard measures.contains(where: { $0 != 0 }),
                let entry = number.entry(of: source, columns)
            else { return }
            let hour = number.hours[entry.hour]
            guard number.selection.includes(timeMilliseconds: hour.milliseconds) else { return }
            salesByDay[hour.day, default: [:]][entry.app, default: AppSales()] += AppSales(measures)
            add(entry, at: hour) { _, _ in }
        }
    }

    /// Sales and refunds of the apps of a group: on the group's day when groups have one, else in
    /// all of the selected time.
    func sales(of group: Group) -> AppSales {
        let days = isByDay ? group.columns.prefix(1).map(\.text) : Array(salesByDay.keys)
        var sum = AppSales()
        for day in days where number.selection.includes(.text(day), ofColumn: "day") {
            guard let salesByApp = salesByDay[day] else { continue }
            for app in group.sums.apps {
                if let sales = salesByApp[app] { sum += sales }
            }
        }
        return sum
    }
}

extension FunnelFold {
    private struct Counts {
        var postbacks = Int128(0)
        var nullValues = Int128(0)
    }

    /// Adds the postbacks of a store. What depends on several rows is computed for each partition
    /// alone, so it does not depend on which stores the partitions are in.
    private mutating func addPostbacks(_ slice: StoreSlice) throws {
        let width = FunnelSource.postbacks.table.columns.count
        // The partition, then the columns.
        var rows = RowGroups(by: Array(0...width), empty: Counts())
        try slice.forEachRow(of: FunnelSource.postbacks.table) { partition, columns, measures in
            guard measures.contains(where: { $0 != 0 }),
                !number.postbacks(PostbackRow(columns)).counts.isEmpty
            else { return }
            rows.add([.integer(Int64(partition))] + columns) { counts in
                counts.postbacks += Int128(measures[0])
                counts.nullValues += Int128(measures[1])
            }
        }
        let zeros = number.question.dateRule == .install ? try fineZeros(slice) : [:]
        let recorded = try slice.recordedDecodings()
        var installs: Set<RowKeyBytes> = []
        for group in rows.sorted {
            let partition = Int32(truncatingIfNeeded: group.columns[0].integer)
            let row = PostbackRow(Array(group.columns.dropFirst()))
            add(
                row, group.sums, model: recorded[partition]?.models[row.app],
                allAreZero: zeros[group.key] == group.sums.postbacks)
            if row.hasInstall { installs.insert(row.decodedKey(in: partition)) }
        }
        try addDecodedEvents(slice, withInstall: installs)
        try addValues(slice, recorded)
    }

    private mutating func add(
        _ row: PostbackRow, _ counts: Counts, model: ConversionModel?, allAreZero: Bool
    ) {
        let entry = number.postbacks(row)
        let time = time(
            of: entry, sequenceIndex: row.sequenceIndex, hasInstall: row.hasInstall)
        let interval = installInterval(of: row, allAreZero: allAreZero)
        let received = number.hours[row.hour].milliseconds
        let tellsWindows = number.question.tellsWindows
        add(entry, at: time) { sums, _ in
            sums.addBounds(ofWindow: Int(row.sequenceIndex), tellsWindows: tellsWindows) {
                $0.add(
                    counts.nullValues, model, received: received, timing: row.timing, fine: nil,
                    coarse: nil, sequenceIndex: Int(row.sequenceIndex))
            }
            for (place, measure) in entry.counts {
                sums.add(place == 0 ? counts.postbacks : counts.nullValues, to: measure)
                if tellsWindows, measure == .installs {
                    sums.note(installs: counts.postbacks, on: time.day)
                }
            }
            if !time.day.isEmpty { sums.note(day: time.day, kinds: CampaignIDKinds(row.kind)) }
            sums.note(installs: interval)
        }
    }

    /// Adds the bounds of the revenue that the values stand for.
    private mutating func addValues(
        _ slice: StoreSlice, _ recorded: [Int32: RecordedDecoding]
    ) throws {
        try slice.forEachRow(of: ValuedPostbacks.table) { partition, columns, measures in
            guard let valued = ValuedPostbacks(columns, measures) else { return }
            let row = valued.row
            let entry = number.postbacks(row)
            guard !entry.counts.isEmpty else { return }
            let model = recorded[partition]?.models[row.app]
            let received = number.hours[row.hour].milliseconds
            let time = time(
                of: entry, sequenceIndex: row.sequenceIndex, hasInstall: row.hasInstall)
            let tellsWindows = number.question.tellsWindows
            add(entry, at: time) { sums, _ in
                sums.addBounds(ofWindow: Int(row.sequenceIndex), tellsWindows: tellsWindows) {
                    $0.add(
                        Int128(valued.count), model, received: received, timing: row.timing,
                        fine: valued.fine, coarse: valued.coarse,
                        sequenceIndex: Int(row.sequenceIndex))
                }
            }
        }
    }

    /// - Parameter installs: what the rows of postbacks that say when an app was installed have in
    ///   common with rows of decoded events.
    private mutating func addDecodedEvents(
        _ slice: StoreSlice, withInstall installs: Set<RowKeyBytes>
    ) throws {
        let source = FunnelSource.decodedEvents
        try slice.forEachRow(of: source.table) { partition, columns, measures in
            guard let entry = number.entry(of: source, columns) else { return }
            let key = RowKeyBytes(partition, columns[0...5] + columns[7...])
            let time = time(
                of: entry, sequenceIndex: columns[5].integer, hasInstall: installs.contains(key))
            add(entry, at: time) { sums, _ in
                sums.add(
                    revenueMinMicros: measures[0], max: measures[1],
                    currency: .text(entry.currency))
            }
        }
    }

    /// When postbacks count: the hour of their arrival, or that of the latest possible install; nil
    /// without a day when that is not known.
    ///
    /// The latest install is whole hours before the arrival. So its hour and day are exact,
    /// although stores know only the hour of the arrival.
    private func time(
        of entry: FunnelEntry, sequenceIndex: Int64, hasInstall: Bool
    ) -> (milliseconds: Int64?, day: String) {
        let arrival = number.hours[entry.hour]
        guard number.question.dateRule == .install else { return arrival }
        let timing = PostbackTiming(entry.kind, sequenceIndex: sequenceIndex)
        let latest =
            hasInstall
            ? timing.installWindow(
                received: arrival.milliseconds, fineIsZero: true, reEngagement: false,
                development: false
            ).latest : nil
        return (latest, latest.map { Hour(containing: $0).day } ?? "")
    }

    private func installInterval(of row: PostbackRow, allAreZero: Bool) -> InstallInterval {
        guard number.question.dateRule == .install, row.hasInstall else { return InstallInterval() }
        let window = row.timing.installWindow(
            received: number.hours[row.hour].milliseconds, fineIsZero: allAreZero,
            reEngagement: false, development: false)
        guard let latest = window.latest else { return InstallInterval() }
        return InstallInterval(earliest: window.earliest, latest: latest + Hour.milliseconds)
    }

    /// How many postbacks of each row of `postbacks` have the fine value 0: up to version 3.0 only
    /// these show the earliest install.
    private func fineZeros(_ slice: StoreSlice) throws -> [RowKeyBytes: Int128] {
        let width = PostbackRow.columns.count
        var zeros: [RowKeyBytes: Int128] = [:]
        try slice.forEachRow(of: ValuedPostbacks.table) { partition, columns, measures in
            guard columns[width] == .text("fine"), columns[width + 1] == .text("0") else { return }
            zeros[RowKeyBytes(partition, columns[..<width]), default: 0] += Int128(measures[0])
        }
        return zeros
    }
}

extension PostbackRow {
    /// The key that decoded events share with their postbacks.
    fileprivate func decodedKey(in partition: Int32) -> RowKeyBytes {
        RowKeyBytes(
            partition,
            [
                .text(hour), .text(network), .text(campaign), .integer(app), .integer(sourceApp),
                .integer(sequenceIndex), .integer(kind == .campaignID ? 0 : 1),
            ])
    }
}
