import ConfigurationFiles
import ConfigurationValues
import Foundation
import JSON
import Streams
import TestKit

@testable import Signatures

/// Keys are made when a target is, so that no input holds a signature that is good. Inputs say what is signed, and
/// what is altered then.
private struct Signers {
    static let bundle = "com.example.puzzle"

    let chain: AppStoreChain
    let root: AppStoreRoot
    let postbacks = PostbackSigner()

    init() throws {
        chain = try AppStoreChain()
        root = try AppStoreRoot(pem: chain.rootPEM)
    }

    /// What was verified, and else why not. Two verifiers answer.
    func verdict(
        _ jws: String, by verifier: AppStoreVerifier, and other: AppStoreVerifier
    ) throws -> Result<[UInt8], AppStoreFault> {
        let verdicts = [verifier, other].map { verifier in
            Result { () throws(AppStoreFault) -> [UInt8] in
                var read: Result<AppStoreJWS, AppStoreFault> = .failure(.notAJWS)
                Array(jws.utf8).withUnsafeBytes { text in
                    read = Result { () throws(AppStoreFault) in try AppStoreJWS(text) }
                }
                let parsed = try read.get()
                _ = verifier.certificates(of: parsed)
                try verifier.verify(parsed, signedAtMilliseconds: 1_795_219_200_000)
                return parsed.payload
            }
        }
        try require(verdicts[0] == verdicts[1], "verified again, another verdict")
        return verdicts[0]
    }
}

/// Which byte of a text is altered, and to what: two bytes before an input.
private struct Alteration {
    let difference: UInt8
    let index: UInt8

    /// Nil for an input that is too short. `rest` is what comes after.
    init?(_ bytes: [UInt8], rest: inout ArraySlice<UInt8>) {
        guard bytes.count >= 2 else { return nil }
        (difference, index) = (bytes[0], bytes[1])
        rest = bytes[2...]
    }

    var isNone: Bool { difference == 0 }

    func applied(to bytes: [UInt8]) -> [UInt8] {
        guard !bytes.isEmpty else { return bytes }
        var altered = bytes
        altered[Int(index) * bytes.count / 256] ^= difference
        return altered
    }

    /// Of what a JWS signs: header and payload.
    func applied(toSigned jws: String) -> String {
        guard let end = jws.utf8.lastIndex(of: UInt8(ascii: ".")) else { return jws }
        let altered = applied(to: Array(jws.utf8[..<end]))
        return String(decoding: altered, as: UTF8.self) + jws[end...]
    }
}

/// `jws`: after the alteration, the header and the payload with an empty line between them, or a payload alone. In a
/// header, LEAF, MIDDLE and ROOT stand for the certificates.
@Sendable func jws() throws -> FuzzTarget.Run {
    let signers = try Signers()
    let verifier = AppStoreVerifier(roots: [signers.root])
    return { bytes in
        var rest: ArraySlice<UInt8> = []
        guard let alteration = Alteration(bytes, rest: &rest) else { return }
        _ = try signers.verdict(String(decoding: rest, as: UTF8.self), by: verifier, and: verifier)
        let parts = Array(rest).split(separator: Array("\n\n".utf8), maxSplits: 1)
        let isHeaderGiven = parts.count == 2
        let payload = Array(parts.last ?? [])
        let header =
            zip(["LEAF", "MIDDLE", "ROOT"], signers.chain.x5c).reduce(
                String(decoding: parts.first ?? [], as: UTF8.self)
            ) { $0.replacing($1.0, with: $1.1) }
        let jws = try signers.chain.sign(payload, header: isHeaderGiven ? header : nil)
        let verdict = try signers.verdict(jws, by: verifier, and: verifier)
        if isHeaderGiven {
            guard case .success = verdict else { return }
            try require(names(header) == true, "verified by the header \(header)")
        } else if !payload.isEmpty {
            try require(verdict == .success(payload), "what was signed is not verified: \(verdict)")
        }
        guard !alteration.isNone else { return }
        let altered = try signers.verdict(
            alteration.applied(toSigned: jws), by: verifier, and: verifier)
        if case .success = altered { throw Contradiction("altered, and verified") }
    }
}

/// Whether a header names the algorithm, three certificates and nothing that has to be understood. Of members
/// given twice the first counts.
private func names(_ header: String) -> Bool? {
    JSONParser().flatMap { parser in
        Array(header.utf8).withUnsafeBytes { bytes in
            guard let header = try? parser.parse(bytes) else { return false }
            var members: [String: JSONValue] = [:]
            header.forEachMember { name, member in
                let name = String(decoding: name, as: UTF8.self)
                members[name] = members[name] ?? member
            }
            return members["alg"]?.string?.elementsEqual("ES256".utf8) == true
                && members["crit"] == nil
                && members["x5c"].map { Array($0.elements).count } == 3
        }
    }
}

