import ConfigurationValues
import JSON
import Signatures

// The topic `bids`: its event types, aggregates and rules.

extension BidsFold {
    package typealias Kind = BidsEventType
    package static let streamName = "bids"
    package static let help = StreamHelp(
        "Folds auctions, notices and in-app offers into bids.sqlite.",
        """
        Reads the topic configured in bids.yaml and stores bids, wins, losses and billings by hour \
        and campaign. You can stop it at any time. After a restart it continues where it stopped.

          weir publish --topic bids auctions.ndjson
          weir-bids --until-end
          weir dump bids --by day,seat
        """)
    package static let defaultWindowSeconds: Int? = 3600
    package static let rejectedRetentionDays: Int64 = 30
    package static let tables = [
        BidsKey.table, BidFaultsKey.table, BidSignaturesKey.table, LossReasonsKey.table,
    ]

    /// Reads `bids.yaml`, and the networks' keys for signing ads in the catalog.
    package static func rules(
        in pipelines: PipelineDirectory
    ) throws(ConfigurationError) -> BidsRules {
        var rules = BidsRules(window: WindowedRules(stream: streamName, try file(in: pipelines)))
        let catalog = try pipelines.catalog()
        for id in try adSigningKeys(of: catalog).keys {
            rules.adSigningKeys[id] = catalog.networks[id]?.adSigningKeys.map(\.text)
        }
        return rules
    }

    package static func make(
        _ rules: BidsRules, topic: String, memory: any FoldMemory, threadCount: Int
    ) throws -> BidsFold {
        let fold = BidsFold(topic: topic, rules: rules.window, parser: try .make())
        fold.verifyAds(
            of: rules.adSigningKeys.mapValues { $0.compactMap { VerificationKey(base64: $0) } })
        return fold
    }

    /// The networks' keys for signing ads, by network id in lower case. Throws at the line of an invalid key.
    package static func adSigningKeys(
        of catalog: Catalog
    ) throws(ConfigurationError) -> [String: [VerificationKey]] {
        var keys: [String: [VerificationKey]] = [:]
        for (id, network) in catalog.networks.sorted(by: { $0.key < $1.key }) {
            for text in network.adSigningKeys {
                guard let key = VerificationKey(base64: text.text) else {
                    throw text.fault(
                        "is not a P-192 or P-256 public key: give its SubjectPublicKeyInfo (DER) in "
                            + "base64")
                }
                keys[id, default: []].append(key)
            }
        }
        return keys
    }
}

package enum BidsEventType: EventType {
    case auction
    case win
    case loss
    /// `openrtb.billing`: a bid must be paid.
    case billing
    /// `inapp.bid`: an in-app bidder's offer to the ad call.
    case inAppBid
    /// `inapp.bidder_won`: that offer won.
    case inAppBidderWon

    package static let byDefault = BidsEventType.auction

    package var name: StaticString {
        switch self {
        case .auction: "openrtb.auction"
        case .win: "openrtb.win"
        case .loss: "openrtb.loss"
        case .billing: "openrtb.billing"
        case .inAppBid: "inapp.bid"
        case .inAppBidderWon: "inapp.bidder_won"
        }
    }
}

package struct BidsKey: RowKey {
    package var seat: Symbol
    package var campaign: CampaignKey
    package var skanVersion: Symbol
    package var currency: Symbol

    package enum Measure: Int, AggregateMeasure {
        case auctions, noBids, bids, priceMicros, unpriced
        case overlaySignalled, overlayRequested, skadnInvalid, overlayEligible
        case overlayClickTracked, wins, losses, billed, billedPriceMicros, inappBids, inappWins
    }

    package static let columns: KeyColumns<Self> = [
        .text("seat", \.seat, "the bidder's seat, or the in-app bidder's adapter"),
        .group(\.campaign, CampaignKey.columns),
        .text("skan_version", \.skanVersion, "of the bid's skadn object; '' without one"),
        .text("currency", \.currency, "ISO 4217 code"),
    ]
    package static let table = AggregateTable(
        "bids",
        "Bids, notices and in-app offers by seat and campaign; auctions have one row per hour.",
        columns, measures: Measure.self,
        notes: [
            .auctions: .page("auctions read; their rows have no column except source_app_id"),
            .noBids: .page("auctions without a bid in the response"),
            .bids: .page("bids in auction responses"),
            .priceMicros: .init("sum of CPM prices, in millionths", unit: .cpmMicros),
            .unpriced: .page(
                "bids with a price that is missing, not a number, below 0 or above 1,000,000"),
            .overlaySignalled: .page("bids on impressions that offer an overlay"),
            .overlayRequested: .page("bids with a skadn object that requests an overlay"),
            .skadnInvalid: .page(
                "bids with a skadn object that breaks a rule; bid-faults has the rules"),
            .overlayEligible: .page(
                "bids with a signalled, requested and valid overlay that the device and the SDK support"
            ),
            .overlayClickTracked: .page("overlay_eligible bids with click reporting"),
            .wins: .page("win notices"),
            .losses: .page("loss notices; loss-reasons has the reasons"),
            .billed: .page("billing notices"),
            .billedPriceMicros: .init("sum of CPM prices, in millionths", unit: .cpmMicros),
            .inappBids: .page("offers of in-app bidders to the ad call"),
            .inappWins: .page("winning offers of in-app bidders"),
        ])
}

package struct BidFaultsKey: RowKey {
    package var campaign: CampaignKey
    package var fault: SkadnFault

    package enum Measure: Int, AggregateMeasure { case bids }

    package static let columns: KeyColumns<Self> = [
        .group(\.campaign, CampaignKey.columns),
        .word(
            "fault", \.fault,
            .page("'version', 'network', 'sourceapp', 'itunesitem', 'campaign', 'signature'")),
    ]
    package static let table = AggregateTable(
        "bid-faults", "Bids whose skadn object breaks a rule, by the first rule broken.", columns,
        measures: Measure.self, notes: [.bids: .page("bids with this fault")])
}

package struct BidSignaturesKey: RowKey {
    package var seat: Symbol
    package var campaign: CampaignKey
    package var skanVersion: Symbol
    /// `unknown` below 2.2.
    package var fidelity: AdFidelity
    package var verdict: AdSignatureVerdict

    package enum Measure: Int, AggregateMeasure { case signatures }

    package static let columns: KeyColumns<Self> = [
        .text("seat", \.seat, .page("of the bid")), .group(\.campaign, CampaignKey.columns),
        .text("skan_version", \.skanVersion, .page("of the bid's skadn object")),
        .word("fidelity", \.fidelity, "'view', 'storekit', or '' if the bid has none"),
        .word("verdict", \.verdict, "'valid', 'invalid', 'incomplete', 'unverifiable'"),
    ]
    package static let table = AggregateTable(
        "bid-signatures",
        "Ad signatures in bids, for networks with keys in the catalog.", columns,
        measures: Measure.self,
        notes: [.signatures: .page("signatures, one for each fidelity of a bid")])
}

package struct LossReasonsKey: RowKey {
    package var seat: Symbol
    package var campaign: CampaignKey
    package var reason: Int64

    package enum Measure: Int, AggregateMeasure { case losses }

    package static let columns: KeyColumns<Self> = [
        .text("seat", \.seat, .page("of the bid")), .group(\.campaign, CampaignKey.columns),
        .integer("reason", \.reason, .page("OpenRTB's loss reason code")),
    ]
    package static let table = AggregateTable(
        "loss-reasons", "Losses by OpenRTB's loss reason code.", columns, measures: Measure.self,
        notes: [.losses: .page("loss notices")])
}
