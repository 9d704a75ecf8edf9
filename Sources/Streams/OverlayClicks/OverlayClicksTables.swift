/// Row of `overlay-clicks`: clicks, and what looked like one, by format, placement and campaign.
package struct OverlayClicksKey: RowKey {
    /// The partition whose records the row counts.
    package var partition: Int32
    /// The hour of the record's timestamp.
    package var hour: Hour
    /// Which ad, and where.
    package var place: AdPlace

    /// The measures of `overlay-clicks`, in the table's order.
    enum Measure: Int, CaseIterable {
        case clicks, userClicks, paidClicks, organicClicks, alteredURLs
        case automaticClicks, early, notPresented, unsupportedSDK, untracked, test

        var name: String {
            switch self {
            case .clicks: "clicks"
            case .userClicks: "user_clicks"
            case .paidClicks: "paid_clicks"
            case .organicClicks: "organic_clicks"
            case .alteredURLs: "altered_urls"
            case .automaticClicks: "automatic_clicks"
            case .early: "early"
            case .notPresented: "not_presented"
            case .unsupportedSDK: "unsupported_sdk"
            case .untracked: "untracked"
            case .test: "test"
            }
        }
    }

    /// The aggregate.
    package static let table = AggregateTable(
        name: "overlay-clicks", columns: [.init("hour", .hour)] + AdPlace.columns,
        measures: Measure.allCases.map(\.name))

    /// Adds all that makes the key to a hash.
    @inline(__always)
    package func combine(into hasher: inout RowHasher) {
        hasher.combine(Int64(partition) << 40 ^ hour.hoursSince1970)
        place.combine(into: &hasher)
    }

    /// The columns, in the table's order.
    package func forEachColumn(_ body: (ColumnValue) -> Void) {
        body(.hour(hour))
        place.forEachColumn(body)
    }
}
