import EventLog
import JSON
import Signatures

/// The details of a single postback: its verdict, and the fields that its signature covers.
///
/// The fold itself prepares it, so that the verdict cannot differ from the worker's.
package struct PostbackInspection: Sendable {
    package let verdict: Verdict
    /// The verified form, which is folded; `asGiven` if verification failed.
    package let form: RelayForm
    /// The signed fields, in order; a value is nil if a required field is missing. Empty for an unknown version.
    package let signedFields: [SignedField]
    /// The other fields of the document, in order, without the signature.
    package let unsignedFields: [SignedField]

    /// Judges a postback as the worker does.
    ///
    /// - Parameters:
    ///   - document: the value of a record.
    ///   - framework: the type of the record.
    ///   - isRelayed: whether the record's `ce_via` is `relay`.
    ///   - keys: the trusted keys.
    ///   - maxRecordBytes: longer documents are rejected.
    /// - Throws: the worker's reason for rejection. Nil without memory for a parser.
    package static func inspect(
        _ document: UnsafeRawBufferPointer, framework: PostbacksEventType, isRelayed: Bool,
        keys: TrustedKeys, maxRecordBytes: Int = 1_048_576
    ) throws(Rejection) -> PostbackInspection? {
        guard let parser = JSONParser(), let jwsParser = JSONParser() else { return nil }
        let fold = PostbacksFold(
            topic: PostbacksFold.streamName,
            rules: PostbacksRules(maxRecordBytes: maxRecordBytes),
            attestor: Attestor(keys: keys, threadCount: 1), parser: parser, jwsParser: jwsParser,
            memory: RecalledMemory())
        let prepared = fold.prepare(batch(of: document, framework, isRelayed: isRelayed))
        guard let item = prepared.items.first, let result = prepared.results.first else {
            return nil
        }
        let event = try item.event.get()
        guard let value = try? parser.parse(document) else { return nil }
        let fields = SignedPostbackFields(value, event, prepared, form: result.form)
        return PostbackInspection(
            verdict: result.verdict, form: result.form,
            signedFields: fields.signed(jwsParser), unsignedFields: fields.unsigned)
    }

    private static func batch(
        of document: UnsafeRawBufferPointer, _ framework: PostbacksEventType, isRelayed: Bool
    ) -> RecordBatch {
        let headers = RecordHeaders.encode([
            .init("ce_type", "\(framework.name)"),
            .init("ce_via", isRelayed ? "relay" : "device"),
        ])
        let batch = RecordBatch()
        headers.withUnsafeBytes { headers in
            batch.append(
                partition: 0, offset: 0, timestampMilliseconds: 0, key: nil, headers: headers,
                value: document)
        }
        return batch
    }
}

/// Separates the signed fields of a decoded document from the others.
private struct SignedPostbackFields {
    private let value: JSONValue
    private let event: PostbacksEvent
    private let prepared: PreparedPostbacks
    private let form: RelayForm

    init(
        _ value: JSONValue, _ event: PostbacksEvent, _ prepared: PreparedPostbacks, form: RelayForm
    ) {
        self.value = value
        self.event = event
        self.prepared = prepared
        self.form = form
    }

    func signed(_ jwsParser: JSONParser) -> [SignedField] {
        switch event.framework {
        case .adAttributionKit: jwsFields(jwsParser)
        case .skAdNetwork: event.layout.map(claimedFields) ?? []
        }
    }

    var unsigned: [SignedField] {
        var named = Set(["attribution-signature", "jws-string"])
        if let layout = event.layout { named.formUnion(claimedFields(layout).map(\.name)) }
        var seen = named
        return SignedField.members(of: value, notIn: &seen)
    }

    /// The fields that the layout's signature covers; the decoder has already judged the members.
    private func claimedFields(_ layout: SKAdNetworkLayout) -> [SignedField] {
        prepared.bytes.withUnsafeBytes { bytes in
            func text(_ range: Range<Int>) -> UnsafeRawBufferPointer {
                UnsafeRawBufferPointer(rebasing: bytes[range])
            }
            var claims = SKAdNetworkClaims(
                version: text(event.version), adNetworkID: text(event.network),
                appID: event.appID, transactionID: text(event.transaction))
            claims.redownload = value.member("redownload")?.boolean
            claims.sourceAppID = event.sourceAppID
            claims.sourceDomain = event.sourceDomain.isEmpty ? nil : text(event.sourceDomain)
            claims.fidelityType = event.interaction.fidelityType
            claims.didWin = value.member("did-win")?.boolean
            if value.member("postback-sequence-index") != nil {
                claims.sequenceIndex = Int64(event.sequenceIndex)
            }
            switch event.campaign {
            case .none:
                return layout.signedFields(of: claims, form: form)
            case .text(let range):
                claims.sourceIdentifier = text(range)
                return layout.signedFields(of: claims, form: form)
            case .number(let number):
                claims.campaignID = number
                return Array(String(number).utf8).withUnsafeBytes { digits in
                    claims.sourceIdentifier = digits
                    return layout.signedFields(of: claims, form: form)
                }
            }
        }
    }

    /// The key id and the algorithm of the JWS, then its claims.
    private func jwsFields(_ jwsParser: JSONParser) -> [SignedField] {
        var parts: [UInt8] = []
        guard let text = value.member("jws-string")?.string,
            let jws = CompactJWS(text, arena: &parts)
        else { return [] }
        return [jws.header, jws.payload].flatMap { range in
            parts.withUnsafeBytes { bytes in
                let part = UnsafeRawBufferPointer(rebasing: bytes[range])
                var seen: Set<String> = []
                return (try? jwsParser.parse(part)).map {
                    SignedField.members(of: $0, notIn: &seen)
                } ?? []
            }
        }
    }
}

extension PostbacksEvent.Interaction {
    /// SKAdNetwork's number for it; nil if unknown.
    fileprivate var fidelityType: Int64? {
        switch self {
        case .unknown, .other: nil
        case .view: 0
        case .click: 1
        }
    }
}

extension SignedField {
    package static func members(
        of object: JSONValue, notIn seen: inout Set<String>
    ) -> [SignedField] {
        var fields: [SignedField] = []
        object.forEachMember { name, member in
            let name = String(decoding: name, as: UTF8.self)
            guard seen.insert(name).inserted else { return }
            var json = JSONText()
            json.value(member)
            let text = member.string.map { String(decoding: $0, as: UTF8.self) }
            fields.append(SignedField(name: name, value: text ?? json.text))
        }
        return fields
    }
}
