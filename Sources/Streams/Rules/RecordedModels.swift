import ConversionModels

extension [ConversionModel] {
    /// The conversion models of a recorded configuration; empty for a stream without models.
    package init(
        recordedIn configurationText: String
    ) throws(RecordedConfigurationFault) {
        self = try RecordedConfiguration.read(configurationText) {
            configuration throws(RecordedConfigurationFault) in
            guard let models = configuration.optional("models") else { return [] }
            return try models.elements(ConversionModel.init(recorded:))
        }
    }
}

extension ConversionModel {
    /// Reads the output of `canonicalText`.
    package init(canonicalText: String) throws(RecordedConfigurationFault) {
        self = try RecordedConfiguration.read(canonicalText, ConversionModel.init(recorded:))
    }

    init(recorded model: RecordedConfiguration) throws(RecordedConfigurationFault) {
        let versions = try model.member("versions")
            .elements(ConversionModelVersion.init(recorded:))
        do throws(ModelFault) {
            try self.init(app: Self.app(of: model), versions: versions)
        } catch {
            throw model.fault
        }
    }

    /// The app's id; 0, which is never an app, if it is not a number.
    private static func app(of model: RecordedConfiguration) -> Int64 {
        (try? model.member("app").integer()) ?? 0
    }
}

extension ConversionModelVersion {
    fileprivate init(recorded version: RecordedConfiguration) throws(RecordedConfigurationFault) {
        let id = try version.member("id").text()
        let from = try version.member("effective_from_ms").integer()
        let currency = try version.member("currency").text()
        let fields = try version.member("fine").elements(FineField.init(recorded:))
        var coarse: [Int: [CoarseValue: [ModelEvent]]] = [:]
        for (window, values) in try version.member("coarse").members() {
            guard let window = Int(window) else { throw values.fault }
            for (name, events) in try values.members() {
                guard let value = CoarseValue(rawValue: name) else { throw events.fault }
                coarse[window, default: [:]][value] = try [ModelEvent](recorded: events)
            }
        }
        var locks: [Int: Int] = [:]
        for (window, hours) in try version.optional("lock_hours")?.members() ?? [] {
            guard let window = Int(window) else { throw hours.fault }
            locks[window] = Int(try hours.integer())
        }
        do throws(ModelFault) {
            try self.init(
                id: id, effectiveFromMilliseconds: from, currency: currency, fields: fields,
                coarse: coarse, lockHours: locks)
        } catch {
            throw version.fault
        }
    }
}

extension FineField {
    fileprivate init(recorded field: RecordedConfiguration) throws(RecordedConfigurationFault) {
        let bits = try field.member("bits").integers().map { Int($0) }
        guard bits.count == 2 else { throw field.fault }
        let kind = try Kind(recorded: field)
        do throws(ModelFault) {
            try self.init(lowestBit: bits[0], highestBit: bits[1], kind: kind)
        } catch {
            throw field.fault
        }
    }
}

extension FineField.Kind {
    fileprivate init(recorded field: RecordedConfiguration) throws(RecordedConfigurationFault) {
        switch try field.member("kind").text() {
        case "revenue":
            self = .revenue(
                event: try field.member("event").text(),
                boundsMicros: try field.member("buckets").integers(),
                maxMicros: try field.member("max").integer())
        case "events":
            self = .events(try field.numbered("values", ModelEvent.init(recorded:)))
        case "flags":
            self = .flags(
                try field.numbered("flags") {
                    name throws(RecordedConfigurationFault) in try name.text()
                })
        case "days": self = .days
        case "table":
            self = .table(try field.numbered("values", [ModelEvent].init(recorded:)))
        default: throw field.fault
        }
    }
}

extension ModelEvent {
    fileprivate init(recorded event: RecordedConfiguration) throws(RecordedConfigurationFault) {
        let name = try event.member("event").text()
        let count = try event.member("count").integers()
        let revenue = try event.member("revenue_micros").integers()
        guard count.count == 2, revenue.count == 2 else { throw event.fault }
        do throws(ModelFault) {
            try self.init(
                event: name, countMin: count[0], countMax: count[1],
                revenueMinMicros: revenue[0], revenueMaxMicros: revenue[1])
        } catch {
            throw event.fault
        }
    }
}

extension [ModelEvent] {
    fileprivate init(recorded events: RecordedConfiguration) throws(RecordedConfigurationFault) {
        self = try events.elements(ModelEvent.init(recorded:))
    }
}

extension RecordedConfiguration {
    fileprivate func integers() throws(RecordedConfigurationFault) -> [Int64] {
        try elements { number throws(RecordedConfigurationFault) in try number.integer() }
    }

    /// An object with numbers as the names of its members.
    fileprivate func numbered<Value>(
        _ name: StaticString,
        _ body: (RecordedConfiguration) throws(RecordedConfigurationFault) -> Value
    ) throws(RecordedConfigurationFault) -> [Int: Value] {
        var values: [Int: Value] = [:]
        for (number, value) in try member(name).members() {
            guard let number = Int(number) else { throw value.fault }
            values[number] = try body(value)
        }
        return values
    }
}
