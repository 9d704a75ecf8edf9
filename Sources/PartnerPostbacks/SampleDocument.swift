import JSONReader
import Streams

/// A document of one kind that partners are sent, for checking templates before the first real one.
struct SampleDocument {
    /// The kind in words.
    let kind: String
    /// The JSON as it would be in the topic.
    let text: String

    /// One document of each kind. The kind decides which fields exist; the values are arbitrary.
    static func all(partner: String) -> [SampleDocument] {
        func sample(
            _ kind: String, _ postback: Members, _ conversion: String, isNamed: Bool = true,
            revision: String = "\"revision\":1"
        ) -> SampleDocument {
            SampleDocument(
                kind: kind,
                text: """
                    {"id":"2d0136c18b5007e0d205543c5bf2f427",\(revision),"partner":"\(partner)",\
                    "postback":\(postback.json),"conversion":\(conversion),\(isNamed ? named : unnamed),\
                    \(surroundings)}
                    """)
        }
        let fine = skAdNetwork4 + ["conversion_value": "63"]
        return [
            sample("SKAdNetwork 1.0", skAdNetwork1, nothing),
            sample("SKAdNetwork 2.0", skAdNetwork2, decoded),
            sample("SKAdNetwork 2.1", skAdNetwork2 + ["version": #""2.1""#], decoded),
            sample("SKAdNetwork 2.2", skAdNetwork22, decoded),
            sample("SKAdNetwork 3.0", skAdNetwork3, decoded),
            sample("SKAdNetwork 4.0", fine, decoded),
            sample(
                "SKAdNetwork 4.0 with a coarse value",
                skAdNetwork4
                    + ["coarse_conversion_value": #""low""#, "postback_sequence_index": "2"],
                coarse),
            sample("SKAdNetwork 4.0 without a value", skAdNetwork4, nothing),
            sample("AdAttributionKit", adAttributionKit, decoded),
            sample(
                "AdAttributionKit without a value",
                adAttributionKit.filter {
                    $0.key != "conversion_value" && $0.key != "country_code"
                },
                nothing),
            sample("a campaign without names", fine, decoded, isNamed: false),
            sample(
                "a correction", fine, decoded,
                revision: #""revision":2,"supersedes":"2d0136c18b5007e0d205543c5bf2f427:1""#),
            sample(
                "a withdrawn postback", fine, "null",
                revision:
                    #""revision":2,"supersedes":"2d0136c18b5007e0d205543c5bf2f427:1","withdrawn":true"#
            ),
        ]
    }
}

// MARK: What documents are made of

/// Members of a JSON object; the values are JSON.
private typealias Members = [String: String]

extension Members {
    fileprivate static func + (left: Members, right: Members) -> Members {
        left.merging(right) { _, new in new }
    }

    fileprivate var json: String {
        var json = JSONText()
        json.object { json in
            for (name, value) in sorted(by: { $0.key < $1.key }) {
                json.name(name)
                json.raw(value)
            }
        }
        return json.text
    }
}

extension SampleDocument {
    /// Apple signs different fields in each version, so documents differ too.
    private static let skAdNetwork1: Members = [
        "version": #""1.0""#, "ad_network_id": #""com.example""#, "campaign_id": "42",
        "transaction_id": #""6aafb7a5-0170-41b5-bbe4-fe71dedf1e28""#, "app_id": "525463029",
        "attribution_signature": #""MEUC""#, "redownload": "false",
    ]
    private static let skAdNetwork2 =
        skAdNetwork1 + [
            "version": #""2.0""#, "source_app_id": "1234567891", "conversion_value": "20",
        ]
    private static let skAdNetwork22 =
        skAdNetwork2 + ["version": #""2.2""#, "fidelity_type": "1"]
    private static let skAdNetwork3 =
        skAdNetwork22 + ["version": #""3.0""#, "did_win": "true"]
    private static let skAdNetwork4: Members = [
        "version": #""4.0""#, "ad_network_id": #""com.example""#, "source_identifier": #""5239""#,
        "transaction_id": #""6aafb7a5-0170-41b5-bbe4-fe71dedf1e30""#, "app_id": "525463029",
        "attribution_signature": #""MEUC""#, "redownload": "false",
        "source_domain": #""example.com""#, "fidelity_type": "1", "did_win": "true",
        "postback_sequence_index": "0",
    ]
    private static let adAttributionKit: Members = [
        "jws_string": #""eyJh.eyJw.c2ln""#, "ad_interaction_type": #""click""#,
        "conversion_value": "24", "country_code": #""US""#,
        "postback_identifier": #""85546EB7-FD39-44BC-8990-C98A4AC36A49""#,
        "ad_network_identifier": #""com.example""#, "source_identifier": #""1234""#,
        "advertised_item_identifier": "525463029", "publisher_item_identifier": "0",
        "marketplace_identifier": #""com.apple.AppStore""#, "impression_type": #""app-impression""#,
        "conversion_type": #""download""#, "postback_sequence_index": "0", "did_win": "true",
    ]

    private static let decoded = """
        {"value":20,"coarse":null,"model":"v1","events":[{"name":"purchase","count_min":1,\
        "count_max":2}],"revenue":{"min":1,"max":2.5,"currency":"USD"},"ambiguous":false}
        """
    private static let coarse = """
        {"value":null,"coarse":"low","model":"v1","events":[],"revenue":null,"ambiguous":false}
        """
    private static let nothing = """
        {"value":null,"coarse":null,"model":null,"events":[],"revenue":null,"ambiguous":false}
        """
    private static let named = campaign(#""spring""#)
    private static let unnamed = campaign("null")
    private static let surroundings = """
        "install_window":{"earliest":"2026-11-17T05:28:00Z","latest":"2026-11-20T05:28:00Z"},\
        "received_at":"2026-11-21T05:28:00Z","origin":{"topic":"postbacks","partition":2,"offset":1}
        """

    private static func campaign(_ name: String) -> String {
        """
        "campaign":{"name":\(name),"network":\(name),"app":\(name),"media_source":\(name),\
        "ad_network_id":"com.example","campaign":"5239","app_id":525463029,"source_app_id":0}
        """
    }
}
