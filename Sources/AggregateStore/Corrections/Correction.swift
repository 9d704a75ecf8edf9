import Streams

/// How a set of stores that was promoted differs from what partners were told before, for one postback of
/// one partner.
public struct Correction: Sendable {
    /// In what it differs.
    public enum Kind: String, CaseIterable, Sendable {
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
    public enum State: String, CaseIterable, Sendable {
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
    public var postback: PartnerPostback
    /// In what it differs.
    public var kind: Kind
    /// How far sending is.
    public var state: State
    /// The set's own last revision of a record below `boundary`; 0 when it has none.
    public var ownRevision: Int64
    /// The last revision that was published before; 0 when none was.
    public var publishedRevision: Int64
    /// The document that was published last, without the campaign's names; nil when none was, when it is
    /// not known, and for what is unchanged.
    public var publishedDocument: String?
    /// What the content was that was published last; nil when none was, or it is not known.
    public var publishedContent: PostbackContent?
    /// The revision that the correction has, or would have: no other document gets that number.
    public var revision: Int64
    /// Offset in the postback's partition: the set publishes by itself what comes of records from there on.
    public var boundary: Int64

    /// Takes the parts.
    public init(
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
    public var revisionOffset: Int64 { revision - ownRevision }

    /// The revision that it takes the place of: `id:revision`; nil when there is none.
    public var supersedes: String? {
        publishedRevision > 0 ? "\(postback.id):\(publishedRevision)" : nil
    }
}
