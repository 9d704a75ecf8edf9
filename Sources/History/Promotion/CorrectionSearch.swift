import Store
import Streams

/// Finds documents that partners got from one set of stores and that differ in another set.
struct CorrectionSearch {
    /// The last of a set's own documents.
    private struct Own {
        var sequence: Int64
        var revision: Int64
        var origin: Int64
        /// The origin of the id's first document.
        var firstOrigin: Int64
        var content: PostbackContent
        /// The last revision below the boundary of a correction that does not know it, or 0.
        var revisionBelow: Int64
    }

    /// The last published document of an id.
    private struct Published {
        /// Or 0.
        var revision: Int64 = 0
        /// Nil without a document, or if unknown.
        var content: PostbackContent?
        /// The place of the document.
        var document = Document.none
        /// The record of the first known document of the id.
        var firstOrigin = Int64.max
    }

    /// The place of a published document.
    private enum Document {
        case none
        /// In the outbox of the old set.
        case row(sequence: Int64)
        case loaded(PartnerPostback)
    }

    /// The set that was in force.
    let old: StoreSnapshot
    /// The corrections of that set itself, if any.
    let oldCorrections: CorrectionStore?
    /// The set that replaces it.
    let new: StoreSnapshot

    /// Calls `body` with each difference of a partition, in order of the records.
    ///
    /// - Parameter boundary: from this offset on the new set publishes the documents of records by itself.
    func forEachCorrection(
        of partition: Int32, boundary: Int64, _ body: (Correction) throws -> Void
    ) throws {
        let before = try own(old, partition, boundary, counting: uncountedBoundaries(of: partition))
        let after = try own(new, partition, boundary)
        let corrected = try correctedIDs(of: partition)
        let begin = try new.partitionStates().first { $0.partition == partition }?.firstOffset
        let ids = Set(before.keys).union(after.keys).union(corrected)
        let ordered = ids.map { id in (after[id]?.origin ?? before[id]?.origin ?? .max, id) }
            .sorted { ($0.0, $0.1) < ($1.0, $1.1) }
        for (_, id) in ordered {
            let isCorrected = corrected.contains(id)
            if isCorrected,
                var later = try oldCorrections?.correction(of: id, partition: partition),
                later.postback.originOffset >= boundary
            {
                // Read from the topic. The new set compares no records from there on, so its numbers just continue.
                later.ownRevision = Correction.unknownRevision
                try body(later)
                continue
            }
            let published = try published(id, before[id], partition, isCorrected: isCorrected)
            let correction =
                published.revision > 0 && published.firstOrigin < begin ?? 0
                ? try notCompared(after[id], published, partition: partition, boundary: boundary)
                : try correction(after[id], published, partition: partition, boundary: boundary)
            if let correction { try body(correction) }
        }
    }

    private func own(
        _ snapshot: StoreSnapshot, _ partition: Int32, _ boundary: Int64,
        counting boundaries: [String: Int64] = [:]
    ) throws -> [String: Own] {
        var own: [String: Own] = [:]
        try snapshot.forEachOutboxRow(of: partition, below: boundary) { sequence, postback in
            let last = own[postback.id]
            let isBelow = postback.originOffset < boundaries[postback.id] ?? 0
            own[postback.id] = Own(
                sequence: sequence, revision: postback.document.revision,
                origin: postback.originOffset,
                firstOrigin: last?.firstOrigin ?? postback.originOffset,
                content: PostbackContent(of: postback),
                revisionBelow: isBelow ? postback.document.revision : last?.revisionBelow ?? 0)
        }
        return own
    }

    private func uncountedBoundaries(of partition: Int32) throws -> [String: Int64] {
        let uncounted = try oldCorrections?.uncounted(of: partition, through: .max) ?? []
        return uncounted.reduce(into: [:]) { $0[$1.1.postback.id] = $1.1.boundary }
    }

    private func correctedIDs(of partition: Int32) throws -> Set<String> {
        var ids: Set<String> = []
        try oldCorrections?.forEach(kinds: Set(Correction.Kind.allCases)) { _, correction in
            if correction.postback.partition == partition { ids.insert(correction.postback.id) }
        }
        return ids
    }

