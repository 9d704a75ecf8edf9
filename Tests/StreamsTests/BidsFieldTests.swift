import Streams
import Testing

@Suite("Fields of bids: missing, of a wrong type, out of range")
struct BidsFieldTests {
    static let notice: Document = [
        "auction_id": "a", "bid_id": "b", "seat": "s", "currency": "USD", "price": 1,
        "loss_reason": 1, "skan_version": "4.0",
        "campaign": [
            "ad_network_id": "n", "campaign_id": 1, "source_identifier": "1", "app_id": 1,
            "source_app_id": 1,
        ],
    ]
    static let offer: Document = [
        "auction_id": "a", "adapter": "x", "competition_type": "price", "price": 1,
        "currency": "USD", "keyword": "k", "rendering_type": "mediation", "campaign": [:],
    ]

    private func reason(_ document: Document, _ type: String?) throws -> String {
        let result = try foldBid(document, type: type)
        if result.outcome(.accepted) == 1 { return "accepted" }
        #expect(result.rows("bids").isEmpty)
        return result.reasons.joined()
    }

    /// What a field accepts and refuses. Absent, null and, for ids, "" are the same.
    struct Rule: CustomTestStringConvertible {
        var type: String?
        var base: Document
        var path: String
        var isRequired = false
        var accepts: [Document] = []
        var wrongType: [Document] = []
        var outOfRange: [Document] = []
        /// The field whose value makes this one required.
        var isRequiredBy: String?

        /// One value of each kind that is refused.
        var faults: [(reason: RejectionReason, value: Document?)] {
            var faults: [(reason: RejectionReason, value: Document?)] = []
            if isRequired { faults.append((.missingField, nil)) }
            if let value = wrongType.first { faults.append((.wrongType, value)) }
            if let value = outOfRange.first { faults.append((.outOfRange, value)) }
            return faults
        }

        var testDescription: String { "\(type ?? "openrtb.auction") \(path)" }
    }

    private static let noText: [Document] = [5, true, [], [:]]
    private static let noNumber: [Document] = ["5", "", true, [], [:], 1.5]
    private static let noObject: [Document] = ["x", 5, [], false]
    private static let noIdentifier: [Document] = ["x", "-5", "1.0", "5 ", 1.5, true, [], [:]]
    private static let beyond: [Document] = [
        .raw("9223372036854775808"), .raw("1e300"), .raw("99999999999999999999"),
        "9223372036854775808",
    ]
    private static let identifiers: [Document] = [
        7, "7", "007", 7.0, .raw("7e0"), "", .raw("9223372036854775807"),
    ]

    static let rules: [Rule] = auctionRules + noticeRules + offerRules

    private static let auctionRules: [Rule] = [
        .init(base: Auction.valid, path: "request", isRequired: true, wrongType: noObject),
        .init(
            base: Auction.valid, path: "request.id", isRequired: true, accepts: ["x"],
            wrongType: noText),
        .init(base: Auction.valid, path: "request.app", wrongType: noObject),
        .init(
            base: Auction.valid, path: "request.app.bundle",
            accepts: identifiers + ["com.example", "-5"],
            wrongType: [1.5, true, [], [:]], outOfRange: beyond),
        .init(base: Auction.valid, path: "request.device", accepts: [[:]], wrongType: noObject),
        .init(base: Auction.valid, path: "request.device.os", accepts: [""], wrongType: noText),
        .init(base: Auction.valid, path: "request.device.osv", accepts: [""], wrongType: noText),
        .init(
            base: Auction.valid, path: "request.imp", accepts: [[]],
            wrongType: ["x", [:], [5], ["x"], [.null]]),
        .init(base: Auction.valid, path: "request.imp.0.id", accepts: [""], wrongType: noText),
        .init(
            base: Auction.valid, path: "request.imp.0.instl", accepts: [0, 1.0, 7],
            wrongType: noNumber, outOfRange: [.raw("1e30")]),
        .init(
            base: Auction.valid, path: "request.imp.0.displaymanager", accepts: [""],
            wrongType: noText),
        .init(
            base: Auction.valid, path: "request.imp.0.displaymanagerver", accepts: [""],
            wrongType: noText),
        .init(base: Auction.valid, path: "request.imp.0.ext", accepts: [[:]], wrongType: noObject),
        .init(base: Auction.valid, path: "request.imp.0.ext.skadn", accepts: [5, "x", [], [:]]),
        .init(base: Auction.valid, path: "response", accepts: [[:]], wrongType: noObject),
        .init(base: Auction.valid, path: "response.cur", accepts: ["", "usd"], wrongType: noText),
        .init(
            base: Auction.valid, path: "response.seatbid", accepts: [[]],
            wrongType: ["x", 5, [:], [5], [.null]]),
        .init(
            base: Auction.valid, path: "response.seatbid.0.seat", accepts: [""], wrongType: noText),
        .init(
            base: Auction.valid, path: "response.seatbid.0.bid", accepts: [[]],
            wrongType: ["x", [:], [5], [.null]]),
        .init(
            base: Auction.valid, path: Auction.bid + ".impid", accepts: ["", "2"], wrongType: noText
        ),
        .init(base: Auction.valid, path: Auction.bid + ".ext", accepts: [[:]], wrongType: noObject),
        .init(base: Auction.valid, path: Auction.skadn, accepts: [5, "x", [], [:]]),
        .init(
            base: Auction.valid, path: Auction.bid + ".price", isRequired: true,
            accepts: [0, .raw("-0"), .raw("-0.0"), 1_000_000, 0.5, .raw("1e6"), .raw("1e-400")],
            wrongType: ["1", true, [], [:]],
            outOfRange: [
                -1, .raw("-1e-9"), .raw("1000000.0000001"), .raw("1e300"),
                .raw("18446744073709551616"),
            ]),
    ]

