import TestKit

// Auctions, notices and in-app offers as exchanges and SDKs would write them.

extension BidsModel {
    private static let seats = ["acme", "ACME", "café", "cafe\u{301}", "a", "ab", "n\u{0}l"]

    static func makeNotice(
        _ type: String, _ id: String, _ writer: inout DraftWriter
    ) -> Draft<Event> {
        let (campaign, campaignMember) = writer.campaign()
        // Joined, "a" and "bb" would be the id of "ab" and "b".
        let seat = writer.pick(writer.chance(2) ? seats : ["", "a", "ab"])
        let bid = writer.pick(["b", "bb", "abb"])
        let version = writer.pick(["4.0", "2.2", "", "v?"])
        let currency = writer.pick(["USD", "EUR", "eur", nil])
        let reason: Int64 = writer.pick([0, 1, 102, 214, 1000])
        var notice = Notice(
            type: type, auction: id, seat: seat, bid: bid, version: version,
            currency: currency ?? "USD", campaign: campaign)
        var members = [
            writer.id("auction_id", id), writer.id("bid_id", bid), campaignMember,
            writer.optionalText("seat", seat.isEmpty && writer.chance(2) ? nil : seat),
            writer.optionalText(
                "skan_version", version.isEmpty && writer.chance(2) ? nil : version),
            writer.optionalText("currency", currency),
        ]
        if type == "openrtb.billing" {
            let (micros, member) = writer.price("price")
            notice.micros = micros
            members.append(member)
        } else {
            // A price that is not counted is not validated.
            members.append(
                writer.unjudged("price", writer.pick(["4.35", "-1", "\"x\"", "1e9", nil])))
        }
        if type == "openrtb.loss" {
            notice.lossReason = reason
            members.append(writer.integer("loss_reason", reason))
        }
        return Draft(type: type, event: .notice(notice), members: members)
    }

    static func makeOffer(
        _ type: String, _ id: String, _ writer: inout DraftWriter
    ) -> Draft<Event> {
        let (campaign, campaignMember) = writer.campaign()
        let adapter = writer.pick(seats)
        let competition = writer.pick(["price", "keyword"])
        let isPriced = competition == "price" && type == "inapp.bid"
        let currency: String? = isPriced ? "EUR" : writer.pick(["USD", "", nil])
        var notice = Notice(
            type: type, auction: id, seat: adapter, currency: currency ?? "", campaign: campaign)
        var members = [writer.id("auction_id", id), writer.id("adapter", adapter), campaignMember]
        if type == "inapp.bidder_won" {
            members.append(writer.optionalText("currency", currency))
            return Draft(type: type, event: .notice(notice), members: members)
        }
        let reasonCount = writer.reasons.count
        members.append(writer.word("competition_type", competition, empty: .missingField))
        let mayBreak = writer.mayBreak
        // What else is needed hangs on this word.
        if writer.reasons.count > reasonCount { writer.mayBreak = false }
        if isPriced || writer.chance(3) {
            let (micros, member) = writer.price("price", isRequired: isPriced)
            notice.micros = micros
            members.append(member)
        }
        members += [
            isPriced ? writer.text("currency", "EUR") : writer.optionalText("currency", currency),
            isPriced ? writer.unjudged("keyword", nil) : writer.text("keyword", "amznslots=t3x2"),
        ]
        writer.mayBreak = mayBreak
        if writer.chance(2) {
            // A word of a closed list that may be absent.
            let word = writer.pick(["primary_sdk", "third_party", "mediation"])
            let isBroken = writer.mayBreak && writer.chance(4)
            if isBroken { writer.reasons.append(.outOfRange) }
            members.append(
                writer.unjudged("rendering_type", writer.quoted(isBroken ? "theirs" : word)))
        }
        return Draft(type: type, event: .notice(notice), members: members)
    }

    static func makeAuction(_ id: String, _ writer: inout DraftWriter) -> Draft<Event> {
        var auction = Auction(
            id: id, sourceApp: 0,
            system: writer.mostly(["iOS", "ios", "IOS"], ["Android", nil]),
            systemVersion: writer.mostly(["17.5.1", "14", "14.0", "100"], ["13.9.9", "9", nil]),
            impressions: [], currency: "USD", bids: [])
        let request = writer.requiredObject("request") { writer in
            let bundle = writer.pick(["880047117", "1", "com.example.game", "", nil])
            auction.sourceApp = bundle.flatMap { Int64($0) } ?? 0
            let bundleText = bundle.map { text in
                Int64(text).map { writer.identifier($0) } ?? writer.quoted(text)
            }
            var impressions: [String] = []
            for name in ["1", "2"].prefix(Int.random(in: 0...9, using: &writer.random)) {
                let (impression, text) = makeImpression(name, &writer)
                auction.impressions.append(impression)
                impressions.append(text)
            }
            let list = impressions.isEmpty && writer.chance(2) ? nil : writer.list(impressions)
            return [
                writer.id("id", id), writer.unjudged("imp", list),
                writer.object("app") { [$0.unjudged("bundle", bundleText)] },
                writer.object("device") {
                    [
                        $0.optionalText("os", auction.system),
                        $0.optionalText("osv", auction.systemVersion),
                    ]
                },
            ]
        }
        let response =
            writer.chance(6)
            ? writer.unjudged("response", nil)
            : writer.object("response") { makeResponse(&auction, &$0) }
        return Draft(
            type: "openrtb.auction", event: .auction(auction), members: [request, response])
    }

