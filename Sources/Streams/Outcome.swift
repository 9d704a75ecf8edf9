/// What became of a record. Each record read has exactly one.
package enum Outcome: Int, CaseIterable, Sendable {
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

    /// The measure of `outcomes` that counts it.
    package var name: StaticString {
        switch self {
        case .accepted: "accepted"
        case .duplicates: "duplicates"
        case .conflicts: "conflicts"
        case .untrusted: "untrusted"
        case .rejected: "rejected"
        }
    }
}

/// Row of `outcomes`: what became of the records of an hour, by type.
package struct OutcomeKey: RowKey {
    /// The partition that was read.
    package var partition: Int32
    /// The hour of the record's timestamp.
    package var hour: Hour
    /// Name of the topic.
    package var topic: Symbol
    /// The event's type; `unknown` for one that the topic does not have.
    package var type: Symbol

    /// The aggregate.
    package static let table = AggregateTable(
        name: "outcomes",
        columns: [.init("hour", .hour), .init("topic", .text), .init("type", .text)],
        measures: ["accepted", "duplicates", "conflicts", "untrusted", "rejected"])

    /// Adds all that makes the key to a hash.
    package func combine(into hasher: inout RowHasher) {
        hasher.combine(Int64(partition))
        hasher.combine(hour.hoursSince1970)
        hasher.combine(topic, type)
    }

    /// The columns, in order.
    package func forEachColumn(_ body: (ColumnValue) -> Void) {
        body(.hour(hour))
        body(.symbol(topic))
        body(.symbol(type))
    }
}
