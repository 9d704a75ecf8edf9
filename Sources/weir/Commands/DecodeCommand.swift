import ArgumentParser
import ConversionModels
import JSON
import Program
import Reports
import Streams

struct DecodeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "decode",
        abstract: "Decodes a conversion value under each version of an app's model.",
        discussion: "Decodes a coarse value for each of the windows 0, 1 and 2.")

    @Option(help: "The App Store id of the app.")
    var app: Int64
    @Argument(help: "0 to 63, low, medium or high.")
    var value: String
    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var format: ReportFormatOptions

    func run() throws {
        let format = try format.chosen()
        let value = try ConversionValue(value)
        let directory = pipelines.directory(data: [])
        let models = try directory.conversionModels()
        guard let model = models.first(where: { $0.app == app }) else {
            let valid = models.map { "\($0.app)" }.joined(separator: ", ")
            throw CommandError.failure(
                "no model of app \(app) in \(directory.path)/conversion-models"
                    + (valid.isEmpty ? ": write \(app).yaml there" : ": it has models of \(valid)"))
        }
        let report = DecodeReport(meanings: ValueMeaning.all(of: value, in: model))
        try BufferedOutput.print(report, as: format)
    }
}

struct DecodeReport: Report {
    let meanings: [ValueMeaning]

    var table: String { meanings.map(\.table).joined(separator: "\n") }

    func write(to json: inout JSONText) {
        json.objects(meanings) { $0.writeMembers(to: &$1) }
    }
}

enum ConversionValue: Equatable {
    /// 0 to 63.
    case fine(Int)
    /// low, medium or high.
    case coarse(CoarseValue)

    init(_ text: String) throws(CommandError) {
        if let number = Int(text), (0...63).contains(number) {
            self = .fine(number)
        } else if let coarse = CoarseValue(rawValue: text) {
            self = .coarse(coarse)
        } else {
            throw .usage("'\(text)' is not a conversion value: give 0 to 63, low, medium or high")
        }
    }
}

/// The meaning of a conversion value under one version of a model, in one window.
struct ValueMeaning {
    let value: ConversionValue
    let version: ConversionModelVersion
    /// The window of a coarse value: 0, 1 or 2; nil for a fine value, which always belongs to the first.
    let window: Int?
    let events: [DecodedEvent]
    /// The day since the install that a fine value encodes.
    let day: Int?
    /// The flags that are set in a fine value, by name.
    let flags: [String]

    /// The meanings under each version of a model, in order; for a coarse value one per window.
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

    var table: String {
        let from = UTC.text(milliseconds: version.effectiveFromMilliseconds)
        var text = "\(version.id), in effect from \(from)"
        if let window { text += ", window \(window)" }
        text += "\n"
        if let day { text += "  day    \(day)\n" }
        if !flags.isEmpty { text += "  flags  \(flags.joined(separator: ", "))\n" }
        guard !events.isEmpty else { return text + "  no events\n" }
        let table = TextTable(
            header: ["event", "count", "revenue"], isNumber: [false, true, true],
            rows: events.map { event in
                [
                    event.event, Self.range("\(event.countMin)", "\(event.countMax)"),
                    Self.range(
                        event.revenueMinMicros.microsInUnits, event.revenueMaxMicros.microsInUnits)
                        + " \(version.currency)",
                ]
            })
        return table.lines.reduce(text) { $0 + "  \($1)\n" }
    }

    func writeMembers(to json: inout JSONText) {
        json.member("model", version.id)
        json.member("effective_from", UTC.text(milliseconds: version.effectiveFromMilliseconds))
        switch value {
        case .fine(let number): json.member("value", number)
        case .coarse(let coarse): json.member("value", coarse.rawValue)
        }
        json.member("window", window)
        json.member("currency", version.currency)
        json.member("day", day)
        json.member("flags", flags)
        json.objects("events", events) { event, json in
            json.member("name", event.event)
            json.member("count_min", event.countMin)
            json.member("count_max", event.countMax)
            json.member("revenue_min_micros", event.revenueMinMicros)
            json.member("revenue_max_micros", event.revenueMaxMicros)
        }
    }

    private static func range(_ low: String, _ high: String) -> String {
        low == high ? low : "\(low) to \(high)"
    }
}

extension BinaryInteger {
    /// An amount of micros in units, without trailing zeros.
    var microsInUnits: String {
        let fraction = String(1_000_000 + self % 1_000_000).dropFirst()
        let digits = fraction.reversed().drop { $0 == "0" }.reversed()
        return "\(self / 1_000_000)" + (digits.isEmpty ? "" : "." + String(digits))
    }
}
