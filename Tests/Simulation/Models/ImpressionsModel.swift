import TestKit

/// What was shown: section 4 of the contract.
struct ImpressionsModel: WindowedModel {
    typealias Meaning = EventMeaning<Event>

    static let stream = "impressions"
    static let dumps = ["outcomes", "impressions"]
    static let types = [
        "skoverlay.presented", "skoverlay.dismissed", "skoverlay.failed", "skadn.impression",
        "outbrain.recommendations", "outbrain.widget_viewed", "outbrain.listings_viewed",
        "inapp.loaded", "inapp.impression", "inapp.handover", "inapp.failed",
    ]
    static let windowMilliseconds: Int64 = 7 * 86_400_000

    var history = EventHistory<Event>()

    struct Event: WindowedEvent {
        var type: String
        /// The impression's or, for Outbrain, the request's.
        var id: String
        var format: String
        var placement = ""
        var campaign = ModelCampaign()
        var isTest = false
        var content: Content

        enum Content {
            /// What counts once.
            case measures([String])
            case recommendations([Recommendation])
            case listings([Listing])
        }
    }

    struct Recommendation {
        var campaign: ModelCampaign
        var isPaid: Bool
        var hasIcon: Bool
        var hasDisclosureURL: Bool
    }

    struct Listing {
        var position: Int64
        var elapsed: Int64
    }

    static let staleMilliseconds: Int64 = 1_800_000

    static func makeEvent(id: String, using writer: inout DraftWriter) -> Draft<Event> {
        let type = writer.pick(types + ["outbrain.listings_viewed", "outbrain.recommendations"])
        switch type {
        case "outbrain.recommendations": return makeRecommendations(id, &writer)
        case "outbrain.widget_viewed": return makeWidgetViewed(id, &writer)
        case "outbrain.listings_viewed": return makeListingsViewed(id, &writer)
        default: return makeImpression(type, id, &writer)
        }
    }
}

// MARK: - Fold

extension ImpressionsModel.Event {
    var ids: [[String]] {
        guard case .listings(let listings) = content else { return [[type, id]] }
        return listings.map { [type, id, "\($0.position)"] }
    }

    func add(fresh: [Int], hour: String, to rows: inout ModelRows) {
        let key = [hour, format, placement]
        switch content {
        case .recommendations(let recommendations):
            for recommendation in recommendations {
                var measures = ["received", recommendation.isPaid ? "paid" : "organic"]
                if recommendation.hasIcon && recommendation.hasDisclosureURL {
                    measures.append("rtb")
                }
                // Of an answer each document is a test.
                for measure in isTest ? ["test"] : measures {
                    rows.add("impressions", key + recommendation.campaign.columns, [measure: 1])
                }
            }
        case .listings(let listings) where !isTest:
            for index in fresh {
                let isStale = listings[index].elapsed > ImpressionsModel.staleMilliseconds
                rows.add("impressions", key + campaign.columns, [isStale ? "stale" : "viewed": 1])
            }
        case .measures(let measures) where !isTest:
            for measure in measures {
                rows.add("impressions", key + campaign.columns, [measure: 1])
            }
        case .listings, .measures: rows.add("impressions", key + campaign.columns, ["test": 1])
        }
    }
}

// MARK: - Generator