    private static func makeImpression(
        _ id: String, _ writer: inout DraftWriter
    ) -> (Impression, text: String) {
        let version: String? = writer.mostly(
            ["3.1.0", "3.1", "4", "3.0.9", "2.21.1", "2.21.1.0"], ["2.21", "2.9", "2.21.0", nil])
        let instl: Bool? = writer.mostly([true], [false, nil])
        var impression = Impression(
            id: id, isFullScreen: instl == true,
            manager: writer.pick(["HyBid", "hybid-ios", nil, "VerveHYBIDsdk", "other"]),
            managerVersion: version, skadn: nil)
        var ext: String?
        if !writer.chance(8) {
            let (offer, text) = makeImpressionSkadn(&writer)
            impression.skadn = offer
            ext = writer.objectText([writer.unjudged("skadn", text)])
        }
        let text = writer.objectText([
            Member(name: "id", json: writer.quoted(id)),
            writer.fullScreen("instl", instl),
            writer.optionalText("displaymanager", impression.manager),
            writer.optionalText("displaymanagerver", version), writer.unjudged("ext", ext),
        ])
        return (impression, text)
    }

    private typealias Member = DraftWriter.Member
    private static let versions = ["1.0", "2.0", "2.1", "2.2", "3.0", "4.0", "5.0"]
    private static let sourceApp = "880047117"

    private static func makeImpressionSkadn(_ writer: inout DraftWriter) -> (Offer, text: String) {
        let (overlay, isSignalled) = writer.mostly(
            [
                ("1", true), ("1.0", true), ("true", true), ("[\"present\"]", true),
                ("[\"present\", \"click\"]", true),
            ],
            [
                ("0", false), ("[]", false), ("\"1\"", false), ("false", false), (nil, false),
                ("2", false),
            ])
        // Most offer everything, so that most bids are valid.
        let offered = writer.mostly([versions], [Array(versions.prefix(4))])
        let isOld = writer.chance(10)
        let listed = DraftWriter.networks.filter { _ in !writer.chance(6) }
        let added = writer.chance(3) ? [writer.pick(DraftWriter.networks)] : []
        let hasList = writer.chance(6)
        let offer = Offer(
            versions: isOld ? ["2.2"] : offered,
            sourceApp: writer.mostly([sourceApp], ["7", "com.example.game", nil]),
            networks: listed + added,
            hasList: hasList, isOverlaySignalled: isSignalled)
        func texts(_ list: [String]) -> String { writer.list(list.map { writer.quoted($0) }) }
        let text = writer.objectText([
            writer.unjudged("versions", isOld ? nil : texts(offered)),
            // Beside a list it means nothing.
            writer.unjudged("version", isOld || writer.chance(3) ? "\"2.2\"" : nil),
            writer.unjudged("sourceapp", makeJSON(offer.sourceApp, &writer)),
            writer.unjudged("skadnetids", listed.isEmpty ? makeJunk(&writer) : texts(listed)),
            writer.unjudged(
                "skadnetlist",
                writer.objectText([
                    writer.unjudged("max", hasList ? "306" : nil),
                    writer.unjudged("addl", texts(added)), writer.unjudged("excl", "[2, 8]"),
                ])),
            writer.unjudged("skoverlay", overlay),
        ])
        return (offer, text)
    }

    private static func makeResponse(
        _ auction: inout Auction, _ writer: inout DraftWriter
    ) -> [Member?] {
        var seats: [String] = []
        for _ in 0..<Int.random(in: 0...2, using: &writer.random) {
            let seat = writer.pick(["acme", "zenith", "café", "cafe\u{301}", ""])
            var bids: [String] = []
            for _ in 0..<Int.random(in: 0...2, using: &writer.random) {
                let (micros, price) = writer.priceOfBid("price")
                var bid = Bid(
                    seat: seat, impression: writer.mostly(["1", "2"], ["3", nil]),
                    micros: micros)
                var ext: String?
                if !writer.chance(6) {
                    let (skadn, text) = makeSkadn(&writer)
                    bid.skadn = skadn
                    ext = writer.objectText([writer.unjudged("skadn", text)])
                }
                auction.bids.append(bid)
                bids.append(
                    writer.objectText([
                        price, writer.unjudged("impid", bid.impression.map { writer.quoted($0) }),
                        writer.unjudged("ext", ext),
                    ]))
            }
            seats.append(
                writer.objectText([
                    writer.optionalText("seat", seat.isEmpty && writer.chance(2) ? nil : seat),
                    writer.unjudged(
                        "bid", bids.isEmpty && writer.chance(2) ? nil : writer.list(bids)),
                ]))
        }
        let currency: String? = writer.pick(["USD", "EUR", "usd", nil])
        auction.currency = currency ?? "USD"
        return [
            writer.optionalText("cur", currency),
            writer.unjudged(
                "seatbid", seats.isEmpty && writer.chance(2) ? nil : writer.list(seats)),
        ]
    }

