import ConversionModels

/// What is asked of a dump.
package struct DumpQuery: Sendable {
    /// How rows are put together.
    package enum Grouping: Equatable, Sendable {
        /// By every column, as they are stored.
        case all
        /// Everything in one row without columns.
        case total
        /// By these columns.
        case columns([String])

        /// Reads a comma-separated list of columns, or `total`. Throws `badColumns`.
        package init(_ text: String) throws(InspectionError) {
            let names = text.split(separator: ",", omittingEmptySubsequences: false).map(
                String.init)
            guard names != ["total"] else {
                self = .total
                return
            }
            guard names.allSatisfy({ !$0.isEmpty && $0 != "total" }) else {
                throw .badColumns(text)
            }
            self = .columns(names)
        }
    }

    /// A column and the value that it has to have.
    package struct Condition: Equatable, Sendable {
        /// Name of the column.
        package var column: String
        /// The value, as a person writes it.
        package var value: String

        /// Makes a condition.
        package init(column: String, value: String) {
            self.column = column
            self.value = value
        }
    }

    /// Name of the dump.
    package var name: String
    /// How rows are put together.
    package var grouping: Grouping
    /// Only rows of this time or later: their hour, for refused records their timestamp; milliseconds
    /// since 1970.
    package var sinceMilliseconds: Int64?
    /// Only rows from before this time.
    package var untilMilliseconds: Int64?
    /// What else has to hold, all of it.
    package var conditions: [Condition]
    /// Of `conversion-updates`: the models by which postbacks are given the version of their value.
    package var conversionModels: [ConversionModel] = []
    /// Whether the rows of postbacks note which windows they are of: `Dump.withMaturity` shows it.
    package var notesMaturity = false

    /// Asks for a dump.
    package init(
        name: String,
        grouping: Grouping = .all,
        sinceMilliseconds: Int64? = nil,
        untilMilliseconds: Int64? = nil,
        conditions: [Condition] = []
    ) {
        self.name = name
        self.grouping = grouping
        self.sinceMilliseconds = sinceMilliseconds
        self.untilMilliseconds = untilMilliseconds
        self.conditions = conditions
    }
}
