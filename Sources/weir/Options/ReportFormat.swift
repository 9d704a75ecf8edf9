/// How a report about single things is written.
enum ReportFormat: String, CaseIterable {
    /// For people.
    case table
    /// JSON.
    case json
}
