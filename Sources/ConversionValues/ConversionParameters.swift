import ConversionModels
import JSON
import Streams

/// The parameters of a request as text. If a name occurs twice, the first counts.
package struct ConversionParameters: Sendable {
    private var values: [String: String] = [:]

    /// Decoded parameters of a query or a form.
    package init(_ pairs: some Sequence<(name: String, value: String)>) {
        for (name, value) in pairs where values[name] == nil { values[name] = value }
    }

    /// The members of a JSON object: texts, numbers, booleans, and objects as JSON. Null counts as absent. Throws
    /// `malformed_json` and the other rejections of JSON, and `wrong_type` if it is not an object.
    package init(json bytes: [UInt8]) throws(Rejection) {
        guard let parser = JSONParser() else {
            throw Rejection(.tooLarge, "not enough memory to parse it")
        }
        var values: [String: String] = [:]
        let fault = bytes.withUnsafeBytes { bytes -> Rejection? in
            do throws(JSONFault) {
                let root = try parser.parse(bytes)
                guard root.isObject else {
                    return Rejection(.wrongType, "the body is not an object")
                }
                root.forEachMember { name, value in
                    let name = String(decoding: name, as: UTF8.self)
                    guard values[name] == nil, !value.isNull else { return }
                    values[name] = Self.text(value)
                }
                return nil
            } catch {
                return Rejection(error)
            }
        }
        if let fault { throw fault }
        self.values = values
    }

    /// Adds missing parameters from `others`.
    package func filled(from others: ConversionParameters) -> ConversionParameters {
        var all = self
        all.values.merge(others.values) { own, _ in own }
        return all
    }

    private static func text(_ value: JSONValue) -> String {
        if let text = value.string { return String(decoding: text, as: UTF8.self) }
        var json = JSONText()
        json.value(value)
        return json.text
    }

    /// Nil if it is absent or empty.
    subscript(name: String) -> String? {
        guard let value = values[name], !value.isEmpty else { return nil }
        return value
    }

    /// Whether a parameter is present, even empty.
    func has(_ name: String) -> Bool { values[name] != nil }
}

/// The total revenue of an install, by currency.
enum RevenueTotals {
    /// The largest total, in units of its currency.
    static let largest = 1_000_000_000.0
    static let mostCurrencies = 16

    /// Micros by currency, from a JSON object such as `{"USD": 4.99}`; empty without one.
    ///
    /// Amounts are rounded to 0.0001: clients that follow the guide add them up in single precision, so that 74.99
    /// arrives as 74.98999786376953. Throws `malformed_json`, `wrong_type` and `out_of_range`.
    static func micros(_ text: String?) throws(Rejection) -> [String: Int64] {
        guard let text else { return [:] }
        guard let parser = JSONParser() else {
            throw Rejection(.tooLarge, "total_revenue_by_currency: not enough memory to parse it")
        }
        var totals: [String: Int64] = [:]
        var fault: Rejection?
        Array(text.utf8).withUnsafeBytes { bytes in
            do throws(JSONFault) {
                let root = try parser.parse(bytes)
                guard root.isObject else {
                    fault = Rejection(.wrongType, "total_revenue_by_currency is not an object")
                    return
                }
                root.forEachMember { name, value in
                    let currency = String(decoding: name, as: UTF8.self)
                    guard fault == nil, totals[currency] == nil, !value.isNull else { return }
                    fault = add(value, currency, to: &totals)
                }
            } catch {
                fault = Rejection(.malformedJSON, "total_revenue_by_currency is not JSON")
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
                "total_revenue_by_currency has a key that is not a currency: write ISO 4217, for example USD"
            )
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

/// The apps with their models, and the bundle ids that devices send.
package struct ConversionApps: Sendable {
    private let models: [Int64: ConversionModel]
    private let appsByBundle: [String: Int64]
    private let known: Set<Int64>

    /// - Parameters:
    ///   - models: the conversion models.
    ///   - appsByBundle: App Store ids by bundle id.
    ///   - apps: further known apps, such as the catalog's.
    package init(
        models: [ConversionModel], appsByBundle: [String: Int64] = [:],
        apps: some Sequence<Int64> = EmptyCollection()
    ) {
        self.models = Dictionary(
            models.map { ($0.app, $0) }, uniquingKeysWith: { first, _ in first })
        self.appsByBundle = appsByBundle
        known = Set(models.map(\.app)).union(appsByBundle.values).union(apps)
    }

    package var hasModels: Bool { !models.isEmpty }

    func model(of app: Int64) -> ConversionModel? { models[app] }

    /// The app of a request: `app_id`, otherwise the bundle id or App Store id in `i`, otherwise an App Store id in
    /// `a`. Throws `missing_field` and `out_of_range`.
    func app(_ parameters: ConversionParameters) throws(Rejection) -> Int64 {
        if let text = parameters["app_id"] { return try named(text, "app_id") }
        if let text = parameters["i"] {
            if let app = appsByBundle[text] { return app }
            return try named(text, "i")
        }
        // In the guide `a` is an account's key; a known App Store id in it counts as the app's.
        if let text = parameters["a"], let app = Int64(text), known.contains(app) { return app }
        throw Rejection(
            .missingField, "i (the app's bundle id) or app_id (its App Store id) is missing")
    }

    private func named(_ text: String, _ name: String) throws(Rejection) -> Int64 {
        guard let app = Int64(text), known.contains(app) else {
            throw Rejection(
                .outOfRange,
                "\(name) is not an app of this server: give it a conversion model, or add it to "
                    + "catalog.yaml with its bundle_id")
        }
        return app
    }
}