    private static let noticeRules: [Rule] = ["openrtb.win", "openrtb.loss", "openrtb.billing"]
        .flatMap {
            [
                Rule(
                    type: $0, base: notice, path: "auction_id", isRequired: true, wrongType: noText),
                Rule(type: $0, base: notice, path: "bid_id", isRequired: true, wrongType: noText),
                Rule(type: $0, base: notice, path: "seat", accepts: [""], wrongType: noText),
                Rule(type: $0, base: notice, path: "currency", accepts: [""], wrongType: noText),
                Rule(
                    type: $0, base: notice, path: "skan_version", accepts: [""], wrongType: noText),
                Rule(type: $0, base: notice, path: "campaign", accepts: [[:]], wrongType: noObject),
                Rule(
                    type: $0, base: notice, path: "campaign.ad_network_id", accepts: [""],
                    wrongType: noText),
                Rule(
                    type: $0, base: notice, path: "campaign.source_identifier",
                    accepts: ["", "0039", 39], wrongType: [1.5, true, [], [:]],
                    outOfRange: Array(beyond.dropLast())),
                Rule(
                    type: $0, base: notice, path: "campaign.campaign_id", accepts: identifiers,
                    wrongType: noIdentifier, outOfRange: beyond),
                Rule(
                    type: $0, base: notice, path: "campaign.app_id", accepts: identifiers,
                    wrongType: noIdentifier, outOfRange: beyond),
                Rule(
                    type: $0, base: notice, path: "campaign.source_app_id", accepts: identifiers,
                    wrongType: noIdentifier, outOfRange: beyond),
                $0 == "openrtb.billing"
                    ? Rule(
                        type: $0, base: notice, path: "price", isRequired: true,
                        accepts: [0, 1_000_000], wrongType: ["1", true, [], [:]],
                        outOfRange: [-1, 1_000_001])
                    : Rule(type: $0, base: notice, path: "price", accepts: ["x", -1, true]),
                $0 == "openrtb.loss"
                    ? Rule(
                        type: $0, base: notice, path: "loss_reason", isRequired: true,
                        accepts: [0, -1, 5.0, .raw("9223372036854775807")], wrongType: noNumber,
                        outOfRange: [.raw("9223372036854775808"), .raw("1e300")])
                    : Rule(type: $0, base: notice, path: "loss_reason", accepts: ["x", 1.5]),
            ]
        }

