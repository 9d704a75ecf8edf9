extension ConversionModel {
    /// One line of JSON that holds everything decoding depends on: the same for models that mean
    /// the same, however their files were written.
    package var canonicalText: String {
        "{\"app\":\(app),\"versions\":[\(versions.map(\.canonicalText).joined(separator: ","))]}"
    }
}

extension ConversionModelVersion {
    /// One line of JSON that holds everything decoding depends on: amounts in micros, defaults
    /// written out, numbers ascending, fields in their order, empty coarse values left out.
    package var canonicalText: String {
        let windows = Self.windows.compactMap { window in
            coarseText(of: window).map { "\"\(window)\":\($0)" }
        }
        return "{\"id\":\(quoted(id)),\"effective_from_ms\":\(effectiveFromMilliseconds),"
            + "\"currency\":\(quoted(currency)),"
            + "\"fine\":[\(fields.map(\.canonicalText).joined(separator: ","))],"
            + "\"coarse\":{\(windows.joined(separator: ","))}}"
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

/// A JSON string. Names hold no control characters, so that only two characters need escaping.
private func quoted(_ text: String) -> String {
    let escaped = text.unicodeScalars.reduce(into: "") { escaped, scalar in
        if scalar == "\"" || scalar == "\\" { escaped.unicodeScalars.append("\\") }
        escaped.unicodeScalars.append(scalar)
    }
    return "\"\(escaped)\""
}
