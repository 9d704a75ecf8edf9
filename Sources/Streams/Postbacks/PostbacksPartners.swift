import ConversionModels
import JSON
import Signatures

extension PostbacksFold {
    /// Puts an accepted postback in the outbox of every partner with a matching rule.
    func publish(
        _ event: PostbacksEvent, _ result: AttestationResult, _ decoding: ModelDecoding?,
        _ position: FoldPosition, _ prepared: PreparedPostbacks,
        _ copy: inout RememberedPostback
    ) {
        guard !self.partners.isEmpty else { return }
        let network = Self.lowercased(prepared.text(event.network))
        let partners = self.partners.filter {
            $0.admits(
                verdict: result.verdict, network: network, app: event.appID,
                window: event.sequenceIndex)
        }
        guard !partners.isEmpty, let bytes = prepared.batch[position.index].value,
            let envelope = try? parser.parse(bytes)
        else { return }
        var jwsBytes: [UInt8] = []
        let claims = claims(of: envelope, bytes: &jwsBytes)
        let content = PartnerContent(
            event: event, verdict: result.verdict, form: result.form, decoding: decoding,
            position: position, topic: topic
        ).text(envelope: envelope, claims: claims)
        for partner in partners {
            let id = PartnerDocument.id(
                partner: partner.name, framework: "\(event.framework.framework)",
                network: network,
                transaction: Self.lowercased(prepared.text(event.transaction)),
                sequenceIndex: event.sequenceIndex)
            let revision = (copy.published[partner.name] ?? 0) + 1
            copy.published[partner.name] = revision
            outbox.append(
                PartnerPostback(
                    document: PartnerDocument(
                        id: id, revision: revision, partner: partner.name, content: content),
                    partner: partner.name, partition: position.partition,
                    originOffset: position.offset,
                    adNetworkID: network, campaign: campaignText(event, prepared),
                    hasSourceIdentifier: event.hasSourceIdentifier, appID: event.appID,
                    sourceAppID: event.sourceAppID ?? 0))
        }
    }

    private func claims(of envelope: JSONValue, bytes: inout [UInt8]) -> JSONValue? {
        guard let text = envelope.member("jws-string")?.string,
            let jws = CompactJWS(text, arena: &bytes)
        else { return nil }
        return bytes.withUnsafeBytes { all in
            try? jwsParser.parse(UnsafeRawBufferPointer(rebasing: all[jws.payload]))
        }
    }

    private func campaignText(_ event: PostbacksEvent, _ prepared: PreparedPostbacks) -> String {
        switch event.campaign {
        case .none: ""
        case .text(let range): prepared.text(range)
        case .number(let number): String(number)
        }
    }

    /// ASCII letters only.
    private static func lowercased(_ text: String) -> String {
        String(decoding: text.utf8.map(\.asciiLowercased), as: UTF8.self)
    }
}

/// The members of a partner's document after `partner`.
struct PartnerContent {
    var event: PostbacksEvent
    var verdict: Verdict
    var form: RelayForm
    var decoding: ModelDecoding?
    var position: FoldPosition
    var topic: String

    /// - Parameter claims: the payload of an AdAttributionKit postback.
    func text(envelope: JSONValue, claims: JSONValue?) -> String {
        var text = JSONText()
        text.object("postback") { writePostback(envelope, claims, to: &$0) }
        text.object("conversion", writeConversion)
        text.object("install_window", writeInstallWindow)
        text.member("received_at", UTC.text(milliseconds: position.timestampMilliseconds))
        text.object("origin") { text in
            text.member("topic", topic)
            text.member("partition", position.partition)
            text.member("offset", position.offset)
        }
        return text.text
    }

    /// Apple's fields with underscores: those that the layout signs, and those that Apple never signs.
    private func writePostback(
        _ envelope: JSONValue, _ claims: JSONValue?, to text: inout JSONText
    ) {
        func write(_ names: [StaticString], of source: JSONValue) {
            for name in names {
                guard let value = source.member(name) else { continue }
                text.name("\(name)".split(separator: "-").joined(separator: "_"))
                text.value(value)
            }
        }
        write(envelopeFields, of: envelope)
        if let claims { write(Self.claimFields, of: claims) }
    }

    private var envelopeFields: [StaticString] {
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
        // The domain is unsigned if the postback has a source app.
        if layout?.signsSourceDomain ?? true, event.sourceAppID == nil {
            fields.append("source-domain")
        }
        if layout?.signsFidelity ?? true, !form.omitsFidelity { fields.append("fidelity-type") }
        if layout?.signsDidWin ?? true { fields.append("did-win") }
        if layout?.signsSequenceIndex ?? true { fields.append("postback-sequence-index") }
        return fields + unsigned
    }

    private static let claimFields: [StaticString] = [
        "postback-identifier", "ad-network-identifier", "source-identifier",
        "advertised-item-identifier", "publisher-item-identifier", "marketplace-identifier",
        "impression-type", "conversion-type", "postback-sequence-index", "did-win",
    ]

    private func writeConversion(to text: inout JSONText) {
        let hasValue = event.fineValue != nil || event.coarseValue != nil
        text.member("value", event.fineValue)
        text.member("coarse", event.coarseValue.map { "\($0.name)" })
        text.member("model", hasValue ? decoding?.versionID : nil)
        // Events that never happened are omitted. Their revenue counts, like the revenue of buckets.
        let events = (decoding?.events ?? []).filter { $0.countMax > 0 }
        text.objects("events", events) { event, text in
            text.member("name", event.event)
            text.member("count_min", event.countMin)
            text.member("count_max", event.countMax)
        }
        if let decoding, !decoding.events.isEmpty {
            text.object("revenue") { text in
                text.name("min")
                text.raw(Self.units(decoding.events.map(\.revenueMinMicros)))
                text.name("max")
                text.raw(Self.units(decoding.events.map(\.revenueMaxMicros)))
                text.member("currency", decoding.currency)
            }
        } else {
            text.member("revenue", String?.none)
        }
        text.member("ambiguous", decoding.map { $0.ambiguous && hasValue } ?? false)
    }

    private func writeInstallWindow(to text: inout JSONText) {
        let window = event.installWindow(
            received: position.timestampMilliseconds, verdict: verdict)
        text.member("earliest", window.earliest.map { UTC.text(milliseconds: $0) })
        text.member("latest", window.latest.map { UTC.text(milliseconds: $0) })
    }

    /// The sum of amounts in millionths as a decimal number of units, exactly.
    private static func units(_ amounts: [Int64]) -> String {
        units(micros: amounts.reduce(Int128(0)) { $0 + Int128($1) })
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
