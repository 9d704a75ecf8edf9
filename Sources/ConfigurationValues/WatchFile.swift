/// The rules of `weir watch`: `watch.yaml`. Names of dumps, columns and measures keep their places, because another
/// module checks them.
package struct WatchFile: Equatable, Sendable {
    /// Rows of a dump; each row has its own hours.
    package struct Rows: Equatable, Sendable {
        package var dump: PositionedText
        /// The columns that distinguish the rows.
        package var columns: [PositionedText] = []
        package var conditions: [Condition] = []
    }

    package struct Condition: Equatable, Sendable {
        package var column: String
        /// The value as written.
        package var value: PositionedText
    }

    /// A sum of measures over the rows that match the conditions.
    package struct Sum: Equatable, Sendable {
        package var measures: [PositionedText]
        /// Measures to subtract.
        package var less: [PositionedText] = []
        package var conditions: [Condition] = []
    }

    /// Rows that should never be silent.
    package struct Silence: Equatable, Sendable {
        package var name: String
        package var rows: Rows
        package var sum: Sum
    }

    /// A rate that should stay in its band.
    package struct Rate: Equatable, Sendable {
        package var name: String
        package var rows: Rows
        package var part: Sum
        package var whole: Sum
        /// Whether the whole includes the part.
        package var isShare: Bool
        /// The smallest relevant difference, in millionths.
        package var leastMicros: Int64
    }

    /// A limit of spending per period.
    package struct Budget: Equatable, Sendable {
        package enum Source: String, CaseIterable, Sendable { case billed, reported }
        /// Calendar periods in UTC; weeks begin on Monday.
        package enum Period: String, CaseIterable, Sendable { case day, week, month }

        package var name: String
        package var cost: Source
        package var conditions: [Condition]
        package var currency: String
        /// In millionths of the currency's unit.
        package var amountMicros: Int64
        package var period: Period
    }

    /// A limit of failed documents for a partner.
    package struct Failures: Equatable, Sendable {
        /// Nil for every partner.
        package var partner: String?
        /// The number of documents that failed at least once in these hours.
        package var limit: Int64
        package var hours: Int64
    }

    package var silences: [Silence] = []
    package var rates: [Rate] = []
    package var budgets: [Budget] = []
    package var failures: [Failures] = []
    /// The receiver of opened and closed warnings; nil without one.
    package var webhook: Partner?

    package static let name = "watch.yaml"
}

extension PipelineDirectory {
    /// Throws if `watch.yaml` is missing.
    package func watch() throws(ConfigurationError) -> WatchFile {
        guard hasWatch else {
            throw ConfigurationError(
                kind: .missingFile, file: "\(path)/\(WatchFile.name)",
                explanation: "does not exist: copy the file that Weir ships in pipelines")
        }
        return try WatchFile(root(of: "\(path)/\(WatchFile.name)"))
    }

    package var hasWatch: Bool {
        source.isNamed("\(path)/\(WatchFile.name)")
    }
}

extension WatchFile {
    package static let keys: [ConfigurationKey] = [
        .list("silence", silenceKeys, "Rows that are usually active and fall silent."),
        .list("rates", rateKeys, "Rates outside their usual range."),
        .list("budgets", budgetKeys, "Limits of campaign costs."),
        .list(
            "deliveries", failureKeys,
            "Limits of documents to partners that failed at least once."),
        .text(
            "webhook", "mapping",
            """
            The receiver of warnings from `weir watch --send`. Its keys are those of `delivery` of a partner: \
            `url`, `headers`, `secret_file`, `secrets`, `timeout_seconds`, `allow_private`.
            """),
    ]

    private static let rowKeys: [ConfigurationKey] = [
        .text("name", "text", required: true, "A unique name. It appears in warnings and metrics."),
        .text("dump", "name of a dump", required: true, "A dump with a column `hour`."),
        .text(
            "by", "list of columns",
            "Judges one row for each combination. Without this key, it judges one row."),
        .text("where", "mapping of columns to values", "Only rows with these values."),
    ]

    fileprivate static let silenceKeys =
        rowKeys + [
            .text(
                "measures", "list of measures", required: true,
                "A row is active if any of these measures grows.")
        ]

    fileprivate static let rateKeys =
        rowKeys + [
            .text(
                "part", "list of measures, or mapping of `measures`, `where` and `less`",
                required: true, "The numerator. Measures in `less` are subtracted."),
            .text(
                "of", "list of measures, or mapping of `measures` and `where`",
                "The whole of a share: it includes the part. Required without `per`."),
            .text(
                "per", "list of measures, or mapping of `measures` and `where`",
                "The denominator of a ratio: it does not include the part."),
            .text("least", "0 to 1", default: "0", "Smaller differences are ignored."),
        ]

    fileprivate static let budgetKeys: [ConfigurationKey] = [
        .text("name", "text", required: true, "A unique name. It appears in warnings and metrics."),
        .word(
            "cost", Budget.Source.self, required: true,
            "Billing notices of `bids`, or reports of `costs`."),
        .text("where", "mapping of columns to values", "Only costs with these values."),
        .text("currency", "ISO 4217 code", required: true, "The currency. Weir converts nothing."),
        .text("amount", "amount above 0", required: true, "The limit for a period."),
        .word(
            "period", Budget.Period.self, required: true,
            "A period of the calendar in UTC. Weeks begin on Monday."),
    ]

