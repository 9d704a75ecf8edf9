import ConfigurationValues
import ConversionModels
import Store
import Streams

/// What the cells of the funnel depend on besides stored rows.
struct FunnelBasis: Hashable, Sendable, CustomStringConvertible {
    /// Whether postbacks count on the day of their install.
    var isByInstall = false
    var trustsDevelopment = false
    var appsByBundle: [String: Int64] = [:]
    var needs: FunnelNeeds = []
    var zone = ReportTimeZone.utc

    var description: String {
        let apps = appsByBundle.sorted { $0.key < $1.key }
        return "\(isByInstall) \(trustsDevelopment) \(apps) \(needs.rawValue) \(zone.rules)"
    }
}

/// The sums that a request shows, beyond counts and cost. They take longer to read.
struct FunnelNeeds: OptionSet, Hashable, Sendable {
    let rawValue: UInt8

    /// The decoded revenue.
    static let revenue = FunnelNeeds(rawValue: 1)
    /// Bounds of the revenue, from values and models.
    static let bounds = FunnelNeeds(rawValue: 2)
    /// The times of installs.
    static let installTimes = FunnelNeeds(rawValue: 4)
    /// The sizes of cohorts.
    static let cohorts = FunnelNeeds(rawValue: 8)
    /// The days of rows.
    static let maturity = FunnelNeeds(rawValue: 16)
    static let all: FunnelNeeds = [.revenue, .bounds, .installTimes, .cohorts, .maturity]
}

/// Reads rows of a stream into cells.
struct FunnelCellReading {
    /// Decides about trust and apps; its time and conditions do not matter.
    let figure: FunnelFigure
    let needs: FunnelNeeds
    let slice: StoreSlice
    let decodings: [Int32: RecordedDecoding]
    private let numbers: FunnelNumbers
    /// The number of the builder of an hour or day.
    private let part: (String) -> Int
    private var builders: [FunnelCellBuilder]
    private var parts: [String: Int] = [:]
    private var bounds: [BoundsKey: [(number: UInt16, amount: Int128)]] = [:]

    /// - Parameters:
    ///   - count: the number of parts.
    ///   - part: the index of the part with an hour.
    init(
        _ slice: StoreSlice, _ figure: FunnelFigure, _ needs: FunnelNeeds,
        _ decodings: [Int32: RecordedDecoding], _ numbers: FunnelNumbers, parts count: Int = 1,
        part: @escaping (String) -> Int = { _ in 0 }
    ) {
        self.slice = slice
        self.figure = figure
        self.needs = needs
        self.decodings = decodings
        self.numbers = numbers
        self.part = part
        builders = (0..<count).map { _ in FunnelCellBuilder(numbers) }
    }

    /// Reads the rows that `choice` wants.
    mutating func read(_ choice: (FunnelSource) -> RowChoice) throws -> [FunnelCells] {
        switch slice.stream {
        case PostbacksFold.streamName: try readPostbacks(choice)
        case StoreNotificationsFold.streamName:
            try readNotifications(choice(.storeNotifications))
        default:
            for source in FunnelSource.byStream.first(where: { $0.stream == slice.stream })?.sources
                ?? []
            { try readCounts(of: source, choice(source)) }
        }
        return builders.map { $0.finish() }
    }

    private mutating func index(_ hour: String) -> Int {
        if let index = parts[hour] { return index }
        let index = part(hour)
        parts[hour] = index
        return index
    }

    private mutating func note(unknownIn row: AnyTableRow, of source: FunnelSource, _ part: Int) {
        guard let index = row.firstUnknown else { return }
        let table = source.indices.table
        builders[part].unknown =
            builders[part].unknown
            ?? .unknownSum(table: table.name, measure: table.measures[index])
    }

    private mutating func readCounts(of source: FunnelSource, _ choice: RowChoice) throws {
        try slice.forEachDay(of: source.indices, choice, by: figure.hours) { row in
            guard row.hasUnknown || source.isValue(row), let entry = source.entry(row, figure)
            else { return }
            let part = index(entry.hour)
            let day = figure.hours[entry.hour].day
            let isBilled = source.billed.map { row[measure: $0] != 0 }
            var amounts: [(number: UInt16, amount: Int128)] = []
            for (index, measure) in entry.counts {
                let amount = row[measure: index]
                guard amount != 0 else { continue }
                amounts.append((builders[part].number(of: .count(measure)), Int128(amount)))
            }
            for (index, measure) in entry.amounts where isBilled != false {
                let currency = StoredValue.text(entry.currency)
                let number = builders[part].number(
                    of: measure == FunnelColumn.reported ? .reported(currency) : .billed(currency))
                amounts.append((number, Int128(row[measure: index])))
            }
            builders[part].add(entry, on: day) { sums in
                for (number, amount) in amounts { sums.add(amount, to: number) }
                sums.hasDay = true
                if row.hasUnknown { sums.hasUnknown = true }
            }
            note(unknownIn: row, of: source, part)
            guard let isBilled, !entry.amounts.isEmpty else { return }
            if isBilled { builders[part].noteBilling(of: entry, on: day, isKnown: true) }
            if row.hasUnknown { builders[part].noteBilling(of: entry, on: day, isKnown: false) }
        }
    }

