import ConfigurationValues
import Wording

struct CellFault: Error {
    let explanation: String
}

/// Reads the cells of a field.
struct CostsCell {
    let mapping: CostMapping
    let field: CostMapping.Field

    /// Nil for an empty cell of an optional field.
    func value(of cell: String) throws(CellFault) -> String? {
        guard !cell.isEmpty else {
            guard !CostMapping.Field.required.contains(field) else {
                throw CellFault(explanation: "is empty: the \(field.rawValue) is required")
            }
            return nil
        }
        try check(cell)
        switch field {
        case .day:
            guard let day = mapping.dayFormat.isoDay(cell), isDay(day) else {
                throw CellFault(
                    explanation:
                        "has '\(cell)', which is not a day of the format \(mapping.dayFormat)")
            }
            return day
        case .amount:
            guard let number = number(cell) else { throw CellFault(explanation: noFigure(cell)) }
            // Exceeds the range of JSON numbers.
            guard Double(number)?.isFinite == true else {
                throw CellFault(explanation: "has '\(cell)', which is not between 0 and 1000000000")
            }
            return number
        case .impressions, .clicks, .installs:
            guard let digits = whole(cell[...]) else {
                throw CellFault(explanation: "has '\(cell)', which is not a count")
            }
            return digits
        case .network: return cell.asciiLowercased
        default: return cell
        }
    }

    /// Throws for invisible characters that change an identifier, or that turn a number into a text. Also throws for an
    /// identifier that a spreadsheet converted to a number.
    private func check(_ cell: String) throws(CellFault) {
        guard field != .name else { return }
        let isIdentifier = CostMapping.Field.fixed.contains(field)
        let hidden = cell.unicodeScalars.first { $0.isUnseen || (isIdentifier && $0.isOddSpace) }
        if let hidden {
            throw CellFault(
                explanation:
                    "has '\(cell.showingUnseen)', which contains \(hidden.nameInFull): remove it")
        }
        guard [.campaign, .app, .sourceApp].contains(field) else { return }
        if cell.wholeMatch(of: /[+-]?[0-9]+([.,][0-9]+)?[eE]\+[0-9]+/) != nil {
            throw CellFault(
                explanation:
                    "has '\(cell)': a spreadsheet converted the identifier to a number and lost its digits. Export the "
                    + "file again, and import it without saving it in a spreadsheet, or with this column as text"
            )
        }
        if cell.wholeMatch(of: /[0-9]+[.,]0*/) != nil || isGrouped(cell) {
            throw CellFault(
                explanation:
                    "has '\(cell)': a program wrote the identifier as a number. Export the file with this column as text"
            )
        }
    }

