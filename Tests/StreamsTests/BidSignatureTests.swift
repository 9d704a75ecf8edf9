import Crypto
import Signatures
import Streams
import Testing

@Suite("Signatures on the ads of bids")
struct BidSignatureTests {
    private let signer = P256.Signing.PrivateKey()
    private let network = "net.skadnetwork"

    private func keys(_ extra: [VerificationKey] = []) -> [String: [VerificationKey]] {
        [network: extra + [.p256(P256PublicKey(signer.publicKey))]]
    }

    /// The signature over fields that are joined as Apple's documentation says.
    private func signature(_ fields: [String]) throws -> Document {
        let text = fields.joined(separator: "\u{2063}")
        let signature = try signer.signature(for: Array(text.utf8))
        return .string(signature.derRepresentation.base64EncodedString())
    }

    private func fidelity(
        _ fidelity: Int64, version: String = "4.0", campaign: String = "0239"
    ) throws -> Document {
        [
            "fidelity": .raw("\(fidelity)"), "nonce": "AB-1", "timestamp": "1700",
            "signature": try signature([
                version, network, campaign, "22", "ab-1", "11", "\(fidelity)", "1700",
            ]),
        ]
    }

    /// The rows of an auction, without the columns that all bids of these tests share.
    private func rows(
        _ auction: Document, keys: [String: [VerificationKey]]? = nil
    ) throws -> [Row: Int64] {
        let result = try foldBids([TestRecord(auction)], adKeys: keys ?? self.keys())
        #expect(result.outcome(.accepted) == 1, "\(result.refused)")
        var rows: [Row: Int64] = [:]
        for row in result.rows("bid-signatures") {
            rows[
                row.filter {
                    ["skan_version", "fidelity", "verdict", "campaign"].contains($0.key)
                },
                default: 0] +=
                row["signatures"].map { if case .integer(let n) = $0 { n } else { 0 } } ?? 0
        }
        return rows
    }

    private func fidelities(_ elements: [Document]) -> Document {
        Auction.with([Auction.skadn + ".fidelities": .array(elements)])
    }

