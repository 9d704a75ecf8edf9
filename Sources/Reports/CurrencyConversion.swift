import ConfigurationFiles
import ConfigurationValues
import ConversionModels
import Store

/// Converts amounts into one currency at the rates of their days. Each amount of a row and day is rounded to a
/// millionth once, half away from zero.
package final class CurrencyConversion {
    package let target: String
    private let rates: CurrencyRates
    /// The name of the rates file, for messages.
    private let file: String
    /// The only currency whose amounts count; nil for all.
    private let only: String?
    private var used: [String: Use] = [:]
    private var missing: [String: Set<String>] = [:]

    /// The used rates of a currency, in parts of a unit of the target.
    private struct Use {
        var lowest: (numerator: Int128, denominator: Int128)
        var highest: (numerator: Int128, denominator: Int128)
        var days: [String: (numerator: Int128, denominator: Int128)] = [:]
    }

    package init(
        to target: String, by rates: CurrencyRates, of file: String, only: String? = nil
    ) {
        self.target = target
        self.only = only
        self.rates = rates
        self.file = file
    }

    /// The amount in the target. Missing rates are collected and reported by `requireRates`.
    ///
    /// - Parameters:
    ///   - micros: millionths of the currency's unit.
    ///   - day: UTC; empty when it is not known.
    func converted(_ micros: Int128, of currency: String, on day: String) -> Int128 {
        guard only == nil || only == currency else { return 0 }
        guard micros != 0, currency != target else { return micros }
        guard let rate = rate(of: currency, on: day) else { return 0 }
        let (product, overflows) = micros.magnitude.multipliedReportingOverflow(
            by: rate.numerator.magnitude)
        guard !overflows else {
            missing[currency, default: []].insert(day)
            return 0
        }
        let divisor = rate.denominator.magnitude
        let (quotient, rest) = product.quotientAndRemainder(dividingBy: divisor)
        let rounded = Int128(quotient + (rest >= divisor - rest ? 1 : 0))
        return micros < 0 ? -rounded : rounded
    }

    /// The rate of a day, which is then used; nil without one.
    private func rate(
        of currency: String, on day: String
    ) -> (numerator: Int128, denominator: Int128)? {
        if let known = used[currency]?.days[day] { return known }
        guard let own = rates.parts(of: currency, on: day), !day.isEmpty else {
            missing[currency, default: []].insert(day)
            return nil
        }
        guard let wanted = rates.parts(of: target, on: day) else {
            missing[target, default: []].insert(day)
            return nil
        }
        add(currency, (own, wanted), day)
        return (own, wanted)
    }

    func converted(_ amounts: [StoredValue: Int128], on day: String) -> [StoredValue: Int128] {
        amounts.reduce(into: [:]) { sums, amount in
            sums[.text(target), default: 0] += converted(
                amount.value, of: amount.key.text, on: day)
        }
    }

    private func add(
        _ currency: String, _ rate: (numerator: Int128, denominator: Int128), _ day: String
    ) {
        func isLess(_ left: (Int128, Int128), _ right: (Int128, Int128)) -> Bool {
            // Parts have at most 21 digits; the notice shows six.
            left.0 * 1_000_000 / left.1 < right.0 * 1_000_000 / right.1
        }
        var use = used[currency] ?? Use(lowest: rate, highest: rate)
        if isLess(rate, use.lowest) { use.lowest = rate }
        if isLess(use.highest, rate) { use.highest = rate }
        use.days[day] = rate
        used[currency] = use
    }

    /// Throws `noRates` if an amount had no rate.
    func requireRates() throws(InspectionError) {
        guard !missing.isEmpty else { return }
        throw .noRates(
            file: file,
            missing.sorted { $0.key < $1.key }.map { ($0.key, $0.value.sorted()) }
                .map { currency, days in
                    let named = days.prefix(3).map { $0.isEmpty ? "rows without a day" : $0 }
                    let more =
                        days.count > named.count ? " and \(days.count - named.count) more" : ""
                    return
                        "\(currency.isEmpty ? "amounts without a currency" : currency) on \(named.joined(separator: ", "))\(more)"
                }.joined(separator: "; "))
    }

    /// The notice; nil if no amount needed a conversion.
    var noticeOfUse: String? { used.isEmpty ? nil : notice }

    /// The converted currencies and their rates.
    package var notice: String {
        let parts = used.sorted { $0.key < $1.key }.map { currency, use in
            let rates = Set(
                [use.lowest, use.highest].map { ReportValue.ratio($0.0, $0.1).plainText }
            )
            .sorted().joined(separator: " to ")
            let days = use.days.keys.sorted()
            let span = days.count == 1 ? days[0] : "\(days[0]) to \(days[days.count - 1])"
            return "\(currency) at \(rates) (\(span))"
        }
        return parts.isEmpty
            ? "all amounts were already in \(target): no conversion was needed"
            : "amounts are converted to \(target) with the rates in \(file): \(parts.joined(separator: ", "))"
    }
}

