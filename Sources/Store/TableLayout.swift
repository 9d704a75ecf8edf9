import GRDB
import Streams

/// The sums of a stored row, one for each measure of its table.
///
/// A sum is unknown, and null in the file, if the row may contain records from before the store counted the measure.
package struct StoredSums: Sendable {
    /// 0 for an unknown sum.
    package let amounts: [Int64]
    /// The unknown sums, as bits in the order of the measures.
    package let unknown: UInt64

    package init(_ amounts: [Int64], unknown: UInt64 = 0) {
        self.amounts = amounts
        self.unknown = unknown
    }

    package var indices: Range<Int> { amounts.indices }

    /// The sum of a measure; nil if unknown.
    package subscript(index: Int) -> Int64? {
        unknown >> UInt64(index) & 1 == 0 ? amounts[index] : nil
    }

    /// Whether every sum is known and 0.
    package var isZero: Bool { unknown == 0 && amounts.allSatisfy { $0 == 0 } }
}

/// How a file stores an aggregate. An earlier version may have written it with fewer measures, or without the aggregate.
struct TableLayout {
    /// The measures in SQL, in the order of the table: NULL if the file lacks one.
    let measures: [String]
    /// The measures that may be null, as bits.
    let unknowable: UInt64
    /// Indices of the measures in the file; nil for all of them.
    let stored: [Int]?
    /// For each measure of the table its bit in the file's contributions, in the order of the file's columns, to which a
    /// later version only appends; 0 for one that the file lacks. Nil if these are the bits of the table.
    let bits: [UInt64]?

    init(of table: AggregateTable, _ db: Database) throws {
        let found = try Row.fetchAll(
            db, sql: "SELECT name, \"notnull\" FROM pragma_table_info(?) ORDER BY cid",
            arguments: ["\(table.sqlName)_sums"])
        var isRequired: [String: Bool] = [:]
        var bitsByName: [String: UInt64] = [:]
        for (index, row) in found.enumerated() {
            let (name, required): (String, Bool) = (row[0], row[1])
            isRequired[name] = required
            // The first column is the number of the row.
            if (1...63).contains(index) { bitsByName[name] = 1 << UInt64(index - 1) }
        }
        let bits = table.measures.map { bitsByName[$0] ?? 0 }
        self.bits = bits == bits.indices.map { 1 << UInt64($0) } ? nil : bits
        measures = table.measures.map { isRequired[$0] == nil ? "NULL" : $0 }
        unknowable = table.measures.enumerated().reduce(0) { bits, measure in
            isRequired[measure.element] == true ? bits : bits | 1 << UInt64(measure.offset)
        }
        let stored = table.measures.indices.filter { isRequired[table.measures[$0]] != nil }
        self.stored = stored.count == table.measures.count ? nil : stored
    }

    /// Whether the file has any of the measures.
    var isInFile: Bool { stored?.isEmpty != true }
}

/// A measure that a store does not count in all of its records.
package struct UnknownMeasure: Equatable, Sendable {
    package var table: String
    package var measure: String
    /// By partition, the first offset that is counted; nil if the store does not count the measure at all.
    package var knownFrom: [Int32: Int64]?

    package init(table: String, measure: String, knownFrom: [Int32: Int64]?) {
        self.table = table
        self.measure = measure
        self.knownFrom = knownFrom
    }

    /// One line for an operator.
    package static func explanation(_ measures: [UnknownMeasure], store: String) -> String {
        let parts = measures.map { unknown in
            let name = "\(unknown.table).\(unknown.measure)"
            guard let offsets = unknown.knownFrom else { return "\(name) in all rows" }
            let named = offsets.sorted { $0.key < $1.key }.map {
                "offset \($0.value) of partition \($0.key)"
            }
            return
                "\(name) in rows that may hold records before \(named.joined(separator: ", "))"
        }
        return
            "\(store) does not know \(parts.joined(separator: "; ")): an earlier version of Weir did not "
            + "count it. If the log has these records, weir upgrade counts them (docs/guides/upgrade.md)"
    }
}

extension StoreSnapshot {
    /// The measures of this version that are unknown in some rows, in the order of their declaration.
    package func unknownMeasures() throws -> [UnknownMeasure] {
        var known: [String: [Int32: Int64]] = [:]
        if try db.tableExists(StoreSchema.unknownBefore) {
            for row in try Row.fetchAll(db, sql: "SELECT * FROM \(StoreSchema.unknownBefore)") {
                let (table, measure): (String, String) = (row["aggregate"], row["measure"])
                known["\(table).\(measure)", default: [:]][row["partition"]] = row["known_from"]
            }
        }
        return try (Streams.stream(named: stream)?.tables ?? []).flatMap { table in
            let layout = try TableLayout(of: table, db)
            return table.measures.indices.compactMap { index -> UnknownMeasure? in
                let measure = table.measures[index]
                if layout.stored?.contains(index) == false {
                    return UnknownMeasure(table: table.name, measure: measure, knownFrom: nil)
                }
                return known["\(table.name).\(measure)"].map {
                    UnknownMeasure(table: table.name, measure: measure, knownFrom: $0)
                }
            }
        }
    }

    /// The tables that its worker adds when it opens the store.
    package func missingBookkeeping() throws -> [String] { try StoreSchema.missing(db).map(\.name) }

    /// How the tables of the store differ from those of this version.
    package func difference() throws -> StoreDifference {
        guard let fold = Streams.stream(named: stream) else { return StoreDifference() }
        return try StoreSchema.difference(from: fold, in: db)
    }
}
