/// What became of a record. Each record read has exactly one.
package enum Outcome: Int, AggregateMeasure {
    /// Counted in the stream's aggregates.
    case accepted
    /// Seen before.
    case duplicates
    /// Seen before with other values: kept, not counted.
    case conflicts
    /// Not from whom it says it is: kept, not counted.
    case untrusted
    /// Not to be decoded: kept, not counted.
    case rejected
}

/// Row of `outcomes`.
package struct OutcomeKey: RowKey {
    var topic: Symbol
    var type: Symbol

    package typealias Measure = Outcome

    package static let columns: KeyColumns<Self> = [
        .text("topic", \.topic, .page("the topic that was read")),
        .text("type", \.type, "'unknown' for a type that the topic does not have"),
    ]
    package static let table = AggregateTable(
        "outcomes", "What became of every record read.", columns, measures: Outcome.self,
        notes: [
            .accepted: .page("counted in the stream's aggregates"),
            .duplicates: .page("seen before"),
            .conflicts: .page("seen before with other values: kept, not counted"),
            .untrusted: .page("not from whom it says it is: kept, not counted"),
            .rejected: .page("not to be decoded: kept, not counted"),
        ])
}