    private mutating func readNotifications(_ choice: RowChoice) throws {
        let source = FunnelSource.storeNotifications
        try slice.forEachDay(of: source.indices, choice, by: figure.hours) { row in
            let text = TableRow<StoreNotificationsKey>(row)[StoreNotificationsKey.time]
            let hour = figure.hours[text]
            var sale = FunnelCells.Sale(
                hourMilliseconds: hour.milliseconds, day: hour.day,
                dayNumber: numbers.number(ofDay: hour.day))
            if let index = row.firstUnknown {
                let table = source.indices.table
                sale.unknown = .unknownSum(table: table.name, measure: table.measures[index])
            }
            if source.isValue(row) {
                sale.app = source.entry(row, figure)?.app
                sale.bundle = figure.unknownBundles.first ?? ""
                figure.forgetUnknownBundles()
                if sale.app != nil { sale.sales = AppSales(TableRow(row)) }
            }
            guard sale.app != nil || !sale.bundle.isEmpty || sale.unknown != nil else { return }
            builders[index(text)].sales.append(sale)
        }
    }
}

// MARK: Postbacks

extension FunnelCellReading {
    /// The postbacks of similar rows in a partition.
    private struct Counts {
        let partition: Int32
        let row: PostbackRow
        var postbacks = Int128(0)
        var nullValues = Int128(0)
    }

    /// Everything that the bounds of one postback depend on.
    private struct BoundsKey: Hashable {
        let partition: Int32
        let app: Int64
        let hour: String
        let timing: PostbackTiming
        let sequenceIndex: Int64
        let fine: Int?
        let coarse: CoarseValue?
    }

    private mutating func readPostbacks(_ choice: (FunnelSource) -> RowChoice) throws {
        do {
            try readCounts(choice(.postbacks), values: choice(.conversionValues))
            if needs.contains(.revenue) { try readRevenue(choice(figure.revenue)) }
            if needs.contains(.bounds) { try readValues(choice(.conversionValues)) }
        } catch let error as InspectionError {
            guard case .unknownSum = error else { throw error }
            for part in builders.indices {
                builders[part].unknown = builders[part].unknown ?? error
            }
        }
    }

    /// Values that depend on several rows are computed for each partition separately, so they do not depend on the
    /// distribution of partitions over stores.
    private mutating func readCounts(_ choice: RowChoice, values: RowChoice) throws {
        // The hour of the arrival matters for models and for days of installs only.
        guard figure.request.dateRule == .install || needs.contains(.bounds) else {
            let source = FunnelSource.postbacks
            return try slice.forEachDay(of: source.indices, choice, by: figure.hours) { any in
                let row = TableRow<PostbacksKey>(any)
                let postbacks = PostbackRow(row, PostbackRow.columns)
                guard any.isCounted, !figure.postbacks(postbacks).counts.isEmpty else { return }
                try requireKnown(any, of: source)
                try add(
                    Counts(
                        partition: 0, row: postbacks, postbacks: Int128(row[.postbacks]),
                        nullValues: Int128(row[.nullValues])), allAreZero: false)
            }
        }
        guard needs.contains(.installTimes), figure.request.dateRule == .install else {
            return try slice.forEachRow(of: FunnelSource.postbackReader, choice) { partition, row in
                let postbacks = PostbackRow(row, PostbackRow.columns)
                guard row.row.isCounted, !figure.postbacks(postbacks).counts.isEmpty else { return }
                try add(
                    Counts(
                        partition: partition, row: postbacks, postbacks: Int128(row[.postbacks]),
                        nullValues: Int128(row[.nullValues])), allAreZero: false)
            }
        }
        var counts: [RowKeyBytes: Counts] = [:]
        try slice.forEachRow(of: FunnelSource.postbackReader, choice) { partition, row in
            let postbacks = PostbackRow(row, PostbackRow.columns)
            guard row.row.isCounted, !figure.postbacks(postbacks).counts.isEmpty else { return }
            let key = RowKeyBytes(partition, row.values(PostbackRow.columns))
            counts[key, default: Counts(partition: partition, row: postbacks)].postbacks +=
                Int128(row[.postbacks])
            counts[key]?.nullValues += Int128(row[.nullValues])
        }
        let zeros = try fineZeros(values)
        for (key, counts) in counts {
            try add(counts, allAreZero: zeros[key] == counts.postbacks)
        }
    }

