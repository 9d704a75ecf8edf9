import Pipelines

/// What is asked of the funnel.
package struct FunnelQuery: Sendable {
    /// The day that postbacks are put to.
    package enum DateRule: String, CaseIterable, Sendable {
        /// The day on which they arrived.
        case arrival
        /// The latest day on which the app may have been launched first.
        case install
    }

    /// Columns, conditions and time.
    package var query: DumpQuery
    /// The day of postbacks.
    package var dateRule: DateRule
    /// Names of networks, apps and campaigns.
    package var catalog: Catalog
    /// Whether postbacks of the verdict `development` are trusted.
    package var trustsDevelopment: Bool
    /// App Store ids by bundle id, for notifications of the store.
    package var appsByBundle: [String: Int64]
    /// Whether rows have an estimate of the revenue beside its bounds.
    package var estimates = false

    /// Asks for a funnel; the name of the query is not looked at.
    package init(
        query: DumpQuery = DumpQuery(name: Funnel.name), dateRule: DateRule = .arrival,
        catalog: Catalog, trustsDevelopment: Bool = false, appsByBundle: [String: Int64] = [:]
    ) {
        self.query = query
        self.dateRule = dateRule
        self.catalog = catalog
        self.trustsDevelopment = trustsDevelopment
        self.appsByBundle = appsByBundle
    }
}
