/// The column names of a measurement service. `docs/reference/export-profiles.md` links the page of the service for
/// each.
package enum ExportProfile: String, CaseIterable, Sendable {
    /// AppsFlyer's `skad_postbacks` and raw-data reports.
    case appsflyer
    /// Adjust's field names of raw-data exports.
    case adjust
    /// Singular's dimensions of SKAN raw data.
    case singular
    /// Weir's own names, for postbacks of both frameworks.
    case weir

    var columns: [(name: String, value: (ExportedRow) -> ReportValue)] {
        switch self {
        case .appsflyer: Self.ofPostbacks(Self.appsflyerColumns)
        case .adjust: Self.ofPostbacks(Self.adjustColumns)
        case .singular: Self.ofPostbacks(Self.singularColumns)
        case .weir: Self.ofPostbacks(Self.weirColumns) + Self.mergeColumns
        }
    }

    /// The services do not document columns for AdAttributionKit.
    var hasAdAttributionKit: Bool { self == .weir }

    /// Whether there is a column for the verdict: whether the signature matches a production key.
    var tellsVerdict: Bool { self != .appsflyer }

    /// Whether there is a column that marks withdrawn rows.
    var tellsWithdrawn: Bool { self == .weir }

    private static func ofPostbacks(
        _ columns: Columns
    ) -> [(name: String, value: (ExportedRow) -> ReportValue)] {
        columns.map { column in
            (column.name, { row in row.postback.map(column.value) ?? .null })
        }
    }

    /// The columns by which a warehouse merges exports.
    private static var mergeColumns: [(name: String, value: (ExportedRow) -> ReportValue)] {
        [
            ("key", { .text($0.key) }),
            ("revision", { .integer(Int128($0.revision)) }),
            ("withdrawn", { .boolean($0.postback == nil) }),
        ]
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

extension ExportProfile {
    private static var weirColumns: Columns {
        [
            ("received_at", { .text($0.receivedTime) }),
            ("framework", { .text($0.framework) }),
            ("version", { .optional($0.version) }),
            ("postback_id", { .optional($0.postbackID) }),
            ("sequence_index", { .integer($0.sequenceIndex) }),
            ("ad_network_id", { .text($0.adNetworkID) }),
            ("campaign", { .text($0.campaignText) }),
            ("app_id", { .integer(Int128($0.appID)) }),
            ("source_app_id", { .optional($0.publisherAppID) }),
            ("source_domain", { .optional($0.sourceDomain) }),
            ("interaction", { .optional($0.interaction) }),
            ("conversion_type", { .optional($0.conversionType) }),
            ("marketplace", { .optional($0.marketplace) }),
            ("did_win", { .optional($0.didWin) }),
            ("valid", { .boolean($0.isValid) }),
            ("country", { .optional($0.country) }),
            ("conversion_value", { .optional($0.conversionValue) }),
            ("coarse_conversion_value", { .optional($0.coarseValue) }),
            ("model", { .optional($0.modelVersion) }),
            ("ambiguous", { .boolean($0.isAmbiguous) }),
            ("currency", { .optional($0.revenueCurrency) }),
            ("revenue_min", { .optional(decimal: $0.revenueMin) }),
            ("revenue_max", { .optional(decimal: $0.revenueMax) }),
            ("network_name", { .optional($0.networkName) }),
            ("app_name", { .optional($0.appName) }),
            ("campaign_name", { .optional($0.campaignName) }),
            ("media_source", { .optional($0.mediaSource) }),
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
