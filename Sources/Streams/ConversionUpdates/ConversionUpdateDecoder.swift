import JSON

/// Decodes `conversion.update`.
enum ConversionUpdateDecoder {
    /// What tells one update from another: the request, and what it was told. A repeated request that is
    /// told something else is another one.
    struct Identity {
        var updateID: UnsafeRawBufferPointer
        var installID: UnsafeRawBufferPointer
        /// 0 for SKAdNetwork, 1 for AdAttributionKit: one update may be told both.
        var framework: Int64 = 0
    }

    static func decode(
        _ value: JSONValue, symbols: inout SymbolTable
    ) throws(Rejection) -> (update: ConversionUpdatesEvent, identity: Identity) {
        var faults = FieldFaults()
        let ids = value.members(["update_id", "install_id", "app_id"])
        var identity = Identity(
            updateID: faults.requiredID(ids[0], "update_id"),
            installID: faults.requiredID(ids[1], "install_id"))
        let appID = faults.requiredIdentifier(ids[2], "app_id")
        let about = value.members([
            "framework", "model", "sequence_index", "windows", "outcome", "request",
        ])
        let framework = word(
            about[0], "framework", &faults, of: ["skadnetwork", "adattributionkit"])
        identity.framework = Int64(framework ?? 0)
        let model = faults.name(about[1], "model", &symbols)
        let windows = word(about[3], "windows", &faults, of: ["single", "three"])
        // What comes after the last window is counted with it.
        let index = faults.integer(about[2], "sequence_index") ?? (windows == 1 ? 2 : 0)
        if !(0...2).contains(index) {
            faults.note(.outOfRange, "sequence_index", "is outside 0..2")
        }
        let outcome = faults.requiredWord(
            about[4], "outcome",
            of: ["told", "unchanged", "locked", "ended", "no_model", "stale"])
        let request = word(
            about[5], "request", &faults, of: ["conversion_value", "launch", "event"])
        let told = value.members(["fine", "coarse", "lock_window", "error"])
        let fine = change(told[0], "fine", &faults, &symbols, fineValue)
        let coarse = change(told[1], "coarse", &faults, &symbols, coarseValue)
        let currencies = faults.array(value, "uncounted_currencies")
        let update = ConversionUpdatesEvent(
            appID: appID,
            framework: symbols.intern(framework == 1 ? "adattributionkit" : "skadnetwork"),
            model: model, sequenceIndex: index,
            outcome: outcome.flatMap { .init(rawValue: $0) } ?? .unchanged,
            isAskedByDevice: request ?? 0 == 0, fine: fine, coarse: coarse,
            locksWindow: faults.boolean(told[2], "lock_window") ?? false,
            hasOtherCurrency: !currencies.isEmpty,
            hasError: faults.integer(told[3], "error") ?? 0 != 0)
        if let rejection = faults.rejection { throw rejection }
        return (update, identity)
    }

    private static func word<let count: Int>(
        _ value: JSONValue?, _ field: StaticString, _ faults: inout FieldFaults,
        of explanation: InlineArray<count, StaticString>
    ) -> Int? {
        value == nil ? nil : faults.requiredWord(value, field, of: explanation)
    }

    private static func change(
        _ value: JSONValue?, _ field: StaticString, _ faults: inout FieldFaults,
        _ symbols: inout SymbolTable,
        _ read: (JSONValue?, StaticString, inout FieldFaults) -> Int64?
    ) -> ConversionUpdatesEvent.Change? {
        guard let object = faults.object(value, field) else { return nil }
        let members = object.members(["told", "told_before", "reported", "reported_before"])
        func modelledValue(_ place: Int) -> ConversionUpdatesEvent.ModelledValue? {
            guard let object = faults.object(members[place], field) else { return nil }
            let members = object.members(["value", "model"])
            let model = faults.name(members[1], "model", &symbols)
            guard let value = read(members[0], field, &faults) else { return nil }
            return ConversionUpdatesEvent.ModelledValue(value: value, model: model)
        }
        return ConversionUpdatesEvent.Change(
            told: modelledValue(0), toldBefore: modelledValue(1), reported: modelledValue(2),
            reportedBefore: modelledValue(3))
    }

    private static func fineValue(
        _ value: JSONValue?, _ field: StaticString, _ faults: inout FieldFaults
    ) -> Int64? {
        let number = faults.requiredInteger(value, field)
        if !(0...63).contains(number) {
            faults.note(.outOfRange, field, "has a value outside 0..63")
        }
        return number
    }

    private static func coarseValue(
        _ value: JSONValue?, _ field: StaticString, _ faults: inout FieldFaults
    ) -> Int64? {
        faults.requiredWord(value, field, of: ["low", "medium", "high"]).map(Int64.init)
    }
}
