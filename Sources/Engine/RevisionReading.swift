import EventLog
import JSON
import Program
import Store
import Streams

/// Reads from the topic of documents which revisions partners have, for a set of stores that does not know all of them:
/// it is older than its group's offsets, or than a promotion. What the set lacks is recorded with its corrections.
///
/// The set then continues above these revisions, and a promotion compares its documents with them.
package struct RevisionReading {
    /// The last document of an id in the topic.
    private struct Published {
        var postback: PartnerPostback
        var content: PostbackContent
    }

    /// The last document of an id in the store.
    private struct Own {
        var revision: Int64
        var content: PostbackContent
    }

    private struct ID: Hashable {
        var partition: Int32
        var id: String
    }

    package struct Result: Equatable, Sendable {
        /// Documents in the topic.
        package var documents = 0
        /// Ids with a document that the set did not know.
        package var recorded = 0
        /// Corrections of the set that the topic has, and that were not marked as sent.
        package var sent = 0

        package init() {}
    }

    private let directory: String
    private let topic: String
    /// The group's offsets of the partitions.
    private let committed: [Int32: GroupOffset]
    private let own: [ID: Own]
    private let corrections: [ID: (row: Int64, correction: Correction)]
    private var found: [ID: Published] = [:]
    private var result = Result()

    /// - Parameters:
    ///   - directory: of the store. No worker publishes from it now.
    ///   - committed: the offsets of its worker's group, read before the topic; only of the partitions to read for.
    package init(directory: String, committed: [Int32: GroupOffset]) throws {
        self.directory = directory
        let path = "\(directory)/\(emittingStream).sqlite"
        var topic = ""
        var known = committed
        var own: [ID: Own] = [:]
        try StoreReader(path: path).snapshot { snapshot in
            topic = snapshot.topic
            let partitions = Set(try snapshot.partitionStates().map(\.partition))
            known = committed.filter { partitions.contains($0.key) }
            for partition in known.keys.sorted() {
                try snapshot.forEachOutboxRow(of: partition) { _, postback in
                    own[ID(partition: partition, id: postback.id)] = Own(
                        revision: postback.document.revision,
                        content: PostbackContent(of: postback))
                }
            }
        }
        self.topic = topic
        self.own = own
        self.committed = known
        var corrections: [ID: (row: Int64, correction: Correction)] = [:]
        try CorrectionStore(directory: directory)?.forEach(kinds: Set(Correction.Kind.allCases)) {
            let postback = $1.postback
            corrections[ID(partition: postback.partition, id: postback.id)] = ($0, $1)
        }
        self.corrections = corrections
    }

    /// Reads the topic up to its present end, and records what the set lacks. Durable when it returns.
    ///
    /// - Parameters:
    ///   - partnerTopic: the topic of documents; it may be missing in the log.
    ///   - show: called with the number of documents read so far; its error ends the reading.
    package mutating func run(
        _ log: any LogBackend, partnerTopic: String, show: (Int) throws -> Void
    ) throws -> Result {
        let lock = try StoreLock(storePath: CorrectionStore.path(in: directory))
        defer { withExtendedLifetime(lock) {} }
        if try log.topics().contains(where: { $0.name == partnerTopic }) {
            guard let parser = JSONParser() else {
                throw WorkerError.unexpected("no memory for a JSON parser")
            }
            let reader = try log.reader(topic: partnerTopic, group: nil)
            defer { reader.close() }
            var reading = try TopicReading(reader, partition: nil, from: nil, to: nil)
            try reading.readRange { record in
                if let value = record.value { read(value, parser) }
                try show(result.documents)
            }
        }
        try record()
        return result
    }

    private mutating func read(_ bytes: UnsafeRawBufferPointer, _ parser: JSONParser) {
        guard let (postback, topic, isWithdrawn) = PartnerPostback.published(bytes, parser),
            topic == self.topic, committed[postback.partition] != nil
        else { return }
        result.documents += 1
        let id = ID(partition: postback.partition, id: postback.id)
        let revision = postback.document.revision
        guard revision >= found[id]?.postback.document.revision ?? 0 else { return }
        let content = isWithdrawn ? .withdrawn : PostbackContent(of: postback)
        if let (_, correction) = corrections[id] {
            guard revision > correction.publishedRevision else { return }
        } else if let own = own[id] {
            guard revision >= own.revision else { return }
            // The set knows it, unless a later record of the topic has the same revision.
            if revision == own.revision, content == own.content {
                found[id] = nil
                return
            }
        }
        found[id] = Published(postback: postback, content: content)
    }

    private mutating func record() throws {
        var lacking: [Correction] = []
        var sent: [Int64] = []
        for (id, published) in found.sorted(by: Self.isBefore) {
            if let (row, correction) = corrections[id] {
                switch known(published, by: correction, own[id]) {
                case .known: continue
                case .sent:
                    sent.append(row)
                    continue
                case .lacking: break
                }
            }
            let postback = published.postback
            let revision = postback.document.revision
            lacking.append(
                Correction(
                    postback: postback, kind: .notCompared, state: .none,
                    ownRevision: Correction.unknownRevision, publishedRevision: revision,
                    publishedDocument: nil, publishedContent: published.content,
                    revision: revision,
                    boundary: max(
                        committed[id.partition]?.next ?? 0, postback.originOffset + 1)))
        }
        try CorrectionStore.record(
            lacking, sent: sent,
            committed.sorted { $0.key < $1.key }.map { partition, offset in
                CorrectionStore.Reading(
                    partition: partition, nextOffset: offset.next, promotion: offset.promotion)
            }, in: directory)
        result.recorded = lacking.count
        result.sent = sent.count
    }

    private enum Knowledge {
        case known
        /// The document is the correction, which was not marked as sent.
        case sent
        case lacking
    }

    private func known(
        _ published: Published, by correction: Correction, _ own: Own?
    ) -> Knowledge {
        let revision = published.postback.document.revision
        if revision < correction.revision { return .known }
        if revision == correction.revision {
            switch correction.state {
            case .sent, .none: return .known
            case .due, .sending, .obsolete:
                let content =
                    correction.kind == .withdrawn
                    ? PostbackContent.withdrawn : PostbackContent(of: correction.postback)
                return published.content == content ? .sent : .lacking
            }
        }
        guard let own, correction.ownRevision != Correction.unknownRevision else { return .lacking }
        let last = own.revision + correction.revisionOffset
        return revision < last || revision == last && published.content == own.content
            ? .known : .lacking
    }

    private static func isBefore(
        _ left: (key: ID, value: Published), _ right: (key: ID, value: Published)
    ) -> Bool {
        (left.key.partition, left.value.postback.originOffset, left.key.id)
            < (right.key.partition, right.value.postback.originOffset, right.key.id)
    }
}
