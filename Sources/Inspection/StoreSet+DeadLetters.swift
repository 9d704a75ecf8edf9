import AggregateStore
import Streams

/// A record that a store kept instead of counting it.
package struct KeptRecord: Sendable {
    /// Where it lies in the log.
    package let place: RecordAddress
    /// What told the topic from others of its name when the store began.
    package let logIdentity: String
    /// The record as the store has it, and why it was refused.
    package let refusal: StoredRefusal
}

/// Which refused records are asked for.
package struct DeadLetterQuery: Sendable {
    /// The reasons that records have which are kept although they could be decoded.
    package static let otherReasons = ["untrusted", "conflict"]
    /// Every reason that there is: those of rejected records first.
    package static let knownReasons = RejectionReason.allCases.map(\.name) + otherReasons

    /// Only these topics; empty for all.
    package var topics: Set<String> = []
    /// Only these reasons; empty for all that a rejected record has.
    package var reasons: Set<String> = []
    /// Only of this time or later, by the record's timestamp; milliseconds since 1970.
    package var sinceMilliseconds: Int64?
    /// Only from before this time.
    package var untilMilliseconds: Int64?
    /// What else has to hold, by the columns of the dump `rejected`.
    package var conditions: [DumpQuery.Condition] = []

    /// Asks for all rejected records.
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
    /// Makes something of the refused records that are asked for, in order of topic, partition and offset;
    /// of at most `limit` of them. `body` gets them with their bytes, and leaves out what it answers nil to.
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

    /// The refused records of some places, with their bytes; those that are not there are left out.
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
    /// So many refused records are held at once: there may be as many of them as records.
    private static let refusalsAtOnce = 500

    /// Calls `body` with the refused records of a partition that are asked for, until it returns false.
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