extension ImpressionsModel {
    /// Overlays, SKAdNetwork's impressions and in-app bidders' ads, which are alike.
    private static func makeImpression(
        _ type: String, _ id: String, _ writer: inout DraftWriter
    ) -> Draft<Event> {
        let format = String(type.prefix { $0 != "." })
        let (campaign, campaignMember) = writer.campaign()
        let isTest = makeTest(&writer)
        var placement = ""
        var members = [writer.id("impression_id", id), campaignMember, isTest.member]
        if format == "skoverlay" {
            let (zone, member) = writer.zone("zone_id")
            placement = zone
            members += [
                member, writer.unjudged("os_version", writer.pick(["17", "\"17.5.1\"", "[]"])),
            ]
        } else if format == "inapp" {
            placement = writer.pick(["amazon", "AMAZON", "café", "cafe\u{301}"])
            members.append(writer.id("adapter", placement))
        }
        var measures = ["presented"]
        switch type {
        case "skoverlay.dismissed":
            measures = ["dismissed"]
            members.append(writer.word("by", writer.pick(["user", "autoclose", "endcard", "app"])))
        case "skoverlay.failed":
            measures = ["failed"]
            members.append(writer.integer("error", writer.pick([0, 15, 16, 17, 20])))
        case "skadn.impression":
            let fidelity: Int64 = writer.pick([0, 1])
            measures.append(fidelity == 0 ? "fidelity_view" : "fidelity_storekit")
            if writer.mayBreak, writer.chance(4) {
                writer.reasons.append(.outOfRange)
                members.append(writer.unjudged("fidelity", "2"))
            } else {
                members.append(writer.integer("fidelity", fidelity))
            }
        case "inapp.loaded":
            let adFormat = writer.pick(["banner", "interstitial"])
            measures = adFormat == "banner" ? ["loaded", "presented"] : ["loaded"]
            members.append(writer.word("ad_format", adFormat))
        case "inapp.handover": measures = ["handovers"]
        case "inapp.failed":
            measures = ["failed"]
            members.append(writer.word("stage", writer.pick(["load", "show"])))
        default: break
        }
        return Draft(
            type: type,
            event: Event(
                type: type, id: id, format: format, placement: placement, campaign: campaign,
                isTest: isTest.value, content: .measures(measures)),
            members: members)
    }

    private static func makeWidgetViewed(
        _ id: String, _ writer: inout DraftWriter
    ) -> Draft<Event> {
        let (placement, widgetMembers) = writer.widget()
        let isTest = makeTest(&writer)
        let elapsed = makeElapsed(&writer)
        let type = "outbrain.widget_viewed"
        return Draft(
            type: type,
            event: Event(
                type: type, id: id, format: "outbrain", placement: placement, isTest: isTest.value,
                content: .measures([elapsed > staleMilliseconds ? "stale" : "widget_views"])),
            members: widgetMembers + [
                writer.id("request_id", id), writer.integer("elapsed_ms", elapsed), isTest.member,
            ])
    }

    private static func makeListingsViewed(
        _ id: String, _ writer: inout DraftWriter
    ) -> Draft<Event> {
        let (placement, widgetMembers) = writer.widget()
        let isTest = makeTest(&writer)
        var listings: [Listing] = []
        var texts: [String] = []
        for _ in 0..<Int.random(in: 1...4, using: &writer.random) {
            let listing = Listing(
                position: writer.pick([0, 1, 2, 3, 12]),
                elapsed: makeElapsed(&writer))
            listings.append(listing)
            texts.append(
                writer.objectText([
                    // The first names the request; in a broken record another may name another one.
                    texts.isEmpty || !writer.mayBreak || !writer.chance(6)
                        ? writer.id("request_id", id) : makeOtherRequest(id, &writer),
                    writer.identifier("position", listing.position, isRequired: true),
                    writer.integer("time_elapsed_ms", listing.elapsed),
                ]))
        }
        if writer.mayBreak, writer.reasons.isEmpty, writer.chance(6) {
            writer.reasons = [.outOfRange]
            texts = []
        }
        let type = "outbrain.listings_viewed"
        return Draft(
            type: type,
            event: Event(
                type: type, id: id, format: "outbrain", placement: placement, isTest: isTest.value,
                content: .listings(listings)),
            members: widgetMembers + [
                writer.unjudged("listings", writer.list(texts)), isTest.member,
            ])
    }

    private static func makeOtherRequest(
        _ id: String, _ writer: inout DraftWriter
    ) -> DraftWriter.Member? {
        writer.reasons.append(.outOfRange)
        return writer.unjudged("request_id", writer.quoted(id + "-2"))
    }

    private static func makeRecommendations(
        _ id: String, _ writer: inout DraftWriter
    ) -> Draft<Event> {
        var placement = ""
        let tests = [writer.chance(8), writer.chance(8), writer.chance(12)]
        let request = writer.requiredObject("request") { writer in
            let (widget, members) = writer.widget()
            placement = widget
            return members + [
                writer.optionalBit("test_mode", tests[0] ? true : nil),
                writer.optionalBit("test_rtb", tests[1] ? true : writer.pick([false, nil])),
                writer.unjudged("external_id", writer.pick(["\"123\"", "123", nil])),
            ]
        }
        var recommendations: [Recommendation] = []
        let response = writer.requiredObject("response") { writer in
            // An answer may have been unwrapped.
            let isWrapped = writer.chance(2)
            let answer: (inout DraftWriter) -> [DraftWriter.Member?] = { writer in
                let request = writer.requiredObject("request") { [$0.id("req_id", id)] }
                let documents = makeDocuments(&recommendations, &writer)
                return [request, documents, writer.unjudged("status", "\"good\"")]
            }
            return isWrapped ? [writer.requiredObject("response", answer)] : answer(&writer)
        }
        let type = "outbrain.recommendations"
        return Draft(
            type: type,
            event: Event(
                type: type, id: id, format: "outbrain", placement: placement,
                isTest: tests.contains(true), content: .recommendations(recommendations)),
            members: [request, response, writer.optionalBit("test", tests[2] ? true : nil)])
    }

