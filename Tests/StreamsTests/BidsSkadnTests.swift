import Streams
import Testing

@Suite("The skadn object of a bid")
struct BidsSkadnTests {
    /// The fault of an auction's one bid; nil when it keeps every rule.
    private func faultOf(_ auction: Document) throws -> String? {
        let result = try foldBid(auction)
        #expect(result.outcome(.accepted) == 1, "\(result.refused)")
        let rows = result.rows("bid-faults")
        #expect(rows.count <= 1)
        #expect(result.sum("bids", "skadn_invalid") == Int64(rows.count))
        guard case .text(let fault)? = rows.first?["fault"] else { return nil }
        return fault
    }

    private func fault(_ changes: KeyValuePairs<String, Document?>) throws -> String? {
        try faultOf(Auction.with(changes))
    }

    private let offer = Auction.offer
    private let skadn = Auction.skadn

    /// Changes to the valid auction that break one rule each, in the order of the rules.
    static let breaks: [(String, KeyValuePairs<String, Document?>)] = [
        ("version", [Auction.skadn + ".version": "9.9"]),
        ("network", [Auction.skadn + ".network": "other.skadnetwork"]),
        ("sourceapp", [Auction.skadn + ".sourceapp": "12"]),
        ("itunesitem", [Auction.skadn + ".itunesitem": "x"]),
        (
            "campaign",
            [Auction.skadn + ".sourceidentifier": "12345", Auction.skadn + ".campaign": 101]
        ),
        ("signature", [Auction.skadn + ".fidelities": [], Auction.skadn + ".nonce": nil]),
    ]

    @Test(
        "a bid that keeps every rule is valid in every version",
        arguments: ["2.0", "2.1", "2.2", "3.0", "4.0"])
    func valid(_ version: String) throws {
        #expect(try fault([skadn + ".version": .string(version)]) == nil)
    }

    @Test("of several broken rules the first is the fault")
    func firstFault() throws {
        for (index, (first, _)) in Self.breaks.enumerated() {
            var auction = Auction.valid
            for (_, changes) in Self.breaks[index...] { auction = auction.with(changes) }
            #expect(try faultOf(auction) == first)
            // Each on its own, too.
            #expect(try fault(Self.breaks[index].1) == first)
        }
    }

    @Test("the version is one that the impression offers, as text")
    func version() throws {
        #expect(try fault([offer + ".versions": ["4.0"]]) == nil)
        #expect(try fault([offer + ".versions": ["4"]]) == "version")
        #expect(try fault([offer + ".versions": ["4.00", 4.0]]) == "version")
        #expect(try fault([offer + ".versions": nil, offer + ".version": "4.0"]) == nil)
        #expect(try fault([offer + ".versions": nil]) == "version")
        #expect(try fault([offer + ".versions": [], offer + ".version": "4.0"]) == "version")
        #expect(try fault([offer + ".versions": .null, offer + ".version": "4.0"]) == nil)
        for version: Document? in [nil, .null, "", 4, 4.0, ["4.0"], [:], true] {
            #expect(try fault([skadn + ".version": version]) == "version")
        }
    }

    @Test("a bid without its impression, or for one without skadn, has no version that was offered")
    func noOffer() throws {
        #expect(try fault([Auction.bid + ".impid": "2"]) == "version")
        #expect(try fault([Auction.bid + ".impid": nil]) == "version")
        #expect(try fault([Auction.imp + ".id": nil]) == "version")
        #expect(try fault([offer: nil]) == "version")
        #expect(try fault([offer: "nonsense"]) == "version")
        #expect(try fault(["request.imp": nil]) == "version")
    }

    @Test("skadn that is no object, or an empty one, is a fault and no rejection")
    func noObject() throws {
        for malformed: Document in ["x", 5, [], true, [:]] {
            #expect(try fault([skadn: malformed]) == "version")
        }
        #expect(try fault([skadn: nil]) == nil)
        #expect(try fault([skadn: .null]) == nil)
    }

