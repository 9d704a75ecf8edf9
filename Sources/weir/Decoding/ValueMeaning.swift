import ConversionModels
import Inspection
import Streams

/// What a conversion value means under one version of a model, in one window.
struct ValueMeaning {
    let value: ConversionValue
    let version: ConversionModelVersion
    /// The window of a coarse value: 0, 1 or 2; nil for a fine one, which has no other.
    let window: Int?
    let events: [DecodedEvent]
    /// The day since the install that a fine value names.
    let day: Int?
    /// The flags that are set in a fine value, by name.
    let flags: [String]

    /// The meanings under each version of a model, in their order; of a coarse value one a window.
    static func all(of value: ConversionValue, in model: ConversionModel) -> [ValueMeaning] {
        model.versions.flatMap { version in
            switch value {
            case .fine(let fine):
                let flags = version.flags(fine: fine)
                    .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
                return [
                    ValueMeaning(
                        value: value, version: version, window: nil,
                        events: version.decode(fine: fine), day: version.day(fine: fine),
                        flags: flags)
                ]
            case .coarse(let coarse):
                return (0...2).map { window in
                    ValueMeaning(
                        value: value, version: version, window: window,
                        events: version.decode(coarse: coarse, sequenceIndex: window), day: nil,
                        flags: [])
                }
            }
        }
    }

    /// For people, lines with their ends.
    var table: String {
        let from = UTC.text(milliseconds: version.effectiveFromMilliseconds)
        var text = "\(version.id), in effect from \(from)"
        if let window { text += ", window \(window)" }
        text += "\n"
        if let day { text += "  day    \(day)\n" }
        if !flags.isEmpty { text += "  flags  \(flags.joined(separator: ", "))\n" }
        guard !events.isEmpty else { return text + "  no events\n" }
        let rows = events.map { event in
            [
                event.event, Self.range("\(event.countMin)", "\(event.countMax)"),
                Self.range(
                    Self.units(event.revenueMinMicros), Self.units(event.revenueMaxMicros))
                    + " \(version.currency)",
            ]
        }
        let table = TextTable(
            header: ["event", "count", "revenue"], isNumber: [false, true, true], rows: rows)
        return table.lines.reduce(text) { $0 + "  \($1)\n" }
    }

    /// Writes an object.
    func write(to json: inout JSONText) {
        json.object { json in
            json.name("model")
            json.string(version.id)
            json.name("effective_from")
            json.string(UTC.text(milliseconds: version.effectiveFromMilliseconds))
            json.name("value")
            switch value {
            case .fine(let number): json.raw(number)
            case .coarse(let coarse): json.string(coarse.rawValue)
            }
            json.name("window")
            json.raw(window.map { "\($0)" } ?? "null")
            json.name("currency")
            json.string(version.currency)
            json.name("day")
            json.raw(day.map { "\($0)" } ?? "null")
            json.name("flags")
            json.array { json in for flag in flags { json.string(flag) } }
            json.name("events")
            json.array { json in for event in events { Self.write(event, to: &json) } }
        }
    }

    private static func write(_ event: DecodedEvent, to json: inout JSONText) {
        json.object { json in
            json.name("name")
            json.string(event.event)
            for (name, number) in [
                ("count_min", event.countMin), ("count_max", event.countMax),
                ("revenue_min_micros", event.revenueMinMicros),
                ("revenue_max_micros", event.revenueMaxMicros),
            ] {
                json.name(name)
                json.raw(number)
            }
        }
    }

    private static func range(_ low: String, _ high: String) -> String {
        low == high ? low : "\(low) to \(high)"
    }

    /// An amount in units, without zeros at its end.
    private static func units(_ micros: Int64) -> String {
        let fraction = String(1_000_000 + micros % 1_000_000).dropFirst()
        let digits = fraction.reversed().drop { $0 == "0" }.reversed()
        return "\(micros / 1_000_000)" + (digits.isEmpty ? "" : "." + String(digits))
    }
}
