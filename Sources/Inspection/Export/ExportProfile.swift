/// A measurement service whose column names an export takes. `docs/export-profiles.md` says which page
/// of the service each name is from.
package enum ExportProfile: String, CaseIterable, Sendable {
    /// AppsFlyer's `skad_postbacks` and raw-data reports.
    case appsflyer
    /// The names that Adjust gives the fields of raw-data exports.
    case adjust
    /// Singular's dimensions of SKAN raw data.
    case singular

    /// Names and values of the columns, in order.
    var columns: [(name: String, value: (ExportedPostback) -> ReportValue)] {
        switch self {
        case .appsflyer: Self.appsflyerColumns
        case .adjust: Self.adjustColumns
        case .singular: Self.singularColumns
        }
    }
}

extension ExportProfile {
    private typealias Columns = [(name: String, value: (ExportedPostback) -> ReportValue)]

    private static var appsflyerColumns: Columns {
        [
            ("app_id", { .text("id\($0.appID)") }),
            ("event_name", { .optional($0.appsflyerEvent) }),
            ("timestamp", { .text($0.receivedTimeOfDay) }),
            ("install_date", { .optional($0.appsflyerInstallDate) }),
            ("media_source", { .optional($0.mediaSource) }),
            ("ad_network_campaign_name", { .optional($0.campaignName) }),
            ("country_code", { .optional($0.country) }),
            ("skad_app_id", { .integer(Int128($0.appID)) }),
            ("skad_ad_network_id", { .text($0.adNetworkID) }),
            ("skad_version", { .optional($0.version) }),
            ("skad_transaction_id", { .optional($0.transactionID) }),
            ("skad_campaign_id", { .optional($0.campaignID) }),
            ("skad_source_identifier", { .optional($0.sourceIdentifier) }),
            ("skad_source_app_id", { .optional($0.sourceAppID) }),
            ("skad_source_domain", { .optional($0.sourceDomain) }),
            ("skad_conversion_value", { .optional($0.conversionValue) }),
            ("skad_coarse_conversion_value", { .optional($0.coarseValue) }),
            ("skad_postback_sequence_index", { .integer($0.sequenceIndex) }),
            ("skad_fidelity_type", { .optional($0.fidelityType) }),
            ("skad_redownload", { .optional($0.isRedownload) }),
            ("skad_did_win", { .optional($0.didWin) }),
            ("skad_ambiguous_event", { .boolean($0.isAmbiguous) }),
            ("skad_attribution_signature", { .optional($0.signature) }),
            ("min_revenue", { .optional(decimal: $0.revenueMin) }),
            ("max_revenue", { .optional(decimal: $0.revenueMax) }),
        ]
    }

    private static var adjustColumns: Columns {
        [
            ("sk_ts", { .integer($0.receivedSeconds) }),
            ("sk_version", { .optional($0.version) }),
            ("sk_network_id", { .text($0.adNetworkID) }),
            ("sk_campaign_id", { .optional($0.campaignID) }),
            ("sk_source_identifier", { .optional($0.sourceIdentifier) }),
            ("sk_transaction_id", { .optional($0.transactionID) }),
            ("sk_app_id", { .integer(Int128($0.appID)) }),
            ("sk_source_app_id", { .optional($0.sourceAppID) }),
            ("sk_source_domain", { .optional($0.sourceDomain) }),
            ("sk_conversion_value", { .optional($0.conversionValue) }),
            ("sk_coarse_conversion_value", { .optional($0.coarseValue) }),
            ("sk_postback_sequence_index", { .integer($0.sequenceIndex) }),
            ("sk_fidelity_type", { .optional($0.fidelityType) }),
            ("sk_redownload", { .optional(flag: $0.isRedownload) }),
            ("sk_did_win", { .optional(flag: $0.didWin) }),
            ("sk_attribution_signature", { .optional($0.signature) }),
            ("sk_invalid_signature", { .integer($0.isValid ? 0 : 1) }),
            ("network_name", { .optional($0.networkName) }),
            ("campaign_name", { .optional($0.campaignName) }),
            ("app_name", { .optional($0.appName) }),
            ("country", { .optional($0.country) }),
            ("reporting_currency", { .optional($0.revenueCurrency) }),
            ("reporting_revenue_min", { .optional(decimal: $0.revenueMin) }),
            ("reporting_revenue_max", { .optional(decimal: $0.revenueMax) }),
        ]
    }

    private static var singularColumns: Columns {
        [
            ("date", { .text($0.receivedDay) }),
            ("app", { .optional($0.appName) }),
            ("source", { .optional($0.networkName) }),
            ("country_field", { .optional($0.country) }),
            ("tracker_campaign_name", { .optional($0.campaignName) }),
            ("skan_app_id", { .integer(Int128($0.appID)) }),
            ("skan_network_id", { .text($0.adNetworkID) }),
            ("skan_campaign_id", { .optional($0.campaignID) }),
            ("skan_publisher_id", { .optional($0.sourceAppID) }),
            ("skan_version", { .optional($0.version) }),
            ("skan_conversion_value", { .optional($0.conversionValue) }),
            ("skan_redownloads", { .optional($0.singularDownload) }),
            ("skan_validated", { .boolean($0.isValid) }),
        ]
    }
}

extension ReportValue {
    fileprivate static func optional(_ text: String?) -> ReportValue {
        text.map(Self.text) ?? .null
    }

    fileprivate static func optional(_ integer: Int128?) -> ReportValue {
        integer.map(Self.integer) ?? .null
    }

    fileprivate static func optional(_ boolean: Bool?) -> ReportValue {
        boolean.map(Self.boolean) ?? .null
    }

    fileprivate static func optional(decimal: String?) -> ReportValue {
        decimal.map(Self.decimal) ?? .null
    }

    fileprivate static func optional(flag: Bool?) -> ReportValue {
        flag.map { .integer($0 ? 1 : 0) } ?? .null
    }
}
