import Streams
import Testing

@Suite("Overlays of bids")
struct BidsOverlayTests {
    private func measures(_ changes: KeyValuePairs<String, Document?>) throws -> String {
        let result = try foldBid(Auction.with(changes))
        #expect(result.outcome(.accepted) == 1, "\(result.refused)")
        let names = [
            "overlay_signalled", "overlay_requested", "overlay_eligible", "overlay_click_tracked",
        ]
        return zip(names, "sret").map { name, letter in
            result.sum("bids", name) == 1 ? String(letter) : "-"
        }.joined()
    }

    @Test("signalled: a list that is not empty, the integer 1, or true")
    func signalled() throws {
        let offer = Auction.offer + ".skoverlay"
        for signal: Document in [["present"], [0], 1, 1.0, true] {
            #expect(try measures([offer: signal]) == "sret")
        }
        for signal: Document? in [nil, .null, [], 0, 2, "1", false, [:], ["present": 1]] {
            #expect(try measures([offer: signal]) == "-r--")
        }
    }

    @Test("requested: an object whose present is absent, 1 or true")
    func requested() throws {
        let overlay = Auction.skadn + ".skoverlay"
        for wanted: Document in [
            [:], ["present": 1], ["present": 1.0], ["present": .null], ["present": true],
        ] {
            #expect(try measures([overlay: wanted]) == "sret")
        }
        for wanted: Document? in [
            nil, .null, [], 1, true, ["present": 0], ["present": false], ["present": "1"],
            ["present": 2],
        ] {
            #expect(try measures([overlay: wanted]) == "s---")
        }
    }

    @Test("requested counts with an invalid skadn too, which is never eligible")
    func invalidSkadn() throws {
        #expect(try measures([Auction.skadn + ".version": "9.9"]) == "sr--")
        #expect(try measures([Auction.skadn: nil]) == "s---")
    }

    @Test("click tracked: click absent, 1 or true")
    func click() throws {
        let overlay = Auction.skadn + ".skoverlay"
        for wanted: Document in [[:], ["click": 1], ["click": .null], ["click": true]] {
            #expect(try measures([overlay: wanted]) == "sret")
        }
        for wanted: Document in [["click": 0], ["click": false], ["click": "1"]] {
            #expect(try measures([overlay: wanted]) == "sre-")
        }
    }

    @Test("eligible needs iOS in any case, 14 or later")
    func device() throws {
        for (os, version, measures) in [
            ("iOS", "14", "sret"), ("IOS", "14.0", "sret"), ("ios", "100.1", "sret"),
            ("iOS", "13.9", "sr--"), ("iPadOS", "17", "sr--"), ("iOS", "9", "sr--"),
            ("iOS", "x", "sr--"), ("iOS", "", "sr--"), ("", "17", "sr--"),
        ] {
            let found = try self.measures([
                "request.device": ["os": .string(os), "osv": .string(version)]
            ])
            #expect(found == measures, "\(os) \(version)")
        }
        #expect(try measures(["request.device": nil]) == "sr--")
        #expect(try measures(["request.device.osv": nil]) == "sr--")
    }

    @Test("eligible needs a full-screen impression")
    func fullScreen() throws {
        for instl: Document? in [nil, .null, 0, 2, false] {
            #expect(try measures([Auction.imp + ".instl": instl]) == "sr--")
        }
        for instl: Document in [1.0, true] {
            #expect(try measures([Auction.imp + ".instl": instl]) == "sret")
        }
    }

    @Test("HyBid's versions: 2.21.1 shows overlays, 3.1.0 tracks clicks, part by part as numbers")
    func versionGates() throws {
        for (version, measures) in [
            ("2.21.0", "sr--"), ("2.21", "sr--"), ("2.3.9", "sr--"), ("2.21.1", "sre-"),
            ("2.100", "sre-"), ("3.0.9", "sre-"), ("3.1", "sret"), ("3.1.0", "sret"),
            ("3.1.0-beta", "sret"), ("10.0", "sret"), ("3", "sre-"), ("", "sr--"), ("v3.1", "sr--"),
        ] {
            for manager: Document? in [nil, "HyBid", "PubNative HYBID SDK"] {
                let found = try self.measures([
                    Auction.imp + ".displaymanagerver": .string(version),
                    Auction.imp + ".displaymanager": manager,
                ])
                #expect(found == measures, "\(version)")
            }
        }
        #expect(try measures([Auction.imp + ".displaymanagerver": nil]) == "sr--")
    }

    @Test("the gates are HyBid's: another display manager passes them with any version or none")
    func otherDisplayManager() throws {
        for version: Document? in [nil, "1.0", "x"] {
            #expect(
                try measures([
                    Auction.imp + ".displaymanager": "Hy-Bid",
                    Auction.imp + ".displaymanagerver": version,
                ]) == "sret")
        }
        #expect(
            try measures([Auction.imp + ".displaymanager": "other", "request.device.osv": "13"])
                == "sr--")
    }

    @Test("of two impressions with one id the first is the bid's")
    func firstImpression() throws {
        let other = Auction.valid[Auction.imp]?.with(["instl": 0])
        #expect(try measures(["request.imp.1": other]) == "sret")
        #expect(
            try measures(["request.imp.1": Auction.valid[Auction.imp], "request.imp.0": other])
                == "sr--")
    }
}
