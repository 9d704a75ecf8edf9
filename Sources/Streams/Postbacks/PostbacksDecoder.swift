import ConversionModels
import JSON
import Signatures

/// Decodes postbacks of both frameworks, and collects the data to verify for each.
///
/// Apple's "Verifying an install-validation postback" and "Identifying the parameters in install-validation postbacks".
/// Fields that the version's layout does not sign are ignored, except those that Apple never signs.
final class PostbacksDecoder {
    /// The texts of the batch's events, and the data to verify.
    private(set) var bytes: [UInt8] = []
    private let jwsParser: JSONParser
    private var faults = FieldFaults()
    /// A buffer for claims that need a number as text.
    private let digits = UnsafeMutableRawBufferPointer.allocate(byteCount: 24, alignment: 1)

    /// JWS parts need a separate parser, because the envelope is still in use.
    init(jwsParser: JSONParser) {
        self.jwsParser = jwsParser
    }

    deinit {
        digits.deallocate()
    }

    func begin() {
        bytes = []
    }

    /// Decodes a postback of SKAdNetwork 1.0 to 4.0, or of an unknown version.
    func skAdNetwork(
        _ value: JSONValue, via: PostbackRoute?
    ) throws(Rejection) -> (PostbacksEvent, AttestationRequest) {
        begin(via)
        var event = PostbacksEvent(framework: .skAdNetwork)
        let version = faults.optionalText(value, "version")
        let layout: SKAdNetworkLayout? =
            value.member("version") == nil
            ? .v1_0 : version.flatMap { SKAdNetworkLayout(version: $0) }
        event.layout = layout
        var claims = SKAdNetworkClaims(
            version: version,
            adNetworkID: faults.requiredID(value, "ad-network-id"),
            appID: appID(value, "app-id"),
            transactionID: faults.requiredID(value, "transaction-id"))
        readCampaign(value, layout, &event, &claims)
        readSource(value, layout, &event, &claims)
        readOutcome(value, layout, &event, &claims)
        readUnsigned(value, &event)
        let signature = faults.optionalText(value, "attribution-signature")
        if let rejection = faults.rejection { throw rejection }

        event.version = keep(version ?? Self.firstVersion)
        event.network = keep(claims.adNetworkID)
        event.transaction = keep(claims.transactionID)
        event.appID = claims.appID
        guard layout != nil else { return (event, .unverifiable) }
        let request = AttestationRequest.skAdNetwork(
            claims, signature: signature, isRelayed: via == .relay, arena: &bytes)
        return (event, request)
    }

    func adAttributionKit(
        _ value: JSONValue, via: PostbackRoute?
    ) throws(Rejection) -> (PostbacksEvent, AttestationRequest) {
        begin(via)
        var event = PostbacksEvent(framework: .adAttributionKit)
        readUnsigned(value, &event)
        readInteraction(value, &event)
        if value.member("jws-string") == nil { _ = faults.missing("jws-string") }
        let jwsText = faults.optionalText(value, "jws-string")
        var request = AttestationRequest.invalid
        if let jwsText {
            if let jws = CompactJWS(jwsText, arena: &bytes) {
                request = readHeader(of: jws)
                readClaims(of: jws, &event)
            } else {
                faults.report(.malformedJSON, "jws-string", "is not a compact JWS")
            }
        }
        if let rejection = faults.rejection { throw rejection }
        return (event, request)
    }

    private func begin(_ via: PostbackRoute?) {
        faults = FieldFaults()
        if via == nil {
            faults.report(.outOfRange, "ce_via", "is not device, developer-copy or relay")
        }
    }

    private static var firstVersion: UnsafeRawBufferPointer {
        let text: StaticString = "1.0"
        return UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    }

    private func keep(_ text: UnsafeRawBufferPointer) -> Range<Int> {
        let start = bytes.count
        bytes.append(contentsOf: text)
        return start..<bytes.count
    }

    private func text(of number: Int64) -> UnsafeRawBufferPointer {
        let text = Array(String(number).utf8)
        digits.copyBytes(from: text)
        return UnsafeRawBufferPointer(rebasing: digits[..<text.count])
    }

    private func appID(_ value: JSONValue, _ name: StaticString) -> Int64 {
        let isEmpty = value.member(name)?.string?.isEmpty ?? false
        if value.member(name) == nil || isEmpty { _ = faults.missing(name) }
        return faults.optionalIdentifier(value, name) ?? 0
    }
}

// MARK: SKAdNetwork's fields

