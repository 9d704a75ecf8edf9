import ConfigurationValues
import Store
import Streams

/// A term of the funnel's rates.
enum FunnelTerm {
    case count(FunnelMeasure)
    case cost, revenueMin, revenueMax
    case appRefunds, appRefundReversals, appSales

    /// Its column in the funnel; sales do not have one.
    var name: String {
        switch self {
        case .count(let measure): measure.name
        case .cost: "cost_micros"
        case .revenueMin: "revenue_min_micros"
        case .revenueMax: "revenue_max_micros"
        case .appRefunds: "app_refunds"
        case .appRefundReversals: "app_refund_reversals"
        case .appSales: "app_sales"
        }
    }

    /// The measures that explain it.
    var measures: [String] {
        if case .cost = self { [FunnelColumn.billed, FunnelColumn.reported] } else { [name] }
    }

    /// The sum of a row; 0 for money, which is not a count.
    func count(_ row: FunnelRow) -> Int128 {
        switch self {
        case .count(let measure): row.sums[measure]
        case .appRefunds: row.sales.refunds
        case .appRefundReversals: row.sales.refundReversals
        case .appSales: row.sales.sales
        case .cost, .revenueMin, .revenueMax: 0
        }
    }

    fileprivate func amount(_ row: FunnelRow) -> ReportValue {
        switch self {
        case .count, .appRefunds, .appRefundReversals, .appSales: .integer(count(row))
        case .cost: .money(row.cost)
        case .revenueMin: .money(MoneyByCurrency(row.sums.revenueMinMicros))
        case .revenueMax: .money(MoneyByCurrency(row.sums.revenueMaxMicros))
        }
    }
}

/// The terms of a rate. The terms below the line are added.
struct FunnelRatio {
    let over: FunnelTerm
    /// Subtracted above the line.
    var less: FunnelTerm?
    let under: [FunnelTerm]
    /// Why a share of counts can be above 1, as a clause; nil for a quotient that needs no reason.
    var whyAboveOne: String?

    var terms: [FunnelTerm] { [over] + (less.map { [$0] } ?? []) + under }
}

/// A rate of a report, or a sum of its measures, with its numbers.
package struct FunnelDivision: Sendable {
    package struct Term: Sendable {
        /// A measure that can be explained.
        package let name: String
        package let value: ReportValue
    }

    package let measure: String
    /// The terms of the numerator, which are added.
    package let over: [Term]
    /// The terms that are subtracted from the numerator.
    package let less: [Term]
    /// The terms of the denominator, which are added; empty for a sum.
    package let under: [Term]
    /// The terms that are subtracted from the denominator.
    package var underLess: [Term] = []
    /// A constant that multiplies.
    package var factor: Int128 = 1
    /// A constant that divides.
    package var divisor: Int128 = 1
    /// The value in the report; null without one.
    package let value: ReportValue
    /// For `cpi`: the installs of campaigns without a known cost.
    package fileprivate(set) var installsWithoutCost: Int128 = 0
    /// Why a share can be above 1; nil for a quotient that needs no reason.
    package fileprivate(set) var whyAboveOne: String?

    /// A part of the written division: a number, or the text between numbers.
    package enum Part: Sendable {
        case term(Term)
        case sign(String)
    }

    /// All parts in order; they form the text.
    package var parts: [Part] {
        func side(_ added: [Term], less: [Term] = []) -> [Part] {
            let signed = added.map { (" + ", $0) } + less.map { (" - ", $0) }
            let sum = signed.enumerated().flatMap { index, part -> [Part] in
                index > 0 ? [.sign(part.0), .term(part.1)] : [.term(part.1)]
            }
            return signed.count > 1 && !under.isEmpty ? [.sign("(")] + sum + [.sign(")")] : sum
        }
        let above = (factor == 1 ? [] : [.sign("\(factor) × ")]) + side(over, less: less)
        let whole = under.isEmpty ? above : above + [.sign(" / ")] + side(under, less: underLess)
        return divisor == 1 ? whole : whole + [.sign(" / \(divisor)")]
    }

    /// The division in names: `clicks / (presented + viewed)`.
    package var formula: String { written { $0.name } }

    /// The division with numbers: `ctr = clicks / (presented + viewed) = 4 / (11 + 0) = 0.363636`.
    package var text: String {
        let result = [currency, value.plainText].compactMap(\.self).joined(separator: " ")
        return "\(measure) = \(formula) = \(written { $0.amount }) = \(reasonUnknown ?? result)"
    }

    private func written(_ term: (Term) -> String) -> String {
        parts.map { part in
            switch part {
            case .term(let value): term(value)
            case .sign(let sign): sign
            }
        }.joined()
    }

    /// The currency of an amount divided by a count; nil for a share, and for an amount that has it.
    package var currency: String? {
        if case .money = value { return nil }
        return under.contains { !$0.currencies.isEmpty } ? nil : over.first?.currencies.first
    }

    /// The value in JSON: amounts are in millionths.
    package var valueInJSON: String {
        var json: [UInt8] = []
        value.append(to: &json)
        return String(decoding: json, as: UTF8.self)
    }

    /// Why the rate is missing; nil when there is one.
    package var reasonUnknown: String? {
        guard value == .null else { return nil }
        let terms = over + less + under + underLess
        if let none = terms.first(where: { $0.amount == Term.unknown }) {
            return "not known: \(none.name) is missing"
        }
        let currencies = Set(terms.flatMap(\.currencies))
        guard currencies.count < 2 else {
            return
                "not known: amounts in \(MoneyByCurrency.list(currencies)) cannot be divided by one another"
        }
        return "not known: nothing to divide by"
    }

    /// Notes on the value: what lowers it, or why it is above 1.
    package var notes: [String] {
        let why = value.isAboveOne ? whyAboveOne : nil
        return [noteOnInstalls, why.map { "\(measure) is above 1 (100 %): \($0)" }]
            .compactMap(\.self)
    }

    /// A note on installs of campaigns without a known cost, which lower `cpi`; nil without such installs.
    package var noteOnInstalls: String? {
        guard installsWithoutCost > 0, let installs = under.first?.amount else { return nil }
        return
            "\(installsWithoutCost) of the \(installs) installs \(installsWithoutCost == 1 ? "belongs" : "belong") to campaigns without a known cost in these days, which lowers cpi"
    }
}

