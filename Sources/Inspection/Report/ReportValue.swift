/// A value of a report.
package enum ReportValue: Equatable, Sendable {
    /// Nothing: null in JSON, an empty field elsewhere.
    case null
    /// A text.
    case text(String)
    /// An exact integer.
    case integer(Int128)
    /// A decimal number, as its digits.
    case decimal(String)
    /// True or false.
    case boolean(Bool)
    /// Amounts of money.
    case money(MoneyByCurrency)

    /// The value as people read it, and as CSV has it.
    var words: String {
        switch self {
        case .null: ""
        case .text(let text), .decimal(let text): text
        case .integer(let integer): integer.description
        case .boolean(let boolean): boolean ? "true" : "false"
        case .money(let money): money.words
        }
    }

    /// The value in a line of CSV. A currency is what an event said.
    var field: CSVLine.Field {
        switch self {
        case .text(let text): .text(text)
        case .money(let money) where money.amounts.contains { !$0.currency.isEmpty }: .text(words)
        case .null, .decimal, .integer, .boolean, .money: .own(words)
        }
    }

    func append(to json: inout [UInt8]) {
        switch self {
        case .null: JSONBytes.append("null", to: &json)
        case .text(let text): JSONBytes.appendString(text.utf8, to: &json)
        case .money(let money): money.append(to: &json)
        case .integer, .decimal, .boolean: JSONBytes.append(words, to: &json)
        }
    }
}
