import Foundation
import Wording

/// The value of a unit of each currency, by day: `rates.csv`.
///
///     day,currency,base,rate
///     2026-11-20,EUR,USD,1.0841
///
/// On the day of a line, a unit of the currency was worth `rate` units of the base. All lines have the same base.
package struct CurrencyRates: Equatable, Sendable {
    /// Rates are whole numbers of these parts of a unit.
    package static let partsInUnit: Int128 = 1_000_000_000_000
    package static let fileName = "rates.csv"

    package let base: String
    private let parts: [String: [String: Int128]]

    /// The base and all other currencies, in bytewise order after the base.
    package var currencies: [String] { [base] + parts.keys.sorted() }

    /// The value of a unit of the currency on a day, in parts of the base; nil without a line for it.
    package func parts(of currency: String, on day: String) -> Int128? {
        currency == base ? Self.partsInUnit : parts[currency]?[day]
    }

    /// Reads the text of a file. Throws a fault with its line.
    init(_ text: String, file: String) throws(ConfigurationError) {
        let header = ["day", "currency", "base", "rate"]
        var base: String?
        var parts: [String: [String: Int128]] = [:]
        var isHeaderRead = false
        for (index, line) in text.split(
            omittingEmptySubsequences: false, whereSeparator: \.isNewline
        ).enumerated() {
            func fault(_ column: String, _ explanation: String) -> ConfigurationError {
                ConfigurationError(
                    kind: .badValue, file: file, line: index + 1, keyPath: column,
                    explanation: explanation)
            }
            guard !line.isEmpty, !line.hasPrefix("#") else { continue }
            let fields = line.split(separator: ",", omittingEmptySubsequences: false).map {
                String($0.filter { $0 != " " && $0 != "\u{FEFF}" })
            }
            guard isHeaderRead else {
                guard fields == header else {
                    throw fault("", "must start with the line \(header.joined(separator: ","))")
                }
                isHeaderRead = true
                continue
            }
            guard fields.count == header.count else {
                throw fault(
                    "",
                    "has \(counted(fields.count, "field")): write \(header.joined(separator: ","))")
            }
            let (day, currency, lineBase) = (fields[0], fields[1], fields[2])
            guard day.wholeMatch(of: /\d{4}-\d\d-\d\d/) != nil, isDay(day) else {
                throw fault("day", "is '\(day)': write a day, for example 2026-11-20")
            }
            for (column, code) in [("currency", currency), ("base", lineBase)] {
                guard code.wholeMatch(of: /[A-Z]{3}/) != nil else {
                    throw fault(
                        column, "is '\(code)': write three capital letters, for example EUR")
                }
            }
            guard base ?? lineBase == lineBase else {
                throw fault(
                    "base",
                    "is \(lineBase), but \(base ?? "") in earlier lines: use one base in a file")
            }
            guard currency != lineBase else {
                throw fault("currency", "is the base, which has the rate 1: remove the line")
            }
            guard let rate = Self.rate(fields[3]) else {
                throw fault(
                    "rate",
                    "is '\(fields[3])': write a number above 0, with up to 9 digits before the point and 12 after it"
                )
            }
            guard parts[currency, default: [:]].updateValue(rate, forKey: day) == nil else {
                throw fault("day", "\(currency) has a rate for \(day) in an earlier line: keep one")
            }
            base = lineBase
        }
        guard let base else {
            throw ConfigurationError(
                kind: .badValue, file: file,
                explanation: "has no rates: add lines, or remove the file")
        }
        self.base = base
        self.parts = parts
    }

    private static func rate(_ text: String) -> Int128? {
        guard let match = text.wholeMatch(of: /(\d{1,9})(?:\.(\d{1,12}))?/) else { return nil }
        let fraction = match.2.map(String.init) ?? ""
        let digits = match.1 + fraction + String(repeating: "0", count: 12 - fraction.count)
        return Int128(digits).flatMap { $0 > 0 ? $0 : nil }
    }
}

extension PipelineDirectory {
    package var hasRates: Bool { source.isNamed(ratesPath) }

    package var ratesPath: String { "\(path)/\(CurrencyRates.fileName)" }

    /// Throws if the file is missing.
    package func rates() throws(ConfigurationError) -> CurrencyRates {
        guard hasRates else {
            throw ConfigurationError(
                kind: .missingFile, file: ratesPath,
                explanation:
                    "does not exist: create it with the line day,currency,base,rate and a line for each day and currency"
            )
        }
        return try CurrencyRates(source.text(of: ratesPath), file: ratesPath)
    }
}

/// Whether the day exists in the calendar.
private func isDay(_ text: String) -> Bool {
    let parts = text.split(separator: "-").compactMap { Int($0) }
    guard parts.count == 3, parts[0] > 0 else { return false }
    let calendar = Calendar(identifier: .gregorian)
    return DateComponents(calendar: calendar, year: parts[0], month: parts[1], day: parts[2])
        .isValidDate
}
