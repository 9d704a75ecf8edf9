import Wording

/// A saved report, which is a repeated query to a dump: `reports/<name>.yaml`. Its texts are those of the options of
/// `weir dump`.
package struct ReportFile {
    package let name: String
    /// A description for people; may be empty.
    package let title: String
    package let dump: String
    /// Columns to group by; nil for the displayed ones.
    package let by: [String]?
    package let conditions: [(column: String, value: String)]
    package let columns: [String]?
    /// `column` or `column:desc`.
    package let sort: [String]?
    package let limit: Int?
    /// The period, such as `last 7 days`; nil for all.
    package let period: PositionedText?
    package let date: String?
    package let currency: String?
    package let format: String?
    package let showsNames: Bool
    package let estimates: Bool
    package let maturity: Bool
    package let curve: Bool
    private let mapping: ConfigurationMapping

    package static let keys: [ConfigurationKey] = [
        .text("title", "text", "A title for readers."),
        .text("dump", "name of a dump", required: true, "The dump to print."),
        .text(
            "by", "column, or list of columns",
            "Columns to group by. Default: the columns of `columns`."),
        .text("where", "mapping of columns to values", "Only rows with these values."),
        .text(
            "columns", "column, or list of columns and measures",
            "The columns and measures to print, in this order."),
        .text(
            "sort", "column, or list of columns and measures",
            "The order of rows. `column:desc` puts the largest first."),
        .integer("limit", 1...1_000_000_000, "The maximum number of rows."),
        .text("period", "for example `last 7 days`", "The time of the report. Default: all."),
        .text(
            "date", "`arrival` or `install`", default: "arrival",
            "The day of postbacks in the funnel."),
        .text(
            "in", "ISO 4217 code",
            "The currency into which amounts are converted, with the rates of rates.csv."),
        .text(
            "format", "`table`, `json`, `ndjson` or `csv`", default: "table", "The output format."),
        .boolean("names", default: false, "Adds names from the catalog."),
        .boolean("estimate", default: false, "Adds an estimate of the revenue to the funnel."),
        .boolean("maturity", default: false, "Adds the share of windows that are closed."),
        .boolean("curve", default: false, "Adds up cohorts along their ages or windows."),
    ]

    init(_ node: ConfigurationNode, name: String) throws(ConfigurationError) {
        let mapping = try node.mapping(Self.keys)
        self.mapping = mapping
        func text(_ key: String) throws(ConfigurationError) -> String? {
            try mapping[key]?.name()
        }
        func texts(_ key: String) throws(ConfigurationError) -> [String]? {
            guard let value = mapping[key] else { return nil }
            let texts = value.isList ? try value.list(ConfigurationNode.name) : [try value.name()]
            guard !texts.isEmpty else { throw value.badValue("is empty: name a column") }
            return texts
        }
        self.name = name
        title = try text("title") ?? ""
        dump = try mapping.required("dump").name()
        by = try texts("by")
        columns = try texts("columns")
        sort = try texts("sort")
        limit = try mapping.optionalInteger("limit")?.asInt
        period = try mapping["period"]?.positionedText("a period, for example last 7 days")
        date = try text("date")
        currency = try text("in")
        format = try text("format")
        showsNames = try mapping.boolean("names")
        estimates = try mapping.boolean("estimate")
        maturity = try mapping.boolean("maturity")
        curve = try mapping.boolean("curve")
        var conditions: [(column: String, value: String)] = []
        for (column, value) in try mapping["where"]?.entries() ?? [] {
            conditions.append((column, try value.text("a value of the column")))
        }
        self.conditions = conditions
    }

    /// An error at a key, or at the file if it does not have the key.
    package func fault(_ key: String, _ explanation: String) -> ConfigurationError {
        (mapping[key] ?? mapping.node).badValue(explanation)
    }
}

extension PipelineDirectory {
    static let reportsName = "reports"

    /// The names of the saved reports, in bytewise order.
    package func reportNames() throws(ConfigurationError) -> [String] {
        try names(in: Self.reportsName).map(\.withoutYAML)
    }

    package func report(_ name: String) throws(ConfigurationError) -> ReportFile {
        let file = "\(path)/\(Self.reportsName)/\(name).yaml"
        let known = try reportNames()
        guard known.contains(name) else {
            throw ConfigurationError(
                kind: .missingFile, file: file,
                explanation: known.isEmpty
                    ? "does not exist: create it, for example from pipelines/reports/campaigns.yaml of Weir"
                    : "does not exist: \(UnknownName(name, known: known))")
        }
        return try ReportFile(root(of: file), name: name)
    }
}
