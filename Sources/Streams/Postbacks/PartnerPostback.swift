import Crypto

/// A postback for a partner, as it goes to the outbox.
package struct PartnerPostback: Sendable {
    /// Name of the partner.
    package var partner: String
    /// 32 hex digits, the same for every copy of the postback.
    package var id: String
    /// 1, then one more for each better copy.
    package var revision: Int64
    /// The partition that the postback lies in.
    package var partition: Int32
    /// Offset of the postback.
    package var originOffset: Int64
    /// Whose ad it was; names are joined to it when it is published.
    package var adNetworkID: String
    /// The source identifier or campaign id.
    package var campaign: String
    /// Whether it is a source identifier.
    package var hasSourceIdentifier: Bool
    /// The advertised app.
    package var appID: Int64
    /// The publisher's app; 0 when unknown.
    package var sourceAppID: Int64
    /// The JSON document, but for its `campaign`.
    package var document: String

    /// Takes the parts.
    package init(
        partner: String, id: String, revision: Int64, partition: Int32, originOffset: Int64,
        adNetworkID: String, campaign: String, hasSourceIdentifier: Bool, appID: Int64,
        sourceAppID: Int64, document: String
    ) {
        self.partner = partner
        self.id = id
        self.revision = revision
        self.partition = partition
        self.originOffset = originOffset
        self.adNetworkID = adNetworkID
        self.campaign = campaign
        self.hasSourceIdentifier = hasSourceIdentifier
        self.appID = appID
        self.sourceAppID = sourceAppID
        self.document = document
    }

    /// When the postback was received, RFC 3339, as the document says it.
    package var receivedAt: String {
        let match = document.firstMatch(of: /"received_at":"([^"]*)"/)
        return match.map { String($0.1) } ?? ""
    }

    /// The stable id of a partner's postback: the first 128 bits of SHA-256 over the parts, each
    /// written as its length in bytes, a colon and itself.
    static func id(
        partner: String, framework: String, network: String, transaction: String,
        sequenceIndex: Int
    ) -> String {
        var hash = SHA256()
        for part in [partner, framework, network, transaction, String(sequenceIndex)] {
            let text = Array("\(part.utf8.count):\(part)".utf8)
            text.withUnsafeBytes { hash.update(bufferPointer: $0) }
        }
        return hash.finalize().prefix(16).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }
}
