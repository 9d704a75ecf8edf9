import ConversionModels
import Store
import Streams
import Synchronization

/// The cells of a stream that a request needs.
struct FunnelParts {
    struct Part {
        let cells: FunnelCells
        /// Whether all of its rows are of the selected time.
        let isChecked: Bool
    }

    var all: [Part] = []
    /// Every row with billing on these days was read.
    var daysWithAllBilling: Set<String> = []
    /// The latest models of the apps.
    var models: [Int64: ConversionModel] = [:]
}

extension StoreSlice {
    /// Reads the cells that a request needs, or takes them from the cache.
    func funnelParts(
        _ figure: FunnelFigure, _ needs: FunnelNeeds, _ numbers: FunnelNumbers
    ) throws -> FunnelParts {
        var parts = FunnelParts()
        let isOfPostbacks = stream == PostbacksFold.streamName
        let hours = try cache?.hours.hours(of: self)
        let decodings = isOfPostbacks ? try hours?.decodings ?? recordedDecodings() : [:]
        for decoding in decodings.values { parts.models.add(decoding.models) }
        let reader = FunnelPartReader(
            slice: self, figure: figure, needs: isOfPostbacks ? needs : [], numbers: numbers,
            decodings: decodings)
        if let cache, let hours {
            try reader.read(from: cache.cells, hours, into: &parts)
        } else {
            parts.all = [try reader.readSelected()]
        }
        return parts
    }
}

/// Reads the cells of one slice.
private struct FunnelPartReader {
    let slice: StoreSlice
    let figure: FunnelFigure
    let needs: FunnelNeeds
    let numbers: FunnelNumbers
    let decodings: [Int32: RecordedDecoding]

    private var isByInstall: Bool {
        slice.stream == PostbacksFold.streamName && figure.request.dateRule == .install
    }

    /// Whether rows count in the hour of their records. No other records change them.
    private var hasHours: Bool {
        let sources = FunnelSource.byStream.first { $0.stream == slice.stream }?.sources ?? []
        return !sources.contains(where: \.stored.hasDays)
    }

    /// Reads the rows that the request selects, without a cache.
    func readSelected() throws -> FunnelParts.Part {
        var reading = FunnelCellReading(slice, figure, needs, decodings, numbers)
        let figure = figure
        let cells = try reading.read { source in
            var choice = figure.choice(of: source)
            guard hasHours, !isByInstall else { return choice }
            choice.isHourWanted = { figure.includes(hour: $0) }
            return choice
        }
        return FunnelParts.Part(cells: cells[0], isChecked: hasHours && !isByInstall)
    }

    func read(
        from cache: UnitCache<FunnelBasis, FunnelCells>, _ hours: FoldedHours,
        into parts: inout FunnelParts
    ) throws {
        guard hasHours else {
            parts.all = [
                FunnelParts.Part(
                    cells: try whole(needs, cache, hours) { _ in RowChoice() }, isChecked: false)
            ]
            return
        }
        var hourNeeds = needs
        if isByInstall, needs.contains(.revenue) {
            // Rows of cohorts have the day of the install, and records of any hour change them.
            hourNeeds.remove(.revenue)
            parts.all.append(
                FunnelParts.Part(
                    cells: try whole(.revenue, cache, hours) { source in
                        source.stored.name == InstallCohortsKey.table.name
                            ? RowChoice() : RowChoice(isHourWanted: { _ in false })
                    }, isChecked: false))
        }
        let wanted = wantedUnits(hours, &parts)
        parts.all += try units(wanted.map(\.unit), hourNeeds, cache, hours).enumerated().map {
            index, cells in
            var cells = cells
            if wanted[index].isBillingOnly {
                var billing = FunnelCells()
                billing.billedDays = cells.billedDays
                billing.unknownDays = cells.unknownDays
                billing.unknown = cells.unknown
                cells = billing
            }
            return FunnelParts.Part(cells: cells, isChecked: !isByInstall)
        }
    }

