import Pipelines

/// What is asked of the funnel.
public struct FunnelQuery: Sendable {
    /// The day that postbacks are put to.
    public enum DateRule: String, CaseIterable, Sendable {
        /// The day on which they arrived.
        case arrival
        /// The latest day on which the app may have been launched first.
        case install
    }

    /// Columns, conditions and time.
    public var query: DumpQuery
    /// The day of postbacks.
    public var dateRule: DateRule
    /// Names of networks, apps and campaigns.
    public var catalog: Catalog
    /// Whether postbacks of the verdict `development` are trusted.
    public var trustsDevelopment: Bool
    /// App Store ids by bundle id, for notifications of the store.
    public var appsByBundle: [String: Int64]
    /// Whether rows have an estimate of the revenue beside its bounds.
    public var estimates = false

    /// Asks for a funnel; the name of the query is not looked at.
    public init(
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
