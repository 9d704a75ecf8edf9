import JSON

@testable import Deliveries

/// Documents of `partner-postbacks` for tests.
enum Documents {
    static let id = "2d0136c18b5007e0d205543c5bf2f427"

    /// A winning postback of SKAdNetwork 4.0, decoded.
    static func install(
        id: String = id, revision: Int = 1, partner: String = "acme",
        campaign: String = "Autumn, web", country: String = "null"
    ) -> String {
        """
        {"id":"\(id)","revision":\(revision),"partner":"\(partner)","postback":{"version":"4.0",\
        "ad_network_id":"com.example","source_identifier":"5239","app_id":525463029,\
        "transaction_id":"6aafb7a5-0170-41b5-bbe4-fe71dedf1e30","redownload":false,\
        "source_domain":"example.com","fidelity_type":1,"did_win":true,"conversion_value":63,\
        "country_code":\(country),"postback_sequence_index":0,"attribution_signature":"MEUC+/="},\
        "conversion":{"value":63,"coarse":null,"model":"v1","events":[{"name":"purchase",\
        "count_min":3,"count_max":5},{"name":"tutorial_completed","count_min":1,"count_max":1}],\
        "revenue":{"min":50,"max":99.99,"currency":"USD"},"ambiguous":false},\
        "install_window":{"earliest":"2026-11-17T05:28:00Z","latest":"2026-11-20T05:28:00Z"},\
        "received_at":"2026-11-21T05:28:00Z","origin":{"topic":"postbacks","partition":2,\
        "offset":1047},"campaign":{"name":\(campaign.json),"network":"Example Network",\
        "app":"Example Puzzle","media_source":"example_web","ad_network_id":"com.example",\
        "campaign":"5239","app_id":525463029,"source_app_id":0}}
        """
    }

    /// A re-engagement of AdAttributionKit, of which nothing is decoded.
    static let reEngagement = """
        {"id":"f0c894aa98a6449bfd1c0d71548ed319","revision":2,"partner":"acme","postback":{\
        "jws_string":"eyJh.eyJw.c2ln","ad_interaction_type":"click","conversion_value":24,\
        "country_code":"US","postback_identifier":"85546EB7-FD39-44BC-8990-C98A4AC36A49",\
        "ad_network_identifier":"development.adattributionkit","source_identifier":"1234",\
        "advertised_item_identifier":10738027756,"publisher_item_identifier":0,\
        "marketplace_identifier":"com.apple.AppStore","impression_type":"app-impression",\
        "conversion_type":"re-engagement","postback_sequence_index":0,"did_win":true},\
        "conversion":{"value":24,"coarse":null,"model":null,"events":[],"revenue":null,\
        "ambiguous":false},"install_window":{"earliest":null,"latest":null},\
        "received_at":"2026-11-21T05:40:00Z","origin":{"topic":"postbacks","partition":3,\
        "offset":512},"campaign":{"name":null,"network":null,"app":null,"media_source":null,\
        "ad_network_id":"development.adattributionkit","campaign":"1234","app_id":10738027756,\
        "source_app_id":0}}
        """

    static func read(_ text: String) throws -> DeliveryDocument {
        guard let parser = JSONParser() else { throw UnreadableDocument("no parser") }
        return try DeliveryDocument(Array(text.utf8), parser: parser)
    }

    /// 32 hex digits that end in a number.
    static func id(_ number: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: 32 - digits.count) + digits
    }
}

extension String {
    /// As a JSON string.
    var json: String {
        "\""
            + unicodeScalars.map { scalar in
                scalar.value < 0x20 || scalar == "\"" || scalar == "\\"
                    ? "\\u00" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16)
                    : String(scalar)
            }.joined() + "\""
    }
}