    private static func makeDocuments(
        _ recommendations: inout [Recommendation], _ writer: inout DraftWriter
    ) -> DraftWriter.Member? {
        if writer.chance(10) { return writer.unjudged("documents", writer.pick([nil, "{}"])) }
        var texts: [String] = []
        for _ in 0..<Int.random(in: 0...3, using: &writer.random) {
            let (recommendation, text) = makeDocument(&writer)
            recommendations.append(recommendation)
            texts.append(text)
        }
        let list = writer.list(texts)
        return writer.unjudged(
            "documents", writer.objectText([writer.unjudged("doc", list)]))
    }

    private static func makeDocument(
        _ writer: inout DraftWriter
    ) -> (recommendation: Recommendation, text: String) {
        // What is there is paid, unless it is null or empty.
        let (paidID, isPaid) = writer.pick([
            ("774120011", true), ("\"774120011\"", true), ("0", true), ("false", true),
            ("{}", true),
            ("null", false), ("\"\"", false), (nil, false), (nil, false),
        ])
        var campaign = ModelCampaign()
        campaign.campaign = writer.pick(["90120", "7", "", "höhe", "ho\u{308}he"])
        let isNumber = ["90120", "7"].contains(campaign.campaign)
        let campaignMember = writer.unjudged(
            "pc_cmp_id",
            campaign.campaign.isEmpty && writer.chance(2)
                ? nil
                : isNumber
                    ? writer.identifier(Int64(campaign.campaign) ?? 0)
                    : writer.quoted(campaign.campaign))
        let icon = writer.pick(["https://i.example/1.png", "https://i.example/1.png", "", nil])
        let url = writer.pick(["https://adchoices.example", "https://adchoices.example", "", nil])
        var disclosure: String?
        if icon != nil || url != nil || writer.chance(2) {
            disclosure = writer.objectText([
                writer.unjudged("icon", icon.map { writer.quoted($0) }),
                writer.unjudged("url", url.map { writer.quoted($0) }),
            ])
        }
        var signed: DraftWriter.Member?
        if !writer.chance(3) {
            let network = writer.pick(DraftWriter.networks)
            campaign.network = network
            campaign.app = writer.pick(DraftWriter.apps)
            campaign.sourceApp = writer.pick(DraftWriter.apps)
            let (app, sourceApp) = (campaign.app, campaign.sourceApp)
            signed = writer.object("sk_adnetwork_data") { writer in
                [
                    writer.optionalText("ad_network_id", network),
                    writer.identifier("itunes_item_id", app),
                    writer.identifier("source_app_id", sourceApp),
                    // The campaign stays Outbrain's own.
                    writer.unjudged("campaign_id", "\"12\""),
                ]
            }
        }
        let recommendation = Recommendation(
            campaign: campaign, isPaid: isPaid, hasIcon: icon ?? "" != "",
            hasDisclosureURL: url ?? "" != "")
        let text = writer.objectText([
            writer.unjudged("pc_id", paidID), campaignMember,
            writer.unjudged("disclosure", disclosure), signed,
            writer.unjudged("pos", "true"),
        ])
        return (recommendation, text)
    }

    private static func makeElapsed(_ writer: inout DraftWriter) -> Int64 {
        writer.pick([
            0, 3_698, 60_000, staleMilliseconds - 1, staleMilliseconds, staleMilliseconds + 1,
            86_400_000, -5,
        ])
    }

    private static func makeTest(
        _ writer: inout DraftWriter
    ) -> (value: Bool, member: DraftWriter.Member?) {
        let value: Bool? = writer.chance(12) ? true : writer.pick([false, nil, nil])
        return (value ?? false, writer.optionalBit("test", value))
    }
}