/// `certificates`: the first byte says what the rest is: changes of the leaf or of the intermediate, three bytes
/// each (two for the place, one for the difference), all of the leaf, or a root in PEM.
@Sendable func certificates() throws -> FuzzTarget.Run {
    let signers = try Signers()
    let verifier = AppStoreVerifier(roots: [signers.root])
    func verdict(
        leaf: [UInt8], intermediate: [UInt8]
    ) throws -> Result<[UInt8], AppStoreFault> {
        let list = [leaf, intermediate, signers.chain.certificates[2]].map {
            "\"\(Data($0).base64EncodedString())\""
        }
        let header = "{\"alg\":\"ES256\",\"x5c\":[\(list.joined(separator: ","))]}"
        return try signers.verdict(
            signers.chain.sign("{}".utf8, header: header), by: verifier,
            and: AppStoreVerifier(roots: [signers.root]))
    }
    return { bytes in
        guard let first = bytes.first else { return }
        let rest = Array(bytes.dropFirst())
        switch first % 4 {
        case 0, 1:
            var path = Array(signers.chain.certificates.prefix(2))
            let which = Int(first % 4)
            let signed = try signedRange(of: path[which])
            var isAltered = false
            for change in stride(from: 0, to: rest.count - 2, by: 3) {
                let index = (Int(rest[change]) << 8 | Int(rest[change + 1])) % path[which].count
                path[which][index] ^= rest[change + 2]
            }
            isAltered = path[which][signed] != signers.chain.certificates[which][signed]
            let verdict = try verdict(leaf: path[0], intermediate: path[1])
            if case .success = verdict {
                try require(!isAltered, "verified by an altered certificate")
            } else {
                try require(
                    path != Array(signers.chain.certificates.prefix(2)), "not verified: \(verdict)")
            }
        case 2:
            let verdict = try verdict(leaf: rest, intermediate: signers.chain.certificates[1])
            if case .success = verdict { throw Contradiction("verified by a leaf of nobody") }
        default:
            let read = try same("a root") {
                try AppStoreRoot(pem: String(decoding: rest, as: UTF8.self)).der
            }
            guard case .success(let der) = read else { return }
            let written = AppStoreRoot(der: der).pem
            try require(try AppStoreRoot(pem: written).der == der, "written, another root")
        }
    }
}

/// Where in a certificate lies what its issuer signed: the first value of the sequence.
private func signedRange(of der: [UInt8]) throws(Contradiction) -> Range<Int> {
    func content(of start: Int) throws(Contradiction) -> Range<Int> {
        guard der.count > start + 3, der[start] == 0x30 else {
            throw Contradiction("no certificate of a test")
        }
        let countBytes = der[start + 1] > 0x80 ? Int(der[start + 1] & 0x7F) : 0
        let first = start + 2 + countBytes
        let count =
            countBytes == 0
            ? Int(der[start + 1]) : der[start + 2..<first].reduce(0) { $0 << 8 | Int($1) }
        return first..<first + count
    }
    let start = try content(of: 0).lowerBound
    return start..<(try content(of: start).upperBound)
}

/// `signed-notifications`: after the alteration, the payload of a notification of version 2. Objects where JWSs belong
/// are signed too.
@Sendable func signedNotifications() throws -> FuzzTarget.Run {
    let signers = try Signers()
    let files = try TemporaryDirectory()
    try files.write(signers.chain.rootPEM, to: "root.pem")
    try files.write(
        """
        roots: [root.pem]
        apps: [{bundle_id: \(Signers.bundle), app_apple_id: 525463029}]
        """, to: "store-notifications.yaml")
    let folding = try FoldedTwice<StoreNotificationsFold>(PipelineDirectory(files.path))
    let parser = try JSONParser.make()
    return { bytes in
        var rest: ArraySlice<UInt8> = []
        guard let alteration = Alteration(bytes, rest: &rest) else { return }
        let payload = signingInner(Array(rest), parser, signers.chain)
        let jws = try signers.chain.sign(payload)
        func outcome(_ jws: String) throws -> FoldedTwice<StoreNotificationsFold>.Outcome {
            let body = try json(["signedPayload": jws])
            return try folding.fold(body, type: "appstore.notification.v2")
        }
        _ = try outcome(jws)
        guard !alteration.isNone else { return }
        let altered = try outcome(alteration.applied(toSigned: jws))
        try require(altered.refused == 2, "altered, and counted")
    }
}

/// The payload with a JWS in the place of each object `signed…` in its data. What is no JSON stays as it is.
private func signingInner(
    _ payload: [UInt8], _ parser: JSONParser, _ chain: AppStoreChain
) -> [UInt8] {
    payload.withUnsafeBytes { bytes in
        guard let value = try? parser.parse(bytes), value.isObject else { return payload }
        var text = JSONText()
        text.object { text in
            value.forEachMember { name, member in
                let name = String(decoding: name, as: UTF8.self)
                text.name(name)
                guard ["data", "appData"].contains(name), member.isObject else {
                    return text.value(member)
                }
                text.object { text in
                    member.forEachMember { name, inner in
                        let name = String(decoding: name, as: UTF8.self)
                        text.name(name)
                        guard name.hasPrefix("signed"), inner.isObject else {
                            return text.value(inner)
                        }
                        var signed = JSONText()
                        signed.value(inner)
                        text.string((try? chain.sign(signed.bytes)) ?? "")
                    }
                }
            }
        }
        return text.bytes
    }
}

