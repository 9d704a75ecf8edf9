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

    private static let keys = [
        "title", "dump", "by", "where", "columns", "sort", "limit", "period", "date", "in",
        "format", "names", "estimate", "maturity", "curve",
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
            guard !texts.isEmpty else { throw value.badValue("is empty: name columns") }
            return texts
        }
        self.name = name
        title = try text("title") ?? ""
        dump = try mapping.required("dump").name()
        by = try texts("by")
        columns = try texts("columns")
        sort = try texts("sort")
        limit = try mapping["limit"].map { value throws(ConfigurationError) in
            Int(try value.integer(in: 1...1_000_000_000))
        }
        period = try mapping["period"]?.positionedText("a period, as last 7 days")
        date = try text("date")
        currency = try text("in")
        format = try text("format")
        showsNames = try mapping.boolean("names", default: false)
        estimates = try mapping.boolean("estimate", default: false)
        maturity = try mapping.boolean("maturity", default: false)
        curve = try mapping.boolean("curve", default: false)
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
                    ? "does not exist: write it, as pipelines/reports/campaigns.yaml that Weir ships"
                    : "does not exist: \(UnknownName(name, known: known))")
        }
        return try ReportFile(root(of: file), name: name)
    }
}
