import Reports
import Streams

/// Formats names and values of reports on pages: the same values as in the terminal, formatted for reading.
enum ShownValue {
    /// `revenue_min_micros` is "revenue min": the cells have the currency.
    static func heading(_ column: String) -> String {
        if let name = names[column] { return name }
        return column.replacing("_micros", with: "").replacing("_", with: " ")
    }

    private static let names = [
        // Pages use one word for each of these, and not the short names of columns.
        "null_rate": "share without value", "null_values": "without value",
        "cpi": "cost per install", "ctr": "click rate", "install_rate": "installs per click",
        "roas_min": "return on spend min", "roas_max": "return on spend max",
        "billed_price_micros": "billed amount", "price_micros": "bid amount",
        "average_cpm": "average CPM", "kept_rate": "retention",
        "churn_rate": "churn rate, with trials", "refund_rate": "refund rate, with trials",
        "paid_refund_rate": "refund rate, without trials",
        "net_micros": "sales less refunds", "share_interval": "95 % interval",
        "ad_network_id": "network", "app_id": "app", "source_app_id": "source app",
        "reengagements": "re-engagements",
        "did_win": "won", "conversion_type": "kind of install", "sequence_index": "postback number",
        "missing_developer_copy": "no developer copy", "missing_network_copy": "no network copy",
    ]

    /// Columns with values from a closed list.
    private static let listed: Set<String> = [
        "framework", "conversion_type", "interaction", "verdict", "reason", "fault", "type",
        "status", "state", "measure", "topic", "stream", "signal",
    ]

    /// Parts of such values, and how pages write them.
    private static let parts = [
        "skadnetwork": "SKAdNetwork", "adattributionkit": "AdAttributionKit",
        "openrtb": "OpenRTB", "skoverlay": "overlay", "appstore": "App Store", "json": "JSON",
        "id": "id", "url": "URL", "sdk": "SDK",
    ]

    /// The plain name of a value from a closed list: `malformed JSON` for `malformed_json`. Nil if it is the value
    /// itself.
    static func name(_ value: String, in column: String) -> String? {
        guard listed.contains(column), !value.isEmpty, !value.contains(" ") else { return nil }
        guard column != "measure" else {
            let name = heading(value)
            return name == value ? nil : name
        }
        let isTopic = ["topic", "stream"].contains(column)
        let name = value.split(whereSeparator: { "_.".contains($0) || isTopic && $0 == "-" })
            .map { parts[String($0)] ?? String($0) }.joined(separator: " ")
        return name == value ? nil : name
    }

    /// Text that begins with a capital letter.
    static func sentence(_ text: String) -> String {
        text.prefix(1).uppercased() + text.dropFirst()
    }

    /// `countries`, `source apps`.
    static func plural(_ noun: String) -> String {
        noun.hasSuffix("y") ? "\(noun.dropLast())ies" : "\(noun)s"
    }

    /// A note on the heading of a column: its name in files and commands, if the heading has another one.
    static func note(_ column: String) -> String? {
        let isOther = heading(column) != column.replacing("_", with: " ")
        let notes = [
            isOther ? "\(column) in files and commands." : nil,
            Funnel.whyAboveOne(column).map { "Can be above 100 %: \($0)." },
        ].compactMap(\.self)
        return notes.isEmpty ? nil : notes.joined(separator: " ")
    }

    /// The name of a sum of an explanation, which contains prices as records have them.
    static func sumHeading(_ measure: String) -> String {
        MoneyByCurrency.isOfThousand(measure)
            ? measure.replacing("_micros", with: "s").replacing("_", with: " ") : heading(measure)
    }

