/// Row of `bids`.
package struct BidsKey: RowKey {
    var seat: Symbol
    var campaign: CampaignKey
    var skanVersion: Symbol
    var currency: Symbol

    package enum Measure: Int, AggregateMeasure {
        case auctions, noBids, bids, priceMicros
        case overlaySignalled, overlayRequested, skadnInvalid, overlayEligible
        case overlayClickTracked, wins, losses, billed, billedPriceMicros, inappBids, inappWins
    }

    package static let columns: KeyColumns<Self> = [
        .text("seat", \.seat, "or the in-app bidder's adapter"),
        .group(\.campaign, CampaignKey.columns),
        .text("skan_version", \.skanVersion, "of the bid's skadn object; '' without one"),
        .text("currency", \.currency, "ISO 4217 code"),
    ]
    package static let table = AggregateTable(
        "bids",
        "Bids, notices and in-app offers by seat and campaign; one row an hour for auctions.",
        columns, measures: Measure.self,
        notes: [
            .priceMicros: "sum of CPM prices, in millionths",
            .billedPriceMicros: "sum of CPM prices, in millionths",
        ])
}

/// Row of `bid-faults`.
package struct BidFaultsKey: RowKey {
    var campaign: CampaignKey
    var fault: SkadnFault

    package enum Measure: Int, AggregateMeasure { case bids }

    package static let columns: KeyColumns<Self> = [
        .group(\.campaign, CampaignKey.columns), .word("fault", \.fault),
    ]
    package static let table = AggregateTable(
        "bid-faults", "Bids whose skadn object breaks a rule, by the first rule broken.", columns,
        measures: Measure.self)
}

/// Row of `bid-signatures`.
package struct BidSignaturesKey: RowKey {
    var seat: Symbol
    var campaign: CampaignKey
    var skanVersion: Symbol
    /// `unknown` below 2.2.
    var fidelity: AdFidelity
    var verdict: AdSignatureVerdict

    package enum Measure: Int, AggregateMeasure { case signatures }

    package static let columns: KeyColumns<Self> = [
        .text("seat", \.seat), .group(\.campaign, CampaignKey.columns),
        .text("skan_version", \.skanVersion),
        .word("fidelity", \.fidelity, "'view', 'storekit', or '' when it is not said"),
        .word("verdict", \.verdict, "'valid', 'invalid', 'incomplete', 'unverifiable'"),
    ]
    package static let table = AggregateTable(
        "bid-signatures",
        "Signatures on the ads of bids, for the networks whose keys are in the catalog.", columns,
        measures: Measure.self)
}

/// Row of `loss-reasons`.
package struct LossReasonsKey: RowKey {
    var seat: Symbol
    var campaign: CampaignKey
    /// OpenRTB's loss reason code.
    var reason: Int64

    package enum Measure: Int, AggregateMeasure { case losses }

    package static let columns: KeyColumns<Self> = [
        .text("seat", \.seat), .group(\.campaign, CampaignKey.columns),
        .integer("reason", \.reason),
    ]
    package static let table = AggregateTable(
        "loss-reasons", "Losses by OpenRTB's loss reason code.", columns, measures: Measure.self)
}