    /// Whether a text is digits with marks between thousands: the mapping's, or any that programs write.
    private func isGrouped(_ cell: String) -> Bool {
        if cell.wholeMatch(of: /[0-9]{1,3}([,.' ][0-9]{3})+/) != nil { return true }
        guard let mark = mapping.thousands, cell.contains(mark) else { return false }
        return whole(cell[...]) != nil
    }

    private func isDay(_ day: String) -> Bool {
        var day = day
        return day.withUTF8 { UTC.day(UnsafeRawBufferPointer($0)) } != nil
    }

    private func noFigure(_ cell: String) -> String {
        let thousands = mapping.thousands.map { ", '\($0)' between thousands" } ?? ""
        return
            "has '\(cell)', which is not an amount with the decimal point '\(mapping.decimalPoint)'\(thousands)"
    }

    /// A JSON number: an optional sign, digits, a fraction and an exponent.
    private func number(_ cell: String) -> String? {
        var text = cell
        for symbol in mapping.symbols where !symbol.isEmpty {
            text = text.replacing(symbol, with: "")
        }
        text = text.trimmedCell
        let isNegative = text.hasPrefix("-")
        if isNegative { text.removeFirst() }
        let halves = text.trimmedCell.split(
            maxSplits: 1, omittingEmptySubsequences: false, whereSeparator: { "eE".contains($0) })
        let parts = halves[0].split(
            separator: mapping.decimalPoint, omittingEmptySubsequences: false)
        let fraction = parts.count > 1 ? parts[1] : "0"
        guard (1...2).contains(parts.count),
            let whole = whole(parts.count == 2 && parts[0].isEmpty ? "0" : parts[0]),
            isDigits(fraction),
            let exponent = halves.count == 1 ? 0 : Int32(halves[1])
        else { return nil }
        let power = Int64(exponent) - (mapping.isInMicros ? 6 : 0)
        return (isNegative ? "-" : "") + whole + (parts.count == 2 ? "." + fraction : "")
            + (power == 0 ? "" : "e\(power)")
    }

    /// The digits before the decimal point, without marks between thousands and without leading zeros. The last group
    /// must have three digits: otherwise a comma may be a decimal point that the mapping does not declare.
    private func whole(_ text: Substring) -> String? {
        var digits = String(text)
        if let thousands = mapping.thousands, text.contains(where: thousands.separatesAlike) {
            let groups = text.split(
                omittingEmptySubsequences: false, whereSeparator: thousands.separatesAlike)
            guard groups.dropFirst().allSatisfy({ (2...3).contains($0.count) }),
                groups.last?.count == 3, (1...3).contains(groups[0].count)
            else { return nil }
            digits = groups.joined()
        }
        guard isDigits(digits[...]) else { return nil }
        let significant = digits.drop { $0 == "0" }
        return significant.isEmpty ? "0" : String(significant)
    }

    private func isDigits(_ text: Substring) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }
}

extension Character {
    /// Whether a character between groups of digits is equivalent to this one: all spaces are.
    fileprivate func separatesAlike(_ other: Character) -> Bool {
        self == other || (isNumberSpace && other.isNumberSpace)
    }

    /// The spaces that programs write between groups of digits.
    private var isNumberSpace: Bool {
        ["\u{20}", "\u{A0}", "\u{2007}", "\u{2009}", "\u{202F}"].contains(self)
    }
}

extension Unicode.Scalar {
    /// Whether it is invisible: byte order marks, zero-width characters, direction marks.
    fileprivate var isUnseen: Bool {
        switch value {
        case 0xAD, 0x61C, 0x180E, 0x200B...0x200F, 0x202A...0x202E, 0x2060...0x2064,
            0x2066...0x206F,
            0xFEFF:
            true
        default: false
        }
    }

    /// Whether it looks like a space but is another character. The wide space of East Asian texts is visible.
    fileprivate var isOddSpace: Bool {
        switch value {
        case 0xA0, 0x1680, 0x2000...0x200A, 0x202F, 0x205F: true
        default: false
        }
    }

    /// `U+200B ZERO WIDTH SPACE`.
    fileprivate var nameInFull: String {
        let digits = String(value, radix: 16, uppercase: true)
        let number = "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
        return properties.name.map { "\(number) \($0)" } ?? number
    }
}

extension String {
    /// The text without spaces and invisible characters at both ends.
    var trimmedCell: String {
        func isTrimmed(_ scalar: Unicode.Scalar) -> Bool {
            scalar == " " || scalar == "\t" || scalar == "\r" || scalar.isOddSpace
                || scalar.isUnseen
        }
        var rest = unicodeScalars[...]
        while let first = rest.first, isTrimmed(first) { rest.removeFirst() }
        while let last = rest.last, isTrimmed(last) { rest.removeLast() }
        return String(rest)
    }

    /// The column name for comparisons: without invisible characters, and with one kind of space.
    var headerText: String {
        var text = UnicodeScalarView()
        for scalar in trimmedCell.unicodeScalars where !scalar.isUnseen {
            text.append(scalar.isOddSpace ? " " : scalar)
        }
        return String(text)
    }

    /// The text with invisible characters and odd spaces as `\u{200B}`.
    fileprivate var showingUnseen: String {
        unicodeScalars.reduce(into: "") { text, scalar in
            text +=
                scalar.isUnseen || scalar.isOddSpace
                ? scalar.escaped(asASCII: true) : String(scalar)
        }
    }
}
