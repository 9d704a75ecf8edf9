import Wording

/// Maps the lines of a kind of CSV file to reports of costs: `costs/<name>.yaml`.
package struct CostMapping: Equatable, Sendable {
    /// The fields of a report, named as in `weir dump costs` and in the events.
    package enum Field: String, CaseIterable, Sendable {
        case source, day
        case network = "ad_network_id"
        case campaign
        case app = "app_id"
        case sourceApp = "source_app_id"
        case name, country, currency, amount, impressions, clicks, installs

        /// The required fields of a report.
        package static let required: [Field] = [.source, .day, .currency, .amount]
        /// Fields that a mapping can set for all lines.
        package static let fixed: [Field] = [
            .source, .network, .campaign, .app, .sourceApp, .country, .currency,
        ]
        package static let counts: [Field] = [.impressions, .clicks, .installs]
    }

    /// Lines that are not reports, such as totals.
    package struct Skip: Equatable, Sendable {
        package var column: String
        /// The texts of the column in such lines.
        package var values: [String]
        /// The beginning of the column's text in such lines; nil if `values` selects them.
        package var prefix: String?

        package init(column: String, values: [String] = [], prefix: String? = nil) {
            self.column = column
            self.values = values
            self.prefix = prefix
        }

        package func includes(_ text: String) -> Bool {
            values.contains(text) || prefix.map { text.hasPrefix($0) } ?? false
        }
    }

    package enum RepeatedRows: String, CaseIterable, Sendable {
        /// Two lines of one day, campaign, country and currency are an error.
        case refuse
        /// Their amounts are added up: the file is finer than costs are.
        case addUp = "add_up"
    }

    /// The header of each field's column.
    package var columns: [Field: String] = [:]
    /// Other possible headers of a field's column, in order of preference after the one in `columns`.
    package var otherHeaders: [Field: [String]] = [:]
    /// The prefix of a line above the header that has a field's value for all lines. It counts in files without the
    /// field's column.
    package var above: [Field: String] = [:]
    /// The values for all lines.
    package var fixed: [Field: String] = [:]
    /// A comma, a semicolon or a tab, as a byte.
    package var separator = UInt8(ascii: ",")
    package var dayFormat = DayFormat.iso
    package var decimalPoint: Character = "."
    /// Between groups of digits; nil without a separator.
    package var thousands: Character?
    /// Whether amounts are in millionths of the unit.
    package var isInMicros = false
    /// Allowed texts before or after the digits of an amount.
    package var symbols: [String] = []
    /// Texts that mean an empty value.
    package var empty: [String] = []
    package var skip: [Skip] = []
    package var repeatedRows = RepeatedRows.refuse

    package init() {}

}

/// The form of a day: digits of year, month and day, with other characters between them.
package struct DayFormat: Equatable, Sendable {
    enum Part: Equatable, Sendable {
        case year, month, day
        case other(Character)
    }

    private let parts: [Part]
    private let text: String

    /// `2026-11-20`
    package static let iso = DayFormat(
        parts: [.year, .other("-"), .month, .other("-"), .day], text: "yyyy-MM-dd")

    private init(parts: [Part], text: String) {
        self.parts = parts
        self.text = text
    }

    /// Reads `yyyy-MM-dd`, `M/d/yyyy` and similar texts; nil unless each of the three occurs once.
    init?(_ text: String) {
        var parts: [Part] = []
        var rest = text[...]
        while let first = rest.first {
            let run = rest.prefix { $0 == first }
            switch run {
            case "yyyy": parts.append(.year)
            case "MM", "M": parts.append(.month)
            case "dd", "d": parts.append(.day)
            default:
                guard !first.isLetter, !first.isNumber else { return nil }
                parts += run.map { .other($0) }
            }
            rest = rest.dropFirst(run.count)
        }
        let numbers: [Part] = [.year, .month, .day]
        guard numbers.allSatisfy({ number in parts.count { $0 == number } == 1 }) else {
            return nil
        }
        self.init(parts: parts, text: text)
    }

    /// A day of this form as `2026-11-20`; nil for another text. Does not check the calendar.
    package func isoDay(_ text: String) -> String? {
        var numbers: [String] = ["", "", ""]
        var rest = text[...]
        for (place, part) in parts.enumerated() {
            if case .other(let character) = part {
                guard rest.popFirst() == character else { return nil }
                continue
            }
            let width = part == .year ? 4 : 2
            let digits = rest.prefix(width).prefix { ("0"..."9").contains($0) }
            // A shorter number is unambiguous only if another character ends it.
            let mayBeShort =
                part != .year && (place + 1 == parts.count || !isNumber(parts[place + 1]))
            guard digits.count == width || (mayBeShort && digits.count == 1) else { return nil }
            let index = part == .year ? 0 : part == .month ? 1 : 2
            numbers[index] = String(repeating: "0", count: width - digits.count) + digits
            rest = rest.dropFirst(digits.count)
        }
        return rest.isEmpty ? numbers.joined(separator: "-") : nil
    }

    private func isNumber(_ part: Part) -> Bool {
        if case .other = part { false } else { true }
    }
}

extension DayFormat: CustomStringConvertible {
    package var description: String { text }
}

extension PipelineDirectory {
    static let costsName = "costs"