    private mutating func add(_ counts: Counts, allAreZero: Bool) throws {
        let row = counts.row
        let part = index(row.hour)
        let entry = figure.postbacks(row)
        let model = decodings[counts.partition]?.models[row.app]
        let day = figure.time(of: row, model: model).day
        var amounts: [(number: UInt16, amount: Int128)] = []
        var installs: Int128?
        for (index, measure) in entry.counts {
            let isOfNulls = index == PostbacksKey.Measure.nullValues.rawValue
            let amount = isOfNulls ? counts.nullValues : counts.postbacks
            amounts.append((builders[part].number(of: .count(measure)), amount))
            if measure == .installs { installs = amount }
        }
        // Cohorts without installs have equal weight.
        if needs.contains(.cohorts), installs != nil || !day.isEmpty {
            amounts.append((builders[part].number(of: .cohort), installs ?? 0))
        }
        if needs.contains(.bounds), counts.nullValues != 0 {
            amounts += bounds(
                of: row, partition: counts.partition, fine: nil, coarse: nil, part,
                times: counts.nullValues)
        }
        let interval =
            needs.contains(.installTimes) ? installInterval(of: row, allAreZero: allAreZero) : nil
        builders[part].add(entry, on: day) { sums in
            for (number, amount) in amounts { sums.add(amount, to: number) }
            if !day.isEmpty { sums.hasDay = true }
            guard let interval else { return }
            sums.installs = sums.installs ?? InstallInterval()
            sums.installs?.formUnion(interval)
        }
    }

    /// The bounds of the revenue of postbacks with the same value, or without a value.
    private mutating func bounds(
        of row: PostbackRow, partition: Int32, fine: Int?, coarse: CoarseValue?, _ part: Int,
        times count: Int128
    ) -> [(number: UInt16, amount: Int128)] {
        let key = BoundsKey(
            partition: partition, app: row.app, hour: row.hour, timing: row.timing,
            sequenceIndex: row.sequenceIndex, fine: fine, coarse: coarse)
        if let known = bounds[key] { return known.map { ($0.number, $0.amount * count) } }
        var one = RevenueBounds()
        one.add(
            1, decodings[partition]?.models[row.app], received: figure.hours[row.hour].milliseconds,
            timing: row.timing, fine: fine, coarse: coarse, sequenceIndex: Int(row.sequenceIndex))
        let amounts = one.amounts(ofWindow: Int(row.sequenceIndex)).map {
            (number: builders[part].number(of: $0), amount: $1)
        }
        bounds[key] = amounts
        return amounts.map { ($0.number, $0.amount * count) }
    }

    /// Reads the bounds of the revenue of values.
    private mutating func readValues(_ choice: RowChoice) throws {
        try slice.forEachRow(of: ValuedPostbacks.reader, choice) { partition, row in
            guard let valued = ValuedPostbacks(row) else { return }
            let row = valued.row
            let entry = figure.postbacks(row)
            guard !entry.counts.isEmpty else { return }
            let part = index(row.hour)
            let day = figure.time(of: row, model: decodings[partition]?.models[row.app]).day
            let amounts = bounds(
                of: row, partition: partition, fine: valued.value.fine,
                coarse: valued.value.coarse, part, times: Int128(valued.count))
            builders[part].add(entry, on: day) { sums in
                for (number, amount) in amounts { sums.add(amount, to: number) }
            }
        }
    }

    /// Reads the decoded revenue.
    private mutating func readRevenue(_ choice: RowChoice) throws {
        let source = figure.revenue
        try slice.forEachDay(of: source.indices, choice, by: figure.hours) { row in
            guard let entry = source.entry(row, figure), !entry.currency.isEmpty,
                source.isValue(row), let revenue = entry.revenue
            else { return }
            try requireKnown(row, of: source)
            let part = index(entry.hour)
            let currency = StoredValue.text(entry.currency)
            let (least, most) = (
                builders[part].number(of: .revenueMin(currency)),
                builders[part].number(of: .revenueMax(currency))
            )
            builders[part].add(entry, on: figure.time(of: entry).day) { sums in
                sums.add(Int128(row[measure: revenue.min]), to: least)
                sums.add(Int128(row[measure: revenue.max]), to: most)
            }
        }
    }

    private func requireKnown(
        _ row: AnyTableRow, of source: FunnelSource
    ) throws(InspectionError) {
        guard let index = row.firstUnknown else { return }
        throw .unknownSum(
            table: source.stored.name, measure: source.indices.table.measures[index])
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
    private func fineZeros(_ choice: RowChoice) throws -> [RowKeyBytes: Int128] {
        var zeros: [RowKeyBytes: Int128] = [:]
        try slice.forEachRow(of: ValuedPostbacks.reader, choice) { partition, row in
            guard PostbackValue(row).fine == 0 else { return }
            zeros[RowKeyBytes(partition, row.values(ValuedPostbacks.columns)), default: 0] +=
                Int128(row[.postbacks])
        }
        return zeros
    }
}
