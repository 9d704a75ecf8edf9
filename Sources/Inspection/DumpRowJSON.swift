import AggregateStore

/// Writes the rows of a dump as JSON objects; what is the same in every row is written once.
struct DumpRowJSON {
    /// The places of the columns to write, each with what stands before its value.
    private let columns: [(place: Int, lead: [UInt8], isBoolean: Bool)]
    /// What stands before each measure.
    private let measures: [[UInt8]]

    /// Prepares the rows of a dump, without the columns of these names.
    init(_ dump: Dump, leavingOut omitted: Set<String> = []) {
        let places = dump.columns.indices.filter { !omitted.contains(dump.columns[$0].name) }
        columns = places.enumerated().map { index, place in
            let column = dump.columns[place]
            return (place, Self.lead(column.name, isFirst: index == 0), column.kind == .boolean)
        }
        measures = dump.measures.enumerated().map { index, name in
            Self.lead(name, isFirst: index == 0 && places.isEmpty)
        }
    }

    /// Appends a row, without a line end.
    func append(_ row: Dump.Row, to json: inout [UInt8]) {
        json.append(UInt8(ascii: "{"))
        for column in columns {
            json.append(contentsOf: column.lead)
            switch row.columns[column.place] {
            case .integer(let integer) where column.isBoolean:
                JSONBytes.append(integer != 0 ? "true" : "false", to: &json)
            case .integer(let integer): JSONBytes.append(String(integer), to: &json)
            case .text(let text): JSONBytes.appendString(text.utf8, to: &json)
            }
        }
        for (lead, sum) in zip(measures, row.measures) {
            json.append(contentsOf: lead)
            JSONBytes.append(Int64(exactly: sum).map { String($0) } ?? sum.description, to: &json)
        }
        json.append(UInt8(ascii: "}"))
    }

    private static func lead(_ name: String, isFirst: Bool) -> [UInt8] {
        var lead = isFirst ? [] : [UInt8(ascii: ",")]
        JSONBytes.appendString(name.utf8, to: &lead)
        lead.append(UInt8(ascii: ":"))
        return lead
    }
}