    fileprivate static let failureKeys: [ConfigurationKey] = [
        .text("partner", "name of a partner", "Only this partner. By default, each partner."),
        .integer("limit", 1...1_000_000_000, required: true, "The limit of failed documents."),
        .integer("hours", 1...8760, default: 24, "The number of hours to count."),
    ]

    fileprivate init(_ node: ConfigurationNode) throws(ConfigurationError) {
        let mapping = try node.mapping(Self.keys)
        silences = try mapping["silence"]?.list { $0.silence } ?? []
        rates = try mapping["rates"]?.list { $0.rate } ?? []
        budgets = try mapping["budgets"]?.list { $0.budget } ?? []
        failures = try mapping["deliveries"]?.list { $0.failures } ?? []
        webhook = try mapping["webhook"].map(PartnerDeliveryFile.webhook)
        for (key, names) in [
            ("silence", silences.map(\.name)), ("rates", rates.map(\.name)),
            ("budgets", budgets.map(\.name)),
        ] {
            guard let elements = try mapping[key]?.elements() else { continue }
            for (place, name) in names.enumerated() where names[..<place].contains(name) {
                throw elements[place].badValue(
                    "has the name '\(name)' of an earlier rule: use a unique name")
            }
        }
    }
}

extension ConfigurationNode {
    fileprivate func silence() throws(ConfigurationError) -> WatchFile.Silence {
        let mapping = try mapping(WatchFile.silenceKeys)
        return WatchFile.Silence(
            name: try mapping.required("name").name(), rows: try mapping.rows(),
            sum: WatchFile.Sum(measures: try mapping.required("measures").measures()))
    }

    fileprivate func rate() throws(ConfigurationError) -> WatchFile.Rate {
        let mapping = try mapping(WatchFile.rateKeys)
        guard (mapping["of"] == nil) != (mapping["per"] == nil) else {
            throw fault(
                .missingKey,
                "needs either 'of' (it includes the part: a share) or 'per' (it does not: a ratio)")
        }
        let isShare = mapping["of"] != nil
        let least = try mapping["least"]?.micros() ?? 0
        guard let name = mapping["least"], !(0...1_000_000).contains(least) else {
            return WatchFile.Rate(
                name: try mapping.required("name").name(), rows: try mapping.rows(),
                part: try mapping.required("part").sum(mayBeLess: true),
                whole: try mapping.required(isShare ? "of" : "per").sum(), isShare: isShare,
                leastMicros: least)
        }
        throw name.badValue("is not a difference of rates: write 0 to 1, for example 0.01")
    }

    fileprivate func budget() throws(ConfigurationError) -> WatchFile.Budget {
        let mapping = try mapping(WatchFile.budgetKeys)
        let amount = try mapping.required("amount").micros()
        guard amount > 0 else {
            throw try mapping.required("amount").badValue("is 0: write an amount above 0")
        }
        return WatchFile.Budget(
            name: try mapping.required("name").name(),
            cost: try mapping.required("cost").word(WatchFile.Budget.Source.self),
            conditions: try mapping["where"]?.conditions() ?? [],
            currency: try mapping.required("currency").currency(), amountMicros: amount,
            period: try mapping.required("period").word(WatchFile.Budget.Period.self))
    }

    fileprivate func failures() throws(ConfigurationError) -> WatchFile.Failures {
        let mapping = try mapping(WatchFile.failureKeys)
        return WatchFile.Failures(
            partner: try mapping["partner"]?.name(),
            limit: try mapping.required("limit").integer(in: 1...1_000_000_000),
            hours: try mapping.integer("hours"))
    }

    private func sum(mayBeLess: Bool = false) throws(ConfigurationError) -> WatchFile.Sum {
        guard isMapping else { return WatchFile.Sum(measures: try measures()) }
        let mapping = try mapping(["measures", "where"] + (mayBeLess ? ["less"] : []))
        return WatchFile.Sum(
            measures: try mapping.required("measures").measures(),
            less: try mapping["less"]?.measures() ?? [],
            conditions: try mapping["where"]?.conditions() ?? [])
    }

    /// A list with at least one name.
    fileprivate func measures() throws(ConfigurationError) -> [PositionedText] {
        let measures = try texts()
        guard !measures.isEmpty else { throw badValue("is empty: name a measure") }
        return measures
    }

    fileprivate func texts() throws(ConfigurationError) -> [PositionedText] {
        try elements().map { element throws(ConfigurationError) in
            try element.positionedText("a name")
        }
    }

    fileprivate func conditions() throws(ConfigurationError) -> [WatchFile.Condition] {
        try entries().map { entry throws(ConfigurationError) in
            // Columns can have an empty value.
            WatchFile.Condition(
                column: entry.key,
                value: PositionedText(
                    text: try entry.value.text("a value"), file: entry.value.file,
                    line: entry.value.line, keyPath: entry.value.path))
        }
    }
}

extension ConfigurationMapping {
    fileprivate func rows() throws(ConfigurationError) -> WatchFile.Rows {
        WatchFile.Rows(
            dump: try required("dump").positionedText("the name of a dump"),
            columns: try self["by"]?.texts() ?? [],
            conditions: try self["where"]?.conditions() ?? [])
    }
}