extension PostbacksDecoder {
    private func readCampaign(
        _ value: JSONValue, _ layout: SKAdNetworkLayout?, _ event: inout PostbacksEvent,
        _ claims: inout SKAdNetworkClaims
    ) {
        if let layout, !layout.usesSourceIdentifier {
            if value.member("campaign-id") == nil { _ = faults.missing("campaign-id") }
            guard let campaignID = faults.optionalIdentifier(value, "campaign-id") else {
                if value.member("campaign-id")?.string?.isEmpty == true {
                    _ = faults.missing("campaign-id")
                }
                return
            }
            if !(1...100).contains(campaignID) {
                faults.report(.outOfRange, "campaign-id", "is not between 1 and 100")
            }
            claims.campaignID = campaignID
            event.campaign = .number(campaignID)
        } else {
            event.campaign = sourceIdentifier(value, isRequired: layout != nil)
            event.hasSourceIdentifier = true
            claims.sourceIdentifier = value.member("source-identifier")?.string
            if case .number(let number) = event.campaign {
                claims.sourceIdentifier = text(of: number)
            }
        }
    }

    private func readSource(
        _ value: JSONValue, _ layout: SKAdNetworkLayout?, _ event: inout PostbacksEvent,
        _ claims: inout SKAdNetworkClaims
    ) {
        if layout?.signsSourceApp ?? true {
            event.sourceAppID = faults.optionalIdentifier(value, "source-app-id")
            claims.sourceAppID = event.sourceAppID
        }
        if layout?.signsSourceDomain ?? true,
            let domain = faults.optionalText(value, "source-domain")
        {
            event.sourceDomain = keep(domain)
            claims.sourceDomain = domain
        }
        if layout?.signsFidelity ?? true,
            let fidelity = faults.optionalInteger(value, "fidelity-type")
        {
            switch fidelity {
            case 0: event.interaction = .view
            case 1: event.interaction = .click
            default: faults.report(.outOfRange, "fidelity-type", "is neither 0 nor 1")
            }
            claims.fidelityType = fidelity
        }
    }

    private func readOutcome(
        _ value: JSONValue, _ layout: SKAdNetworkLayout?, _ event: inout PostbacksEvent,
        _ claims: inout SKAdNetworkClaims
    ) {
        let redownload = faults.boolean(value.member("redownload"), "redownload")
        event.conversionType = redownload == true ? .redownload : .download
        claims.redownload = redownload
        if layout?.signsDidWin ?? true {
            let didWin = faults.boolean(value.member("did-win"), "did-win")
            // The win is required; without the field the signature is invalid too.
            event.didWin = didWin ?? false
            claims.didWin = didWin
        }
        if layout?.signsSequenceIndex ?? true {
            let index = sequenceIndex(value)
            event.sequenceIndex = Int(index ?? 0)
            claims.sequenceIndex = index
        }
    }
}

// MARK: AdAttributionKit's parts

extension PostbacksDecoder {
    private func readHeader(of jws: CompactJWS) -> AttestationRequest {
        guard let header = part(jws.header) else { return .invalid }
        let kid = header.member("kid")?.string.map { keep($0) } ?? 0..<0
        let isES256 =
            header.member("alg")?.string?.equals("ES256") == true
            && header.firstMember("crit") == nil
        return .adAttributionKit(jws, kid: kid, isES256: isES256)
    }

    private func readClaims(of jws: CompactJWS, _ event: inout PostbacksEvent) {
        guard let claims = part(jws.payload) else { return }
        event.network = keep(faults.requiredID(claims, "ad-network-identifier"))
        event.transaction = keep(faults.requiredID(claims, "postback-identifier"))
        event.appID = appID(claims, "advertised-item-identifier")
        event.sourceAppID = faults.optionalIdentifier(claims, "publisher-item-identifier")
        event.campaign = sourceIdentifier(claims, isRequired: true)
        event.hasSourceIdentifier = true
        event.sequenceIndex = Int(sequenceIndex(claims) ?? 0)
        event.didWin = faults.boolean(claims.member("did-win"), "did-win") ?? false
        if let marketplace = faults.optionalText(claims, "marketplace-identifier") {
            event.marketplace = keep(marketplace)
        }
        guard let type = faults.optionalText(claims, "conversion-type") else { return }
        if type.equals("download") {
            event.conversionType = .download
        } else if type.equals("redownload") {
            event.conversionType = .redownload
        } else if type.equals("re-engagement") {
            event.conversionType = .reEngagement
        } else {
            event.conversionType = .other
        }
    }

    private func readInteraction(_ value: JSONValue, _ event: inout PostbacksEvent) {
        guard let type = faults.optionalText(value, "ad-interaction-type") else { return }
        event.interactionWord = keep(type)
        if type.equals("view") {
            event.interaction = .view
        } else if type.equals("click") {
            event.interaction = .click
        } else {
            event.interaction = .other
        }
    }

