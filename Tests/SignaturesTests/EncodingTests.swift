import Foundation
import JSON
import Testing

@testable import Signatures

@Suite("Base64 and compact JWS")
struct EncodingTests {
    private func decode(_ text: String, _ variant: Base64, arena: [UInt8] = []) -> [UInt8]? {
        var filled = arena
        let range = Array(text.utf8).withUnsafeBytes { variant.decode($0, into: &filled) }
        #expect(Array(filled.prefix(arena.count)) == arena)
        #expect(filled.count == range?.upperBound ?? arena.count)
        return range.map { Array(filled[$0]) }
    }

    private func takenApart(_ text: String) -> (jws: CompactJWS, arena: [UInt8])? {
        var arena: [UInt8] = [1, 2, 3]
        let jws = Array(text.utf8).withUnsafeBytes { CompactJWS($0, arena: &arena) }
        if jws == nil { #expect(arena == [1, 2, 3]) }
        return jws.map { ($0, arena) }
    }

    @Test("whatever was encoded is decoded, behind what the arena holds")
    func roundTrip() {
        for count in 0..<70 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255) }
            let standard = Data(bytes).base64EncodedString()
            let url = standard.replacing("+", with: "-").replacing("/", with: "_")
                .replacing("=", with: "")
            #expect(decode(standard, .standard, arena: [7, 8]) == bytes)
            #expect(decode(url, .url, arena: [7, 8]) == bytes)
        }
    }

    @Test("every other text is refused and leaves the arena as it was")
    func refusedTexts() {
        for text in [
            "A", "AA", "AAA", "AA=", "A===", "=", "====", "AAAA====", "AA=A", "A-AA", "A_AA",
            "AAAA\n", " AAA", "AA A", "AAA\u{0}", "AAAA=", "ÄAA",
        ] {
            #expect(decode(text, .standard, arena: [9]) == nil, "\(text)")
        }
        for text in ["A", "AAAAA", "AA==", "AAA=", "A+AA", "A/AA", "AA.A", "AA\n", "ÄA"] {
            #expect(decode(text, .url, arena: [9]) == nil, "\(text)")
        }
    }

    @Test("each of the 256 bytes is in the alphabet or is not")
    func alphabets() {
        let common = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
        for (variant, extra) in [(Base64.standard, "+/"), (.url, "-_")] {
            for byte in UInt8.min...UInt8.max {
                var arena: [UInt8] = []
                let text: [UInt8] = [byte, 0x41, 0x41, 0x41]
                let range = text.withUnsafeBytes { variant.decode($0, into: &arena) }
                #expect((range != nil) == (common.contains(byte) || extra.utf8.contains(byte)))
            }
        }
    }

    @Test("a JWS is taken apart into its decoded parts and what was signed")
    func parts() throws {
        let (jws, arena) = try #require(takenApart("e30.W10.AQID"))
        #expect(Array(arena[jws.header]) == Array("{}".utf8))
        #expect(Array(arena[jws.payload]) == Array("[]".utf8))
        #expect(Array(arena[jws.signature]) == [1, 2, 3])
        #expect(Array(arena[jws.signingInput]) == Array("e30.W10".utf8))
    }

    @Test("an empty signature is still a JWS")
    func emptySignature() throws {
        let (jws, _) = try #require(takenApart("e30.W10."))
        #expect(jws.signature.isEmpty)
    }

    @Test("anything but three parts of base64url is no JWS")
    func notJWS() {
        for text in [
            "", ".", "..", "e30", "e30.W10", "e30.W10.AQID.", "e30.W10.AQID.AQID", ".W10.AQID",
            "e30..AQID", "e30=.W10.AQID", "e30.W1+.AQID", "e30.W10.AQ==", "e.W10.AQID",
            "e30.W10.A", " e30.W10.AQID", "e30.W10.AQID\n",
        ] {
            #expect(takenApart(text) == nil, "\(text)")
        }
    }
}
