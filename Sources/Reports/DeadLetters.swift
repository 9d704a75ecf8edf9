import Store
import Streams

package struct KeptRecord: Sendable {
    package let position: TopicPosition
    /// The identity of the topic when the store was created, to distinguish it from a recreated topic.
    package let logIdentity: String
    /// The stored record and the reason of its rejection.
    package let refusal: StoredRefusal
}

package struct DeadLetterQuery: Sendable {
    /// All reasons, those of rejected records first.
    package static let validReasons =
        RejectionReason.allCases.map(\.name) + RefusedRecord.otherReasons

    /// Only these topics; empty for all.
    package var topics: Set<String> = []
    /// Only these reasons; empty for all reasons of rejected records.
    package var reasons: Set<String> = []
    /// Only records with this timestamp or a later one; milliseconds since 1970.
    package var sinceMilliseconds: Int64?
    package var untilMilliseconds: Int64?
    /// Further conditions on the columns of the dump `rejected`.
    package var conditions: [ReportRequest.Condition] = []

    package init() {}

    fileprivate func includes(topic: String) -> Bool {
        topics.isEmpty || topics.contains(topic)
    }

    fileprivate func includes(reason: String) -> Bool {
        reasons.isEmpty ? RefusedRecord.isRejection(reason) : reasons.contains(reason)
    }

    fileprivate var dumpQuery: ReportRequest {
        ReportRequest(
            name: RefusalKind.rejected.rawValue, sinceMilliseconds: sinceMilliseconds,
            untilMilliseconds: untilMilliseconds, conditions: conditions)
    }
}

extension OpenStores {
    /// Maps at most `limit` of the selected records, ordered by topic, partition and offset. `body` receives each
    /// record with its bytes and returns nil to skip it.
    ///
    /// - Throws: `noStore`; `unknownColumn` and `badCondition` for an invalid query.
    package func deadLetters<Value>(
        _ query: DeadLetterQuery, limit: Int, _ body: (KeptRecord) throws -> Value?
    ) throws(InspectionError) -> [Value] {
        let selection = try RowSelection(
            query.dumpQuery, of: DumpDescription.named(query.dumpQuery.name).columns)
        return try view(of: Self.streams) { view in
            var values: [Value] = []
            let partitions = view.slices.flatMap { slice in
                slice.partitions.map { (slice: slice.only($0), number: $0.partition) }
            }.sorted {
                ($0.slice.snapshot.topic, $0.number) < ($1.slice.snapshot.topic, $1.number)
            }
            for (slice, _) in partitions
            where values.count < limit && query.includes(topic: slice.snapshot.topic) {
                try slice.forEachRefusal { refusal in
                    guard query.includes(reason: refusal.reason),
                        selection.includes(
                            refusal.columns(topic: slice.snapshot.topic, .utc),
                            timeMilliseconds: refusal.timestampMilliseconds),
                        let kept = try slice.kept(
                            partition: refusal.partition, offset: refusal.offset)
                    else { return true }
                    if let value = try body(kept) { values.append(value) }
                    return values.count < limit
                }
            }
            return values
        }
    }

    /// The rejected records at the positions, with their bytes; missing ones are skipped.
    package func deadLetters(at positions: [TopicPosition]) throws(InspectionError) -> [KeptRecord]
    {
        try view(of: Self.streams) { view in
            try positions.compactMap { position in
                for slice in view.slices
                where slice.snapshot.topic == position.topic
                    && slice.numbers.contains(position.partition)
                {
                    let kept = try slice.kept(
                        partition: position.partition, offset: position.offset)
                    if let kept { return kept }
                }
                return nil
            }
        }
    }
}

extension StoreSlice {
    /// The rejected record at an offset, with its bytes; nil if it does not exist.
    fileprivate func kept(partition: Int32, offset: Int64) throws -> KeptRecord? {
        try snapshot.refusal(partition: partition, offset: offset).map { refusal in
            KeptRecord(
                position: TopicPosition(
                    topic: snapshot.topic, partition: partition, offset: offset),
                logIdentity: snapshot.logIdentity, refusal: refusal)
        }
    }
}

/// The position of a record in a log, written as `topic/partition/offset`.
package struct TopicPosition: Hashable, Comparable, Sendable, CustomStringConvertible {
    package var topic: String
    package var partition: Int32
    package var offset: Int64

    package init(topic: String, partition: Int32, offset: Int64) {
        self.topic = topic
        self.partition = partition
        self.offset = offset
    }

    /// Reads `topic/partition/offset`; nil for anything else.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[0].isEmpty, let partition = Int32(parts[1]),
            let offset = Int64(parts[2]), partition >= 0, offset >= 0
        else { return nil }
        self.init(topic: String(parts[0]), partition: partition, offset: offset)
        // A sign or a leading zero would be a second spelling of the same position.
        guard description == text else { return nil }
    }

    package var description: String { "\(topic)/\(partition)/\(offset)" }

    package static func < (left: TopicPosition, right: TopicPosition) -> Bool {
        (left.topic, left.partition, left.offset) < (right.topic, right.partition, right.offset)
    }
}