extension FunnelDivision {
    /// The division of a table's only row.
    fileprivate init(_ measure: String, _ ratio: FunnelRatio, _ table: ReportTable) {
        func value(_ name: String) -> ReportValue {
            guard let row = table.rows.first,
                let index = table.columns.firstIndex(where: { $0.name == name })
            else { return .null }
            return row[index]
        }
        self.init(measure, ratio, value: value(measure)) { value($0.name) }
    }

    /// - Parameter amount: the value of a term.
    fileprivate init(
        _ measure: String, _ ratio: FunnelRatio, value: ReportValue,
        _ amount: (FunnelTerm) -> ReportValue
    ) {
        func term(_ term: FunnelTerm) -> Term { Term(name: term.name, value: amount(term)) }
        self.init(
            measure: measure, over: [term(ratio.over)], less: ratio.less.map { [term($0)] } ?? [],
            under: ratio.under.map(term), value: value)
        whyAboveOne = ratio.whyAboveOne
    }
}

extension FunnelDivision.Term {
    static let unknown = "?"

    /// All digits of the value.
    package var amount: String { value.plainText.isEmpty ? Self.unknown : value.plainText }

    fileprivate var currencies: [String] { value.currencies }
}

extension OpenStores {
    /// Reads a rate of the funnel over all selected rows, with its terms; nil for a column that is not a rate.
    package func division(
        of measure: String, _ request: ReportRequest, _ configuration: ReportConfiguration
    ) throws -> FunnelDivision? {
        guard let column = FunnelColumn.named(measure), let ratio = column.ratio else {
            return nil
        }
        var request = request
        request.grouping = .total
        request.measures = nil
        var division =
            try request.conversion(configuration).map {
                FunnelDivision(
                    measure, ratio, try funnel(request, configuration, converting: $0).table)
            } ?? exactDivision(column, ratio, request, configuration)
        if measure == FunnelColumn.costPerInstall {
            division.installsWithoutCost = try installsWithoutCost(request, configuration)
        }
        return division
    }

    private func exactDivision(
        _ column: FunnelColumn, _ ratio: FunnelRatio, _ request: ReportRequest,
        _ configuration: ReportConfiguration
    ) throws -> FunnelDivision {
        let figure = try FunnelFigure(request, configuration)
        return try view(of: figure.streams) { view in
            var fold = FunnelFold(figure, .revenue)
            try fold.add(view.slices)
            try fold.requireKnown()
            let group = fold.groups.first
            let row = FunnelRow(
                sums: group?.sums ?? FunnelSums(), sales: group.map(fold.sales) ?? AppSales())
            return FunnelDivision(column.name, ratio, value: column.value(row)) { $0.amount(row) }
        }
    }

