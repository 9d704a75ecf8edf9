import JSON

/// A decoded record of the topic `conversion-updates`. Texts are symbols of the batch.
struct ConversionUpdatesEvent {
    enum Outcome: Int {
        case told, unchanged, locked, ended, noModel, stale
    }

    /// A value, and the version of its model.
    struct ToldValue {
        /// 0...63, or 0...2 for low, medium and high.
        var value: Int64
        var model: Symbol
    }

    /// The effect of the request on the fine value, or on the coarse value of its window.
    struct Change {
        var told: ToldValue?
        var toldBefore: ToldValue?
        var reported: ToldValue?
        var reportedBefore: ToldValue?
    }

    var appID: Int64
    var framework: Symbol
    var conversionType: Symbol
    var model: Symbol
    var sequenceIndex: Int64
    var outcome: Outcome
    /// Whether the device itself made the request; it then reports its value with each request.
    var isAskedByDevice: Bool
    var fine: Change?
    var coarse: Change?
    var locksWindow: Bool
    var hasOtherCurrency: Bool
    var hasError: Bool
}

struct ConversionUpdatesDecoder: EventDecoder, ~Copyable {
    private static let idNames = JSONNames("update_id", "install_id", "app_id")
    private static let aboutNames = JSONNames(
        "framework", "model", "sequence_index", "windows", "outcome", "request")
    private static let conversionNames = JSONNames("conversion_type", "conversion_tag")
    private static let toldNames = JSONNames("fine", "coarse", "lock_window", "error")
    private static let changeNames = JSONNames("told", "told_before", "reported", "reported_before")
    private static let valueNames = JSONNames("value", "model")

    private var idBuilder = RecordIDBuilder()

    mutating func decode(
        _ value: JSONValue, _ kind: ConversionUpdatesEventType, symbols: inout SymbolTable
    ) throws(Rejection) -> (ConversionUpdatesEvent, RecordID) {
        var faults = FieldFaults()
        let ids = value.members(Self.idNames)
        let updateID = faults.requiredID(ids[0], "update_id")
        let installID = faults.requiredID(ids[1], "install_id")
        let appID = faults.requiredIdentifier(ids[2], "app_id")
        let about = value.members(Self.aboutNames)
        let framework = Self.word(
            about[0], "framework", &faults, of: ["skadnetwork", "adattributionkit"])
        let model = faults.text(about[1], "model").map { symbols.intern($0) } ?? .empty
        let windows = Self.word(about[3], "windows", &faults, of: ["single", "three"])
        // Requests after the last window count in it.
        let index = faults.integer(about[2], "sequence_index") ?? (windows == 1 ? 2 : 0)
        if !(0...2).contains(index) {
            faults.report(.outOfRange, "sequence_index", "is outside 0..2")
        }
        let outcome = faults.requiredWord(
            about[4], "outcome",
            of: ["told", "unchanged", "locked", "ended", "no_model", "stale"])
        let request = Self.word(
            about[5], "request", &faults, of: ["conversion_value", "launch", "event"])
        let told = value.members(Self.toldNames)
        let fine = Self.change(told[0], "fine", &faults, &symbols, Self.fineValue)
        let coarse = Self.change(told[1], "coarse", &faults, &symbols, Self.coarseValue)
        let conversion = value.members(Self.conversionNames)
        let isReengagement =
            Self.word(conversion[0], "conversion_type", &faults, of: ["install", "re-engagement"])
            == 1
        let tag = faults.text(conversion[1], "conversion_tag")
        let currencies = faults.array(value, "uncounted_currencies")
        let update = ConversionUpdatesEvent(
            appID: appID,
            framework: symbols.intern(framework == 1 ? "adattributionkit" : "skadnetwork"),
            conversionType: symbols.intern(isReengagement ? "re-engagement" : "install"),
            model: model, sequenceIndex: index,
            outcome: outcome.flatMap { .init(rawValue: $0) } ?? .unchanged,
            isAskedByDevice: request ?? 0 == 0, fine: fine, coarse: coarse,
            locksWindow: faults.boolean(told[2], "lock_window") ?? false,
            hasOtherCurrency: !currencies.isEmpty,
            hasError: faults.integer(told[3], "error") ?? 0 != 0)
        if let rejection = faults.rejection { throw rejection }

        // A repeated request with another answer is another update. One request may get the values of both frameworks.
        idBuilder.begin()
        idBuilder.add(kind.name)
        idBuilder.add(appID)
        idBuilder.add(installID)
        idBuilder.add(updateID)
        idBuilder.add(Int64(framework ?? 0))
        idBuilder.add(index)
        idBuilder.add(fine?.told?.value ?? -1)
        idBuilder.add(coarse?.told?.value ?? -1)
        idBuilder.add(update.locksWindow ? 1 : 0)
        if isReengagement {
            idBuilder.add("re-engagement" as StaticString)
            if let tag { idBuilder.add(tag) }
        }
        return (update, idBuilder.finish())
    }

    private static func word<let count: Int>(
        _ value: JSONValue?, _ field: StaticString, _ faults: inout FieldFaults,
        of words: InlineArray<count, StaticString>
    ) -> Int? {
        value == nil ? nil : faults.requiredWord(value, field, of: words)
    }

    private static func change(
        _ value: JSONValue?, _ field: StaticString, _ faults: inout FieldFaults,
        _ symbols: inout SymbolTable,
        _ read: (JSONValue?, StaticString, inout FieldFaults) -> Int64?
    ) -> ConversionUpdatesEvent.Change? {
        guard let object = faults.object(value, field) else { return nil }
        let members = object.members(Self.changeNames)
        func toldValue(_ index: Int) -> ConversionUpdatesEvent.ToldValue? {
            guard let object = faults.object(members[index], field) else { return nil }
            let members = object.members(Self.valueNames)
            let model = faults.text(members[1], "model").map { symbols.intern($0) } ?? .empty
            guard let value = read(members[0], field, &faults) else { return nil }
            return ConversionUpdatesEvent.ToldValue(value: value, model: model)
        }
        return ConversionUpdatesEvent.Change(
            told: toldValue(0), toldBefore: toldValue(1), reported: toldValue(2),
            reportedBefore: toldValue(3))
    }

    private static func fineValue(
        _ value: JSONValue?, _ field: StaticString, _ faults: inout FieldFaults
    ) -> Int64? {
        let number = faults.requiredInteger(value, field)
        if !(0...63).contains(number) {
            faults.report(.outOfRange, field, "has a value outside 0..63")
        }
        return number
    }

    private static func coarseValue(
        _ value: JSONValue?, _ field: StaticString, _ faults: inout FieldFaults
    ) -> Int64? {
        faults.requiredWord(value, field, of: ["low", "medium", "high"]).map(Int64.init)
    }
}
