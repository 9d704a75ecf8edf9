import Crypto
import Foundation
import Signatures
import Testing

struct Postback {
    var version: String?
    var adNetworkID = "Com.Example"
    var campaignID: Int64? = 42
    var sourceIdentifier: String? = "0239"
    var appID: Int64 = 525_463_029
    var transactionID = "6aafb7a5-0170-41b5-bbe4-fe71dedf1e28"
    var redownload: Bool? = true
    var sourceAppID: Int64? = 1_234_567_891
    var sourceDomain: String? = "example.com"
    var fidelityType: Int64? = 1
    var didWin: Bool? = true
    var sequenceIndex: Int64? = 2
    var signature: String?

    init(version: String?) { self.version = version }

    /// Apple's JSON; texts that are absent become empty, which no signature covers.
    init(json: [String: Any]) {
        func number(_ key: String) -> Int64? {
            (json[key] as? NSNumber)?.int64Value ?? (json[key] as? String).flatMap { Int64($0) }
        }
        version = json["version"] as? String
        adNetworkID = json["ad-network-id"] as? String ?? ""
        campaignID = number("campaign-id")
        sourceIdentifier = json["source-identifier"] as? String
        appID = number("app-id") ?? 0
        transactionID = json["transaction-id"] as? String ?? ""
        redownload = json["redownload"] as? Bool
        sourceAppID = number("source-app-id")
        sourceDomain = json["source-domain"] as? String
        fidelityType = number("fidelity-type")
        didWin = json["did-win"] as? Bool
        sequenceIndex = number("postback-sequence-index")
        signature = json["attribution-signature"] as? String
    }

    func claims(_ bytes: LentBytes) -> SKAdNetworkClaims {
        var claims = SKAdNetworkClaims(
            version: version.map(bytes.lend), adNetworkID: bytes.lend(adNetworkID), appID: appID,
            transactionID: bytes.lend(transactionID))
        claims.campaignID = campaignID
        claims.sourceIdentifier = sourceIdentifier.map(bytes.lend)
        claims.redownload = redownload
        claims.sourceAppID = sourceAppID
        claims.sourceDomain = sourceDomain.map(bytes.lend)
        claims.fidelityType = fidelityType
        claims.didWin = didWin
        claims.sequenceIndex = sequenceIndex
        return claims
    }

    /// The signed text, or nil when the layout refuses it.
    func signedText(_ form: RelayForm = .asGiven) -> [UInt8]? {
        let bytes = LentBytes()
        return withExtendedLifetime(bytes) {
            let claims = claims(bytes)
            var text: [UInt8] = []
            guard let layout = SKAdNetworkLayout(version: claims.version),
                layout.appendSignedText(of: claims, form: form, to: &text)
            else { return nil }
            return text
        }
    }

    func signedFields(_ form: RelayForm = .asGiven) -> [SignedField] {
        let bytes = LentBytes()
        return withExtendedLifetime(bytes) {
            let claims = claims(bytes)
            return SKAdNetworkLayout(version: claims.version)?
                .signedFields(of: claims, form: form) ?? []
        }
    }

    func request(isRelayed: Bool = false, arena: inout [UInt8]) -> AttestationRequest {
        let bytes = LentBytes()
        return withExtendedLifetime(bytes) {
            .skAdNetwork(
                claims(bytes), signature: signature.map(bytes.lend), isRelayed: isRelayed,
                arena: &arena)
        }
    }

    func attested(_ keys: TrustedKeys, isRelayed: Bool = false) -> AttestationResult {
        var arena: [UInt8] = []
        let request = request(isRelayed: isRelayed, arena: &arena)
        return Attestor(keys: keys, threadCount: 1).begin([request], bytes: arena).finish()[0]
    }

    func signed(by key: SigningKey, _ form: RelayForm = .asGiven) throws -> Postback {
        var copy = self
        copy.signature = try key.sign(signedText(form) ?? [])
        return copy
    }
}

/// One line of `Vectors/skadnetwork.jsonl`.
struct Vector: CustomTestStringConvertible {
    let line: String

    var json: [String: Any] {
        (try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? [String: Any] ?? [:]
    }
    var kind: String { json["kind"] as? String ?? "" }
    var signed: String? { json["signed"] as? String }
    var publicKey: String? { json["public_key"] as? String }
    var verdict: Verdict? { Verdict.allCases.first { $0.name == json["verdict"] as? String } }
    var body: [String: Any] { json["postback"] as? [String: Any] ?? [:] }
    var postback: Postback { Postback(json: body) }
    var testDescription: String { "\(json["version"] ?? "") \(json["note"] ?? "")" }

    static let all: [Vector] = {
        guard
            let url = Bundle.module.url(
                forResource: "skadnetwork", withExtension: "jsonl", subdirectory: "Vectors"),
            let text = try? String(contentsOf: url, encoding: .utf8)
        else { return [] }
        return text.split(separator: "\n").map { Vector(line: String($0)) }
    }()

    static func all(of kind: String) -> [Vector] { all.filter { $0.kind == kind } }
}

/// Texts at addresses that stay put for as long as the object lives.
final class LentBytes {
    private var buffers: [UnsafeMutableRawBufferPointer] = []

    func lend(_ text: String) -> UnsafeRawBufferPointer {
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: text.utf8.count, alignment: 1)
        buffer.copyBytes(from: text.utf8)
        buffers.append(buffer)
        return UnsafeRawBufferPointer(buffer)
    }

    deinit { buffers.forEach { $0.deallocate() } }
}