    /// The mapping of `costs/<name>.yaml`. If it is missing, throws with the existing names.
    package func costMapping(_ name: String) throws(ConfigurationError) -> CostMapping {
        let names = try costMappingNames()
        guard names.contains(name) else {
            throw ConfigurationError(
                kind: .missingFile, file: "\(path)/\(Self.costsName)/\(name).yaml",
                explanation: names.isEmpty
                    ? "does not exist: copy the mappings that Weir ships in pipelines/costs"
                    : "does not exist: \(UnknownName(name, known: names))")
        }
        return try CostMapping(
            root(of: "\(path)/\(Self.costsName)/\(name).yaml"))
    }

    /// In bytewise order.
    package func costMappingNames() throws(ConfigurationError) -> [String] {
        try names(in: Self.costsName).map(\.withoutYAML).sorted()
    }
}

extension CostMapping {
    package static let keys =
        ["columns", "above"] + Field.fixed.map(\.rawValue) + [
            "separator", "day_format", "decimal_point", "thousands", "micros", "symbols", "empty",
            "skip", "repeated_rows",
        ]

    fileprivate init(_ node: ConfigurationNode) throws(ConfigurationError) {
        let mapping = try node.mapping(Self.keys)
        for (key, value) in try mapping.required("columns").entries() {
            guard let field = Field(rawValue: key) else {
                let known = Field.allCases.map(\.rawValue).joined(separator: ", ")
                throw value.fault(.unknownKey, "unknown field; known here: \(known)")
            }
            guard value.isList else {
                columns[field] = try value.name()
                continue
            }
            let names = try value.elements().map { name throws(ConfigurationError) in
                try name.name()
            }
            guard let first = names.first else { throw value.badValue("is empty: name a column") }
            columns[field] = first
            otherHeaders[field] = Array(names.dropFirst())
        }
        for (key, value) in try mapping["above"]?.entries() ?? [] {
            guard let field = Field(rawValue: key), Field.fixed.contains(field) else {
                let known = Field.fixed.map(\.rawValue).joined(separator: ", ")
                throw value.fault(.unknownKey, "is not a field for all lines; known here: \(known)")
            }
            above[field] = try value.name()
        }
        for field in Field.fixed {
            guard let value = mapping[field.rawValue] else { continue }
            guard columns[field] == nil, above[field] == nil else {
                throw value.badValue("is also given as a column or a line above: keep one of them")
            }
            fixed[field] = try value.value(of: field)
        }
        for field in Field.required
        where columns[field] == nil && fixed[field] == nil && above[field] == nil {
            let place = Field.fixed.contains(field) ? "here, or as a column" : "as a column"
            throw node.fault(.missingKey, "\(field.rawValue) is missing: give it \(place)")
        }
        if let value = mapping["separator"] { separator = try value.separator() }
        if let value = mapping["day_format"] {
            guard let format = DayFormat(try value.text("a day format")) else {
                throw value.badValue(
                    "is not a day format: write yyyy, MM and dd (M and d without a leading zero) once each"
                )
            }
            dayFormat = format
        }
        if let value = mapping["decimal_point"] { decimalPoint = try value.mark() }
        if let value = mapping["thousands"] {
            let mark = try value.mark()
            guard mark != decimalPoint else {
                throw value.badValue("equals decimal_point: use another character")
            }
            thousands = mark
        }
        isInMicros = try mapping.boolean("micros", default: false)
        symbols = try mapping["symbols"]?.texts() ?? []
        empty = try mapping["empty"]?.texts() ?? []
        for element in try mapping["skip"]?.elements() ?? [] { skip.append(try element.skip()) }
        repeatedRows = try mapping["repeated_rows"]?.word(RepeatedRows.self) ?? .refuse
    }
}

extension ConfigurationNode {
    fileprivate func value(of field: CostMapping.Field) throws(ConfigurationError) -> String {
        switch field {
        case .app, .sourceApp: return "\(try app())"
        case .network: return try networkID()
        case .currency: return try currency()
        default: return try name()
        }
    }

    /// Three capital letters.
    func currency() throws(ConfigurationError) -> String {
        let text = try text("a currency")
        guard text.wholeMatch(of: /[A-Z]{3}/) != nil else {
            throw badValue("is '\(text)': write three capital letters, for example USD")
        }
        return text
    }

    fileprivate func separator() throws(ConfigurationError) -> UInt8 {
        switch try text("a comma, a semicolon or a tab") {
        case ",", "comma": return UInt8(ascii: ",")
        case ";", "semicolon": return UInt8(ascii: ";")
        case "\t", "tab": return UInt8(ascii: "\t")
        case let text: throw badValue("is '\(text)': write comma, semicolon or tab")
        }
    }

    /// One character that is not a digit.
    fileprivate func mark() throws(ConfigurationError) -> Character {
        let text = try text("a character")
        guard text.count == 1, let mark = text.first, !mark.isNumber, !mark.isLetter, mark != "-"
        else { throw badValue("is '\(text)': write one character, as \",\"") }
        return mark
    }

    fileprivate func texts() throws(ConfigurationError) -> [String] {
        try elements().map { element throws(ConfigurationError) in
            try element.text("a text")
        }
    }

    fileprivate func skip() throws(ConfigurationError) -> CostMapping.Skip {
        let mapping = try mapping(["column", "values", "prefix"])
        var skip = CostMapping.Skip(column: try mapping.required("column").name())
        skip.values = try mapping["values"]?.texts() ?? []
        skip.prefix = try mapping["prefix"]?.name()
        guard skip.values.isEmpty == (skip.prefix != nil) else {
            throw fault(.missingKey, "needs either values or a prefix, not both")
        }
        return skip
    }
}
