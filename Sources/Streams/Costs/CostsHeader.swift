import ConfigurationValues

/// The header line of a file: the first line with all columns of a mapping.
struct HeaderSearch {
    struct Found {
        let line: Int
        let fields: [String]
        /// The mapping with this file's headers.
        let mapping: CostMapping
        /// The columns of the mapping that the line lacks.
        let missing: [String]
    }

    let found: Found

    /// The number of lines to search.
    private static let lineCount = 100

    /// Reads up to the header, and throws if it is missing. `bytes` are those of the whole file.
    init(
        _ reader: inout CSVReader, _ bytes: [UInt8], _ mapping: CostMapping
    ) throws(CostsLineFault) {
        guard let closest = try Self.closest(&reader, mapping) else {
            throw CostsLineFault(line: 1, "the file is empty")
        }
        guard !closest.missing.isEmpty else {
            found = closest
            return
        }
        for other in CSVReader.separators where other.byte != mapping.separator {
            var mapping = mapping
            mapping.separator = other.byte
            guard var reader = try? CostsTable.reader(bytes, mapping),
                let found = try? Self.closest(&reader, mapping), found.missing.isEmpty
            else { continue }
            let kind =
                reader.isUTF16
                ? " (the file is UTF-16, which spreadsheets use for Unicode Text)" : ""
            throw CostsLineFault(
                line: found.line,
                "a \(other.name) separates the columns\(kind): write separator: \(other.name) in the mapping"
            )
        }
        throw CostsLineFault(
            line: closest.line,
            "no line has all columns of the mapping; this line has the most and lacks "
                + closest.missing.joined(separator: ", "))
    }

    /// The first line with all columns, otherwise the one with most of them; nil for an empty file.
    private static func closest(
        _ reader: inout CSVReader, _ mapping: CostMapping
    ) throws(CostsLineFault) -> Found? {
        var closest: Found?
        var above: [[String]] = []
        for _ in 0..<lineCount {
            guard let (line, fields) = try CostsTable.next(&reader) else { break }
            let (mapping, missing) = mapping.applied(to: fields, above: above)
            if missing.count < closest?.missing.count ?? .max {
                closest = Found(line: line, fields: fields, mapping: mapping, missing: missing)
            }
            if missing.isEmpty { break }
            above.append(fields)
        }
        return closest
    }
}

extension CostMapping {
    /// The mapping for a file with this header and these lines above it, and the names of missing columns for errors.
    fileprivate func applied(
        to header: [String], above lines: [[String]]
    ) -> (mapping: CostMapping, missing: [String]) {
        let there = Set(header.map(\.headerText))
        var mapping = self
        var missing: Set<String> = []
        var reported: Set<String> = []
        var chosen: [String: String] = [:]
        for (field, name) in columns {
            let names = [name] + (otherHeaders[field] ?? [])
            guard let found = names.first(where: { there.contains($0.headerText) }) else {
                mapping.columns[field] = nil
                if above[field] == nil {
                    missing.insert(names.map { "'\($0)'" }.joined(separator: " or "))
                    reported.formUnion(names.map(\.headerText))
                }
                continue
            }
            mapping.columns[field] = found
            for name in names { chosen[name.headerText] = found }
        }
        for (field, label) in above where mapping.columns[field] == nil {
            mapping.fixed[field] = lines.lazy.compactMap { Self.value(of: label, in: $0) }.first
            guard mapping.fixed[field] == nil else { continue }
            let column = columns[field].map { "'\($0)' or " } ?? ""
            missing.insert("\(column)a line above that begins with '\(label)'")
        }
        for (index, skip) in skip.enumerated() {
            mapping.skip[index].column = chosen[skip.column.headerText] ?? skip.column
            let header = mapping.skip[index].column.headerText
            if !there.contains(header), !reported.contains(header) {
                missing.insert("'\(skip.column)'")
            }
        }
        return (mapping, missing.sorted())
    }

    /// The value of a line such as `Currency,USD` or `Currency: USD`; nil for other lines, and for an empty value.
    private static func value(of label: String, in fields: [String]) -> String? {
        guard let first = fields.first?.headerText else { return nil }
        let value: String
        if first == label || first == label + ":" {
            value = fields.dropFirst().first ?? ""
        } else {
            guard first.hasPrefix(label + ":") else { return nil }
            value = String(first.dropFirst(label.count + 1))
        }
        return value.trimmedCell.isEmpty ? nil : value.trimmedCell
    }
}

/// The fields of a file's columns.
struct Header {
    private let names: [String]
    private let places: [String: Int]
    /// The mapped columns from left to right: an error names the first faulty one of a line.
    private let columns: [(field: CostMapping.Field, name: String, place: Int)]

    /// Throws if the file has a column of the mapping twice.
    init(line: Int, _ fields: [String], _ mapping: CostMapping) throws(CostsLineFault) {
        names = fields.map(\.headerText)
        let wanted = Set(mapping.columns.values.map(\.headerText))
            .union(mapping.skip.map(\.column.headerText))
        var places: [String: Int] = [:]
        for (place, name) in names.enumerated() where wanted.contains(name) {
            guard places.updateValue(place, forKey: name) == nil else {
                throw CostsLineFault(line: line, column: name, "occurs twice: keep one")
            }
        }
        self.places = places
        columns = mapping.columns.compactMap { field, name in
            places[name.headerText].map { (field, name, $0) }
        }.sorted { ($0.place, $0.field.rawValue) < ($1.place, $1.field.rawValue) }
    }

    func isRepeated(by fields: [String]) -> Bool { fields.map(\.headerText) == names }

    func isSkipped(_ cells: [String], _ mapping: CostMapping) -> Bool {
        mapping.skip.contains { skip in
            let place = places[skip.column.headerText] ?? cells.count
            return skip.includes(place < cells.count ? cells[place] : "")
        }
    }

    func line(
        _ line: Int, _ cells: [String], _ mapping: CostMapping
    ) throws(CostsLineFault) -> CostsLine {
        guard cells.count == names.count else {
            throw CostsLineFault(
                line: line, "has \(cells.count) fields, but the header has \(names.count)")
        }
        var values = mapping.fixed
        for (field, name, place) in columns {
            let cell = mapping.empty.contains(cells[place]) ? "" : cells[place]
            do throws(CellFault) {
                values[field] = try CostsCell(mapping: mapping, field: field).value(of: cell)
            } catch {
                throw CostsLineFault(line: line, column: name, error.explanation)
            }
        }
        return CostsLine(line: line, values: values)
    }
}
