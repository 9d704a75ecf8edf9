import ConversionModels
import Wording

/// Reads `conversion-models/<app>.yaml`.
package enum ConversionModelFile {
    /// All keys of the file, those of mappings after the mapping.
    package static let allKeys = keys + versionKeys + fieldKeys + eventKeys

    private static let keys = ["app", "versions"]
    fileprivate static let versionKeys = [
        "id", "effective_from", "currency", "lock_hours", "fine", "coarse",
    ]
    fileprivate static let fieldKeys = [
        "kind", "bits", "event", "buckets", "max", "values", "flags",
    ]
    fileprivate static let eventKeys = [
        "event", "count_min", "count_max", "revenue_min", "revenue_max",
    ]

    static func model(
        _ node: ConfigurationNode, fileApp: Int64
    ) throws(ConfigurationError) -> ConversionModel {
        let mapping = try node.mapping(keys)
        let appNode = try mapping.required("app")
        let app = try appNode.app()
        guard app == fileApp else {
            throw appNode.badValue(
                "is \(app), but the file is named \(fileApp).yaml: make them equal")
        }
        let versions = try mapping.required("versions").list(ConfigurationNode.modelVersion)
        do {
            return try ConversionModel(app: app, versions: versions)
        } catch {
            throw node.fault(error)
        }
    }
}

extension ConfigurationNode {
    fileprivate func modelVersion() throws(ConfigurationError) -> ConversionModelVersion {
        let mapping = try mapping(ConversionModelFile.versionKeys)
        let id = try mapping.required("id").name()
        let effectiveFrom = try mapping.required("effective_from").instant()
        let currency = try mapping.required("currency").text("a currency, for example USD")
        let locks = try mapping["lock_hours"]?.lockHours() ?? [:]
        let fields = try mapping.required("fine").fineFields()
        let coarse = try mapping["coarse"]?.coarseWindows() ?? [:]
        do {
            return try ConversionModelVersion(
                id: id, effectiveFromMilliseconds: effectiveFrom, currency: currency,
                fields: fields, coarse: coarse, lockHours: locks)
        } catch {
            throw fault(error)
        }
    }

    private func instant() throws(ConfigurationError) -> Int64 {
        let text = try text("an instant, for example 2026-01-31T05:00:00Z")
        guard let instant = UTCInstant.milliseconds(rfc3339: text) else {
            throw badValue("is '\(text)': write an instant, for example 2026-01-31T05:00:00Z")
        }
        return instant
    }

    /// Whole hours by window, each within it.
    private func lockHours() throws(ConfigurationError) -> [Int: Int] {
        var hours: [Int: Int] = [:]
        for (key, value) in try entries() {
            let window = try Self.integerKey(key, in: 0...2, of: value).asInt
            let end = Int64(PostbackTiming.window(window)?.windowHours ?? 0)
            hours[window] = try value.integer(in: 1...max(1, end - 1)).asInt
        }
        return hours
    }

    private func fineFields() throws(ConfigurationError) -> [FineField] {
        try mapping(["fields"]).required("fields").list(Self.fineField)
    }

    private func fineField() throws(ConfigurationError) -> FineField {
        let kindName = try mapping(ConversionModelFile.fieldKeys).required("kind").word(
            FieldKindName.self)
        let mapping = try mapping(["kind", "bits"] + kindName.keys)
        let bits = try mapping.required("bits").bits()
        let kind = try fieldKind(kindName, mapping)
        do {
            return try FineField(lowestBit: bits.lowest, highestBit: bits.highest, kind: kind)
        } catch {
            throw fault(error)
        }
    }

    private func fieldKind(
        _ name: FieldKindName, _ mapping: ConfigurationMapping
    ) throws(ConfigurationError) -> FineField.Kind {
        switch name {
        case .revenue:
            let bounds = try mapping.required("buckets").list(Self.micros)
            return .revenue(
                event: try mapping["event"]?.name() ?? "revenue", boundsMicros: bounds,
                maxMicros: try mapping.required("max").micros())
        case .events:
            return .events(try mapping.required("values").numbered(Self.modelEvent))
        case .flags: return .flags(try mapping.required("flags").numbered(Self.name))
        case .days: return .days
        case .table: return .table(try mapping.required("values").numbered(Self.modelEvents))
        }
    }

    private func bits() throws(ConfigurationError) -> (lowest: Int, highest: Int) {
        let bounds = try elements()
        guard bounds.count == 2 else {
            throw badValue("has \(counted(bounds.count, "number")): write [lowest, highest]")
        }
        return (try bounds[0].integer(in: 0...5).asInt, try bounds[1].integer(in: 0...5).asInt)
    }

    /// A mapping with numbers of a fine value, 0...63, as keys.
    private func numbered<Value>(
        _ read: (ConfigurationNode) -> () throws(ConfigurationError) -> Value
    ) throws(ConfigurationError) -> [Int: Value] {
        var values: [Int: Value] = [:]
        for (key, value) in try entries() {
            let number = try Self.integerKey(key, in: 0...63, of: value)
            values[number.asInt] = try read(value)()
        }
        return values
    }

