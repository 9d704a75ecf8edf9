import ConfigurationFiles
import JSON
import Store
import Streams

/// How many postbacks an export left out.
package struct ExportOmissions: Equatable, Sendable {
    /// Postbacks of AdAttributionKit, for which the profiles have no columns.
    package internal(set) var adAttributionKit: Int
    /// Postbacks that arrived outside of the selected time.
    package internal(set) var otherTimes: Int
    /// Postbacks that were exported before, whose best copy now was not published, where the profile has no column
    /// to say so.
    package internal(set) var withdrawn: Int

    package init(adAttributionKit: Int = 0, otherTimes: Int = 0, withdrawn: Int = 0) {
        self.withdrawn = withdrawn
        self.adAttributionKit = adAttributionKit
        self.otherTimes = otherTimes
    }
}

/// Which postbacks to export, and how.
package struct ExportQuery: Sendable {
    package var profile: ExportProfile
    /// Only what this partner got; nil for what any partner got.
    package var partner: String?
    /// Only postbacks that arrived at this time or later; milliseconds since 1970.
    package var sinceMilliseconds: Int64?
    package var untilMilliseconds: Int64?
    /// Only postbacks whose best copy came since; nil for all.
    package var changedSince: ExportCursor?

    package init(
        profile: ExportProfile, partner: String? = nil, sinceMilliseconds: Int64? = nil,
        untilMilliseconds: Int64? = nil, changedSince: ExportCursor? = nil
    ) {
        self.changedSince = changedSince
        self.profile = profile
        self.partner = partner
        self.sinceMilliseconds = sinceMilliseconds
        self.untilMilliseconds = untilMilliseconds
    }

    func includes(timeMilliseconds: Int64) -> Bool {
        timeMilliseconds >= sinceMilliseconds ?? .min
            && untilMilliseconds.map { timeMilliseconds < $0 } ?? true
    }
}

extension OpenStores {
    /// Writes the decoded postbacks that partners got, of AdAttributionKit where the profile has columns for them, by partition and offset. A
    /// postback has one row: its best copy, with the catalog's names of today. Text is UTF-8, and
    /// each piece is handed over before later rows are read.
    ///
    /// - Parameter isRaw: whether CSV has every text as it is.
    /// - Returns: how many rows there are, what was left out, and where the next export of changes begins.
    /// - Throws: `InspectionError`, `noStore` when there is no store of postbacks, `staleCursor` when what was
    ///   exported before is not what the stores hold; what `sink` throws.
    package func export(
        _ query: ExportQuery, catalog: Catalog, as format: ExportFormat,
        isRaw: Bool = false, to sink: ([UInt8]) throws -> Void
    ) throws -> (rowCount: Int, omissions: ExportOmissions, cursor: ExportCursor) {
        let columns = query.profile.columns
        var writer = RowWriter(
            columns.map(\.name), as: format == .csv ? .csv(isRaw: isRaw) : .lines)
        var omissions = ExportOmissions()
        var sinkError: (any Error)?
        let cursor: ExportCursor
        do {
            cursor = try view(of: [PostbacksFold.streamName]) { view in
                try query.changedSince?.check(view.slices, of: query)
                try view.forEachExported(query, catalog, &omissions) { row in
                    writer.append(columns.map { $0.value(row) })
                    guard let piece = writer.fullPiece() else { return }
                    do {
                        try sink(piece)
                    } catch {
                        sinkError = error
                        throw error
                    }
                }
                return try ExportCursor(view.slices, of: query)
            }
        } catch {
            throw sinkError ?? error
        }
        let rowCount = writer.rowCount
        try sink(writer.finish())
        return (rowCount, omissions, cursor)
    }
}

extension StoreView {
    /// Calls `body` with each selected postback, by partition and offset, and counts those that are
    /// left out.
    fileprivate func forEachExported(
        _ query: ExportQuery, _ catalog: Catalog, _ omissions: inout ExportOmissions,
        _ body: (ExportedRow) throws -> Void
    ) throws {
        let partitions = slices.flatMap { slice in
            slice.partitions.map { ($0.partition, slice.snapshot) }
        }
        guard let parser = JSONParser() else {
            throw StoreError.backend(
                operation: "read", path: "outbox", detail: "no memory for a JSON parser")
        }
        for (partition, snapshot) in partitions.sorted(by: { $0.0 < $1.0 }) {
            let first = query.changedSince?.nextOffset(of: partition) ?? .min
            try snapshot.forEachPublishedPostback(
                of: partition, from: first, partner: query.partner
            ) { published in
                let bytes = Array(published.document.utf8)
                try bytes.withUnsafeBytes { bytes in
                    let document = try parser.parse(bytes)
                    guard let postback = ExportedPostback(published, bytes, document, catalog),
                        !postback.isJWS || query.profile.hasAdAttributionKit
                    else {
                        omissions.adAttributionKit += 1
                        return
                    }
                    guard query.includes(timeMilliseconds: postback.receivedMilliseconds) else {
                        omissions.otherTimes += 1
                        return
                    }
                    try body(
                        ExportedRow(
                            partition: partition, id: published.id, postback: postback,
                            revision: published.offset))
                }
            }
            // Nobody has seen those of the first export.
            guard query.changedSince != nil, first > .min else { continue }
            try snapshot.forEachWithdrawnPostback(
                of: partition, from: first, partner: query.partner
            ) { id, offset in
                guard query.profile.tellsWithdrawn else {
                    omissions.withdrawn += 1
                    return
                }
                try body(
                    ExportedRow(partition: partition, id: id, postback: nil, revision: offset))
            }
        }
    }
}

/// A row of an export.
struct ExportedRow {
    let partition: Int32
    /// Of the postback within its partition.
    let id: [UInt8]
    /// Nil for one that was exported before, and whose best copy now was not published.
    let postback: ExportedPostback?
    /// Rises whenever the row changes: the offset of the best copy.
    let revision: Int64

    /// The same in every export.
    var key: String { "\(partition)-\(id.hexDigits)" }
}

/// The formats of an export. Each writes a row as soon as it is read.
package enum ExportFormat: String, CaseIterable, Sendable {
    case csv
    case ndjson
}

/// A measurement service whose column names an export has. `docs/export-profiles.md` names the page
/// of the service for each.
package enum ExportProfile: String, CaseIterable, Sendable {
    /// AppsFlyer's `skad_postbacks` and raw-data reports.
    case appsflyer
    /// The names that Adjust gives the fields of raw-data exports.
    case adjust
    /// Singular's dimensions of SKAN raw data.
    case singular
    /// Weir's own names, for postbacks of both frameworks.
    case weir

    /// Names and values of the columns, in order.
    var columns: [(name: String, value: (ExportedRow) -> ReportValue)] {
        switch self {
        case .appsflyer: Self.ofPostbacks(Self.appsflyerColumns)
        case .adjust: Self.ofPostbacks(Self.adjustColumns)
        case .singular: Self.ofPostbacks(Self.singularColumns)
        case .weir: Self.ofPostbacks(Self.weirColumns) + Self.mergeColumns
        }
    }

    /// No page of the services names columns for AdAttributionKit.
    var hasAdAttributionKit: Bool { self == .weir }

    /// Whether there is a column for rows that are to be taken out.
    var tellsWithdrawn: Bool { self == .weir }

    private static func ofPostbacks(
        _ columns: Columns
    ) -> [(name: String, value: (ExportedRow) -> ReportValue)] {
        columns.map { column in
            (column.name, { row in row.postback.map(column.value) ?? .null })
        }
    }

    /// What a warehouse goes by that merges exports.
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
