import TestKit

/// Auctions, notices and in-app offers: section 3 of the contract.
struct BidsModel: WindowedModel {
    typealias Meaning = EventMeaning<Event>

    static let stream = "bids"
    static let dumps = ["outcomes", "bids", "bid-faults", "loss-reasons"]
    static let types = [
        "openrtb.auction", "openrtb.win", "openrtb.loss", "openrtb.billing", "inapp.bid",
        "inapp.bidder_won",
    ]
    static let windowMilliseconds: Int64 = 3_600_000

    var history = EventHistory<Event>()

    enum Event: WindowedEvent {
        case auction(Auction)
        case notice(Notice)
    }

    struct Auction {
        var id: String
        var sourceApp: Int64
        var system: String?
        var systemVersion: String?
        var impressions: [Impression]
        var currency: String
        var bids: [Bid]
    }

    /// An OpenRTB `imp`.
    struct Impression {
        var id: String
        var isFullScreen: Bool
        var manager: String?
        var managerVersion: String?
        var skadn: Offer?
    }

    /// What an impression offers: its `ext.skadn`.
    struct Offer {
        /// `versions`, else `version`.
        var versions: [String]
        var sourceApp: String?
        var networks: [String]
        /// Whether it has `skadnetlist.max`.
        var hasList: Bool
        var isOverlaySignalled: Bool
    }

    struct Bid {
        var seat: String
        var impression: String?
        /// Nil without a valid price.
        var micros: Int64?
        var skadn: Skadn?
    }

    /// A bid's `ext.skadn`. Members are nil when they are not there, or of a type that says nothing.
    struct Skadn {
        var version: String?
        var network: String?
        var sourceApp: String?
        var item: String?
        var sourceIdentifier: String?
        var campaign: String?
        var isSignedAtRoot: Bool
        /// Whether there are fidelities and each is signed.
        var isEachFidelitySigned: Bool
        var isOverlayRequested: Bool
        var isClickAllowed: Bool
    }

    /// A notice or an in-app bidder's event: one row.
    struct Notice {
        var type: String
        var auction: String
        /// The adapter of an in-app bidder.
        var seat: String
        /// Nil for in-app bidders, whose id has none.
        var bid: String?
        var version = ""
        var currency: String
        /// 0 where no price counts.
        var micros: Int64 = 0
        var lossReason: Int64 = 0
        var campaign: ModelCampaign
    }

    static func makeEvent(id: String, using writer: inout DraftWriter) -> Draft<Event> {
        let type = writer.pick(types + ["openrtb.auction", "openrtb.auction", "openrtb.auction"])
        switch type {
        case "openrtb.auction": return makeAuction(id, &writer)
        case "inapp.bid", "inapp.bidder_won": return makeOffer(type, id, &writer)
        default: return makeNotice(type, id, &writer)
        }
    }
}

// MARK: - Fold

extension BidsModel.Event {
    var ids: [[String]] {
        switch self {
        case .auction(let auction): [["openrtb.auction", auction.id]]
        case .notice(let notice):
            [[notice.type, notice.auction, notice.seat] + (notice.bid.map { [$0] } ?? [])]
        }
    }

    func add(fresh _: [Int], hour: String, to rows: inout ModelRows) {
        switch self {
        case .auction(let auction): auction.add(hour, to: &rows)
        case .notice(let notice): notice.add(hour, to: &rows)
        }
    }
}

extension BidsModel.Notice {
    private static let measures = [
        "openrtb.win": "wins", "openrtb.loss": "losses", "openrtb.billing": "billed",
        "inapp.bid": "inapp_bids", "inapp.bidder_won": "inapp_wins",
    ]

    fileprivate func add(_ hour: String, to rows: inout ModelRows) {
        let price = type == "openrtb.billing" ? "billed_price_micros" : "price_micros"
        rows.add(
            "bids", [hour, seat] + campaign.columns + [version, currency],
            [Self.measures[type] ?? "": 1, price: micros])
        if type == "openrtb.loss" {
            rows.add(
                "loss-reasons", [hour, seat] + campaign.columns + ["\(lossReason)"], ["losses": 1])
        }
    }
}

