/// The conversion model of one app: its versions, each in effect until the next one.
///
/// The module is pure. It interprets conversion values: it decodes values of SKAdNetwork and AdAttributionKit into
/// bounds of counts and revenue, bounds the revenue of missing values, and encodes the state of an install as a
/// value.
///
///     let purchase = try ModelEvent(event: "purchase", revenueMinMicros: 990_000)
///     let field = try FineField(lowestBit: 0, highestBit: 5, kind: .events([1: purchase]))
///     let version = try ConversionModelVersion(
///         id: "v1", effectiveFromMilliseconds: 0, currency: "USD", fields: [field])
///     let model = try ConversionModel(app: 525_463_029, versions: [version])
///     let decoding = model.decoding(
///         received: now, timing: .window0, fine: 1, coarse: nil, sequenceIndex: 0)
///     let value = try version.encode(ConversionState(eventCounts: ["purchase": 1]))
package struct ConversionModel: Equatable, Sendable {
    /// App Store id of the app, above 0.
    package let app: Int64
    /// At least one, strictly ascending by the hour from which they are in effect.
    package let versions: [ConversionModelVersion]

    /// Throws a fault at `app` or `versions`, or at `id` or `effective_from` of a version.
    package init(app: Int64, versions: [ConversionModelVersion]) throws(ModelFault) {
        guard app > 0 else { throw ModelFault("app", .badApp) }
        guard !versions.isEmpty else { throw ModelFault("versions", .noVersions) }
        for index in versions.indices.dropFirst() {
            let version = versions[index]
            let path: [ModelFault.Step] = [.key("versions"), .index(index)]
            guard !versions[..<index].contains(where: { $0.id.utf8.elementsEqual(version.id.utf8) })
            else { throw ModelFault(path: path + [.key("id")], .duplicateVersion) }
            let previous = versions[index - 1].effectiveFromMilliseconds
            guard version.effectiveFromMilliseconds > previous else {
                throw ModelFault(path: path + [.key("effective_from")], .versionsNotAscending)
            }
        }
        self.app = app
        self.versions = versions
    }

    /// The index of the version in effect at an instant (milliseconds since 1970), including its first instant; nil
    /// before the first version.
    package func versionIndex(inEffectAtMilliseconds instant: Int64) -> Int? {
        versions.lastIndex { $0.effectiveFromMilliseconds <= instant }
    }

    /// Decodes the conversion value of a postback.
    ///
    /// Uses the version in effect at the latest moment at which the app can have set the value. A fine value takes
    /// precedence over a coarse one; without either the events are empty.
    ///
    /// - Parameters:
    ///   - received: when the postback arrived, in milliseconds since 1970.
    ///   - timing: how long a value can have waited.
    ///   - fine: the fine value, 0...63.
    ///   - coarse: the coarse value.
    ///   - sequenceIndex: the window that selects the coarse values; 0 below version 4.0.
    /// - Returns: nil before the first version.
    package func decoding(
        received: Int64,
        timing: PostbackTiming,
        fine: Int?,
        coarse: CoarseValue?,
        sequenceIndex: Int
    ) -> ModelDecoding? {
        let setting = timing.settingInterval(received: received)
        guard let index = versionIndex(inEffectAtMilliseconds: setting.latest) else { return nil }
        let earlier = versionIndex(inEffectAtMilliseconds: setting.earliest)
        let version = versions[index]
        let events =
            fine.map { version.decode(fine: $0) }
            ?? coarse.map { version.decode(coarse: $0, sequenceIndex: sequenceIndex) } ?? []
        return ModelDecoding(
            versionIndex: index,
            versionID: version.id,
            currency: version.currency,
            events: events,
            ambiguous: earlier.map { $0 != index } ?? false
        )
    }
}

