import Streams

/// How a set of stores that was promoted differs from what partners were told before, for one postback of
/// one partner.
package struct Correction: Sendable {
    /// In what it differs.
    package enum Kind: String, CaseIterable, Sendable {
        /// Its content is another one.
        case changed
        /// It was never published.
        case added
        /// It would not have been published.
        case withdrawn
        /// Only the numbers of the revisions differ: nothing is to be sent.
        case unchanged
    }

    /// How far sending is.
    package enum State: String, CaseIterable, Sendable {
        /// Not sent.
        case due
        /// Being sent: it may be in the log.
        case sending
        /// In the log.
        case sent
        /// A better copy was published since: not sent any more.
        case obsolete
        /// Not to be sent.
        case none
    }

    /// The partner postback. Its revision and its document are those that the set of stores has itself, or,
    /// of a withdrawn one, those that were published last.
    package var postback: PartnerPostback
    /// In what it differs.
    package var kind: Kind
    /// How far sending is.
    package var state: State
    /// The set's own last revision of a record below `boundary`; 0 when it has none.
    package var ownRevision: Int64
    /// The last revision that was published before; 0 when none was.
    package var publishedRevision: Int64
    /// The document that was published last, without the campaign's names; nil when none was, when it is
    /// not known, and for what is unchanged.
    package var publishedDocument: String?
    /// What the content was that was published last; nil when none was, or it is not known.
    package var publishedContent: PostbackContent?
    /// The revision that the correction has, or would have: no other document gets that number.
    package var revision: Int64
    /// Offset in the postback's partition: the set publishes by itself what comes of records from there on.
    package var boundary: Int64

    /// Takes the parts.
    package init(
        postback: PartnerPostback, kind: Kind, state: State, ownRevision: Int64,
        publishedRevision: Int64, publishedDocument: String?, publishedContent: PostbackContent?,
        revision: Int64, boundary: Int64
    ) {
        self.postback = postback
        self.kind = kind
        self.state = state
        self.ownRevision = ownRevision
        self.publishedRevision = publishedRevision
        self.publishedDocument = publishedDocument
        self.publishedContent = publishedContent
        self.revision = revision
        self.boundary = boundary
    }

    /// What is added to the set's own revisions when it publishes better copies later.
    package var revisionOffset: Int64 { revision - ownRevision }

    /// The revision that it takes the place of: `id:revision`; nil when there is none.
    package var supersedes: String? {
        publishedRevision > 0 ? "\(postback.id):\(publishedRevision)" : nil
    }
}
