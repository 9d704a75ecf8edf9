import Crypto
import Foundation

/// What partners are told: the end of section 6 of the contract, for partners without a filter, and without a catalog.
struct PartnerDocumentsModel {
    /// The verdicts that each partner trusts.
    static let trust: KeyValuePairs = [
        "acme": ["valid", "development"], "zenith": ["valid"], "off": ["valid", "development"],
    ]
    private static let day: Int64 = 86_400_000

    /// By `id:revision`, what a document may say: a postback that came to several partitions is a document in each.
    private(set) var documents: [String: [NSDictionary]] = [:]

    private var revisions: [String: Int] = [:]

    /// A copy that was accepted, with what its app's model says of it, if there is a model.
    struct Accepted {
        var record: LoggedMeaning<PostbacksModel.Meaning>
        var copy: PostbacksModel.Postback
        var event: PostbacksModel.DecodedEvent?
        var isModelled: Bool
    }

    init(_ accepted: [Accepted]) {
        for copy in accepted {
            add(copy.record, copy.copy, copy.event, isModelled: copy.isModelled)
        }
    }

    private mutating func add(
        _ record: LoggedMeaning<PostbacksModel.Meaning>, _ copy: PostbacksModel.Postback,
        _ event: PostbacksModel.DecodedEvent?, isModelled: Bool
    ) {
        for (partner, verdicts) in Self.trust where verdicts.contains(copy.verdict) {
            let id = Self.id(
                [partner, copy.framework, copy.network.lowercased(), copy.transaction.lowercased()]
                    + ["\(copy.signedIndex)"])
            let key = "\(record.partition) \(id)"
            let revision = revisions[key, default: 0] + 1
            revisions[key] = revision
            let received = max(record.timestampMilliseconds, 0)
            let document: [String: Any] = [
                "id": id, "revision": revision, "partner": partner,
                "postback": Self.postback(record.meaning, copy),
                "campaign": Self.campaign(copy),
                "conversion": Self.conversion(copy, event, isModelled: isModelled),
                "install_window": Self.installWindow(copy, received),
                "received_at": timeText(received),
                "origin": [
                    "topic": "postbacks", "partition": Int(record.partition),
                    "offset": Int(record.offset),
                ],
            ]
            documents["\(id):\(revision)", default: []].append(document as NSDictionary)
        }
    }

    /// What is wrong with a document that was published; nil for nothing.
    func difference(_ id: String, _ value: [UInt8]?) -> String? {
        let found = value.flatMap { try? JSONSerialization.jsonObject(with: Data($0)) }
        guard let found = found as? NSDictionary else { return "\(id) is no JSON" }
        func differs(_ wanted: NSDictionary, _ name: String) -> Bool {
            wanted[name] as? NSObject != found[name] as? NSObject
        }
        guard let wanted = documents[id]?.first(where: { !differs($0, "origin") }) else {
            return "\(id) was published, and is for nobody: \(found["origin"] ?? "")"
        }
        let name = (wanted.allKeys + found.allKeys).compactMap { $0 as? String }.sorted()
            .first { differs(wanted, $0) }
        return name.map { name in
            "\(name) of \(id) is \(found[name] ?? "nothing"), and by the contract \(wanted[name] ?? "nothing")"
        }
    }

    private static func id(_ parts: [String]) -> String {
        let text = parts.map { "\($0.utf8.count):\($0)" }.joined()
        return SHA256.hash(data: Data(text.utf8)).prefix(16).map {
            ($0 < 16 ? "0" : "") + String($0, radix: 16)
        }.joined()
    }