    private func coarseWindows() throws(ConfigurationError) -> [Int: [CoarseValue: [ModelEvent]]] {
        var windows: [Int: [CoarseValue: [ModelEvent]]] = [:]
        for (key, value) in try entries() {
            let window = try Self.integerKey(key, in: 0...2, of: value).asInt
            let mapping = try value.mapping(CoarseValue.allCases.map(\.rawValue))
            for coarse in CoarseValue.allCases {
                windows[window, default: [:]][coarse] =
                    try mapping[coarse.rawValue]?.modelEvents() ?? []
            }
        }
        return windows
    }

    private func modelEvents() throws(ConfigurationError) -> [ModelEvent] {
        try list(Self.modelEvent)
    }

    private func modelEvent() throws(ConfigurationError) -> ModelEvent {
        let mapping = try mapping(ConversionModelFile.eventKeys)
        let event = try mapping.required("event").name()
        let countMin = try mapping.integer("count_min", in: 0...Int64.max, default: 1)
        let countMax = try mapping["count_max"]?.integer(in: 0...Int64.max)
        let revenueMin = try mapping["revenue_min"]?.micros() ?? 0
        let revenueMax = try mapping["revenue_max"]?.micros()
        do {
            return try ModelEvent(
                event: event, countMin: countMin, countMax: countMax, revenueMinMicros: revenueMin,
                revenueMaxMicros: revenueMax)
        } catch {
            throw fault(error)
        }
    }
}

private enum FieldKindName: String, CaseIterable {
    case revenue, events, flags, days, table

    /// The keys in addition to `kind` and `bits`.
    var keys: [String] {
        switch self {
        case .revenue: ["event", "buckets", "max"]
        case .events, .table: ["values"]
        case .flags: ["flags"]
        case .days: []
        }
    }
}

/// Instants in RFC 3339.
enum UTCInstant {
    /// Milliseconds since 1970 of a date, time and offset (`2026-01-31T05:00:00Z`). Nil if the text is malformed, is
    /// not a whole number of milliseconds, or names a leap second.
    static func milliseconds(rfc3339 text: String) -> Int64? {
        var rest = Substring(text).utf8
        guard let year = number(4, &rest), take("-", &rest),
            let month = number(2, &rest), (1...12).contains(month), take("-", &rest),
            let day = number(2, &rest), (1...daysIn(month, of: year)).contains(day),
            take("T", &rest) || take("t", &rest),
            let hour = number(2, &rest), hour < 24, take(":", &rest),
            let minute = number(2, &rest), minute < 60, take(":", &rest),
            let second = number(2, &rest), second < 60,
            let fraction = milliseconds(&rest),
            let offsetMinutes = offset(&rest), rest.isEmpty
        else { return nil }
        let minutes = (days(year, month, day) * 24 + hour) * 60 + minute - offsetMinutes
        return (minutes * 60 + second) * 1000 + fraction
    }

    private static func take(_ character: Unicode.Scalar, _ rest: inout Substring.UTF8View) -> Bool
    {
        guard let first = rest.first, UInt32(first) == character.value else { return false }
        rest.removeFirst()
        return true
    }

    private static func number(_ digits: Int, _ rest: inout Substring.UTF8View) -> Int64? {
        let text = rest.prefix(digits)
        guard text.count == digits, text.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        rest.removeFirst(digits)
        return text.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
    }

    /// The fraction of a second, 0 without one. Nil for a dot without digits, and for digits other than 0 after the
    /// third.
    private static func milliseconds(_ rest: inout Substring.UTF8View) -> Int64? {
        guard take(".", &rest) else { return 0 }
        let digits = Array(rest.prefix { (0x30...0x39).contains($0) })
        rest.removeFirst(digits.count)
        guard !digits.isEmpty, digits.dropFirst(3).allSatisfy({ $0 == 0x30 }) else { return nil }
        return (0..<3).reduce(0) { $0 * 10 + ($1 < digits.count ? Int64(digits[$1] - 0x30) : 0) }
    }

    /// The offset from UTC in minutes, positive to the east.
    private static func offset(_ rest: inout Substring.UTF8View) -> Int64? {
        if take("Z", &rest) || take("z", &rest) { return 0 }
        let ahead = take("+", &rest)
        guard ahead || take("-", &rest),
            let hours = number(2, &rest), hours < 24, take(":", &rest),
            let minutes = number(2, &rest), minutes < 60
        else { return nil }
        return (ahead ? 1 : -1) * (hours * 60 + minutes)
    }

    private static func daysIn(_ month: Int64, of year: Int64) -> Int64 {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    private static func isLeap(_ year: Int64) -> Bool {
        year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
    }

    /// Days since 1970 of a day of the Gregorian calendar, from year 0 on.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        // Leap days before the year. Year 0 has one, hence the 1. 1970 begins after 719,528 days.
        let leapDays = year == 0 ? 0 : (year - 1) / 4 - (year - 1) / 100 + (year - 1) / 400 + 1
        let months = (1..<month).reduce(0) { $0 + daysIn($1, of: year) }
        return year * 365 + leapDays + months + day - 1 - 719_528
    }
}