    /// - Parameters:
    ///   - isKey: whether the column identifies rows; its numbers are then names.
    ///   - currency: of the row, for amounts that are whole numbers of millionths.
    ///   - fractionDigits: the common number of decimals of a column; nil for as many as the value needs.
    static func text(
        _ value: ReportValue, in column: String, isKey: Bool, currency: String? = nil,
        fractionDigits: Int? = nil
    ) -> String {
        switch value {
        case .null: return ""
        case .text(let text): return text
        case .boolean(let isTrue): return isTrue ? "yes" : "no"
        case .decimal(let digits):
            return decimal(digits, in: column, fractionDigits: fractionDigits)
        case .integer(let integer):
            guard !isKey else { return value.plainText }
            guard MoneyByCurrency.isMoney(column) else { return grouped(integer) }
            return money(
                integer / divisor(of: column), currency ?? "", fractionDigits: fractionDigits)
        case .money(let money):
            return amounts(of: money, in: column).map {
                self.money($0.micros, $0.currency, fractionDigits: fractionDigits)
            }
            .joined(separator: "; ")
        }
    }

    /// A currency without an amount is left out beside one with an amount.
    private static func amounts(
        of money: MoneyByCurrency, in column: String
    ) -> [MoneyByCurrency.Amount] {
        let amounts = money.divided(by: divisor(of: column)).amounts
        let paid = amounts.filter { $0.micros != 0 }
        return paid.isEmpty ? amounts : paid
    }

    /// Sums of CPM prices are for a thousand ads. Pages show the amounts that are paid.
    private static func divisor(of column: String) -> Int128 {
        MoneyByCurrency.isOfThousand(column) ? 1000 : 1
    }

    /// The number of decimals of a column, so that digits align: as many as any of its values needs.
    static func fractionDigits(of values: some Sequence<ReportValue>, in column: String) -> Int {
        values.reduce(0) { max($0, fractionDigits(of: $1, in: column)) }
    }

    private static func fractionDigits(of value: ReportValue, in column: String) -> Int {
        switch value {
        case .null, .text, .boolean: 0
        case .integer(let integer):
            MoneyByCurrency.isMoney(column)
                ? fractionDigits(ofMicros: integer / divisor(of: column)) : 0
        case .money(let money):
            amounts(of: money, in: column).map { fractionDigits(ofMicros: $0.micros) }.max() ?? 0
        case .decimal(let digits):
            isShare(column)
                ? 2 : decimal(digits, in: column).split(separator: ".").dropFirst().last?.count ?? 0
        }
    }

    /// Two, or more for an amount below one.
    private static func fractionDigits(ofMicros micros: Int128) -> Int {
        guard isSmall(micros) else { return 2 }
        var (rest, fractionDigits) = (micros.magnitude, 6)
        while fractionDigits > 2, rest % 10 == 0 {
            (rest, fractionDigits) = (rest / 10, fractionDigits - 1)
        }
        return fractionDigits
    }

    private static func isSmall(_ micros: Int128) -> Bool {
        micros.magnitude < 1_000_000 && micros.magnitude % 10_000 != 0
    }

    /// A sum of an explanation. The measure's name may end in its currency.
    static func sum(_ amount: Int128, of measure: String, _ currency: String?) -> String {
        let words = measure.split(separator: " ", maxSplits: 1).map(String.init)
        guard let name = words.first, MoneyByCurrency.isMoney(name) else { return grouped(amount) }
        let ofThousand = MoneyByCurrency.isOfThousand(name) ? " CPM" : ""
        return money(amount, words.count > 1 ? words[1] : currency ?? "") + ofThousand
    }

    /// A value with all its digits, for a division. Shares also have their percentage.
    static func exact(_ value: ReportValue, in column: String = "") -> String {
        switch value {
        case .integer(let integer): return grouped(integer)
        case .decimal(let digits) where isShare(column):
            return "\(digits), or \(decimal(digits, in: column))"
        default: return value.plainText.isEmpty ? "–" : value.plainText
        }
    }