/// The payloads of fixtures, as they are and with a byte altered.
@Sendable func notificationPayloads() throws -> [[UInt8]] {
    try fixtureRecords(of: "store-notifications").compactMap { $0["payload"] }.flatMap { payload in
        [[0, 0] + (try json(payload)), [1, 200] + (try json(payload))]
    }
}

/// `signed-postbacks`: after the alteration, a postback of SKAdNetwork, or an object with the `claims` of one of
/// AdAttributionKit and more members.
@Sendable func signedPostbacks() throws -> FuzzTarget.Run {
    let signer = PostbackSigner()
    let parser = try JSONParser.make()
    let keys = try TrustedKeys(
        production: [signer.publicKey], development: [],
        adAttributionKit: [.init(kid: "test/0", key: signer.publicKey, verdict: .valid)])
    func inspect(
        _ document: [UInt8], _ framework: PostbacksEventType
    ) throws -> PostbackInspection? {
        let found = try same("a postback") {
            try document.withUnsafeBytes {
                try PostbackInspection.inspect(
                    $0, framework: framework, isRelayed: false, keys: keys
                ).map(Inspected.init)
            }
        }
        return try? found.get()?.inspection
    }
    return { bytes in
        var rest: ArraySlice<UInt8> = []
        guard let alteration = Alteration(bytes, rest: &rest) else { return }
        let document = Array(rest)
        if let jws = try jws(of: document, parser, signer) {
            let signed = try envelope(document, parser, first: "jws-string", jws)
            let found = try inspect(signed, .adAttributionKit)
            try require(
                found?.verdict ?? .valid == .valid, "signed, and \(String(describing: found))")
            let text = alteration.applied(toSigned: jws)
            let altered = try inspect(
                envelope(document, parser, first: "jws-string", text), .adAttributionKit)
            try require(alteration.isNone || altered?.verdict != .valid, "altered, and valid")
            return
        }
        guard let found = try inspect(document, .skAdNetwork), !found.signedFields.isEmpty else {
            return
        }
        let values = found.signedFields.compactMap(\.value)
        let signature = try signer.signature(over: values)
        let signed = try envelope(document, parser, first: "attribution-signature", signature)
        guard let again = try inspect(signed, .skAdNetwork) else {
            throw Contradiction("signed, and rejected")
        }
        try require(again.signedFields == found.signedFields, "other fields are signed")
        // Below 2.1 Apple's curve is another one; 1.0 does not sign its version.
        let version = found.signedFields.first { $0.name == "version" }?.value ?? "1.0"
        let isSignable =
            values.count == found.signedFields.count && !["1.0", "2.0"].contains(version)
            && values.allSatisfy { !$0.contains("\u{2063}") }
        try require(
            !isSignable || again.verdict == .valid, "signed, and \(again.verdict): \(values)")
        let altered = try inspect(alteration.applied(to: signed), .skAdNetwork)
        try require(
            altered?.verdict != .valid || altered?.signedFields == found.signedFields,
            "the signature of another postback is valid")
    }
}

/// An inspection, compared by what is said of it.
private struct Inspected: Equatable {
    let inspection: PostbackInspection

    init(_ inspection: PostbackInspection) { self.inspection = inspection }

    static func == (one: Inspected, other: Inspected) -> Bool {
        one.inspection.verdict == other.inspection.verdict
            && one.inspection.form == other.inspection.form
            && one.inspection.signedFields == other.inspection.signedFields
            && one.inspection.unsignedFields == other.inspection.unsignedFields
    }
}

/// A JWS of the member `claims`; nil without one.
private func jws(
    of document: [UInt8], _ parser: JSONParser, _ signer: PostbackSigner
) throws -> String? {
    try document.withUnsafeBytes { bytes in
        guard let claims = (try? parser.parse(bytes))?.member("claims") else { return nil }
        var text = JSONText()
        text.value(claims)
        return try signer.jws(header: #"{"kid":"test/0","alg":"ES256"}"#, payload: text.text)
    }
}

/// A document with a member before its own, the first of a name being the one that counts.
private func envelope(
    _ document: [UInt8], _ parser: JSONParser, first: String, _ text: String
) throws -> [UInt8] {
    document.withUnsafeBytes { bytes in
        var json = JSONText()
        json.object { json in
            json.member(first, text)
            (try? parser.parse(bytes))?.forEachMember { name, member in
                json.name(String(decoding: name, as: UTF8.self))
                json.value(member)
            }
        }
        return json.bytes
    }
}

/// The postbacks of fixtures that are signed there.
@Sendable func signablePostbacks() throws -> [[UInt8]] {
    try fixtureRecords(of: "postbacks").flatMap { record -> [[UInt8]] in
        var document = record["value"] as? [String: Any] ?? [:]
        if let claims = record["claims"] { document["claims"] = claims }
        let text = try json(document)
        return [[0, 0] + text, [2, 30] + text, [1, 120] + text]
    }
}
