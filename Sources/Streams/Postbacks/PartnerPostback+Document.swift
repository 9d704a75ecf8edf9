import Attestation
import ConversionModels
import JSONReader

/// What a partner is told of a postback.
struct PartnerDocument {
    var event: PostbackEvent
    var verdict: Verdict
    var form: RelayForm
    var decoding: ModelDecoding?
    var receivedMilliseconds: Int64
    var origin: (topic: String, partition: Int32, offset: Int64)

    /// The document's JSON without its `campaign`, whose names are joined when it is published.
    func text(
        id: String, revision: Int64, partner: String, envelope: JSONValue, claims: JSONValue?
    ) -> String {
        var text = JSONText()
        text.object { text in
            text.name("id")
            text.string(id)
            text.name("revision")
            text.raw(revision)
            text.name("partner")
            text.string(partner)
            text.name("postback")
            writePostback(envelope, claims, to: &text)
            text.name("conversion")
            writeConversion(to: &text)
            text.name("install_window")
            writeInstallWindow(to: &text)
            text.name("received_at")
            text.string(UTC.text(milliseconds: receivedMilliseconds))
            text.name("origin")
            text.object { text in
                text.name("topic")
                text.string(origin.topic)
                text.name("partition")
                text.raw(origin.partition)
                text.name("offset")
                text.raw(origin.offset)
            }
        }
        return text.text
    }

    /// Apple's fields with underscores: those that the layout signs or Apple never does.
    private func writePostback(
        _ envelope: JSONValue, _ claims: JSONValue?, to text: inout JSONText
    ) {
        text.object { text in
            for (source, names) in [
                (envelope, envelopeFields),
                (claims ?? envelope, claims == nil ? [] : Self.claimFields),
            ] {
                for name in names {
                    guard let value = source.member(name) else { continue }
                    text.name("\(name)".split(separator: "-").joined(separator: "_"))
                    text.value(value)
                }
            }
        }
    }

    private static let claimFields: [StaticString] = [
        "postback-identifier", "ad-network-identifier", "source-identifier",
        "advertised-item-identifier", "publisher-item-identifier", "marketplace-identifier",
        "impression-type", "conversion-type", "postback-sequence-index", "did-win",
    ]

    private func writeConversion(to text: inout JSONText) {
        let hasValue = event.fineValue != nil || event.coarseValue != nil
        text.object { text in
            text.name("value")
            text.raw(event.fineValue.map { "\($0)" } ?? "null")
            text.name("coarse")
            text.string(event.coarseValue.map { "\($0.name)" })
            text.name("model")
            text.string(hasValue ? decoding?.versionID : nil)
            text.name("events")
            text.array { text in
                for event in decoding?.events ?? [] { Self.write(event, to: &text) }
            }
            text.name("revenue")
            if let decoding, !decoding.events.isEmpty {
                Self.writeRevenue(of: decoding, to: &text)
            } else {
                text.raw("null")
            }
            text.name("ambiguous")
            text.raw(decoding.map { $0.ambiguous && hasValue } ?? false)
        }
    }

    private static func write(_ event: DecodedEvent, to text: inout JSONText) {
        text.object { text in
            text.name("name")
            text.string(event.event)
            text.name("count_min")
            text.raw(event.countMin)
            text.name("count_max")
            text.raw(event.countMax)
        }
    }

    private static func writeRevenue(of decoding: ModelDecoding, to text: inout JSONText) {
        let least = decoding.events.reduce(Int128(0)) { $0 + Int128($1.revenueMinMicros) }
        let most = decoding.events.reduce(Int128(0)) { $0 + Int128($1.revenueMaxMicros) }
        text.object { text in
            text.name("min")
            text.raw(units(micros: least))
            text.name("max")
            text.raw(units(micros: most))
            text.name("currency")
            text.string(decoding.currency)
        }
    }

    private func writeInstallWindow(to text: inout JSONText) {
        let window = event.timing.installWindow(
            received: receivedMilliseconds,
            fineIsZero: event.fineValue == 0,
            reEngagement: event.conversionType == .reEngagement,
            development: verdict == .development)
        text.object { text in
            text.name("earliest")
            text.string(window.earliest.map { UTC.text(milliseconds: $0) })
            text.name("latest")
            text.string(window.latest.map { UTC.text(milliseconds: $0) })
        }
    }

    /// Millionths as a decimal number of units, exactly.
    static func units(micros: Int128) -> String {
        let digits = String(micros % 1_000_000)
        guard digits != "0" else { return "\(micros / 1_000_000)" }
        var fraction = Substring(String(repeating: "0", count: 6 - digits.count) + digits)
        while fraction.last == "0" { fraction = fraction.dropLast() }
        return "\(micros / 1_000_000).\(fraction)"
    }
}

extension PartnerDocument {
    fileprivate var envelopeFields: [StaticString] {
        let unsigned: [StaticString] = [
            "conversion-value", "coarse-conversion-value", "country-code",
        ]
        guard event.framework == .skAdNetwork else {
            return ["jws-string", "ad-interaction-type"] + unsigned
        }
        let layout = event.layout
        let isFour = layout?.usesSourceIdentifier ?? true
        var fields: [StaticString] = ["version", "ad-network-id"]
        fields.append(isFour ? "source-identifier" : "campaign-id")
        fields += ["transaction-id", "app-id", "attribution-signature", "redownload"]
        if layout?.signsSourceApp ?? true, !form.omitsSourceApp { fields.append("source-app-id") }
        // Beside a source app the domain is not signed.
        if layout?.signsSourceDomain ?? true, event.sourceAppID == nil {
            fields.append("source-domain")
        }
        if layout?.signsFidelity ?? true, !form.omitsFidelity { fields.append("fidelity-type") }
        if layout?.signsDidWin ?? true { fields.append("did-win") }
        if layout?.signsSequenceIndex ?? true { fields.append("postback-sequence-index") }
        return fields + unsigned
    }
}
