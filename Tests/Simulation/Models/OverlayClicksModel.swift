import TestKit

/// Clicks, and what looked like one: section 5 of the contract.
struct OverlayClicksModel: WindowedModel {
    typealias Meaning = EventMeaning<Event>

    static let stream = "overlay-clicks"
    static let dumps = ["outcomes", "overlay-clicks"]
    static let types = ["skoverlay.click", "outbrain.click", "inapp.click"]
    static let windowMilliseconds: Int64 = 7 * 86_400_000

    var history = EventHistory<Event>()

    struct Event: WindowedEvent {
        var kind: Kind
        var placement: String
        var campaign: ModelCampaign
        var isTest: Bool

        enum Kind {
            case overlay(OverlayClick)
            case outbrain(OutbrainClick)
            case inApp(impression: String)
        }
    }

    struct OverlayClick {
        var impression: String
        /// Empty for none.
        var click: String
        var isAutomatic: Bool
        var sdk: String?
        var sdkVersion: String?
        var isForbidden: Bool
        var isUntracked: Bool
        var presentedAt: Int64?
        var clickedAt: Int64

        /// The first that applies counts.
        var measures: [String] {
            guard !isForbidden, let presentedAt else { return ["not_presented"] }
            let isGated = sdk.map { lowercasedASCII($0).contains("hybid") } ?? true
            if isGated, !isVersion(sdkVersion, atLeast: [3, 1, 0]) { return ["unsupported_sdk"] }
            if isUntracked { return ["untracked"] }
            if clickedAt < presentedAt { return ["early"] }
            return isAutomatic ? ["automatic_clicks"] : ["clicks", "user_clicks"]
        }
    }

    struct OutbrainClick {
        var request: String
        var position: Int64
        var isPaid: Bool
        var isOpened: Bool
        var leadsElsewhere: Bool

        var measures: [String] {
            if !isOpened { return ["early"] }
            if !isPaid { return ["clicks", "organic_clicks"] }
            return ["clicks", "paid_clicks"] + (leadsElsewhere ? ["altered_urls"] : [])
        }
    }

    static func makeEvent(id: String, using writer: inout DraftWriter) -> Draft<Event> {
        switch Int.random(in: 0..<6, using: &writer.random) {
        case 0...2: makeOverlayClick(id, &writer)
        case 3, 4: makeOutbrainClick(id, &writer)
        default: makeInAppClick(id, &writer)
        }
    }
}

// MARK: - Fold

extension OverlayClicksModel.Event {
    var ids: [[String]] {
        switch kind {
        case .overlay(let click) where click.click.isEmpty:
            [["skoverlay.click", click.impression, click.isAutomatic ? "automatic" : "user"]]
        case .overlay(let click): [["skoverlay.click", click.click]]
        case .outbrain(let click): [["outbrain.click", click.request, "\(click.position)"]]
        case .inApp(let impression): [["inapp.click", impression]]
        }
    }

    func add(fresh _: [Int], hour: String, to rows: inout ModelRows) {
        let (format, measures) =
            switch kind {
            case .overlay(let click): ("skoverlay", click.measures)
            case .outbrain(let click): ("outbrain", click.measures)
            case .inApp: ("inapp", ["clicks", "user_clicks"])
            }
        for measure in isTest ? ["test"] : measures {
            rows.add("overlay-clicks", [hour, format, placement] + campaign.columns, [measure: 1])
        }
    }
}

// MARK: - Generator

extension OverlayClicksModel {
    private static func makeOverlayClick(
        _ id: String, _ writer: inout DraftWriter
    ) -> Draft<Event> {
        let (zone, zoneMember) = writer.zone("zone_id")
        let (campaign, campaignMember) = writer.campaign()
        let isTest = makeTest(&writer)
        let isThere = !writer.chance(6)
        let clickedAt = Int64.random(
            in: 1_795_237_418_000...1_795_237_418_100, using: &writer.random)
        let presentedAt = writer.pick([
            clickedAt - 4_000, clickedAt - 1, clickedAt, clickedAt + 1, 0, nil,
        ])
        let (present, isForbidden) = makeSwitch(&writer)
        let (click, isUntracked) = makeSwitch(&writer)
        // Some clicks are known by an id that another impression has, too.
        let clickID = writer.mostly(["", "c\(id)"], ["user", "c-1"])
        let sdkVersion = writer.pick([
            "3.1.0", "3.1", "3.1.0.0", "3.10", "10", "4.0.1", "3.1.0", "3.0.9", "2.21.1", "3", "",
            "v3.1.0", nil,
        ])
        let sdk = writer.pick([nil, nil, nil, "HyBid", "verve-HYBID-ios", "Prebid", ""])
        let overlayClick = OverlayClick(
            impression: id, click: clickID, isAutomatic: writer.chance(4), sdk: sdk,
            sdkVersion: sdkVersion,
            isForbidden: isThere && isForbidden, isUntracked: isThere && isUntracked,
            presentedAt: presentedAt, clickedAt: clickedAt)
        var overlay: String?
        if isThere {
            overlay = writer.objectText([
                writer.unjudged("present", present), writer.unjudged("click", click),
                writer.unjudged("pos", "\"left\""),
            ])
        }
        let members = [
            writer.id("impression_id", id),
            writer.optionalText("click_id", clickID.isEmpty && writer.chance(2) ? nil : clickID),
            writer.word("initiated_by", overlayClick.isAutomatic ? "automatic" : "user"),
            writer.optionalText("sdk", sdk), writer.optionalText("sdk_version", sdkVersion),
            writer.unjudged("overlay", overlay),
            writer.optionalInteger("presented_at_ms", presentedAt),
            writer.integer("clicked_at_ms", clickedAt),
            zoneMember, campaignMember, writer.optionalBit("test", isTest),
        ]
        return Draft(
            type: "skoverlay.click",
            event: Event(
                kind: .overlay(overlayClick), placement: zone, campaign: campaign,
                isTest: isTest ?? false),
            members: members)
    }

