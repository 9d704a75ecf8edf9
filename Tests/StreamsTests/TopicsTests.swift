import Signatures
import Streams
import TestKit
import Testing
import Yams

/// A document of `topics/`.
struct Topic {
    let root: Node

    init(_ name: String) throws {
        root = try #require(try Yams.compose(yaml: Repository.text("topics/\(name).yaml")))
    }

    struct Example {
        var name: String
        var headers: [(String, String)]
        var payload: Document

        var record: TestRecord {
            var record = TestRecord(payload)
            record.headers = headers.map { .init($0.0, $0.1) }
            return record
        }
    }

    func examples() -> [Example] {
        let messages = root["components"]?["messages"]?.mapping ?? [:]
        return messages.flatMap { message in
            (message.value["examples"]?.sequence ?? []).map { example in
                Example(
                    name: "\(message.key.string ?? "") \(example["name"]?.string ?? "")",
                    headers: (example["headers"]?.mapping ?? [:]).map {
                        ($0.key.string ?? "", $0.value.string ?? "")
                    },
                    payload: Self.document(example["payload"] ?? Node("")))
            }
        }
    }

    /// What stands inside of the JWSs of a schema, and what it adds to the dump.
    struct DecodedExample {
        var name: String
        var payload: Document
        var counts: [String: Int64]
        var ownership: String
    }

    func decodedExamples(of schema: String) -> [DecodedExample] {
        let examples = root["components"]?["schemas"]?[schema]?["x-weir-decoded-examples"]
        return (examples?.sequence ?? []).map { example in
            DecodedExample(
                name: example["name"]?.string ?? "",
                payload: Self.document(example["payload"] ?? Node("")),
                counts: Dictionary(
                    uniqueKeysWithValues: (example["x-weir-counts"]?.mapping ?? [:]).map {
                        ($0.key.string ?? "", Int64($0.value.int ?? 0))
                    }),
                ownership: example["x-weir-ownership"]?.string ?? "purchased")
        }
    }

    /// The names of the properties at a path that begins with a schema.
    func properties(_ path: String) -> Set<String> {
        let names = path.split(separator: ".").map(String.init)
        var node = root["components"]?["schemas"]?[names[0]]
        for name in names.dropFirst() {
            node = node?["properties"]?[name]
            if let items = node?["items"] { node = items }
        }
        return Set((node?["properties"]?.mapping ?? [:]).compactMap { $0.key.string })
    }

    private static func document(_ node: Node) -> Document {
        switch node {
        case .mapping(let mapping):
            return .object(
                mapping.map { .init(name: $0.key.string ?? "", value: document($0.value)) })
        case .sequence(let sequence): return .array(sequence.map { document($0) })
        default:
            if node.tag.description.hasSuffix("null") { return .null }
            if node.tag.description.hasSuffix("str") { return .string(node.string ?? "") }
            if let boolean = node.bool { return .boolean(boolean) }
            return .raw(node.scalar?.string ?? "")
        }
    }
}

@Suite("What topics/ says of what is folded")
struct TopicsTests {
    @Test("every example of bids is accepted under its type, without a fault")
    func bids() throws {
        let examples = try Topic("bids").examples()
        #expect(examples.count >= 9)
        for example in examples {
            let result = try foldBids([example.record])
            #expect(result.outcome(.accepted) == 1, "\(example.name) \(result.refused)")
            #expect(result.rows("bid-faults").isEmpty, "\(example.name)")
            let type = example.headers.first { $0.0 == "ce_type" }?.1 ?? ""
            #expect(result.rows("outcomes").first?["type"] == .text(type))
        }
    }

    @Test("every example of impressions is accepted under its type, and every type has one")
    func impressions() throws {
        let examples = try Topic("impressions").examples()
        let result = try foldImpressions(examples.map(\.record))
        #expect(result.outcome(.accepted) == Int64(examples.count), "\(result.refused)")
        #expect(Self.types(of: result) == Set(ImpressionsEventType.allCases.map { "\($0.name)" }))
        let untouched = ["organic", "stale"].filter { result.sum("impressions", $0) == 0 }
        #expect(untouched == ["stale"])
    }

    @Test("every example of overlay-clicks is accepted under its type, and counts as it says")
    func overlayClicks() throws {
        let examples = try Topic("overlay-clicks").examples()
        let result = try foldOverlayClicks(examples.map(\.record))
        #expect(result.outcome(.accepted) == Int64(examples.count), "\(result.refused)")
        #expect(Self.types(of: result) == Set(OverlayClicksEventType.allCases.map { "\($0.name)" }))
        let expected: [(String, Int64)] = [
            ("clicks", 3), ("user_clicks", 2), ("paid_clicks", 1), ("automatic_clicks", 1),
            ("early", 1), ("altered_urls", 0), ("unsupported_sdk", 0),
        ]
        for (measure, count) in expected {
            #expect(result.sum("overlay-clicks", measure) == count, "\(measure)")
        }
    }