    /// Apple's fields as they came, but null, what nothing signs in this version, and what a relay has filled in.
    private static func postback(
        _ meaning: PostbacksModel.Meaning, _ copy: PostbacksModel.Postback
    ) -> [String: Any] {
        var names = ["conversion-value", "coarse-conversion-value", "country-code"]
        if copy.isOfAdAttributionKit {
            names += ["jws-string", "ad-interaction-type"]
        } else {
            names += ["version", "ad-network-id", "transaction-id", "app-id"]
            names += ["attribution-signature", "redownload"]
            names.append(copy.layout < "4.0" ? "campaign-id" : "source-identifier")
            if copy.layout >= "2.0" { names.append("source-app-id") }
            if copy.layout >= "2.2" { names.append("fidelity-type") }
            if copy.layout >= "3.0" { names.append("did-win") }
            if copy.layout >= "4.0" { names.append("postback-sequence-index") }
            if copy.layout >= "4.0", copy.sourceApp == nil { names.append("source-domain") }
        }
        var members: [String: Any] = [:]
        for name in names where !meaning.filled.contains(name) {
            let member = meaning.members.first { $0.name == name }
            if let member, member.json != "null" { members[name] = value(member.json) }
        }
        if copy.isOfAdAttributionKit {
            for claim in PostbackWire.claims(of: copy) { members[claim.name] = value(claim.json) }
        }
        return Dictionary(
            uniqueKeysWithValues: members.map { ($0.replacing("-", with: "_"), $1) })
    }

    private static func value(_ json: String) -> Any {
        let options = JSONSerialization.ReadingOptions.fragmentsAllowed
        return (try? JSONSerialization.jsonObject(with: Data(json.utf8), options: options)) ?? json
    }

    private static func campaign(_ copy: PostbacksModel.Postback) -> [String: Any] {
        [
            "name": NSNull(), "network": NSNull(), "app": NSNull(), "media_source": NSNull(),
            "ad_network_id": copy.network.lowercased(), "campaign": copy.campaign,
            "app_id": Int(copy.app),
            "source_app_id": copy.layout < "2.0" ? 0 : Int(copy.sourceApp ?? 0),
        ]
    }

    private static func conversion(
        _ copy: PostbacksModel.Postback, _ event: PostbacksModel.DecodedEvent?, isModelled: Bool
    ) -> [String: Any] {
        let (fine, coarse) = (copy.unsigned.fine, copy.unsigned.coarse)
        var revenue: Any = NSNull()
        if let amounts = event?.revenue {
            revenue = [
                "min": value(units(amounts.lowerBound)), "max": value(units(amounts.upperBound)),
                "currency": "EUR",
            ]
        }
        return [
            "value": fine ?? NSNull() as Any, "coarse": coarse ?? NSNull() as Any,
            "model": isModelled && (fine != nil || coarse != nil) ? "only" : NSNull() as Any,
            "events": event.flatMap { $0.counts.upperBound > 0 ? $0 : nil }.map { event in
                [
                    [
                        "name": event.name, "count_min": Int(event.counts.lowerBound),
                        "count_max": Int(event.counts.upperBound),
                    ] as [String: Any]
                ]
            } ?? [],
            "revenue": revenue, "ambiguous": false,
        ]
    }

    private static func units(_ micros: Int64) -> String {
        "\(micros / 1_000_000)." + String("\(1_000_000 + micros % 1_000_000)".dropFirst())
    }

    /// When the app was first started.
    private static func installWindow(
        _ copy: PostbacksModel.Postback, _ received: Int64
    ) -> [String: Any] {
        var window: (earliest: Int64?, latest: Int64?)
        if copy.layout < "4.0" {
            window = (copy.unsigned.fine == 0 ? received - 2 * day : nil, received - day)
        } else {
            window =
                [
                    (received - 4 * day, received - day),
                    (received - 13 * day, received - 3 * day),
                    (received - 41 * day, received - 8 * day),
                ][copy.signedIndex]
        }
        if copy.verdict == "development" || copy.conversionType == "re-engagement" {
            window = (nil, nil)
        }
        return [
            "earliest": window.earliest.map(timeText) ?? NSNull() as Any,
            "latest": window.latest.map(timeText) ?? NSNull() as Any,
        ]
    }
}
