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

    private static let noText = FieldRule.noText
    private static let noFigure = FieldRule.noFigure
    private static let noObject = FieldRule.noObject
    private static let noPrice: [Document] = ["1", true, [], [:]]
    private static let noIdentifier = FieldRule.noIdentifier
    private static let beyond = FieldRule.beyondInt64
    private static let identifiers = FieldRule.identifiers

    private static let prices: [Document] = [
        0, .raw("-0"), .raw("-0.0"), 1_000_000, 0.5, .raw("1e6"), .raw("1e-400"),
    ]
    private static let beyondPrices: [Document] = [
        -1, .raw("-1e-9"), .raw("1000000.0000001"), .raw("1e300"), .raw("18446744073709551616"),
    ]

    static let rules = auctionRules + noticeRules + offerRules

    private static let auctionRules = FieldRule.all(
        of: Auction.valid,
        [
            .required("request", wrong: noObject),
            .required("request.id", accepts: ["x"], wrong: noText),
            .optional("request.app", wrong: noObject),
            .optional(
                "request.app.bundle",
                accepts: identifiers + FieldRule.noWholeNumbersFromZero
                    + ["com.example", "-5", "5.5", .raw("-1e300"), true, [], [:]],
                beyond: beyond),
            .optional("request.device", accepts: [[:]], wrong: noObject),
            .optional("request.device.os", accepts: [""], wrong: noText),
            .optional("request.device.osv", accepts: [""], wrong: noText),
            .optional("request.imp", accepts: [[]], wrong: ["x", [:], [5], ["x"], [.null]]),
            .optional("request.imp.0.id", accepts: [""], wrong: noText),
            .optional(
                "request.imp.0.instl", accepts: [0, 1.0, 7, true, false],
                wrong: ["5", "", [], [:], 1.5], beyond: [.raw("1e30")]),
            .optional("request.imp.0.displaymanager", accepts: [""], wrong: noText),
            .optional("request.imp.0.displaymanagerver", accepts: [""], wrong: noText),
            .optional("request.imp.0.ext", accepts: [[:]], wrong: noObject),
            .optional("request.imp.0.ext.skadn", accepts: [5, "x", [], [:]]),
            .optional("response", accepts: [[:]], wrong: noObject),
            .optional("response.cur", accepts: ["", "usd"], wrong: noText),
            .optional("response.seatbid", accepts: [[]], wrong: ["x", 5, [:], [5], [.null]]),
            .optional("response.seatbid.0.seat", accepts: [""], wrong: noText),
            .optional("response.seatbid.0.bid", accepts: [[]], wrong: ["x", [:], [5], [.null]]),
            .optional(Auction.bid + ".impid", accepts: ["", "2"], wrong: noText),
            .optional(Auction.bid + ".ext", accepts: [[:]], wrong: noObject),
            .optional(Auction.skadn, accepts: [5, "x", [], [:]]),
            .optional(Auction.bid + ".price", accepts: prices + noPrice + beyondPrices),
        ])

    private static let noticeRules = ["openrtb.win", "openrtb.loss", "openrtb.billing"].flatMap {
        FieldRule.all(
            of: notice, type: $0,
            [
                .required("auction_id", wrong: noText), .required("bid_id", wrong: noText),
                .optional("seat", accepts: [""], wrong: noText),
                .optional("currency", accepts: [""], wrong: noText),
                .optional("skan_version", accepts: [""], wrong: noText),
                .optional("campaign", accepts: [[:]], wrong: noObject),
                .optional("campaign.ad_network_id", accepts: [""], wrong: noText),
                .optional(
                    "campaign.source_identifier", accepts: ["", "0039", 39, "a name"],
                    wrong: [true, [], [:]], beyond: beyond + FieldRule.noWholeNumbersFromZero),
                $0 == "openrtb.billing"
                    ? .required(
                        "price", accepts: prices, wrong: noPrice, beyond: beyondPrices)
                    : .optional("price", accepts: prices + noPrice + beyondPrices),
                $0 == "openrtb.loss"
                    ? .required(
                        "loss_reason", accepts: [0, -1, 5.0, .raw("9223372036854775807")],
                        wrong: noFigure, beyond: [.raw("9223372036854775808"), .raw("1e300")])
                    : .optional("loss_reason", accepts: ["x", 1.5]),
            ]
                + ["campaign_id", "app_id", "source_app_id"].map {
                    .optional(
                        "campaign.\($0)", accepts: identifiers, wrong: noIdentifier,
                        beyond: beyond + FieldRule.noWholeNumbersFromZero)
                })
    }

    private static let offerRules =
        FieldRule.all(
            of: offer, type: "inapp.bid",
            [
                .required("auction_id", wrong: noText), .required("adapter", wrong: noText),
                .required(
                    "competition_type", accepts: ["keyword"], wrong: noText,
                    beyond: ["Price", "other"]),
                .optional(
                    "rendering_type", accepts: ["primary_sdk", "third_party"], wrong: noText,
                    beyond: ["Mediation", "other"]),
                .required(
                    "price", accepts: [0, 1_000_000], wrong: noPrice, beyond: [-1, 1_000_001]
                )
                .required(by: "competition_type"),
                .required("currency", wrong: noText).required(by: "competition_type"),
                .optional("campaign", accepts: [[:]], wrong: noObject),
                .optional("winning_ssp", accepts: [5, "x"]),
            ])
        + FieldRule.all(
            of: offer.with(["competition_type": "keyword"]), type: "inapp.bid",
            [
                .required("keyword", wrong: noText),
                .optional("price", accepts: [0], wrong: ["1"], beyond: [-1]),
                .optional("currency", accepts: [""], wrong: noText),
            ])
        + FieldRule.all(
            of: offer, type: "inapp.bidder_won",
            [
                .required("auction_id", wrong: noText), .required("adapter", wrong: noText),
                .optional("currency", accepts: [""], wrong: noText),
                .optional("competition_type", accepts: ["other", 5]),
                .optional("price", accepts: [-1, "x"]),
            ])

    @Test("a bid without a valid price counts in bids and in unpriced, beside the bids of others")
    func unpriced() throws {
        for price: Document in Self.noPrice + Self.beyondPrices + [.null] {
            let result = try foldBid(Auction.with([Auction.bid + ".price": price]))
            #expect(result.outcome(.accepted) == 1)
            #expect(result.sum("bids", "bids") == 1)
            #expect(result.sum("bids", "unpriced") == 1, "\(price.text)")
            #expect(result.sum("bids", "price_micros") == 0, "\(price.text)")
        }
        for price in Self.prices {
            let result = try foldBid(Auction.with([Auction.bid + ".price": price]))
            #expect(result.sum("bids", "unpriced") == 0, "\(price.text)")
        }
    }

    @Test("each field is judged as its rule says", arguments: rules)
    func field(_ rule: FieldRule) throws {
        try rule.check(emptyIsAbsent: rule.wrongType == Self.noText) { try reason($0, rule.type) }
    }

    @Test("a record with several faults is refused for the first in the contract's order")
    func precedence() throws {
        let order = [RejectionReason.missingField, .wrongType, .outOfRange].sorted().map(\.name)
        for first in Self.rules {
            for second in Self.rules where second.type == first.type && second.base == first.base {
                guard !first.path.hasPrefix(second.path), !second.path.hasPrefix(first.path),
                    first.isRequiredBy != second.path, second.isRequiredBy != first.path
                else { continue }
                for one in first.faults {
                    for other in second.faults {
                        let document = first.base.with([
                            first.path: one.value, second.path: other.value,
                        ])
                        let earlier = order.first { [one.reason, other.reason].contains($0) }
                        #expect(
                            try reason(document, first.type) == earlier,
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