    private func published(
        _ id: String, _ own: Own?, _ partition: Int32, isCorrected: Bool
    ) throws -> Published {
        let correction =
            isCorrected ? try oldCorrections?.correction(of: id, partition: partition) : nil
        var published = published(own, correction)
        published.firstOrigin = min(
            own?.firstOrigin ?? .max, correction?.postback.originOffset ?? .max)
        return published
    }

    private func published(_ own: Own?, _ correction: Correction?) -> Published {
        guard let correction else {
            return own.map { published($0, revisionOffset: 0) } ?? Published()
        }
        if let own, own.origin >= correction.boundary {
            var correction = correction
            if correction.ownRevision == Correction.unknownRevision {
                correction.ownRevision = own.revisionBelow
            }
            return published(own, revisionOffset: correction.revisionOffset)
        }
        switch correction.state {
        case .sent:
            return Published(
                revision: correction.revision,
                content: correction.kind == .withdrawn
                    ? .withdrawn : PostbackContent(of: correction.postback),
                document: .loaded(correction.postback))
        case .sending:
            return Published(
                revision: correction.revision, document: .loaded(correction.postback))
        case .due, .obsolete, .none:
            var document = Document.loaded(correction.postback)
            if let publishedDocument = correction.publishedDocument {
                var postback = correction.postback
                postback.document = publishedDocument
                document = .loaded(postback)
            } else if correction.kind == .unchanged, let own {
                document = .row(sequence: own.sequence)
            }
            return Published(
                revision: correction.publishedRevision, content: correction.publishedContent,
                document: document)
        }
    }

    private func published(_ own: Own, revisionOffset: Int64) -> Published {
        Published(
            revision: own.revision + revisionOffset, content: own.content,
            document: .row(sequence: own.sequence))
    }

    private func postback(_ published: Published, _ partition: Int32) throws -> PartnerPostback? {
        switch published.document {
        case .none: nil
        case .row(let sequence): try old.outboxRow(of: partition, sequence: sequence)
        case .loaded(let postback): postback
        }
    }

    /// Nil without a difference.
    private func correction(
        _ own: Own?, _ published: Published, partition: Int32, boundary: Int64
    ) throws -> Correction? {
        guard let own else {
            return try withdrawal(of: published, partition: partition, boundary: boundary)
        }
        let kind: Correction.Kind =
            published.revision == 0
            ? .added : published.content == own.content ? .unchanged : .changed
        guard kind != .unchanged || published.revision != own.revision,
            let postback = try new.outboxRow(of: partition, sequence: own.sequence)
        else { return nil }
        // A withdrawn document has no content to compare.
        let hasText = kind == .changed && published.content != .withdrawn
        let revision =
            switch kind {
            case .added: own.revision
            case .unchanged: published.revision
            case .changed, .withdrawn, .notCompared: published.revision + 1
            }
        return Correction(
            postback: postback, kind: kind, state: kind == .unchanged ? .none : .due,
            ownRevision: own.revision, publishedRevision: published.revision,
            publishedDocument: hasText ? try self.postback(published, partition)?.document : nil,
            publishedContent: published.content, revision: revision, boundary: boundary)
    }

    /// For an id with its first record before the set's beginning: its numbers continue.
    private func notCompared(
        _ own: Own?, _ published: Published, partition: Int32, boundary: Int64
    ) throws -> Correction? {
        guard let postback = try postback(published, partition) else { return nil }
        return Correction(
            postback: postback, kind: .notCompared, state: .none,
            ownRevision: own?.revision ?? 0, publishedRevision: published.revision,
            publishedDocument: postback.document, publishedContent: published.content,
            revision: published.revision, boundary: boundary)
    }

    private func withdrawal(
        of published: Published, partition: Int32, boundary: Int64
    ) throws -> Correction? {
        guard published.revision > 0, let postback = try postback(published, partition) else {
            return nil
        }
        let isWithdrawn = published.content == .withdrawn
        return Correction(
            postback: postback, kind: isWithdrawn ? .unchanged : .withdrawn,
            state: isWithdrawn ? .none : .due, ownRevision: 0,
            publishedRevision: published.revision,
            publishedDocument: isWithdrawn ? nil : postback.document,
            publishedContent: published.content,
            revision: published.revision + (isWithdrawn ? 0 : 1), boundary: boundary)
    }
}
