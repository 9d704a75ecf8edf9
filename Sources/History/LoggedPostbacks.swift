import EventLog
import Reports
import Store
import Streams

/// The decoded documents of accepted postbacks, computed from their records in the log: stores keep only documents
/// that were sent to partners.
package struct LoggedPostbacks: PostbackLog {
    private let openReader: Explainer.OpenReader
    private let address: String
    private let rules: RuleSource

    /// - Parameters:
    ///   - openReader: opens a reader of the log that the stores were folded from.
    ///   - address: the address of the log, for messages.
    ///   - rules: completes the configurations that the stores have recorded.
    package init(
        openReader: @escaping Explainer.OpenReader, address: String, rules: RuleSource
    ) {
        self.openReader = openReader
        self.address = address
        self.rules = rules
    }

    /// - Throws: `ExplanationError.otherLog` if the store was folded from another log; errors of opening it.
    package func reading(_ snapshot: StoreSnapshot) throws -> any PostbackReading {
        Reading(
            topic: snapshot.topic,
            folding: try LogRefolding(
                stream: PostbacksFold.streamName, snapshot: snapshot,
                reader: openReader(snapshot.topic), address: address, rules: rules,
                emitsAll: true))
    }

    package func error(ofGone records: [GoneRecords]) -> any Error {
        ExplanationError.gone(records)
    }

    private struct Reading: PostbackReading {
        let topic: String
        let folding: LogRefolding

        func gone(partition: Int32, from offset: Int64) throws -> Range<Int64>? {
            try folding.gone(partition: partition, from: offset)
        }

        func forEachDocument(
            partition: Int32, offsets: [Int64], _ body: (PartnerPostback) throws -> Void
        ) throws {
            guard let first = offsets.first, let last = offsets.last else { return }
            let wanted = Set(offsets)
            var found = 0
            let reading = try folding.fold(
                partition: partition, offsets: first..<last + 1,
                where: { wanted.contains($0.offset) }
            ) { record in
                guard record.outcome == .accepted, let document = record.outbox.first else {
                    return
                }
                found += 1
                try body(document)
            }
            if let gone = reading.gone {
                throw ExplanationError.recordsGone(
                    topic: topic, partition: partition, offsets: gone)
            }
            guard reading.erased.isEmpty else { throw ExplanationError.erased(reading.erased) }
            guard found == offsets.count else {
                throw ExplanationError.postbacksMissing(
                    topic: topic, partition: partition, offsets: first..<last + 1, found: found,
                    accepted: offsets.count)
            }
        }
    }
}