    /// A part of the JWS; it must be a JSON object.
    private func part(_ range: Range<Int>) -> JSONValue? {
        let value = bytes.withUnsafeBytes { all in
            try? jwsParser.parse(UnsafeRawBufferPointer(rebasing: all[range]))
        }
        guard let value, value.isObject else {
            faults.report(.malformedJSON, "jws-string", "contains a part that is not a JSON object")
            return nil
        }
        return value
    }
}

// MARK: Fields of both frameworks

extension PostbacksDecoder {
    private func readUnsigned(_ value: JSONValue, _ event: inout PostbacksEvent) {
        if let fine = faults.optionalInteger(value, "conversion-value") {
            if !(0...63).contains(fine) {
                faults.report(.outOfRange, "conversion-value", "is not between 0 and 63")
            }
            event.fineValue = Int(truncatingIfNeeded: fine)
        }
        if let coarse = faults.optionalText(value, "coarse-conversion-value") {
            event.coarseValue = CoarseValue.allCases.first { coarse.equals($0.name) }
            if event.coarseValue == nil {
                faults.report(
                    .outOfRange, "coarse-conversion-value", "is not low, medium or high")
            }
        }
        if value.member("conversion-value") != nil, value.member("coarse-conversion-value") != nil {
            faults.report(
                .outOfRange, "coarse-conversion-value", "comes together with conversion-value")
        }
        if let country = faults.optionalText(value, "country-code") {
            event.country = keep(country)
        }
    }

    private func sequenceIndex(_ value: JSONValue) -> Int64? {
        guard let index = faults.optionalInteger(value, "postback-sequence-index") else {
            return nil
        }
        guard (0...2).contains(index) else {
            faults.report(.outOfRange, "postback-sequence-index", "is not between 0 and 2")
            return nil
        }
        return index
    }

    /// The source identifier: a string of 1 to 4 digits, which keeps its zeros, or a number of that size.
    private func sourceIdentifier(
        _ value: JSONValue, isRequired: Bool
    ) -> PostbacksEvent.Campaign {
        let member = value.member("source-identifier")
        guard let member, member.string?.isEmpty != true else {
            if isRequired { _ = faults.missing("source-identifier") }
            return .none
        }
        if let text = member.string {
            if case .number = Digits(text), text.count <= 4 { return .text(keep(text)) }
            faults.report(.outOfRange, "source-identifier", "is not 1 to 4 digits")
            return .none
        }
        guard let number = faults.optionalIdentifier(value, "source-identifier") else {
            return .none
        }
        if !(0...9999).contains(number) {
            faults.report(.outOfRange, "source-identifier", "is not 1 to 4 digits")
        }
        return .number(number)
    }
}

extension CoarseValue {
    var name: StaticString {
        switch self {
        case .low: "low"
        case .medium: "medium"
        case .high: "high"
        }
    }
}

extension RecordKeyReader {
    /// The key of a SKAdNetwork postback: its transaction id in lower case.
    package func skAdNetworkKey(_ bytes: [UInt8]) throws(Rejection) -> [UInt8] {
        try read(bytes) { value throws(Rejection) in
            try requiredKey(value.member("transaction-id"), "transaction-id").asciiLowercased
        }
    }

    /// The key of an AdAttributionKit postback: its postback identifier from the JWS, in lower case. The signature is
    /// not verified here.
    package func adAttributionKitKey(_ bytes: [UInt8]) throws(Rejection) -> [UInt8] {
        try read(bytes) { value throws(Rejection) in
            let text = faults.requiredID(value, "jws-string")
            if let rejection = faults.rejection { throw rejection }
            var arena: [UInt8] = []
            guard let jws = CompactJWS(text, arena: &arena) else {
                throw Rejection(.malformedJSON, "jws-string is not a compact JWS")
            }
            let header = arena[jws.header].withUnsafeBytes { try? innerParser.parse($0) }
            guard header?.isObject == true else { throw Self.badPart }
            let payload = arena[jws.payload].withUnsafeBytes { try? innerParser.parse($0) }
            guard let payload, payload.isObject else { throw Self.badPart }
            return try requiredKey(
                payload.member("postback-identifier"), "postback-identifier"
            ).asciiLowercased
        }
    }

    private static let badPart = Rejection(
        .malformedJSON, "jws-string contains a part that is not a JSON object")
}

extension [UInt8] {
    fileprivate var asciiLowercased: [UInt8] { map(\.asciiLowercased) }
}
