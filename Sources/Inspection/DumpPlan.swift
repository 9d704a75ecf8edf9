import AggregateStore
import ConversionModels

/// A query that was checked against the dump that it asks.
struct DumpPlan {
    let description: DumpDescription
    let measures: [String]
    /// By app, the models that say what version a value belongs to.
    let models: [Int64: ConversionModel]
    /// Whether rows note which windows they are of.
    let notesMaturity: Bool
    private let selection: RowSelection

    init(_ query: DumpQuery) throws(InspectionError) {
        let description = try DumpDescription.named(query.name)
        self.description = description
        selection = try RowSelection(query, of: description.columns)
        notesMaturity = query.notesMaturity
        guard !notesMaturity || description.hasWindows else {
            throw .noMaturity(
                description.name, known: DumpDescription.all.filter(\.hasWindows).map(\.name))
        }
        models = Dictionary(
            query.conversionModels.map { ($0.app, $0) }, uniquingKeysWith: { first, _ in first })
        if case .refusals = description.source, query.grouping == .all {
            measures = []
        } else {
            measures = description.measures
        }
    }

    /// The same, with refused records counted whatever columns are shown.
    init(counting query: DumpQuery) throws(InspectionError) {
        let description = try DumpDescription.named(query.name)
        var query = query
        if case .refusals = description.source, query.grouping == .all {
            query.grouping = .columns(
                description.columns.filter(\.isDefault).map(\.name))
        }
        try self.init(query)
    }

    /// All rows of what the description's own stores hold.
    init(stored description: DumpDescription) throws(InspectionError) {
        self.description = description
        selection = try RowSelection(DumpQuery(name: description.name), of: description.columns)
        models = [:]
        notesMaturity = false
        if case .refusals = description.source {
            measures = []
        } else {
            measures = description.measures
        }
    }

    /// Places, in the description, of the columns to show.
    var places: [Int] { selection.places }

    /// The columns to show.
    var columns: [DumpColumn] { selection.columns }

    /// Whether a row is asked for.
    ///
    /// - Parameters:
    ///   - values: one for each of the description's columns.
    ///   - timeMilliseconds: the row's hour, or the record's timestamp.
    func includes(_ values: [StoredValue], timeMilliseconds: Int64) -> Bool {
        selection.includes(values, timeMilliseconds: timeMilliseconds)
    }

    /// Whether a time is asked for.
    func includes(timeMilliseconds: Int64) -> Bool {
        selection.includes(timeMilliseconds: timeMilliseconds)
    }

    /// The values that columns of these names have to have.
    func values(of names: Set<String>) -> [String: StoredValue] {
        var values: [String: StoredValue] = [:]
        for (place, column) in description.columns.enumerated() where names.contains(column.name) {
            values[column.name] = selection.value(at: place)
        }
        return values
    }

    /// Whether the conditions on a column hold for a value of it.
    func includes(_ value: StoredValue, ofColumn name: String) -> Bool {
        guard let place = description.columns.firstIndex(where: { $0.name == name }) else {
            return true
        }
        return selection.includes(value, at: place)
    }
}