    /// The cost over all selected rows of the funnel, with a text that names the counted parts; nil for another column.
    package func costInWords(
        _ measure: String, _ request: ReportRequest, _ configuration: ReportConfiguration
    ) throws -> String? {
        guard measure == FunnelTerm.cost.name else { return nil }
        var request = request
        request.grouping = .total
        request.measures = nil
        let figure = try FunnelFigure(request, configuration)
        return try view(of: figure.streams) { view -> String? in
            var fold = FunnelFold(figure, .revenue)
            try fold.add(view.slices)
            guard !fold.hasUnknownCost, let cost = fold.groups.first?.sums.cost,
                let source = cost.source
            else { return nil }
            func text(_ prices: [StoredValue: Int128]) -> String {
                MoneyByCurrency(prices.mapValues { $0 / 1000 }).plainText
            }
            let total = "\(measure) = \(text(cost.pricesMicros))"
            guard source == .both else { return "\(total), \(source.rawValue)" }
            let reported = MoneyByCurrency(cost.countedReports).plainText
            return
                "\(total) = billed \(text(cost.billed)) + reported \(reported): on days with billed cost, a campaign's reported cost does not count"
        }
    }

    /// Reads a rate of `roas` over all selected rows up to one day, with its terms; nil for a column that is not a
    /// rate.
    package func division(
        of measure: String, inReturns request: ReportRequest, _ configuration: ReportConfiguration
    ) throws -> FunnelDivision? {
        guard CampaignReturns.measureNames.contains(measure),
            let ratio = FunnelColumn.named(measure)?.ratio
        else { return nil }
        var request = request
        request.grouping = .total
        return FunnelDivision(
            measure, ratio,
            try returns(request, configuration, converting: request.conversion(configuration))
                .table)
    }

    /// Reads the click rate over all selected rows, with its terms; nil for a column that is not a rate.
    package func division(
        of measure: String, inClickRates request: ReportRequest, _ catalog: Catalog = Catalog()
    ) throws(InspectionError) -> FunnelDivision? {
        guard measure == ClickRates.rate, let ratio = FunnelColumn.named(measure)?.ratio else {
            return nil
        }
        var request = request
        request.grouping = .total
        return FunnelDivision(measure, ratio, try clickRates(request, catalog).table)
    }

    private func installsWithoutCost(
        _ request: ReportRequest, _ configuration: ReportConfiguration
    ) throws -> Int128 {
        var request = request
        request.grouping = .columns(Funnel.campaignColumns)
        request.measures = nil
        return try funnel(request, configuration).table.installsWithoutCost
    }
}

extension Funnel {
    /// Whether a measure is a quotient of others.
    package static func isRatio(_ measure: String) -> Bool {
        FunnelColumn.named(measure)?.ratio != nil
    }

    /// Why a share of the funnel can be above 1, as a clause; nil for another measure.
    package static func whyAboveOne(_ measure: String) -> String? {
        FunnelColumn.named(measure)?.ratio?.whyAboveOne
    }

    /// The columns that identify a campaign.
    package static let campaignColumns = ["ad_network_id", "app_id", "campaign"]
}

extension ReportTable {
    /// A notice for each share of the funnel that is above 1 in a row. Pages explain their own columns, and programs
    /// need no explanation.
    func noticesAboveOne(as format: DumpFormat) -> [String] {
        guard format == .table else { return [] }
        return columns.indices.compactMap { index in
            guard let why = Funnel.whyAboveOne(columns[index].name),
                rows.contains(where: { $0[index].isAboveOne })
            else { return nil }
            return "\(columns[index].name) is above 1 (100 %) in some rows: \(why)"
        }
    }

    /// The installs in rows of unknown cost. Each row must be of a single campaign.
    package var installsWithoutCost: Int128 {
        func index(_ name: String) -> Int? { columns.firstIndex { $0.name == name } }
        guard let cost = index("cost_micros"), let installs = index("installs") else { return 0 }
        return rows.reduce(0) { sum, row in
            guard case .integer(let count) = row[installs] else { return sum }
            return row[cost].plainText.isEmpty ? sum + count : sum
        }
    }
}
