import AggregateStore
import Streams

/// A rejected record that a store kept.
package struct KeptRecord: Sendable {
    /// Its place in the log.
    package let place: RecordAddress
    /// The identity of the topic when the store began, which differs from others of its name.
    package let logIdentity: String
    /// The record as the store has it, and why it was rejected.
    package let refusal: StoredRefusal
}

/// Which rejected records are selected.
package struct DeadLetterQuery: Sendable {
    /// The reasons of records that could be decoded and are kept all the same.
    package static let otherReasons = ["untrusted", "conflict"]
    /// All reasons: those of rejected records first.
    package static let knownReasons = RejectionReason.allCases.map(\.name) + otherReasons

    /// Only these topics; empty for all.
    package var topics: Set<String> = []
    /// Only these reasons; empty for all reasons of rejected records.
    package var reasons: Set<String> = []
    /// Only of this time or later, by the record's timestamp; milliseconds since 1970.
    package var sinceMilliseconds: Int64?
    /// Only from before this time.
    package var untilMilliseconds: Int64?
    /// What else has to hold, by the columns of the dump `rejected`.
    package var conditions: [DumpQuery.Condition] = []

    package init() {}

    fileprivate func includes(reason: String) -> Bool {
        reasons.isEmpty ? !Self.otherReasons.contains(reason) : reasons.contains(reason)
    }

    fileprivate var dumpQuery: DumpQuery {
        DumpQuery(
            name: RefusalKind.rejected.rawValue, sinceMilliseconds: sinceMilliseconds,
            untilMilliseconds: untilMilliseconds, conditions: conditions)
    }
}

extension StoreSet {
    /// Maps at most `limit` of the selected records, by topic, partition and offset. `body` gets
    /// them with their bytes; those for which it returns nil are left out.
    ///
    /// - Throws: `noStore`, and `unknownColumn` and `badCondition` for what cannot be asked.
    package func deadLetters<Value>(
        _ query: DeadLetterQuery, limit: Int, _ body: (KeptRecord) throws -> Value?
    ) throws(InspectionError) -> [Value] {
        let selection = try RowSelection(
            query.dumpQuery, of: DumpDescription.named(query.dumpQuery.name).columns)
        return try view(of: Self.streams) { view in
            var values: [Value] = []
            let partitions = view.copies.flatMap { copy in
                copy.partitions.map { (copy: copy, number: $0.partition) }
            }.sorted {
                ($0.copy.snapshot.topic, $0.number) < ($1.copy.snapshot.topic, $1.number)
            }
            for (copy, number) in partitions where values.count < limit {
                try copy.forEachRefusal(of: number, query, selection) { kept in
                    if let value = try body(kept) { values.append(value) }
                    return values.count < limit
                }
            }
            return values
        }
    }

    /// The rejected records at some places, with their bytes; missing ones are left out.
    package func deadLetters(at places: [RecordAddress]) throws(InspectionError) -> [KeptRecord] {
        try view(of: Self.streams) { view in
            try places.compactMap { place in
                for copy in view.copies
                where copy.snapshot.topic == place.topic && copy.numbers.contains(place.partition) {
                    let found = try copy.snapshot.refusal(
                        partition: place.partition, offset: place.offset)
                    guard let found else { continue }
                    return KeptRecord(
                        place: place, logIdentity: copy.snapshot.logIdentity, refusal: found)
                }
                return nil
            }
        }
    }
}

extension StoreView.Copy {
    /// How many rejected records are held in memory: there may be as many of them as records.
    private static let refusalsAtOnce = 500

    /// Calls `body` with the selected records of a partition, until it returns false.
    fileprivate func forEachRefusal(
        of partition: Int32, _ query: DeadLetterQuery, _ selection: RowSelection,
        _ body: (KeptRecord) throws -> Bool
    ) throws {
        guard query.topics.isEmpty || query.topics.contains(snapshot.topic) else { return }
        var next = Int64.min
        while true {
            let found = try snapshot.refused(
                partition: partition, from: next, limit: Self.refusalsAtOnce)
            guard let last = found.last else { return }
            next = last.offset + 1
            for refusal in found where query.includes(reason: refusal.reason) {
                let isAskedFor = selection.includes(
                    refusal.columns(topic: snapshot.topic),
                    timeMilliseconds: refusal.timestampMilliseconds)
                guard isAskedFor,
                    let whole = try snapshot.refusal(partition: partition, offset: refusal.offset)
                else { continue }
                let place = RecordAddress(
                    topic: snapshot.topic, partition: partition, offset: refusal.offset)
                let kept = KeptRecord(
                    place: place, logIdentity: snapshot.logIdentity, refusal: whole)
                guard try body(kept) else { return }
            }
        }
    }
}

/// The place of a record in a log, as people and headers write it: `topic/partition/offset`.
package struct RecordAddress: Hashable, Comparable, Sendable, CustomStringConvertible {
    package var topic: String
    /// Number of the partition, from 0.
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
        // A sign or a leading zero would be another name of the same place.
        guard description == text else { return nil }
    }

    package var description: String { "\(topic)/\(partition)/\(offset)" }

    package static func < (left: RecordAddress, right: RecordAddress) -> Bool {
        (left.topic, left.partition, left.offset) < (right.topic, right.partition, right.offset)
    }
}