extension ReportRequest {
    /// The request with the rows' day among its columns, because rates depend on it, and the name of that column if it
    /// was added.
    func withDay() throws(InspectionError) -> (request: ReportRequest, added: String?) {
        let description = try DumpDescription.named(name)
        guard (measures ?? description.measures).contains(where: MoneyByCurrency.isMoney) else {
            return (self, nil)
        }
        let columns = description.columns
        guard let day = columns.first(where: { $0.kind == .day || $0.name == "day" })?.name else {
            return (self, nil)
        }
        let names =
            switch grouping {
            case .all: columns.filter(\.isDefault).map(\.name)
            case .total: [String]()
            case .columns(let names): names
            }
        guard !names.contains(day) else { return (self, nil) }
        var request = self
        request.grouping = .columns(names + [day])
        return (request, day)
    }
}

extension OpenStores {
    /// Reads an aggregate with its amounts in one currency.
    package func dump(
        _ request: ReportRequest, _ configuration: DumpConfiguration = DumpConfiguration(),
        converting conversion: CurrencyConversion
    ) throws(InspectionError) -> Dump {
        let (request, added) = try request.withDay()
        return try dumpByCurrency(request, configuration).converted(by: conversion, dropping: added)
            .withoutAddedCurrency(request)
    }
}

extension Dump {
    /// The dump in one currency.
    ///
    /// - Parameter added: the column that was added for the rates; rows are summed over it.
    func converted(
        by conversion: CurrencyConversion, dropping added: String?
    ) throws(InspectionError) -> Dump {
        guard let currencyIndex = columns.firstIndex(where: { $0.name == Self.currency }),
            let dayIndex = columns.firstIndex(where: { $0.kind == .day || $0.name == "day" })
        else { return self }
        let money = measures.indices.filter { MoneyByCurrency.isMoney(measures[$0]) }
        let indices = columns.indices.filter { columns[$0].name != added }
        var groups = RowGroups(
            by: indices,
            empty: Row(columns: [], measures: ExactSums(count: measures.count)))
        for row in rows {
            var values = row.columns
            var sums = row.measures
            let currency = values[currencyIndex].text
            let day = values[dayIndex].text
            sums.change(money) { conversion.converted($0, of: currency, on: day) }
            // Rows without a currency, such as those of auctions, have no amounts.
            if !currency.isEmpty { values[currencyIndex] = .text(conversion.target) }
            groups.add(values) { group in
                group.measures.add(sums)
                group.campaignIDKinds.formUnion(row.campaignIDKinds)
                group.days.formUnion(row.days)
            }
        }
        try conversion.requireRates()
        var dump = self
        dump.columns = indices.map { columns[$0] }
        dump.rows = groups.sorted.map { group in
            var row = group.sums
            row.columns = group.columns
            return row
        }
        return dump
    }
}
