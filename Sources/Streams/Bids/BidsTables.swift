/// Row of `bids`.
package struct BidsKey: RowKey {
    /// The partition whose records the row counts.
    package var partition: Int32
    /// The hour of the record's timestamp.
    package var hour: Hour
    /// The bidder's seat, or the in-app bidder's adapter.
    package var seat: Symbol
    /// Whose ad it was.
    package var campaign: CampaignKey
    /// Version of the bid's skadn object; empty without one.
    package var skanVersion: Symbol
    /// ISO 4217 code of the price's currency.
    package var currency: Symbol

    /// The measures of `bids`, in the table's order. Prices are CPM in millionths of the currency's unit.
    enum Measure: Int, CaseIterable {
        case auctions, noBids, bids, priceMicros
        case overlaySignalled, overlayRequested, skadnInvalid, overlayEligible
        case overlayClickTracked, wins, losses, billed, billedPriceMicros, inAppBids, inAppWins

        var name: String {
            switch self {
            case .auctions: "auctions"
            case .noBids: "no_bids"
            case .bids: "bids"
            case .priceMicros: "price_micros"
            case .overlaySignalled: "overlay_signalled"
            case .overlayRequested: "overlay_requested"
            case .skadnInvalid: "skadn_invalid"
            case .overlayEligible: "overlay_eligible"
            case .overlayClickTracked: "overlay_click_tracked"
            case .wins: "wins"
            case .losses: "losses"
            case .billed: "billed"
            case .billedPriceMicros: "billed_price_micros"
            case .inAppBids: "inapp_bids"
            case .inAppWins: "inapp_wins"
            }
        }
    }

    /// The aggregate.
    package static let table = AggregateTable(
        name: "bids",
        columns: [.init("hour", .hour), .init("seat", .text)] + AggregateTable.campaignColumns
            + [.init("skan_version", .text), .init("currency", .text)],
        measures: Measure.allCases.map(\.name))

    /// Adds all that makes the key to a hash.
    @inline(__always)
    package func combine(into hasher: inout RowHasher) {
        hasher.combine(Int64(partition) << 40 ^ hour.hoursSince1970)
        hasher.combine(seat, currency)
        hasher.combine(UInt64(skanVersion.number))
        campaign.combine(into: &hasher)
    }

    /// The columns, in the table's order.
    package func forEachColumn(_ body: (ColumnValue) -> Void) {
        body(.hour(hour))
        body(.symbol(seat))
        campaign.forEachColumn(body)
        body(.symbol(skanVersion))
        body(.symbol(currency))
    }
}

/// Row of `bid-faults`: bids whose skadn object breaks a rule, by the first rule broken.
package struct BidFaultsKey: RowKey {
    /// The partition whose records the row counts.
    package var partition: Int32
    /// The hour of the record's timestamp.
    package var hour: Hour
    /// Whose ad it was.
    package var campaign: CampaignKey
    /// The rule that was broken.
    package var fault: SkadnFault

    /// The aggregate.
    package static let table = AggregateTable(
        name: "bid-faults",
        columns: [.init("hour", .hour)] + AggregateTable.campaignColumns
            + [.init("fault", .text)],
        measures: ["bids"])

    /// Adds all that makes the key to a hash.
    package func combine(into hasher: inout RowHasher) {
        hasher.combine(Int64(partition) << 40 ^ hour.hoursSince1970)
        campaign.combine(into: &hasher)
    }

    /// The columns, in the table's order.
    package func forEachColumn(_ body: (ColumnValue) -> Void) {
        body(.hour(hour))
        campaign.forEachColumn(body)
        body(.text(fault.name))
    }
}

/// Row of `bid-signatures`: signatures on the ads of bids, for the networks whose keys are in the catalog.
package struct BidSignaturesKey: RowKey {
    /// The partition whose records the row counts.
    package var partition: Int32
    /// The hour of the record's timestamp.
    package var hour: Hour
    /// The bidder's seat.
    package var seat: Symbol
    /// Whose ad it was.
    package var campaign: CampaignKey
    /// Version of the bid's skadn object.
    package var skanVersion: Symbol
    /// How the ad is presented; `unknown` below 2.2.
    package var fidelity: AdFidelity
    /// What came of the check.
    package var verdict: AdSignatureVerdict

    /// The aggregate.
    package static let table = AggregateTable(
        name: "bid-signatures",
        columns: [.init("hour", .hour), .init("seat", .text)] + AggregateTable.campaignColumns
            + [.init("skan_version", .text), .init("fidelity", .text), .init("verdict", .text)],
        measures: ["signatures"])

    /// Adds all that makes the key to a hash.
    package func combine(into hasher: inout RowHasher) {
        hasher.combine(Int64(partition) << 40 ^ hour.hoursSince1970)
        hasher.combine(seat, skanVersion)
        hasher.combine(Int64(fidelity.rawValue << 8 | verdict.rawValue))
        campaign.combine(into: &hasher)
    }

    /// The columns, in the table's order.
    package func forEachColumn(_ body: (ColumnValue) -> Void) {
        body(.hour(hour))
        body(.symbol(seat))
        campaign.forEachColumn(body)
        body(.symbol(skanVersion))
        body(.text(fidelity.name))
        body(.text(verdict.name))
    }
}

/// Row of `loss-reasons`: losses by OpenRTB's reason code.
package struct LossReasonsKey: RowKey {
    /// The partition whose records the row counts.
    package var partition: Int32
    /// The hour of the record's timestamp.
    package var hour: Hour
    /// The bidder's seat.
    package var seat: Symbol
    /// Whose ad it was.
    package var campaign: CampaignKey
    /// OpenRTB's loss reason code.
    package var reason: Int64

    /// The aggregate.
    package static let table = AggregateTable(
        name: "loss-reasons",
        columns: [.init("hour", .hour), .init("seat", .text)] + AggregateTable.campaignColumns
            + [.init("reason", .integer)],
        measures: ["losses"])

    /// Adds all that makes the key to a hash.
    package func combine(into hasher: inout RowHasher) {
        hasher.combine(Int64(partition) << 40 ^ hour.hoursSince1970)
        hasher.combine(UInt64(seat.number))
        hasher.combine(reason)
        campaign.combine(into: &hasher)
    }

    /// The columns, in the table's order.
    package func forEachColumn(_ body: (ColumnValue) -> Void) {
        body(.hour(hour))
        body(.symbol(seat))
        campaign.forEachColumn(body)
        body(.integer(reason))
    }
}
