/// Prometheus's text format, version 0.0.4.
/// https://prometheus.io/docs/instrumenting/exposition_formats/
struct ExpositionText {
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    private(set) var text = ""

    /// Writes the lines before the values of a family.
    mutating func begin(_ name: String, help: String?, kind: MetricKind) {
        if let help { text += "# HELP \(name) \(Self.escapedHelp(help))\n" }
        text += "# TYPE \(name) \(kind.rawValue)\n"
    }

    /// `labels` as `labels(_:)` returns them; `more` is one more label.
    mutating func value(
        _ number: String, of name: String, labels: String, more: String? = nil
    ) {
        text += name
        let all = [labels, more ?? ""].filter { !$0.isEmpty }.joined(separator: ",")
        if !all.isEmpty { text += "{\(all)}" }
        text += " \(number)\n"
    }

    /// Labels sorted by name, so that their order does not matter. If a name occurs twice, the first counts.
    static func labels(_ dimensions: [(String, String)]) -> String {
        var values: [String: String] = [:]
        for (name, value) in dimensions {
            let name = identifier(name, allowsColon: false)
            if values[name] == nil { values[name] = value }
        }
        return values.sorted { $0.key < $1.key }
            .map { "\($0.key)=\"\(escapedValue($0.value))\"" }.joined(separator: ",")
    }

    /// Replaces characters that the format does not allow with underscores.
    static func metricName(_ label: String) -> String {
        identifier(label, allowsColon: true)
    }

    static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        // Below this bound every whole number is exact.
        if value.magnitude < 0x1p53, let whole = Int64(exactly: value) { return "\(whole)" }
        return "\(value)"
    }

    private static func identifier(_ text: String, allowsColon: Bool) -> String {
        var name = ""
        for scalar in text.unicodeScalars {
            let isDigit = ("0"..."9").contains(scalar)
            let isAllowed =
                ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || scalar == "_"
                || isDigit || (allowsColon && scalar == ":")
            if isDigit, name.isEmpty { name = "_" }
            name.unicodeScalars.append(isAllowed ? scalar : "_")
        }
        return name.isEmpty ? "_" : name
    }

    private static func escapedHelp(_ text: String) -> String {
        escaped(text, quotes: false)
    }

    private static func escapedValue(_ text: String) -> String {
        escaped(text, quotes: true)
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\"" where quotes: result += "\\\""
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