    /// The terms of a rate, with the names of the headings: `clicks / (presented + viewed)`.
    static func formula(_ division: FunnelDivision) -> String {
        let terms = division.formula.replacing(#/[a-z_]+/#) { sumHeading(String($0.output)) }
        return "\(heading(division.measure)) = \(terms)"
    }

    /// The type of a record as `outcomes` names it. Without a type in its header it is the topic's default type. It is
    /// `unknown`, with the header's text, if the topic does not have the type.
    static func type(_ said: String, of topic: String, refusedFor reason: String?) -> String {
        if reason == RejectionReason.unknownType.name {
            return said.isEmpty ? "unknown" : "unknown (\(said))"
        }
        guard said.isEmpty else { return said }
        return allStreams.first { $0.streamName == topic }?.defaultType ?? said
    }

    /// The sort value of a cell: for several currencies the largest amount.
    static func order(_ value: ReportValue, in column: String) -> Double {
        guard case .money(let money) = value else { return amount(value, in: column) ?? -.infinity }
        return money.amounts.map { Double($0.micros) }.max() ?? -.infinity
    }

    /// Units with their currency: two decimals, or more for an amount below one.
    ///
    /// - Parameter fractionDigits: the number of decimals, 2 to 6; nil for as many as the amount needs.
    static func money(_ micros: Int128, _ currency: String, fractionDigits: Int? = nil) -> String {
        let fractionDigits = fractionDigits ?? (isSmall(micros) ? 6 : 2)
        var scale: UInt128 = 1
        for _ in fractionDigits..<6 { scale *= 10 }
        let rounded = (micros.magnitude + scale / 2) / scale * scale
        var fraction = "\(rounded % 1_000_000)"
        fraction = String(repeating: "0", count: 6 - fraction.count) + fraction
        fraction = String(fraction.prefix(fractionDigits))
        let sign = micros < 0 ? "-" : ""
        let units = "\(sign)\(grouped(Int128(rounded / 1_000_000))).\(fraction)"
        return currency.isEmpty ? units : "\(currency) \(units)"
    }

    /// With grouped thousands: 1,234,567.
    static func grouped(_ integer: Int128) -> String {
        let digits = Array("\(integer.magnitude)")
        var text = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index) % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return integer < 0 ? "-\(text)" : text
    }

    /// Whether a column is a share of a whole, which is shown as a percentage.
    static func isShare(_ column: String) -> Bool {
        column.hasSuffix("_rate") || column.hasSuffix("_share") || column.hasPrefix("share")
            || ["ctr", "maturity"].contains(column)
    }

    /// Shortens the six decimals of reports for reading.
    private static func decimal(
        _ digits: String, in column: String, fractionDigits: Int? = nil
    ) -> String {
        guard let value = Double(digits) else { return digits }
        if isShare(column) { return "\(fixed(value * 100, 2)) %" }
        // Counts may be estimates; whole ones do not need decimals.
        let isWhole = value == value.rounded() && value.magnitude < 1e15 && column != "cpi"
        if isWhole, fractionDigits ?? 0 == 0 { return grouped(Int128(value)) }
        return fixed(value, fractionDigits ?? 4, isTrimmed: fractionDigits == nil)
    }

    /// - Parameter isTrimmed: whether trailing zeros are removed, down to two decimals.
    private static func fixed(
        _ value: Double, _ fractionDigits: Int, isTrimmed: Bool = true
    ) -> String {
        var scale = 1.0
        for _ in 0..<fractionDigits { scale *= 10 }
        let scaled = (value.magnitude * scale).rounded()
        guard scaled < 1e15 else { return "\(value)" }
        let whole = Int128(scaled / scale)
        var fraction = "\(Int64(scaled) % Int64(scale))"
        fraction = String(repeating: "0", count: fractionDigits - fraction.count) + fraction
        while isTrimmed, fraction.hasSuffix("0"), fraction.count > 2 { fraction.removeLast() }
        return "\(value < 0 && scaled > 0 ? "-" : "")\(grouped(whole)).\(fraction)"
    }

    /// The number for a chart: units of money, otherwise the value itself; nil if it is not a number, or has several
    /// currencies.
    static func amount(_ value: ReportValue, in column: String) -> Double? {
        switch value {
        case .integer(let integer):
            guard MoneyByCurrency.isMoney(column) else { return Double(integer) }
            return Double(integer) / Double(divisor(of: column)) / 1e6
        case .decimal(let digits): return Double(digits)
        case .money(let money):
            guard money.amounts.count == 1, let amount = money.amounts.first else { return nil }
            return Double(amount.micros) / Double(divisor(of: column)) / 1e6
        case .null, .text, .boolean: return nil
        }
    }
}
