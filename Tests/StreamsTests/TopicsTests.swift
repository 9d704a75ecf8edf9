import Attestation
import Foundation
import Streams
import Testing
import Yams

/// A document of `topics/`.
struct Topic {
    let root: Node

    init(_ name: String) throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "topics/\(name).yaml")
        root = try #require(try Yams.compose(yaml: String(contentsOf: file, encoding: .utf8)))
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

    /// The names of a schema's properties.
    func properties(_ schema: String) -> Set<String> {
        properties(of: root["components"]?["schemas"]?[schema])
    }

    private func properties(of schema: Node?) -> Set<String> {
        Set((schema?["properties"]?.mapping ?? [:]).compactMap { $0.key.string })
    }

    /// The names of the properties at a path of properties within a schema.
    func properties(_ schema: String, at path: String...) -> Set<String> {
        var node = root["components"]?["schemas"]?[schema]
        for name in path {
            node = node?["properties"]?[name]
            if let items = node?["items"] { node = items }
        }
        return properties(of: node)
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

    @Test("the schemas of bids name every field that is read")
    func fieldsOfBids() throws {
        let topic = try Topic("bids")
        let campaign: Set = [
            "ad_network_id", "campaign_id", "source_identifier", "app_id", "source_app_id",
        ]
        let read: [(Set<String>, Set<String>)] = [
            (["request", "response"], topic.properties("Auction")),
            (["id", "imp", "app", "device"], topic.properties("BidRequest")),
            (["bundle"], topic.properties("BidRequest", at: "app")),
            (
                ["id", "ext", "instl", "displaymanager", "displaymanagerver"],
                topic.properties("Imp")
            ),
            (["skadn"], topic.properties("Imp", at: "ext")),
            (["os", "osv"], topic.properties("Device")),
            (
                ["sourceapp", "skoverlay", "versions", "version", "skadnetids", "skadnetlist"],
                topic.properties("SkadnRequest")
            ),
            (["max", "addl"], topic.properties("SkadnRequest", at: "skadnetlist")),
            (["cur", "seatbid"], topic.properties("BidResponse")),
            (["seat", "bid"], topic.properties("BidResponse", at: "seatbid")),
            (["price", "impid", "ext"], topic.properties("Bid")),
            (["skadn"], topic.properties("Bid", at: "ext")),
            (
                [
                    "version", "network", "campaign", "sourceidentifier", "itunesitem", "sourceapp",
                    "fidelities", "skoverlay",
                    "nonce", "timestamp", "signature",
                ], topic.properties("SkadnResponse")
            ),
            (
                ["nonce", "timestamp", "signature"],
                topic.properties("SkadnResponse", at: "fidelities")
            ),
            (["present", "click"], topic.properties("Overlay")),
            (
                [
                    "auction_id", "bid_id", "seat", "currency", "skan_version", "loss_reason",
                    "price", "campaign",
                ], topic.properties("Notice")
            ),
            (
                [
                    "auction_id", "adapter", "currency", "price", "keyword", "competition_type",
                    "rendering_type", "campaign",
                ], topic.properties("InAppBid")
            ),
            (
                ["auction_id", "adapter", "currency", "campaign"],
                topic.properties("InAppBidderWon")
            ),
            (campaign, topic.properties("Campaign")),
            (["ce_type", "content-type"], topic.properties("Envelope")),
        ]
        for (fields, documented) in read {
            #expect(fields.subtracting(documented).isEmpty, "\(fields)")
        }
    }

    @Test("the schemas of impressions name every field that is read")
    func fieldsOfImpressions() throws {
        let topic = try Topic("impressions")
        let ad: Set = ["impression_id", "campaign", "test"]
        let widget: Set = ["widget_id", "widget_index", "test"]
        let read: [(Set<String>, Set<String>)] = [
            (ad.union(["zone_id"]), topic.properties("OverlayPresented")),
            (ad.union(["zone_id", "by"]), topic.properties("OverlayDismissed")),
            (ad.union(["zone_id", "error"]), topic.properties("OverlayFailed")),
            (ad.union(["fidelity"]), topic.properties("SkadnImpression")),
            (["request", "response", "test"], topic.properties("Recommendations")),
            (
                ["widget_id", "widget_index", "test_mode", "test_rtb"],
                topic.properties("Recommendations", at: "request")
            ),
            (["request", "documents"], topic.properties("OutbrainResponse")),
            (["req_id"], topic.properties("OutbrainResponse", at: "request")),
            (["doc"], topic.properties("OutbrainResponse", at: "documents")),
            (
                ["pc_id", "pc_cmp_id", "disclosure", "sk_adnetwork_data"],
                topic.properties("OutbrainDocument")
            ),
            (["icon", "url"], topic.properties("OutbrainDocument", at: "disclosure")),
            (
                ["ad_network_id", "itunes_item_id", "source_app_id"],
                topic.properties("OutbrainDocument", at: "sk_adnetwork_data")
            ),
            (widget.union(["request_id", "elapsed_ms"]), topic.properties("WidgetViewed")),
            (widget.union(["listings"]), topic.properties("ListingsViewed")),
            (
                ["request_id", "position", "time_elapsed_ms"],
                topic.properties("ListingsViewed", at: "listings")
            ),
            (ad.union(["adapter"]), topic.properties("InAppEvent")),
        ]
        for (fields, documented) in read {
            #expect(fields.subtracting(documented).isEmpty, "\(fields)")
        }
    }

    @Test("the schemas of overlay-clicks name every field that is read")
    func fieldsOfOverlayClicks() throws {
        let topic = try Topic("overlay-clicks")
        let read: [(Set<String>, Set<String>)] = [
            (
                [
                    "impression_id", "click_id", "initiated_by", "sdk_version", "zone_id",
                    "overlay", "presented_at_ms", "clicked_at_ms", "campaign", "test",
                ], topic.properties("OverlayClick")
            ),
            (["present", "click"], topic.properties("Overlay")),
            (
                [
                    "request_id", "position", "widget_id", "widget_index", "paid", "opened", "url",
                    "campaign", "test",
                ], topic.properties("OutbrainClick")
            ),
            (["impression_id", "adapter", "campaign", "test"], topic.properties("InAppClick")),
        ]
        for (fields, documented) in read {
            #expect(fields.subtracting(documented).isEmpty, "\(fields)")
        }
    }

    @Test("the schemas of conversion-updates name every field that is read")
    func fieldsOfConversionUpdates() throws {
        let topic = try Topic("conversion-updates")
        let read: Set = [
            "update_id", "install_id", "app_id", "framework", "model", "sequence_index", "windows",
            "outcome", "request", "fine", "coarse", "lock_window", "uncounted_currencies", "error",
        ]
        #expect(read.subtracting(topic.properties("ConversionUpdate")).isEmpty)
        let change: Set = ["told", "told_before", "reported", "reported_before"]
        #expect(topic.properties("Change") == change)
        #expect(topic.properties("Standing") == ["value", "model"])
    }

    @Test("the schemas of postbacks name every field that is read")
    func fieldsOfPostbacks() throws {
        let topic = try Topic("postbacks")
        let unsigned: Set = ["conversion-value", "coarse-conversion-value", "country-code"]
        let read: [(Set<String>, Set<String>)] = [
            (
                unsigned.union([
                    "version", "ad-network-id", "transaction-id", "app-id", "campaign-id",
                    "source-identifier", "source-app-id",
                    "source-domain", "fidelity-type", "redownload", "did-win",
                    "postback-sequence-index", "attribution-signature",
                ]), topic.properties("SKAdNetworkPostback")
            ),
            (
                unsigned.union(["jws-string", "ad-interaction-type"]),
                topic.properties("AdAttributionKitPostback")
            ),
            (
                [
                    "ad-network-identifier", "postback-identifier", "advertised-item-identifier",
                    "publisher-item-identifier",
                    "source-identifier", "postback-sequence-index", "did-win", "conversion-type",
                    "marketplace-identifier",
                    "impression-type",
                ], topic.properties("AdAttributionKitClaims")
            ),
            (["ce_type", "content-type"], topic.properties("Envelope")),
        ]
        for (fields, documented) in read {
            #expect(fields.subtracting(documented).isEmpty, "\(fields)")
        }
    }
}