    @Test("the network is listed, in any case, or the list has a max")
    func network() throws {
        #expect(try fault([offer + ".skadnetids": ["NET.SKADNETWORK"]]) == nil)
        #expect(try fault([offer + ".skadnetids": ["other"]]) == "network")
        #expect(try fault([offer + ".skadnetids": nil]) == "network")
        #expect(try fault([offer + ".skadnetids": "net.skadnetwork"]) == "network")
        #expect(
            try fault([
                offer + ".skadnetids": nil, offer + ".skadnetlist.addl": ["nEt.skadnetwork"],
            ]) == nil)
        #expect(
            try fault([offer + ".skadnetids": nil, offer + ".skadnetlist.addl": ["other"]])
                == "network")
        #expect(try fault([offer + ".skadnetids": nil, offer + ".skadnetlist.max": 306]) == nil)
        #expect(
            try fault([offer + ".skadnetids": nil, offer + ".skadnetlist.max": .null]) == "network")
        for network: Document? in [nil, .null, "", 5, ["net.skadnetwork"]] {
            #expect(
                try fault([skadn + ".network": network, offer + ".skadnetlist.max": 1]) == "network"
            )
        }
        // Lower case is ASCII only: the Kelvin sign is no k.
        #expect(
            try fault([offer + ".skadnetids": ["k"], skadn + ".network": "\u{212A}"]) == "network")
    }

    @Test("the source app equals the impression's, as number or text, and is there on both sides")
    func sourceApp() throws {
        let equal: [(Document, Document)] = [
            (11, "11"), ("11", 11), (11, 11), (11.0, "011"), ("com.example", "com.example"),
        ]
        for (mine, theirs) in equal {
            #expect(try fault([skadn + ".sourceapp": mine, offer + ".sourceapp": theirs]) == nil)
        }
        let different: [(Document?, Document?)] = [
            ("12", "11"), (nil, "11"), ("11", nil), (nil, nil), (.null, .null), ("", ""),
            ("com.example", "com.Example"), ("com.example", 11), (11, "com.example"), (-11, -11),
            (11.5, 11.5), ([11], [11]),
        ]
        for (mine, theirs) in different {
            #expect(
                try fault([skadn + ".sourceapp": mine, offer + ".sourceapp": theirs])
                    == "sourceapp", "\(String(describing: mine)) \(String(describing: theirs))")
        }
    }

    @Test("the advertised app is digits")
    func itunesItem() throws {
        for item: Document in ["22", 22, 22.0, "0", "022", "9223372036854775807"] {
            #expect(try fault([skadn + ".itunesitem": item]) == nil)
        }
        for item: Document? in [
            nil, .null, "", "x", "2 2", -22, "-22", 2.5, true, ["22"], "9223372036854775808",
        ] {
            #expect(try fault([skadn + ".itunesitem": item]) == "itunesitem")
        }
    }

    @Test("4.0 needs a source identifier of 1 to 4 digits")
    func sourceIdentifier() throws {
        for identifier: Document in ["0", "39", "0039", "9999", 0, 39, 9999, 39.0] {
            #expect(try fault([skadn + ".sourceidentifier": identifier]) == nil)
        }
        for identifier: Document? in [
            nil, .null, "", "00000", "12345", 10000, -1, "-1", "x", "1.0", 1.5, ["1"],
        ] {
            #expect(try fault([skadn + ".sourceidentifier": identifier]) == "campaign")
        }
    }

    @Test("below 4.0 the campaign is 1 to 100", arguments: ["2.0", "2.1", "2.2", "3.0"])
    func campaign(_ version: String) throws {
        for campaign: Document in [1, 100, "1", "100", 45.0] {
            #expect(
                try fault([
                    skadn + ".version": .string(version), skadn + ".campaign": campaign,
                    skadn + ".sourceidentifier": nil,
                ]) == nil)
        }
        for campaign: Document? in [nil, .null, 0, 101, "0", "101", "", "x", -1, 1.5, [1]] {
            #expect(
                try fault([skadn + ".version": .string(version), skadn + ".campaign": campaign])
                    == "campaign")
        }
    }

    @Test("from 2.2 on each fidelity is signed", arguments: ["2.2", "3.0", "4.0"])
    func fidelities(_ version: String) throws {
        let signed: Document = ["nonce": "n", "timestamp": "1", "signature": "s"]
        func fault(_ fidelities: Document?) throws -> String? {
            try self.fault([
                skadn + ".version": .string(version), skadn + ".fidelities": fidelities,
            ])
        }
        #expect(try fault([signed]) == nil)
        #expect(try fault([signed, signed.with(["timestamp": 5, "fidelity": 7])]) == nil)
        for fidelities: Document? in [nil, .null, [], [:], signed, "x", [signed, "x"], [.null]] {
            #expect(try fault(fidelities) == "signature")
        }
        for name in ["nonce", "timestamp", "signature"] {
            for value: Document? in [nil, .null, "", [], true] {
                #expect(try fault([signed, signed.with([name: value])]) == "signature")
            }
        }
        #expect(try fault([signed.with(["timestamp": "soon"])]) == "signature")
    }

    @Test("2.0 and 2.1 are signed at the root", arguments: ["2.0", "2.1"])
    func rootSignature(_ version: String) throws {
        #expect(
            try fault([skadn + ".version": .string(version), skadn + ".fidelities": nil]) == nil)
        for name in ["nonce", "timestamp", "signature"] {
            #expect(
                try fault([skadn + ".version": .string(version), "\(skadn).\(name)": nil])
                    == "signature")
        }
    }

    @Test("versions compare as numbers, part by part")
    func versionNumbers() throws {
        let versions: Document = ["4.00", "2.10", "10.0", "4.0.1"]
        #expect(
            try fault([
                offer + ".versions": versions, skadn + ".version": "4.00", skadn + ".campaign": nil,
            ]) == nil)
        // 2.10 is above 2.2: signed by fidelities, with a campaign.
        #expect(
            try fault([
                offer + ".versions": versions, skadn + ".version": "2.10", skadn + ".nonce": nil,
            ]) == nil)
        #expect(
            try fault([
                offer + ".versions": versions, skadn + ".version": "2.10",
                skadn + ".fidelities": [],
            ]) == "signature")
    }

    @Test("a bid with a fault keeps what is well-formed of its campaign key")
    func keyOfFault() throws {
        let cases: [(KeyValuePairs<String, Document?>, Row)] = [
            (
                [skadn + ".version": "9.9"],
                [
                    "ad_network_id": "net.skadnetwork", "campaign": "0239", "app_id": 22,
                    "source_app_id": 11, "fault": "version", "bids": 1,
                ]
            ),
            (
                [skadn: ["version": 5, "network": "É.N", "campaign": "007", "itunesitem": "x"]],
                ["ad_network_id": "É.n", "campaign": "7", "fault": "version", "bids": 1]
            ),
            (
                [skadn: ["sourceidentifier": "123456789"]],
                ["campaign": "123456789", "fault": "version", "bids": 1]
            ),
            (
                [skadn: ["sourceidentifier": "12a", "campaign": 5]],
                ["campaign": "5", "fault": "version", "bids": 1]
            ),
            ([skadn: ["campaign": -5, "sourceapp": "x"]], ["fault": "version", "bids": 1]),
        ]
        for (changes, row) in cases {
            #expect(try foldBid(Auction.with(changes)).rows("bid-faults") == [row])
        }
    }
}