    private static let offerRules: [Rule] = [
        .init(
            type: "inapp.bid", base: offer, path: "auction_id", isRequired: true, wrongType: noText),
        .init(type: "inapp.bid", base: offer, path: "adapter", isRequired: true, wrongType: noText),
        .init(
            type: "inapp.bid", base: offer, path: "competition_type", isRequired: true,
            accepts: ["keyword"], wrongType: noText, outOfRange: ["Price", "other"]),
        .init(
            type: "inapp.bid", base: offer, path: "rendering_type",
            accepts: ["primary_sdk", "third_party"], wrongType: noText,
            outOfRange: ["Mediation", "other"]),
        .init(
            type: "inapp.bid", base: offer, path: "price", isRequired: true,
            accepts: [0, 1_000_000], wrongType: ["1", true, [], [:]], outOfRange: [-1, 1_000_001],
            isRequiredBy: "competition_type"),
        .init(
            type: "inapp.bid", base: offer, path: "currency", isRequired: true, wrongType: noText,
            isRequiredBy: "competition_type"),
        .init(
            type: "inapp.bid", base: offer.with(["competition_type": "keyword"]), path: "keyword",
            isRequired: true, wrongType: noText),
        .init(
            type: "inapp.bid", base: offer.with(["competition_type": "keyword"]), path: "price",
            accepts: [0], wrongType: ["1"], outOfRange: [-1]),
        .init(
            type: "inapp.bid", base: offer.with(["competition_type": "keyword"]), path: "currency",
            accepts: [""], wrongType: noText),
        .init(
            type: "inapp.bid", base: offer, path: "campaign", accepts: [[:]], wrongType: noObject),
        .init(type: "inapp.bid", base: offer, path: "winning_ssp", accepts: [5, "x"]),
        .init(
            type: "inapp.bidder_won", base: offer, path: "auction_id", isRequired: true,
            wrongType: noText),
        .init(
            type: "inapp.bidder_won", base: offer, path: "adapter", isRequired: true,
            wrongType: noText),
        .init(
            type: "inapp.bidder_won", base: offer, path: "currency", accepts: [""],
            wrongType: noText),
        .init(
            type: "inapp.bidder_won", base: offer, path: "competition_type", accepts: ["other", 5]),
        .init(type: "inapp.bidder_won", base: offer, path: "price", accepts: [-1, "x"]),
    ]

    @Test("each field is judged as its rule says", arguments: rules)
    func field(_ rule: Rule) throws {
        func reason(_ value: Document?) throws -> String {
            try self.reason(rule.base.with([rule.path: value]), rule.type)
        }
        #expect(try self.reason(rule.base, rule.type) == "accepted")
        let absent = rule.isRequired ? "missing_field" : "accepted"
        #expect(try reason(nil) == absent)
        #expect(try reason(.null) == absent)
        if rule.isRequired, rule.wrongType == Self.noText {
            #expect(try reason("") == "missing_field")
        }
        for value in rule.accepts { #expect(try reason(value) == "accepted", "\(value.text)") }
        for value in rule.wrongType { #expect(try reason(value) == "wrong_type", "\(value.text)") }
        for value in rule.outOfRange {
            #expect(try reason(value) == "out_of_range", "\(value.text)")
        }
    }

    @Test("a record with several faults is refused for the first in the contract's order")
    func precedence() throws {
        for first in Self.rules {
            for second in Self.rules where second.type == first.type && second.base == first.base {
                guard !first.path.hasPrefix(second.path), !second.path.hasPrefix(first.path) else {
                    continue
                }
                guard first.isRequiredBy != second.path, second.isRequiredBy != first.path else {
                    continue
                }
                for one in first.faults {
                    for other in second.faults {
                        let document = first.base.with([
                            first.path: one.value, second.path: other.value,
                        ])
                        #expect(
                            try reason(document, first.type) == min(one.reason, other.reason).name,
                            "\(first.path) \(one.reason), \(second.path) \(other.reason)")
                    }
                }
            }
        }
    }

    @Test("prices are rounded to micros, half away from zero, on the double")
    func rounding() throws {
        for (price, micros) in [
            ("0.0000005", 1), ("0.0000004999", 0), ("0.0000015", 2), ("0.0000025", 3),
            ("4.35", 4_350_000),
            ("1.0000005", 1_000_001), ("0.1e1", 1_000_000), ("1e-7", 0),
            ("999999.9999995", 999_999_999_999),
            ("1000000", 1_000_000_000_000), ("2.675", 2_675_000), ("1e-400", 0),
        ] as [(String, Int64)] {
            guard let double = Double(price) else { continue }
            let rounded = Int64((double * 1_000_000).rounded(.toNearestOrAwayFromZero))
            let result = try foldBid(Auction.with([Auction.bid + ".price": .raw(price)]))
            #expect(result.sum("bids", "price_micros") == rounded)
            if price != "999999.9999995" { #expect(rounded == micros, "\(price)") }
        }
    }
}