    @Test("every example of conversion-updates is accepted, and counts as it says")
    func conversionUpdates() throws {
        let examples = try Topic("conversion-updates").examples()
        let result = try foldConversionUpdates(examples.map(\.record))
        #expect(result.outcome(.accepted) == Int64(examples.count), "\(result.refused)")
        #expect(Self.types(of: result) == ["conversion.update"])
        let expected: [(String, Int64)] = [
            ("updates", 3), ("told", 2), ("told_replaced", 2), ("reported", 3),
            ("reported_lower", 1), ("other_currency", 1), ("errors", 1), ("late", 0),
        ]
        for (measure, count) in expected {
            #expect(result.sum("conversion-updates", measure) == count, "\(measure)")
        }
    }

    private static func types(of result: FoldResult) -> Set<String> {
        Set(
            result.rows("outcomes").compactMap { row in
                if case .text(let type)? = row["type"] { type } else { nil }
            })
    }

    @Test("every example of postbacks is accepted, and Apple signed it")
    func postbacks() throws {
        let examples = try Topic("postbacks").examples()
        #expect(examples.count >= 8)
        for example in examples {
            let result = try foldPostbacks([example.record])
            let row = try #require(
                result.rows("postbacks").first, "\(example.name) \(result.refused)")
            let expected: Field = row["framework"] == "adattributionkit" ? "development" : "valid"
            #expect(row["verdict"] == expected, "\(example.name)")
        }
    }

    @Test(
        "every example of partner-postbacks has the contract's members, and a member of ours is documented"
    )
    func partnerPostbacks() throws {
        let topic = try Topic("partner-postbacks")
        let members: Set = [
            "id", "revision", "partner", "postback", "campaign", "conversion", "install_window",
            "received_at", "origin",
        ]
        let ofCorrections: Set = ["supersedes", "withdrawn"]
        #expect(topic.properties("PartnerPostback") == members.union(ofCorrections))
        let examples = topic.examples()
        #expect(examples.count >= 3)
        for example in examples {
            let written = Set(example.payload.members.map(\.name))
            #expect(written.subtracting(ofCorrections) == members, "\(example.name)")
            func names(_ path: String) -> Set<String> {
                Set(example.payload[path]?.members.map(\.name) ?? [])
            }
            #expect(
                names("conversion") == [
                    "value", "coarse", "model", "events", "revenue", "ambiguous",
                ])
            #expect(names("install_window") == ["earliest", "latest"])
            #expect(names("origin") == ["topic", "partition", "offset"])
            #expect(names("postback").isSubset(of: topic.properties("Postback")), "\(example.name)")
        }
        // What the fold writes is documented as well.
        let pipeline = PostbackPipeline(partners: [
            .init(name: "p", trust: Set(Verdict.allCases), networks: nil, apps: nil)
        ])
        let records = try Topic("postbacks").examples().map(\.record)
        for published in try foldPostbacks(records, .together, pipeline).published {
            let document = try Document(text: published.document)
            #expect(Set(document.members.map(\.name)) == members.subtracting(["campaign"]))
            let names = Set(document["postback"]?.members.map(\.name) ?? [])
            #expect(names.isSubset(of: topic.properties("Postback")))
        }
    }

    private static let advertisement = "impression_id campaign test "
    private static let widget = "widget_id widget_index test "
    private static let unsigned = "conversion-value coarse-conversion-value country-code "

    /// The fields that are read, by the topic and the path of their schema.
    private static let read: [(topic: String, fields: [(path: String, names: String)])] = [
        (
            "bids",
            [
                ("Auction", "request response"), ("BidRequest", "id imp app device"),
                ("BidRequest.app", "bundle"),
                ("Imp", "id ext instl displaymanager displaymanagerver"),
                ("Imp.ext", "skadn"), ("Device", "os osv"),
                ("SkadnRequest", "sourceapp skoverlay versions version skadnetids skadnetlist"),
                ("SkadnRequest.skadnetlist", "max addl"), ("BidResponse", "cur seatbid"),
                ("BidResponse.seatbid", "seat bid"), ("Bid", "price impid ext"),
                ("Bid.ext", "skadn"),
                (
                    "SkadnResponse",
                    "version network campaign sourceidentifier itunesitem sourceapp fidelities "
                        + "skoverlay nonce timestamp signature"
                ),
                ("SkadnResponse.fidelities", "nonce timestamp signature"),
                ("Overlay", "present click"),
                (
                    "Notice",
                    "auction_id bid_id seat currency skan_version loss_reason price campaign"
                ),
                (
                    "InAppBid",
                    "auction_id adapter currency price keyword competition_type rendering_type campaign"
                ), ("InAppBidderWon", "auction_id adapter currency campaign"),
                ("Campaign", "ad_network_id campaign_id source_identifier app_id source_app_id"),
                ("Envelope", "ce_type content-type"),
            ]
        ),
        (
            "impressions",
            [
                ("OverlayPresented", advertisement + "zone_id"),
                ("OverlayDismissed", advertisement + "zone_id by"),
                ("OverlayFailed", advertisement + "zone_id error"),
                ("SkadnImpression", advertisement + "fidelity"),
                ("Recommendations", "request response test"),
                ("Recommendations.request", "widget_id widget_index test_mode test_rtb"),
                ("OutbrainResponse", "request documents"), ("OutbrainResponse.request", "req_id"),
                ("OutbrainResponse.documents", "doc"),
                ("OutbrainDocument", "pc_id pc_cmp_id disclosure sk_adnetwork_data"),
                ("OutbrainDocument.disclosure", "icon url"),
                (
                    "OutbrainDocument.sk_adnetwork_data",
                    "ad_network_id itunes_item_id source_app_id"
                ),
                ("WidgetViewed", widget + "request_id elapsed_ms"),
                ("ListingsViewed", widget + "listings"),
                ("ListingsViewed.listings", "request_id position time_elapsed_ms"),
                ("InAppEvent", advertisement + "adapter"),
            ]
        ),
        (
            "overlay-clicks",
            [
                (
                    "OverlayClick",
                    advertisement + "click_id initiated_by sdk_version zone_id overlay "
                        + "presented_at_ms clicked_at_ms"
                ),
                ("Overlay", "present click"),
                ("OutbrainClick", widget + "request_id position paid opened url campaign"),
                ("InAppClick", advertisement + "adapter"),
            ]
        ),
        (
            "conversion-updates",
            [
                (
                    "ConversionUpdate",
                    "update_id install_id app_id framework model sequence_index windows outcome "
                        + "request fine coarse lock_window uncounted_currencies error"
                )
            ]
        ),
        (
            "postbacks",
            [
                (
                    "SKAdNetworkPostback",
                    unsigned + "version ad-network-id transaction-id app-id campaign-id "
                        + "source-identifier source-app-id source-domain fidelity-type redownload "
                        + "did-win postback-sequence-index attribution-signature"
                ), ("AdAttributionKitPostback", unsigned + "jws-string ad-interaction-type"),
                (
                    "AdAttributionKitClaims",
                    "ad-network-identifier postback-identifier advertised-item-identifier "
                        + "publisher-item-identifier source-identifier postback-sequence-index "
                        + "did-win conversion-type marketplace-identifier impression-type"
                ), ("Envelope", "ce_type content-type"),
            ]
        ),
        (
            "store-notifications",
            [
                ("NotificationV2", "signedPayload"),
                (
                    "NotificationPayload",
                    "notificationType subtype notificationUUID signedDate data summary "
                        + "externalPurchaseToken appData"
                ),
                (
                    "NotificationPayload.data",
                    "bundleId appAppleId environment signedTransactionInfo signedRenewalInfo"
                ), ("NotificationPayload.summary", "bundleId appAppleId environment productId"),
                (
                    "NotificationPayload.externalPurchaseToken",
                    "bundleId appAppleId externalPurchaseId"
                ),
                (
                    "NotificationPayload.appData",
                    "bundleId appAppleId environment signedAppTransactionInfo"
                ),
                (
                    "Transaction",
                    "transactionId bundleId environment signedDate productId storefront currency "
                        + "price offerType offerIdentifier offerDiscountType inAppOwnershipType "
                        + "revocationDate revocationPercentage revocationType"
                ), ("Renewal", "productId environment signedDate"),
                (
                    "NotificationV1",
                    "notification_type environment password bid original_transaction_id "
                        + "auto_renew_status auto_renew_status_change_date_ms unified_receipt "
                        + "latest_receipt_info latest_expired_receipt_info web_order_line_item_id "
                        + "cancellation_date_ms"
                ), ("NotificationV1.unified_receipt", "environment latest_receipt_info"),
                (
                    "ReceiptTransaction",
                    "transaction_id original_transaction_id product_id purchase_date_ms "
                        + "cancellation_date_ms is_trial_period is_in_intro_offer_period is_upgraded "
                        + "promotional_offer_id offer_code_ref_name bid web_order_line_item_id "
                        + "in_app_ownership_type"
                ),
                ("Receipt", "environment receipt latest_receipt_info latest_expired_receipt_info"),
                ("Receipt.receipt", "bundle_id bid in_app"), ("Envelope", "ce_type content-type"),
            ]
        ),
    ]

    @Test("the schemas of a topic name every field that is read", arguments: read)
    func fields(_ name: String, _ fields: [(path: String, names: String)]) throws {
        let topic = try Topic(name)
        for (path, names) in fields {
            let unknown = Set(names.split(separator: " ").map(String.init))
                .subtracting(topic.properties(path))
            #expect(unknown.isEmpty, "\(path): \(unknown)")
        }
    }

    @Test("the schemas of conversion-updates hold nothing of changes but what is read")
    func changes() throws {
        let topic = try Topic("conversion-updates")
        let change: Set = ["told", "told_before", "reported", "reported_before"]
        #expect(topic.properties("Change") == change)
        #expect(topic.properties("Standing") == ["value", "model"])
    }
}
