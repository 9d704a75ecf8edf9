import ConversionModels
import Store
import Streams

/// Sums the cells of all streams into rows of the funnel.
struct FunnelFold {
    typealias Group = RowGroups<FunnelSums>.Group

    let figure: FunnelFigure
    let needs: FunnelNeeds
    private var sums: FunnelGroups
    private var salesByDay: [String: [Int64: AppSales]] = [:]
    /// The first unknown sum of rows with billing, selected or not.
    private var billingUnknown: InspectionError?
    /// The days of which every row with billing was read.
    private var daysWithAllBilling: Set<String> = []
    /// The streams with unknown sums that concern every row.
    private(set) var unknownStreams: Set<String> = []
    /// Whether a sum of the cost is unknown. The cost of a row depends on the billing in others.
    private(set) var hasUnknownCost = false
    /// The first unknown sum; nil if all are known.
    private(set) var unknown: InspectionError?
    /// The latest models of the apps, as recorded in the stores of postbacks.
    private(set) var models: [Int64: ConversionModel] = [:]

    init(_ figure: FunnelFigure, _ needs: FunnelNeeds = .all) {
        self.figure = figure
        self.needs = needs
        sums = FunnelGroups(figure, needs)
    }

    /// The groups, sorted by their columns.
    var groups: [Group] { sums.groups.sorted { $0.key < $1.key } }

    /// The groups with their amounts in one currency.
    func groups(converting conversion: CurrencyConversion) throws(InspectionError) -> [Group] {
        var converted = sums
        converted.convert(by: conversion)
        try conversion.requireRates()
        return converted.groups.sorted { $0.key < $1.key }
    }

    /// Throws the first unknown sum, for reports that have no row without it.
    func requireKnown() throws(InspectionError) {
        if let unknown { throw unknown }
    }

    /// Sales and refunds of a group's apps: on the group's day if groups have one, otherwise in the whole selected
    /// time.
    func sales(of group: Group) -> AppSales {
        guard !salesByDay.isEmpty else { return AppSales() }
        let days = sums.isByDay ? group.columns.prefix(1).map(\.text) : Array(salesByDay.keys)
        var sum = AppSales()
        for day in days where figure.selection.includes(.text(day), ofColumn: "day") {
            guard let salesByApp = salesByDay[day] else { continue }
            for app in group.sums.apps {
                if let sales = salesByApp[app] { sum += sales }
            }
        }
        return sum
    }

    // MARK: Reading

    /// Adds all stores of one state.
    mutating func add(_ slices: [StoreSlice]) throws {
        let numbers = slices.lazy.compactMap(\.cache?.funnelNumbers).first ?? FunnelNumbers()
        for slice in slices {
            let parts = try slice.funnelParts(figure, needs, numbers)
            models.add(parts.models)
            daysWithAllBilling.formUnion(parts.daysWithAllBilling)
            for part in parts.all {
                sums.note(billingOf: part.cells)
                add(part, of: slice.stream, numbers.known)
                if slice.stream == BidsFold.streamName {
                    billingUnknown = billingUnknown ?? part.cells.unknown
                }
            }
        }
        try findBilling(in: slices, numbers)
        guard sums.finishCost(numbers.known), let first = billingUnknown else { return }
        unknown = unknown ?? first
        hasUnknownCost = true
    }

    private mutating func add(
        _ part: FunnelParts.Part, of stream: String, _ known: FunnelNumbers.Known
    ) {
        let cells = part.cells
        switch stream {
        case StoreNotificationsFold.streamName:
            for sale in cells.sales
            where part.isChecked
                || figure.selection.includes(timeMilliseconds: sale.hourMilliseconds)
            { add(sale, of: stream) }
        case PostbacksFold.streamName where cells.unknown != nil:
            unknownStreams.insert(stream)
            unknown = unknown ?? cells.unknown
            _ = sums.add(cells, part.isChecked, of: stream, known)
        default:
            let hasUnknown = sums.add(cells, part.isChecked, of: stream, known)
            guard hasUnknown, let first = cells.unknown else { return }
            unknown = unknown ?? first
            if FunnelColumn.costStreams.contains(stream) { hasUnknownCost = true }
        }
    }

    /// Sales appear in every row of their app, and in a row of their own.
    private mutating func add(_ sale: FunnelCells.Sale, of stream: String) {
        if let first = sale.unknown {
            unknownStreams.insert(stream)
            unknown = unknown ?? first
        }
        if !sale.bundle.isEmpty { figure.note(unknownBundle: sale.bundle) }
        guard let app = sale.app else { return }
        salesByDay[sale.day, default: [:]][app, default: AppSales()] += sale.sales
        sums.add(app: app, on: sale.day, number: sale.dayNumber)
    }

    /// Searches billing on campaign days with reports, including rows that other conditions, names or hours exclude.
    /// The cost of a campaign day does not depend on the selected part of it.
    private mutating func findBilling(
        in slices: [StoreSlice], _ numbers: FunnelNumbers
    ) throws {
        let known = numbers.known
        let open = sums.openReports.filter {
            !daysWithAllBilling.contains(known.days[Int($0.day)])
        }
        guard !open.isEmpty, figure.selection.isNarrowed else { return }
        let days = Set(open.map { known.days[Int($0.day)] })
        let payers = Set(open.map(\.payer))
        let (figure, source) = (figure, FunnelSource.bids)
        let choice = RowChoice(
            isHourWanted: { days.contains(figure.hours[$0].day) },
            isKeyWanted: { columns in
                source.entry(AnyTableRow(columns, of: source.indices), figure).map {
                    payers.contains(numbers.payer(of: FunnelNumbers.Campaign($0)))
                } ?? false
            })
        for slice in slices where slice.stream == BidsFold.streamName {
            var reading = FunnelCellReading(slice, figure, [], [:], numbers)
            for cells in try reading.read({ _ in choice }) {
                sums.note(billingOf: cells)
                billingUnknown = billingUnknown ?? cells.unknown
            }
        }
    }
}