extension BidsModel.Auction {
    fileprivate func add(_ hour: String, to rows: inout ModelRows) {
        rows.add(
            "bids", [hour, "", "", "", "0", "\(sourceApp)", "", ""],
            ["auctions": 1, "no_bids": bids.isEmpty ? 1 : 0])
        for bid in bids {
            let impression = impressions.first { $0.id == bid.impression }
            let campaign = bid.skadn?.key ?? ModelCampaign()
            let fault = bid.skadn?.fault(offer: impression?.skadn)
            let isSignalled = impression?.skadn?.isOverlaySignalled ?? false
            let isRequested = bid.skadn?.isOverlayRequested ?? false
            let isEligible =
                isSignalled && isRequested && fault == nil && shows(impression, from: [2, 21, 1])
            let isTracked =
                isEligible && bid.skadn?.isClickAllowed == true
                && shows(impression, from: [3, 1, 0])
            rows.add(
                "bids",
                [hour, bid.seat] + campaign.columns + [bid.skadn?.version ?? "", currency],
                [
                    "bids": 1, "price_micros": bid.micros ?? 0,
                    "unpriced": bid.micros == nil ? 1 : 0,
                    "overlay_signalled": isSignalled ? 1 : 0,
                    "overlay_requested": isRequested ? 1 : 0, "skadn_invalid": fault == nil ? 0 : 1,
                    "overlay_eligible": isEligible ? 1 : 0,
                    "overlay_click_tracked": isTracked ? 1 : 0,
                ])
            if let fault {
                rows.add("bid-faults", [hour] + campaign.columns + [fault], ["bids": 1])
            }
        }
    }

    /// Whether the device and an SDK of this version or later show overlays.
    private func shows(_ impression: BidsModel.Impression?, from version: [Int]) -> Bool {
        guard let impression, impression.isFullScreen, lowercasedASCII(system ?? "") == "ios",
            isVersion(systemVersion, atLeast: [14])
        else { return false }
        // The gates are HyBid's.
        if let manager = impression.manager, !lowercasedASCII(manager).contains("hybid") {
            return true
        }
        return isVersion(impression.managerVersion, atLeast: version)
    }
}

extension BidsModel.Skadn {
    private static func isDigits(_ text: String?) -> Bool {
        guard let text, !text.isEmpty else { return false }
        return text.utf8.allSatisfy { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
    }

    fileprivate var key: ModelCampaign {
        ModelCampaign(
            network: network ?? "",
            campaign: [sourceIdentifier, campaign].compactMap { $0 }.first(where: Self.isDigits)
                ?? "",
            app: item.flatMap { Int64($0) } ?? 0, sourceApp: sourceApp.flatMap { Int64($0) } ?? 0)
    }

    /// The first rule that is broken.
    fileprivate func fault(offer: BidsModel.Offer?) -> String? {
        guard let version, let offer, offer.versions.contains(version) else { return "version" }
        let isOffered = offer.networks.contains {
            isSameBytes(lowercasedASCII($0), lowercasedASCII(network ?? ""))
        }
        if !isOffered && !offer.hasList { return "network" }
        if !Self.isDigits(sourceApp) || sourceApp != offer.sourceApp { return "sourceapp" }
        if !Self.isDigits(item) { return "itunesitem" }
        if version == "4.0" {
            if !Self.isDigits(sourceIdentifier) || !(1...4 ~= sourceIdentifier?.utf8.count ?? 0) {
                return "campaign"
            }
        } else if isVersion(version, atLeast: [4]) {
            // No rule is known for later ones.
        } else if !Self.isDigits(campaign) || !(1...100 ~= campaign.flatMap { Int($0) } ?? 0) {
            return "campaign"
        }
        let isSigned =
            isVersion(version, atLeast: [2, 2])
            ? isEachFidelitySigned : isSignedAtRoot || !isVersion(version, atLeast: [2])
        return isSigned ? nil : "signature"
    }
}
