import ConversionModels
import JSON
import Signatures

extension PostbacksFold {
    /// Puts an accepted postback in the outbox of every partner whose rule admits it.
    func publish(
        _ event: PostbackEvent, _ result: AttestationResult, _ decoding: ModelDecoding?,
        _ place: RecordPlace, _ prepared: PreparedPostbacks, _ index: Int,
        _ copy: inout KnownPostback
    ) {
        guard !configuration.partners.isEmpty else { return }
        let network = Self.lowercased(prepared.text(event.network))
        let partners = configuration.partners.filter {
            $0.admits(
                verdict: result.verdict, network: network, app: event.appID,
                window: event.sequenceIndex)
        }
        guard !partners.isEmpty, let bytes = prepared.batch[index].value,
            let envelope = try? parser.parse(bytes)
        else { return }
        var jwsBytes: [UInt8] = []
        let claims = claims(of: envelope, bytes: &jwsBytes)
        let content = PartnerContent(
            event: event, verdict: result.verdict, form: result.form, decoding: decoding,
            place: place, topic: topic
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
                    partner: partner.name, partition: place.partition, originOffset: place.offset,
                    adNetworkID: network, campaign: campaignText(event, prepared),
                    hasSourceIdentifier: event.hasSourceIdentifier, appID: event.appID,
                    sourceAppID: event.sourceAppID ?? 0))
        }
    }

    /// The payload of an AdAttributionKit postback.
    private func claims(of envelope: JSONValue, bytes: inout [UInt8]) -> JSONValue? {
        guard let text = envelope.member("jws-string")?.string,
            let jws = CompactJWS(text, arena: &bytes)
        else { return nil }
        return bytes.withUnsafeBytes { all in
            try? jwsParser.parse(UnsafeRawBufferPointer(rebasing: all[jws.payload]))
        }
    }

    private func campaignText(_ event: PostbackEvent, _ prepared: PreparedPostbacks) -> String {
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