/// The meaning of the conversion value of one postback.
package struct ModelDecoding: Equatable, Sendable {
    /// Index in the versions of the model.
    package let versionIndex: Int
    package let versionID: String
    package let currency: String
    /// One for each name; empty if the value means nothing.
    package let events: [DecodedEvent]
    /// Whether another version was in effect at the earliest moment at which the app can have set the value: the
    /// activity may belong to several versions.
    package let ambiguous: Bool
}

extension ConversionModel {
    /// One line of JSON with everything that decoding depends on. Models with the same meaning have the same text,
    /// however their files are written.
    package var canonicalText: String {
        "{\"app\":\(app),\"versions\":[\(versions.map(\.canonicalText).joined(separator: ","))]}"
    }
}

extension ConversionModelVersion {
    /// One line of JSON with everything that decoding depends on: amounts in micros, explicit defaults, numbers
    /// ascending, fields in their order, without empty coarse values.
    package var canonicalText: String {
        let windows = Self.windows.compactMap { window in
            coarseText(of: window).map { "\"\(window)\":\($0)" }
        }
        return "{\"id\":\(quoted(id)),\"effective_from_ms\":\(effectiveFromMilliseconds),"
            + "\"currency\":\(quoted(currency)),\(lockText)"
            + "\"fine\":[\(fields.map(\.canonicalText).joined(separator: ","))],"
            + "\"coarse\":{\(windows.joined(separator: ","))}}"
    }

    /// Empty without a locked window, so that the texts of other versions stay unchanged.
    private var lockText: String {
        guard !lockHours.isEmpty else { return "" }
        let hours = lockHours.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }
        return "\"lock_hours\":{\(hours.joined(separator: ","))},"
    }

    private func coarseText(of window: Int) -> String? {
        let values = CoarseValue.allCases.compactMap { value -> String? in
            guard let events = coarse[window]?[value], !events.isEmpty else { return nil }
            return "\"\(value.rawValue)\":\(events.canonicalText)"
        }
        return values.isEmpty ? nil : "{\(values.joined(separator: ","))}"
    }
}

extension FineField {
    fileprivate var canonicalText: String {
        "{\"bits\":[\(bits.lowerBound),\(bits.upperBound)],\(kind.canonicalText)}"
    }
}

extension FineField.Kind {
    fileprivate var canonicalText: String {
        switch self {
        case .revenue(let event, let bounds, let max):
            "\"kind\":\"revenue\",\"event\":\(quoted(event)),"
                + "\"buckets\":[\(bounds.map(String.init).joined(separator: ","))],\"max\":\(max)"
        case .events(let values):
            "\"kind\":\"events\",\"values\":\(object(values) { $0.canonicalText })"
        case .flags(let flags):
            "\"kind\":\"flags\",\"flags\":\(object(flags) { quoted($0) })"
        case .days:
            "\"kind\":\"days\""
        case .table(let values):
            "\"kind\":\"table\",\"values\":"
                + object(values.filter { !$0.value.isEmpty }) { $0.canonicalText }
        }
    }
}

extension ModelEvent {
    fileprivate var canonicalText: String {
        "{\"event\":\(quoted(event)),\"count\":[\(countMin),\(countMax)],"
            + "\"revenue_micros\":[\(revenueMinMicros),\(revenueMaxMicros)]}"
    }
}

extension [ModelEvent] {
    fileprivate var canonicalText: String {
        "[\(map(\.canonicalText).joined(separator: ","))]"
    }
}

private func object<Value>(_ values: [Int: Value], _ text: (Value) -> String) -> String {
    let members = values.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\(text($0.value))" }
    return "{\(members.joined(separator: ","))}"
}

/// A JSON string. Names have no control characters, so only two characters need escaping.
private func quoted(_ text: String) -> String {
    let escaped = text.unicodeScalars.reduce(into: "") { escaped, scalar in
        if scalar == "\"" || scalar == "\\" { escaped.unicodeScalars.append("\\") }
        escaped.unicodeScalars.append(scalar)
    }
    return "\"\(escaped)\""
}