    private static func makeSkadn(_ writer: inout DraftWriter) -> (Skadn, text: String) {
        let version = writer.mostly(versions, [nil, "9.9", ""])
        let (overlay, isRequested, isClickAllowed) = makeOverlay(&writer)
        var skadn = Skadn(
            version: version, network: writer.pick(DraftWriter.networks),
            sourceApp: writer.mostly([sourceApp], ["7", "x", nil]),
            item: writer.mostly(["525463029"], ["app", "", nil]), isSignedAtRoot: false,
            isEachFidelitySigned: false, isOverlayRequested: isRequested,
            isClickAllowed: isClickAllowed)
        if version == "4.0" || writer.chance(10) {
            skadn.sourceIdentifier = writer.mostly(
                ["5239", "0039", "0"], ["52391", "x1", "", nil])
        }
        // Below 4.0 a source identifier beside a campaign id is not written: which of them the column has is not said.
        if skadn.sourceIdentifier == nil || skadn.sourceIdentifier == "x1" || version == "4.0" {
            skadn.campaign = writer.mostly(["42", "1", "100"], ["0", "101", "x", "", nil])
        }
        var members = [
            writer.unjudged("version", version.map { writer.quoted($0) } ?? makeJunk(&writer)),
            writer.unjudged("network", skadn.network.map { writer.quoted($0) }),
            writer.unjudged("sourceapp", makeJSON(skadn.sourceApp, &writer)),
            writer.unjudged("itunesitem", makeJSON(skadn.item, &writer)),
            writer.unjudged("sourceidentifier", makeJSON(skadn.sourceIdentifier, &writer)),
            writer.unjudged("campaign", makeJSON(skadn.campaign, &writer)),
            writer.unjudged("skoverlay", overlay),
        ]
        // At either place or both, and mostly where the version has it.
        if version == "2.0" || version == "2.1" || writer.chance(6) {
            let (signature, isSigned) = makeSignature(&writer)
            skadn.isSignedAtRoot = isSigned
            members += signature
        }
        let signatures = (0..<writer.mostly([1, 2], [0])).map { _ in makeSignature(&writer) }
        let isList = !writer.chance(15)
        skadn.isEachFidelitySigned =
            isList && !signatures.isEmpty && signatures.allSatisfy(\.isSigned)
        let fidelities = signatures.map { writer.objectText($0.members) }
        members.append(
            writer.unjudged("fidelities", isList ? writer.list(fidelities) : makeJunk(&writer)))
        return (skadn, writer.objectText(members))
    }

    private static func makeSignature(
        _ writer: inout DraftWriter
    ) -> (members: [Member?], isSigned: Bool) {
        let missing = writer.mostly([nil], ["nonce", "timestamp", "signature"])
        let timestamp = writer.identifier(1_795_237_407_114)
        let parts = [
            ("nonce", "\"473b1a16\""), ("timestamp", timestamp), ("signature", "\"MEYC\""),
        ]
        let members = parts.map { writer.unjudged($0, $0 == missing ? nil : $1) }
        return (members, missing == nil)
    }

    /// A bid's `skoverlay`: whether it asks for an overlay, and whether it lets clicks be reported.
    private static func makeOverlay(
        _ writer: inout DraftWriter
    ) -> (json: String?, isRequested: Bool, isClickAllowed: Bool) {
        if writer.chance(8) {
            return (writer.pick([nil, "1", "[]", "\"x\"", "true"]), false, false)
        }
        let choices: [(String?, Bool)] = [
            ("1", true), ("1.0", true), ("true", true), (nil, true), (nil, true), ("0", false),
            ("false", false), ("\"1\"", false), ("2", false),
        ]
        let present = writer.mostly([("1", true), (nil, true)], choices)
        let click = writer.pick(choices)
        let json = writer.objectText([
            writer.unjudged("present", present.0), writer.unjudged("click", click.0),
        ])
        return (json, present.1, click.1)
    }

    /// An identifier within skadn, where nothing is rejected: a number or a text; nil is anything that says nothing.
    private static func makeJSON(_ text: String?, _ writer: inout DraftWriter) -> String? {
        guard let text else { return makeJunk(&writer) }
        let number = text.count > 1 && text.first == "0" ? nil : Int64(text)
        return number.map { writer.identifier($0) } ?? writer.quoted(text)
    }

    private static func makeJunk(_ writer: inout DraftWriter) -> String? {
        writer.pick([nil, nil, "true", "{}", "[]"])
    }
}
