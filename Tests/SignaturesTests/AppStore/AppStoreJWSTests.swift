import Foundation
import Signatures
import TestKit
import Testing

@Suite("JWSs of the App Store")
struct AppStoreJWSTests {
    private static let payload = Array(#"{"notificationUUID":"1"}"#.utf8)
    private let chain: AppStoreChain
    private let verifier: AppStoreVerifier

    init() throws {
        chain = try AppStoreChain()
        verifier = try AppStoreVerifier(chain)
    }

    private func parts() throws -> [String] {
        try chain.sign(Self.payload).split(separator: ".").map(String.init)
    }

    /// What is said of a JWS with this header, signed as it is.
    private func fault(header: String) throws -> AppStoreFault? {
        verifier.fault(try chain.sign(Self.payload, header: header))
    }

    @Test("a header or payload that is not what was signed is refused")
    func altered() throws {
        let parts = try parts()
        let payload = #"{"notificationUUID":"2"}"#.utf8.base64URL
        #expect(
            verifier.fault([parts[0], payload, parts[2]].joined(separator: ".")) == .badSignature)
        let header = (chain.header + " ").utf8.base64URL
        #expect(
            verifier.fault([header, parts[1], parts[2]].joined(separator: ".")) == .badSignature)
        let other = try AppStoreChain().sign(Self.payload).split(separator: ".")[2]
        #expect(verifier.fault("\(parts[0]).\(parts[1]).\(other)") == .badSignature)
    }

    @Test("only ES256 is taken, written so")
    func algorithms() throws {
        let list = chain.x5c.map { "\"\($0)\"" }.joined(separator: ",")
        for algorithm in [
            #""none""#, #""None""#, #""HS256""#, #""ES384""#, #""es256""#, #""ES256 ""#, #""""#,
            "256", "null", #"["ES256"]"#,
        ] {
            #expect(try fault(header: "{\"alg\":\(algorithm),\"x5c\":[\(list)]}") == .notES256)
        }
        #expect(try fault(header: "{\"x5c\":[\(list)]}") == .notES256)
        let unsigned = "{\"alg\":\"none\",\"x5c\":[\(list)]}".utf8.base64URL
        #expect(verifier.fault("\(unsigned).\(try parts()[1]).") == .notES256)
        #expect(try fault(header: "{\"\\u0061lg\":\"ES256\",\"x5c\":[\(list)]}") == nil)
    }

    @Test("crit asks for what is not known here, and is refused whatever it names")
    func critical() throws {
        let list = chain.x5c.map { "\"\($0)\"" }.joined(separator: ",")
        for value in ["[]", #"["b64"]"#, "null", #""x""#] {
            let header = "{\"alg\":\"ES256\",\"crit\":\(value),\"x5c\":[\(list)]}"
            #expect(try fault(header: header) == .criticalHeader)
        }
    }

    @Test("whatever else the header says of keys is the sender's word")
    func otherMembers() throws {
        let list = chain.x5c.map { "\"\($0)\"" }.joined(separator: ",")
        let others =
            #""kid":"k","jku":"https://example.com","jwk":{"kty":"EC"},"x5u":1,"typ":"JWT""#
        #expect(try fault(header: "{\(others),\"alg\":\"ES256\",\"x5c\":[\(list)]}") == nil)
        #expect(try fault(header: "{\(others),\"alg\":\"ES256\"}") == .noCertificateChain)
    }

    @Test("a header that is no JSON object, and certificates that are none, have their reasons")
    func headers() throws {
        for header in ["[]", "1", "{", "\"ES256\"", "null"] {
            #expect(try fault(header: header) == .malformedHeader)
        }
        for x5c in ["null", "1", #""a""#, "{}", "[]"] {
            #expect(try fault(header: "{\"alg\":\"ES256\",\"x5c\":\(x5c)}") == .noCertificateChain)
        }
        let leaf = chain.x5c[0]
        let urlLeaf = chain.certificates[0].base64URL
        for bad in ["1", "null", #""""#, #""!""#, "\"\(leaf)=\"", "\"\(urlLeaf)=_\"", #""AAAA""#] {
            let rest = "\"\(chain.x5c[1])\",\"\(chain.x5c[2])\""
            let header = "{\"alg\":\"ES256\",\"x5c\":[\(bad),\(rest)]}"
            #expect(try fault(header: header) == .badCertificate)
        }
    }

    @Test("three parts of base64url without padding make a JWS")
    func shape() throws {
        let parts = try parts()
        #expect(verifier.fault(parts.joined(separator: ".")) == nil)
        for text in [
            "", ".", "..", "...", parts[0], "\(parts[0]).\(parts[1])",
            parts.joined(separator: ".") + ".", parts.joined(separator: ".") + ".AAAA",
            "\(parts[0])..\(parts[2])", ".\(parts[1]).\(parts[2])",
            " " + parts.joined(separator: "."), parts.joined(separator: ".") + "\n",
        ] {
            #expect(verifier.fault(text) == .notAJWS)
        }
        for index in 0..<3 {
            for padding in ["=", "==", "+", "/", "\0", "é"] {
                var padded = parts
                padded[index] += padding
                #expect(verifier.fault(padded.joined(separator: ".")) == .notAJWS)
            }
        }
    }

    @Test("a signature is 64 bytes, r and s, neither of them zero")
    func signatures() throws {
        let parts = try parts()
        let input = "\(parts[0]).\(parts[1])"
        let genuine = try chain.signature(over: input)
        let raw = [UInt8](genuine.rawRepresentation)
        #expect(verifier.fault(input + "." + raw.base64URL) == nil)
        let zeros = [UInt8](repeating: 0, count: 32)
        let bad: [[UInt8]] = [
            [], zeros, zeros + zeros, zeros + raw[32...], raw[..<32] + zeros,
            Array(raw.dropLast()), raw + [0], [0] + raw, Array(raw[32...] + raw[..<32]),
            [UInt8](genuine.derRepresentation), [UInt8](repeating: 0xFF, count: 64),
        ]
        for signature in bad {
            #expect(verifier.fault(input + "." + signature.base64URL) == .badSignature)
        }
    }

    @Test("no damaged JWS verifies, and none crashes")
    func mutations() throws {
        var random = SeededGenerator(seed: 7)
        let genuine = Array(try chain.sign(Self.payload).utf8)
        for round in 0..<600 {
            var text = genuine
            switch round % 4 {
            case 0: text[Int.random(in: 0..<text.count, using: &random)] = random.next()
            case 1: text.removeLast(Int.random(in: 1...text.count, using: &random))
            case 2: text.insert(random.next(), at: Int.random(in: 0...text.count, using: &random))
            default: text = (0..<Int.random(in: 0...300, using: &random)).map { _ in random.next() }
            }
            #expect(text == genuine || verifier.fault(text) != nil || isLastDigit(text, genuine))
        }
    }

    /// The last digit of the signature has four bits that belong to no byte.
    private func isLastDigit(_ text: [UInt8], _ genuine: [UInt8]) -> Bool {
        text.dropLast() == genuine.dropLast()
    }

    @Test("no damaged certificate verifies, and none crashes")
    func damagedCertificates() throws {
        var random = SeededGenerator(seed: 11)
        for round in 0..<600 {
            var certificates = chain.certificates
            var damaged = certificates[round % 2]
            for _ in 0...Int.random(in: 0..<3, using: &random) where !damaged.isEmpty {
                let index = Int.random(in: 0..<damaged.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: damaged[index] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                case 1: damaged[index] = random.next()
                case 2: damaged.remove(at: index)
                default: damaged.removeLast(damaged.count - index)
                }
            }
            guard damaged != certificates[round % 2] else { continue }
            certificates[round % 2] = damaged
            let list = certificates.map { "\"\(Data($0).base64EncodedString())\"" }
            let header = "{\"alg\":\"ES256\",\"x5c\":[\(list.joined(separator: ","))]}"
            #expect(try fault(header: header) != nil)
        }
    }
}
