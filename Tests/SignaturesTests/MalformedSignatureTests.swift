import Foundation
import Signatures
import Testing

@Suite("Signatures that are not signatures")
struct MalformedSignatureTests {
    private static let integer: [UInt8] = [0x02, 0x01]

    /// Shapes that DER readers have tripped over.
    private static let shapes: [[UInt8]] = [
        [0x30, 0x00], [0x30], [0x02, 0x01, 0x01], [0x30, 0x80, 0x00, 0x00],
        [0x30, 0x06] + integer + [0x00] + integer + [0x00],
        [0x30, 0x06] + integer + [0x01] + integer + [0x00],
        [0x30, 0x06] + integer + [0xFF] + integer + [0xFF],
        [0x30, 0x06] + integer + [0x01] + integer + [0x01] + [0x00],
        [0x30, 0x08, 0x02, 0x02, 0x00, 0x01, 0x02, 0x02, 0x00, 0x01],
        [0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF], [0x30, 0x04, 0x02, 0x00, 0x02, 0x00],
        [0x30, 0x44, 0x02, 0x20] + [UInt8](repeating: 0x7F, count: 32),
        [0x30, 0x46, 0x02, 0x21, 0x00] + [UInt8](repeating: 0xFF, count: 32)
            + [0x02, 0x21, 0x00] + [UInt8](repeating: 0xFF, count: 32),
        [UInt8](repeating: 0x30, count: 64), [UInt8](repeating: 0x30, count: 100_000),
        [0x22, 0x03, 0x02, 0x01, 0x01], [0x30, 0x05, 0x22, 0x03, 0x02, 0x01, 0x01],
    ]

    private func verdicts(_ der: [UInt8], _ keys: TrustedKeys) -> Set<Verdict> {
        Set(
            ["2.0", "4.0"].map { version in
                var postback = Postback(version: version)
                postback.signature = Data(der).base64EncodedString()
                return postback.attested(keys).verdict
            })
    }

    @Test("malformed DER, zeros, negative and oversized numbers are invalid")
    func malformedShapes() throws {
        let keys = try TrustedKeys()
        for shape in Self.shapes {
            #expect(verdicts(shape, keys) == [.invalid])
        }
    }

    @Test("random bytes and damaged signatures are invalid and never crash")
    func randomShapes() throws {
        var random = SystemRandomNumberGenerator()
        for (version, key) in [("2.0", try SigningKey.p192()), ("4.0", .p256())] {
            let keys = try TrustedKeys(production: [key.publicKey])
            let genuine = try Postback(version: version).signed(by: key)
            let der = Array(try #require(Data(base64Encoded: genuine.signature ?? "")))
            for round in 0..<400 {
                var bytes = der
                switch round % 4 {
                case 0: bytes[Int.random(in: 0..<der.count)] ^= UInt8.random(in: 1...255)
                case 1: bytes.removeLast(Int.random(in: 1...der.count))
                case 2: bytes.insert(.random(in: 0...255), at: .random(in: 0...der.count))
                default:
                    bytes = (0..<Int.random(in: 1...90)).map { _ in random.next() }
                    bytes[0] = 0x30
                }
                var postback = genuine
                postback.signature = Data(bytes).base64EncodedString()
                #expect(postback.attested(keys).verdict == .invalid, "\(bytes)")
            }
        }
    }

    @Test("a missing, empty or non-base64 signature is invalid")
    func noSignature() throws {
        let keys = try TrustedKeys()
        let vector = try #require(Vector.all(of: "skan-postback").first { $0.verdict == .valid })
        let genuine = vector.postback.signature ?? ""
        let texts: [String?] = [
            nil, "", "=", "====", "!", genuine + "=", genuine + "\n", " " + genuine,
            String(genuine.dropLast()),
        ]
        for text in texts {
            var postback = vector.postback
            postback.signature = text
            #expect(postback.attested(keys).verdict == .invalid)
        }
    }
}