    /// The cells of all rows of a table whose rows any record may change.
    private func whole(
        _ needs: FunnelNeeds, _ cache: UnitCache<FunnelBasis, FunnelCells>, _ hours: FoldedHours,
        _ choice: (FunnelSource) -> RowChoice
    ) throws -> FunnelCells {
        let key = key(needs, "")
        let version = UnitVersion(hours, of: slice)
        if let cells = cache.value(key, version) { return cells }
        var reading = FunnelCellReading(
            slice, try FunnelFigure(ofEveryRow: figure), needs, decodings, numbers)
        let cells = try reading.read(choice)[0]
        cache.keep(cells, key, version)
        return cells
    }

    private func key(
        _ needs: FunnelNeeds, _ time: String
    ) -> UnitKey<FunnelBasis> {
        var basis = figure.basis(needs)
        if slice.stream != PostbacksFold.streamName {
            basis.isByInstall = false
            basis.trustsDevelopment = false
        }
        if slice.stream != StoreNotificationsFold.streamName { basis.appsByBundle = [:] }
        return UnitKey(slice, basis, time: time)
    }

    // MARK: Hours and days

    private typealias Wanted = (unit: FoldedHours.Unit, isBillingOnly: Bool)

    /// The days and hours to read: days that are selected as a whole, and single hours of days that still change or
    /// are selected in part.
    private func wantedUnits(_ hours: FoldedHours, _ parts: inout FunnelParts) -> [Wanted] {
        var wanted: [Wanted] = []
        let days = hours.days(figure.hours)
        for (index, day) in days.enumerated() {
            let selected = day.hours.map {
                isByInstall ? figure.mayCount(inHour: $0.text) : figure.includes(hour: $0.text)
            }
            guard selected.contains(true) else { continue }
            let isWhole = isByInstall || !selected.contains(false)
            if isWhole, index + FoldedHours.openDays < days.count {
                wanted.append((day.unit, false))
            } else {
                for (hour, isSelected) in zip(day.hours, selected) {
                    wanted.append((hour.unit, !isSelected && !isByInstall))
                }
            }
            if slice.stream == BidsFold.streamName { parts.daysWithAllBilling.insert(day.text) }
        }
        // Only bids have billing.
        guard slice.stream != BidsFold.streamName else { return wanted }
        return wanted.filter { !$0.isBillingOnly }
    }

    /// The cells of days and hours. Missing ones are read at once, and kept if they have all campaigns.
    private func units(
        _ units: [FoldedHours.Unit], _ needs: FunnelNeeds,
        _ cache: UnitCache<FunnelBasis, FunnelCells>,
        _ hours: FoldedHours
    ) throws -> [FunnelCells] {
        var found = units.map { unit in
            cache.value(key(needs, unit.text), UnitVersion(hours, unit))
        }
        for isDay in [true, false] {
            let missing = units.indices.filter { found[$0] == nil && units[$0].isDay == isDay }
            guard !missing.isEmpty else { continue }
            let every = try FunnelFigure(ofEveryRow: figure)
            var partOfTime: [String: Int] = [:]
            for (part, index) in missing.enumerated() { partOfTime[units[index].text] = part }
            func time(_ hour: String) -> String {
                isDay ? figure.hours[hour].day : hour
            }
            // One hour after the other, so that rows of an hour are not added to those of its day.
            let rounds = isDay ? [missing] : missing.map { [$0] }
            for round in rounds {
                let texts = Set(round.map { units[$0].text })
                var reading = FunnelCellReading(
                    slice, every, needs, decodings, numbers, parts: round.count
                ) { isDay ? partOfTime[time($0)] ?? 0 : 0 }
                let cells = try reading.read { _ in
                    RowChoice(isHourWanted: { texts.contains(time($0)) })
                }
                for (index, cells) in zip(round, cells) {
                    found[index] = cells
                    cache.keep(
                        cells, key(needs, units[index].text), UnitVersion(hours, units[index]))
                }
            }
        }
        return found.compactMap(\.self)
    }
}
