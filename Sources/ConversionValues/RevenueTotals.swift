import JSONReader
import Streams

/// Reads what an install has spent so far, by currency.
enum RevenueTotals {
    /// No total is larger than this, in units of its currency.
    static let largest = 1_000_000_000.0
    /// So many currencies are read.
    static let mostCurrencies = 16

    /// Micros by currency, of a JSON object such as `{"USD": 4.99}`; empty without one.
    ///
    /// Amounts are rounded to a hundredth of a hundredth: clients that follow the guide add them up in
    /// single precision, so that 74.99 arrives as 74.98999786376953. Throws `malformed_json`,
    /// `wrong_type` and `out_of_range`.
    static func micros(_ text: String?) throws(Rejection) -> [String: Int64] {
        guard let text else { return [:] }
        guard let parser = JSONParser() else {
            throw Rejection(.tooLarge, "total_revenue_by_currency: no memory to parse it")
        }
        var totals: [String: Int64] = [:]
        var fault: Rejection?
        Array(text.utf8).withUnsafeBytes { bytes in
            do throws(JSONFault) {
                let root = try parser.parse(bytes)
                guard root.isObject else {
                    fault = Rejection(.wrongType, "total_revenue_by_currency is no object")
                    return
                }
                root.forEachMember { name, value in
                    let currency = String(decoding: name, as: UTF8.self)
                    guard fault == nil, totals[currency] == nil, !value.isNull else { return }
                    fault = add(value, currency, to: &totals)
                }
            } catch {
                fault = Rejection(.malformedJSON, "total_revenue_by_currency is no JSON")
            }
        }
        if let fault { throw fault }
        return totals
    }

    private static func add(
        _ value: JSONValue, _ currency: String, to totals: inout [String: Int64]
    ) -> Rejection? {
        guard currency.utf8.count == 3,
            currency.utf8.allSatisfy({ (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) })
        else {
            return Rejection(
                .outOfRange,
                "total_revenue_by_currency has a key that is no currency: write ISO 4217, as USD")
        }
        guard totals.count < mostCurrencies else {
            return Rejection(
                .outOfRange, "total_revenue_by_currency has more than \(mostCurrencies) currencies")
        }
        guard let amount = value.number?.double else {
            return Rejection(.wrongType, "total_revenue_by_currency.\(currency) is not a number")
        }
        guard amount >= 0, amount <= largest else {
            return Rejection(
                .outOfRange,
                "total_revenue_by_currency.\(currency) is not between 0 and \(Int(largest))")
        }
        totals[currency] = Int64((amount * 10_000).rounded()) * 100
        return nil
    }
}