    /// A member of `overlay` as JSON, and whether it forbids: only 0 and false do.
    private static func makeSwitch(_ writer: inout DraftWriter) -> (json: String?, forbids: Bool) {
        switch Int.random(in: 0..<12, using: &writer.random) {
        case 0: (writer.pick(["0", "0.0", "0e0", "false"]), true)
        case 1: (writer.pick(["\"0\"", "true", "[0]", "{}", "\"\"", "2", "-1", "0.5"]), false)
        case 2...4: (nil, false)
        default: (writer.number(1), false)
        }
    }

    private static func makeOutbrainClick(
        _ id: String, _ writer: inout DraftWriter
    ) -> Draft<Event> {
        let (campaign, campaignMember) = writer.campaign()
        let isTest = makeTest(&writer)
        let (url, leadsElsewhere) = writer.pick(urls)
        let isOpened = writer.pick([true, true, true, nil, nil, false])
        let click = OutbrainClick(
            request: id, position: writer.pick([0, 1, 2, 12]),
            isPaid: !writer.chance(3), isOpened: isOpened ?? true, leadsElsewhere: leadsElsewhere)
        let (placement, widgetMembers) = writer.widget()
        let members = [
            writer.id("request_id", id),
            writer.identifier("position", click.position, isRequired: true),
            writer.flag("paid", click.isPaid), writer.optionalFlag("opened", isOpened),
            writer.text("url", url), campaignMember, writer.optionalBit("test", isTest),
        ]
        return Draft(
            type: "outbrain.click",
            event: Event(
                kind: .outbrain(click), placement: placement, campaign: campaign,
                isTest: isTest ?? false),
            members: members + widgetMembers)
    }

    /// Where a click leads, and whether that is another host than Outbrain's.
    private static let urls: [(url: String, leadsElsewhere: Bool)] = [
        ("https://paid.outbrain.com/network/redir?p=abc", false),
        ("https://PAID.Outbrain.COM/", false), ("http://paid.outbrain.com", false),
        ("https://paid.outbrain.com:443/x", false), ("https://paid.outbrain.com?p=1", false),
        ("https://paid.outbrain.com#p", false), ("https://someone@paid.outbrain.com/", false),
        ("https://a:b@paid.outbrain.com:8443/", false), ("", true),
        ("https://paid.outbrain.com@evil.example/", true),
        ("https://paid.outbrain.com./x", true), ("https://paid.outbrain.com:port/x", true),
        ("https://paid.outbrain.com.evil.example/", true), ("paid.outbrain.com/x", true),
        ("https://evil.example/?u=https://paid.outbrain.com/", true),
        ("https://evil.example#@paid.outbrain.com/", true),
        ("https://evil.example?@paid.outbrain.com/", true),
        ("https://paid%2Eoutbrain.com/", true), ("https://paid.outbrain.com\\@evil.example/", true),
        ("https:\\\\paid.outbrain.com/", true), ("https://paid.outbrain.com \u{1}/", true),
        ("https://paıd.outbrain.com/", true), ("https://traffic.outbrain.com/x", true),
    ]

    private static func makeInAppClick(_ id: String, _ writer: inout DraftWriter) -> Draft<Event> {
        let (campaign, campaignMember) = writer.campaign()
        let isTest = makeTest(&writer)
        let adapter = writer.pick(["amazon", "Amazon", "café", "cafe\u{301}"])
        return Draft(
            type: "inapp.click",
            event: Event(
                kind: .inApp(impression: id), placement: adapter, campaign: campaign,
                isTest: isTest ?? false),
            members: [
                writer.id("impression_id", id), writer.id("adapter", adapter), campaignMember,
                writer.optionalBit("test", isTest),
            ])
    }

    private static func makeTest(_ writer: inout DraftWriter) -> Bool? {
        writer.chance(12) ? true : writer.pick([false, nil, nil])
    }
}

extension DraftWriter {
    /// Outbrain's widget, and the placement that it is.
    mutating func widget() -> (placement: String, members: [Member?]) {
        let name = pick(["SDK_1", "SDK_2", "sdk_1", "Wídget", "Wi\u{301}dget"])
        let index: Int64 = pick([0, 0, 1, 12, 100])
        return (
            "\(name)#\(index)",
            [id("widget_id", name), identifier("widget_index", index, isRequired: true)]
        )
    }
}