    @Test("each fidelity's signature is checked on its own, over the bid's own fields")
    func eachFidelity() throws {
        let found = try rows(fidelities([try fidelity(0), try fidelity(1)]))
        #expect(
            found == [
                [
                    "skan_version": "4.0", "campaign": "0239", "fidelity": "view",
                    "verdict": "valid",
                ]: 1,
                [
                    "skan_version": "4.0", "campaign": "0239", "fidelity": "storekit",
                    "verdict": "valid",
                ]: 1,
            ])
    }

    @Test(
        "a signature over other fields is invalid",
        arguments: ["itunesitem", "sourceapp", "sourceidentifier"])
    func changedField(_ name: String) throws {
        let auction = fidelities([try fidelity(1)]).with([
            Auction.skadn + ".\(name)": "12", Auction.offer + ".sourceapp": "12",
        ])
        #expect(try rows(auction).keys.allSatisfy { $0["verdict"] == "invalid" })
        #expect(try rows(auction).values.reduce(0, +) == 1)
    }

    @Test("below 2.2 the signature lies in the object itself, and the campaign is signed")
    func beforeFidelities() throws {
        for (version, fields) in [
            ("1.0", [network, "45", "22", "n", "1"]),
            ("2.0", ["2.0", network, "45", "22", "n", "11", "1"]),
            ("2.1", ["2.1", network, "45", "22", "n", "11", "1"]),
        ] {
            let auction = Auction.with([
                Auction.skadn + ".version": .string(version), Auction.skadn + ".fidelities": nil,
                Auction.skadn + ".signature": try signature(fields),
            ])
            let found = try rows(auction)
            #expect(found.values.reduce(0, +) == 1)
            #expect(found.keys.allSatisfy { $0["verdict"] == "valid" && $0["fidelity"] == nil })
        }
    }

    @Test(
        "what is signed and missing or malformed makes a signature incomplete, and an unknown version unverifiable"
    )
    func notChecked() throws {
        for name in ["nonce", "timestamp", "signature"] {
            let broken = try fidelity(1).with([name: nil])
            #expect(try rows(fidelities([broken])).keys.map { $0["verdict"] } == ["incomplete"])
        }
        #expect(try rows(fidelities([])).keys.map { $0["verdict"] } == ["incomplete"])
        let malformed = try fidelity(1).with(["signature": "!!!!"])
        #expect(try rows(fidelities([malformed])).keys.map { $0["verdict"] } == ["incomplete"])
        let other = try rows(fidelities([try fidelity(2)]))
        #expect(other.keys.map { $0["verdict"] } == ["incomplete"])
        #expect(other.keys.allSatisfy { $0["fidelity"] == nil })
        let unknown = fidelities([try fidelity(1)]).with([Auction.skadn + ".version": "9.0"])
        #expect(try rows(unknown).keys.map { $0["verdict"] } == ["unverifiable"])
    }

    @Test("an inspection gives the fold's verdict, what is signed, and the check that decided")
    func inspection() throws {
        let key = signer.publicKey.derRepresentation.base64EncodedString()
        func inspect(
            _ auction: Document
        ) throws -> (verdict: String, reason: String, fields: [SignedField]) {
            let found = Array(auction.text.utf8).withUnsafeBytes {
                BidSignatureInspection.inspect($0, keys: [network: [key]])
            }
            #expect(found.count == 1)
            let verdict = "\(found.first?.verdict.name ?? "")"
            #expect(try rows(auction).keys.map { $0["verdict"] } == [.text(verdict)])
            return (verdict, found.first?.reason ?? "", found.first?.signedFields ?? [])
        }
        let valid = try inspect(fidelities([try fidelity(1)]))
        #expect(valid.verdict == "valid")
        #expect(
            valid.fields.map(\.value) == ["4.0", network, "0239", "22", "ab-1", "11", "1", "1700"])
        let altered = try inspect(
            fidelities([try fidelity(1)]).with([Auction.skadn + ".itunesitem": "12"]))
        #expect(
            altered.reason.hasPrefix("the signature check failed: the key of \(network) did not"))
        #expect(altered.fields.contains(SignedField(name: "itunes-item-id", value: "12")))
        for (name, reason) in [
            ("nonce", "missing or malformed: nonce"),
            ("timestamp", "missing or malformed: timestamp"),
            ("signature", "signature is missing or is not text"),
        ] {
            let broken = try inspect(fidelities([try fidelity(1).with([name: nil])]))
            #expect(broken.verdict == "incomplete" && broken.reason == reason, "\(name)")
        }
        let malformed = try inspect(fidelities([try fidelity(1).with(["signature": "!!!!"])]))
        #expect(malformed.reason == "signature is not base64")
        let separated = try inspect(fidelities([try fidelity(1).with(["nonce": "a\u{2063}b"])]))
        #expect(separated.reason.hasPrefix("nonce contains U+2063"))
        let unknown = try inspect(
            fidelities([try fidelity(1)]).with([Auction.skadn + ".version": "9.0"]))
        #expect(
            unknown.reason.hasPrefix("the signed fields of version '9.0' are unknown")
                && unknown.fields.isEmpty)
    }

    @Test("any of a network's keys may have signed, and other networks' ads are not looked at")
    func whoseKeys() throws {
        let stranger = VerificationKey.p256(
            P256PublicKey(P256.Signing.PrivateKey().publicKey))
        let auction = fidelities([try fidelity(1)])
        #expect(try rows(auction, keys: keys([stranger])).keys.map { $0["verdict"] } == ["valid"])
        #expect(
            try rows(auction, keys: [network: [stranger]]).keys.map { $0["verdict"] } == ["invalid"]
        )
        #expect(try rows(auction, keys: ["other.skadnetwork": [stranger]]).isEmpty)
        #expect(try rows(auction, keys: [:]).isEmpty)
    }

    @Test("networks sign 3.0 with keys on P-192 too: the key decides the curve, not the version")
    func p192() throws {
        let key = try #require(
            VerificationKey(
                base64: "MEkwEwYHKoZIzj0CAQYIKoZIzj0DAQEDMgAEHmB01F12rnh6vHMUE5wHvCwQ"
                    + "pGyl/UUMsivV4k6a+jvthLyKJ8QaWaO+p/4+QuhM"))
        let auction = Auction.with([
            Auction.skadn + ".version": "3.0", Auction.skadn + ".network": "p192.skadnetwork",
            Auction.skadn + ".campaign": "45", Auction.skadn + ".sourceidentifier": nil,
            Auction.skadn + ".fidelities": [
                [
                    "fidelity": 1, "nonce": "ab-1", "timestamp": "1700",
                    "signature": .string(
                        "MDQCGATFMePaNPJ5wl3IZyL9F2/6gtJoqcd+NAIYDwa5efCg5SIFtRzCfhFD"
                            + "Yly+c8vAUOs9"),
                ]
            ],
        ])
        let found = try rows(auction, keys: ["p192.skadnetwork": [key]])
        #expect(found.keys.map { $0["verdict"] } == ["valid"])
        let altered = auction.with([Auction.skadn + ".campaign": "46"])
        #expect(
            try rows(altered, keys: ["p192.skadnetwork": [key]]).keys.map { $0["verdict"] }
                == ["invalid"])
        let other = ["p192.skadnetwork": keys()[network] ?? []]
        #expect(try rows(auction, keys: other).keys.map { $0["verdict"] } == ["invalid"])
    }

    @Test("a view-through ad that Apple's sample signed is valid")
    func appleSample() throws {
        let key = try #require(
            VerificationKey(
                base64:
                    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEDizl6HEGK3065O0xQrCl6pQehGCBoZStStmY+21U"
                    + "QgF3LmuERbaMDis1vJsEGpS/CCZtDzhvmoEvIilmtmvL9w=="))
        let auction = Auction.with([
            Auction.skadn + ".network": "com.apple.test-1",
            Auction.skadn + ".sourceidentifier": 3120,
            Auction.skadn + ".itunesitem": "525463029", Auction.skadn + ".sourceapp": "0",
            Auction.skadn + ".fidelities": [
                [
                    "fidelity": 0, "nonce": "b7c9da2b-15c7-4f3b-9326-135f9630033d",
                    "timestamp": "1676057605705",
                    "signature": .string(
                        "MEQCIAtBBiadCFlMOEOh3K43xyKaU1/sj/CtgDOB+Wm7J+29AiBDfreX67mm4X9ZoM4xkHHLtuMM"
                            + "2OXcS5kQ7UpVb69A/Q=="),
                ]
            ],
        ])
        let found = try rows(auction, keys: ["com.apple.test-1": [key]])
        #expect(found.keys.map { $0["verdict"] } == ["valid"])
    }

    @Test("of several signatures for one fidelity the first is judged, however many there are")
    func firstOfEachFidelity() throws {
        let broken: Document = [
            "fidelity": 0, "nonce": "AB-1", "timestamp": "1700", "signature": "AA==",
        ]
        let many =
            [try fidelity(1), broken, try fidelity(0), try fidelity(2)]
            + (3..<500).map { number in broken.with(["fidelity": .raw("\(number)")]) }
        let found = try rows(fidelities(many))
        #expect(found.values.reduce(0, +) == 3)
        #expect(
            found.filter { $0.key["fidelity"] == "view" }.map { $0.key["verdict"] } == ["invalid"])
        #expect(
            found.filter { $0.key["fidelity"] == "storekit" }.map { $0.key["verdict"] }
                == ["valid"])
    }

    @Test("signatures count once an auction, whatever the batches, and not for one that is refused")
    func onceAnAuction() throws {
        let auction = fidelities([try fidelity(0), try fidelity(1)])
        let records = [
            TestRecord(auction), TestRecord(auction),
            TestRecord(auction.with(["response.cur": 5, "request.id": "b"])),
            TestRecord(auction.with(["request.id": "c"])),
        ]
        let whole = try foldBids(records, adKeys: keys())
        #expect(whole.sum("bid-signatures", "signatures") == 4)
        #expect(try foldBids(records, .sizes([1]), adKeys: keys()) == whole)
        #expect(try foldBids(records, .sizes([2, 1]), adKeys: keys(), restarts: true) == whole)
    }
}
