import AggregateStore
import ConversionModels
import Streams

/// Adds a measure of a stored row to a measure of a cell.
package struct CellTerm: Sendable {
    /// Place of the measure in the row.
    package let rowMeasure: Int
    /// Place of the measure in the cell.
    package let cellMeasure: Int
}

/// The rows of a dump that a query selects, one by one: whether a row counts, and what it adds. So
/// the sum of single records can be compared with what a dump shows.
package protocol Cell: AnyObject {
    var name: String { get }
    /// The aggregates of its rows, by stream.
    var sources: [(stream: String, tables: [AggregateTable])] { get }
    /// Names of the measures that add up. More may become known as rows are read.
    var measures: [String] { get }
    /// The streams whose stores a measure needs.
    func streams(of measure: String) -> [String]
    /// Whether only some hours are selected.
    var isLimitedInTime: Bool { get }

    /// The values that a postback needs to be in the cell, by column; empty when the postback alone
    /// does not decide it.
    var postbackValues: [String: StoredValue] { get }

    /// What a stored row adds; nil when it is not selected.
    func terms(of table: AggregateTable, columns: [StoredValue]) -> [CellTerm]?
    /// Whether a row that does not count would be selected if it had been trusted and winning:
    /// whether the conditions hold on those of its columns that are compared.
    func concerns(_ table: AggregateTable, columns: [StoredValue]) -> Bool
    /// Whether records of an hour may count.
    func mayCount(in hour: Hour) -> Bool
    /// Whether a rejected record counts, in a dump of such records.
    func counts(_ refusal: StoredRefusal, topic: String) -> Bool
    func note(_ table: AggregateTable, columns: [StoredValue])
}

extension Cell {
    /// Most dumps are of sums.
    package func counts(_: StoredRefusal, topic _: String) -> Bool { false }

    /// Most dumps are of one stream, or of every stream.
    package func streams(of _: String) -> [String] { [] }

    /// Most cells need only their query.
    package func note(_: AggregateTable, columns _: [StoredValue]) {}

    /// The columns that identify a postback's campaign, whatever happened to it.
    static var postbackColumns: Set<String> {
        ["ad_network_id", "campaign", "app_id", "source_app_id", "sequence_index"]
    }

    /// The streams of the sources.
    package var streams: [String] { sources.map(\.stream) }
}

/// The selected rows of one dump.
package final class DumpCell: Cell {
    private let plan: DumpPlan
    private let query: DumpQuery
    private var hours = HourColumn()

    /// Selects rows of a dump; the grouping is ignored.
    package init(_ query: DumpQuery) throws(InspectionError) {
        var query = query
        query.grouping = .total
        self.query = query
        plan = try DumpPlan(query)
    }

    package var name: String { plan.description.name }

    package var measures: [String] { plan.description.measures }

    /// Whether only some hours are selected.
    package var isLimitedInTime: Bool {
        query.sinceMilliseconds != nil || query.untilMilliseconds != nil
            || query.conditions.contains { ["hour", "day", "timestamp"].contains($0.column) }
    }

    /// The conditions on a postback's own columns.
    package var postbackValues: [String: StoredValue] {
        guard PostbacksFold.tables.contains(where: { $0.name == name }) else { return [:] }
        return plan.values(of: Self.postbackColumns)
    }

    package var sources: [(stream: String, tables: [AggregateTable])] {
        plan.description.streams.map { stream in
            switch plan.description.source {
            case .aggregate(let table): (stream, [table])
            case .toldAndBrought(let table):
                (stream, stream == PostbacksFold.streamName ? [ConversionValuesKey.table] : [table])
            case .refusals: (stream, [])
            }
        }
    }

    package func terms(of table: AggregateTable, columns: [StoredValue]) -> [CellTerm]? {
        switch plan.description.source {
        case .aggregate(let own), .toldAndBrought(let own):
            if own.name == table.name {
                let (values, time) = valuesWithDay(of: table, columns)
                guard plan.includes(values, timeMilliseconds: time) else { return nil }
                return table.measures.indices.map { CellTerm(rowMeasure: $0, cellMeasure: $0) }
            }
            guard case .toldAndBrought = plan.description.source,
                table.name == ConversionValuesKey.table.name,
                StoreView.includesBroughtValue(named(table, columns), plan)
            else { return nil }
            return [CellTerm(rowMeasure: 0, cellMeasure: measures.count - 1)]
        case .refusals: return nil
        }
    }

    /// Whether a row of postbacks would be selected if it were trusted and winning. Events are
    /// decoded only of such postbacks, so their rows of `postbacks` stand for them.
    package func concerns(_ table: AggregateTable, columns: [StoredValue]) -> Bool {
        let isDecoded = name == DecodedEventsKey.table.name && table.name == PostbacksKey.table.name
        guard isDecoded || (name == table.name && table.columns.contains { $0.name == "verdict" })
        else { return false }
        let (values, time) = valuesWithDay(of: table, columns)
        let names = table.columns.flatMap { $0.kind == .hour ? [$0.name, "day"] : [$0.name] }
        guard plan.includes(timeMilliseconds: time) else { return false }
        return query.conditions.allSatisfy { condition in
            guard !["verdict", "did_win"].contains(condition.column),
                let place = names.firstIndex(of: condition.column)
            else { return true }
            return plan.includes(values[place], ofColumn: condition.column)
        }
    }

    /// Whether records of an hour may count.
    package func mayCount(in hour: Hour) -> Bool {
        let start = hour.hoursSince1970 * Hour.milliseconds
        let text = hour.text
        let isRefusal = sources.allSatisfy(\.tables.isEmpty)
        // Of refused records the timestamp counts, of rows the hour's beginning.
        let last = isRefusal ? start + Hour.milliseconds - 1 : start
        if let since = query.sinceMilliseconds, last < since { return false }
        if let until = query.untilMilliseconds, start >= until { return false }
        return plan.includes(.text(text), ofColumn: "hour")
            && plan.includes(.text(String(text.prefix { $0 != "T" })), ofColumn: "day")
    }

    /// Whether a refused record counts.
    package func counts(_ refusal: StoredRefusal, topic: String) -> Bool {
        guard case .refusals(let kind) = plan.description.source,
            kind.includes(reason: refusal.reason)
        else { return false }
        return plan.includes(
            refusal.columns(topic: topic), timeMilliseconds: refusal.timestampMilliseconds)
    }

    private func valuesWithDay(
        of table: AggregateTable, _ columns: [StoredValue]
    ) -> (values: [StoredValue], timeMilliseconds: Int64) {
        var values: [StoredValue] = []
        var time: Int64 = 0
        for (column, value) in zip(table.columns, columns) {
            values.append(value)
            guard column.kind == .hour, case .text(let text) = value else { continue }
            let hour = hours.hour(text)
            time = hour.milliseconds
            values.append(.text(hour.day))
        }
        return (values, time)
    }

    private func named(
        _ table: AggregateTable, _ columns: [StoredValue]
    ) -> (String) -> StoredValue {
        { name in
            table.columns.firstIndex { $0.name == name }.map { columns[$0] } ?? .integer(0)
        }
    }
}
