import ConfigurationValues
import Store

/// The fields of a preset. docs/reference/partner-delivery.md names the source of each, or says that it is
/// ours.
enum Preset {
    static func fields(_ preset: Partner.Delivery.Preset) -> [(name: String, value: String)] {
        switch preset {
        case .singular: singular
        case .appsflyer: appsflyer + adAttributionKit
        case .adjust: adjust + adAttributionKit
        case .branch, .kochava: apple + decoded + adAttributionKit
        }
    }

    /// The public standard for SKAdNetwork 1.1, section 5.1.
    private static let singular = [
        ("src", "weir"),
        ("attribution_type", "{framework}"),
        ("skan_postback", "{sk_payload_base64}"),
        ("app_id", "{campaign.app_id}"),
        ("country", "{postback.country_code}"),
        ("timestamp", "{received_at_unix}"),
        ("revenue", "{conversion.revenue}"),
        ("events", "{conversion.event_names}"),
    ]

    private static let appsflyer = [
        ("app_id", "id{campaign.app_id}"),
        ("timestamp", "{received_at}"),
        ("media_source", "{campaign.media_source}"),
        ("ad_network_campaign_name", "{campaign.name}"),
        ("country_code", "{postback.country_code}"),
        ("skad_app_id", "{campaign.app_id}"),
        ("skad_ad_network_id", "{campaign.ad_network_id}"),
        ("skad_version", "{postback.version}"),
        ("skad_transaction_id", "{transaction_id}"),
        ("skad_campaign_id", "{postback.campaign_id}"),
        ("skad_source_identifier", "{postback.source_identifier}"),
        ("skad_source_app_id", "{postback.source_app_id}"),
        ("skad_source_domain", "{postback.source_domain}"),
        ("skad_conversion_value", "{conversion.value}"),
        ("skad_coarse_conversion_value", "{conversion.coarse}"),
        ("skad_fidelity_type", "{postback.fidelity_type}"),
        ("skad_redownload", "{postback.redownload}"),
        ("skad_did_win", "{postback.did_win}"),
        ("skad_attribution_signature", "{postback.attribution_signature}"),
        ("skad_postback_sequence_index", "{sequence_index}"),
        ("skad_ambiguous_event", "{conversion.ambiguous}"),
        ("min_revenue", "{conversion.revenue.min}"),
        ("max_revenue", "{conversion.revenue.max}"),
        ("revenue_currency", "{conversion.revenue.currency}"),
        ("event_names", "{conversion.event_names}"),
    ]

    private static let adjust = [
        ("sk_payload", "{sk_payload}"),
        ("sk_ts", "{received_at_unix}"),
        ("sk_version", "{postback.version}"),
        ("sk_network_id", "{campaign.ad_network_id}"),
        ("sk_campaign_id", "{postback.campaign_id}"),
        ("sk_source_identifier", "{postback.source_identifier}"),
        ("sk_transaction_id", "{transaction_id}"),
        ("sk_app_id", "{campaign.app_id}"),
        ("sk_source_app_id", "{postback.source_app_id}"),
        ("sk_source_domain", "{postback.source_domain}"),
        ("sk_conversion_value", "{conversion.value}"),
        ("sk_coarse_conversion_value", "{conversion.coarse}"),
        ("sk_postback_sequence_index", "{sequence_index}"),
        ("sk_fidelity_type", "{postback.fidelity_type}"),
        ("sk_redownload", "{flags.redownload}"),
        ("sk_did_win", "{flags.did_win}"),
        ("sk_attribution_signature", "{postback.attribution_signature}"),
        ("event_name", "{conversion.event_names}"),
        ("count_min", "{conversion.counts_min}"),
        ("count_max", "{conversion.counts_max}"),
        ("reporting_revenue_min", "{conversion.revenue.min}"),
        ("reporting_revenue_max", "{conversion.revenue.max}"),
        ("reporting_currency", "{conversion.revenue.currency}"),
    ]

    /// Apple's own names.
    private static let apple = [
        ("version", "{postback.version}"),
        ("ad-network-id", "{campaign.ad_network_id}"),
        ("app-id", "{campaign.app_id}"),
        ("source-identifier", "{postback.source_identifier}"),
        ("campaign-id", "{postback.campaign_id}"),
        ("source-app-id", "{postback.source_app_id}"),
        ("source-domain", "{postback.source_domain}"),
        ("transaction-id", "{transaction_id}"),
        ("postback-sequence-index", "{postback.postback_sequence_index}"),
        ("did-win", "{postback.did_win}"),
        ("fidelity-type", "{postback.fidelity_type}"),
        ("redownload", "{postback.redownload}"),
        ("conversion-value", "{conversion.value}"),
        ("coarse-conversion-value", "{conversion.coarse}"),
        ("attribution-signature", "{postback.attribution_signature}"),
        ("jws-string", "{postback.jws_string}"),
    ]

    /// For AdAttributionKit: Apple's words with underscores. No page of the services names them.
    private static let adAttributionKit = [
        ("ad_interaction_type", "{postback.ad_interaction_type}"),
        ("conversion_type", "{postback.conversion_type}"),
        ("marketplace_identifier", "{postback.marketplace_identifier}"),
        ("publisher_item_identifier", "{postback.publisher_item_identifier}"),
    ]

    private static let decoded = [
        ("timestamp", "{received_at_unix}"),
        ("country", "{postback.country_code}"),
        ("event_names", "{conversion.event_names}"),
        ("revenue_min", "{conversion.revenue.min}"),
        ("revenue_max", "{conversion.revenue.max}"),
        ("revenue_currency", "{conversion.revenue.currency}"),
    ]
}
