import AggregateStore
import Streams

/// What a measure of a stored row gives to a measure of a cell.
package struct CellTerm: Sendable {
    /// Place of the measure in the row.
    package let rowMeasure: Int
    /// Place of the measure in the cell.
    package let cellMeasure: Int
}

/// The rows of a dump that a question selects, looked at one by one: whether a row counts, and what it
/// gives. So that what single records add can be held against what a dump shows.
package protocol Cell: AnyObject {
    /// Name of the dump.
    var name: String { get }
    /// The aggregates that its rows come from, by stream.
    var sources: [(stream: String, tables: [AggregateTable])] { get }
    /// Names of the measures that add up; more of them may become known as rows are looked at.
    var measures: [String] { get }
    /// The streams without whose stores nobody knows a measure.
    func streams(of measure: String) -> [String]
    /// Whether only some hours are asked for.
    var isLimitedInTime: Bool { get }

    /// The values that a postback has to have to be in the cell, by its columns; empty when that cannot be
    /// said of the postback alone.
    var postbackValues: [String: StoredValue] { get }

    /// What a stored row gives; nil when it is not asked for.
    func terms(of table: AggregateTable, columns: [StoredValue]) -> [CellTerm]?
    /// Whether a row that does not count would be asked for if it had been trusted and winning: whether
    /// the conditions hold on those of its columns that are compared.
    func concerns(_ table: AggregateTable, columns: [StoredValue]) -> Bool
    /// Whether records of an hour may count.
    func mayCount(in hour: Hour) -> Bool
    /// Whether a refused record counts, in a dump of such records.
    func counts(_ refusal: StoredRefusal, topic: String) -> Bool
    /// Takes note of a stored row that counts.
    func note(_ table: AggregateTable, columns: [StoredValue])
}

extension Cell {
    /// Most dumps are of sums.
    package func counts(_: StoredRefusal, topic _: String) -> Bool { false }

    /// Most dumps are of one stream, or of what each stream has.
    package func streams(of _: String) -> [String] { [] }

    /// Most cells know all from their question.
    package func note(_: AggregateTable, columns _: [StoredValue]) {}

    /// Values of which a postback is known by, whatever became of it.
    static var postbackColumns: Set<String> {
        ["ad_network_id", "campaign", "app_id", "source_app_id", "sequence_index"]
    }

    /// The streams of the sources.
    package var streams: [String] { sources.map(\.stream) }
}
