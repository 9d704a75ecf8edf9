import Crypto
import Streams

/// What a partner postback says, its revision left out: equal for equal content.
package struct PostbackContent: Hashable, Sendable {
    /// The first 16 bytes of a SHA-256.
    let bytes: [UInt8]

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Hashes what a partner is told.
    package init(of postback: PartnerPostback) {
        var hash = SHA256()
        for text in [
            postback.documentWithoutRevision, postback.adNetworkID, postback.campaign,
            "\(postback.hasSourceIdentifier) \(postback.appID) \(postback.sourceAppID)",
        ] {
            let bytes = Array("\(text.utf8.count):\(text)".utf8)
            bytes.withUnsafeBytes { hash.update(bufferPointer: $0) }
        }
        bytes = Array(hash.finalize().prefix(16))
    }

    /// What is known of a correction that was withdrawn: nothing but that.
    package static let withdrawn = PostbackContent(bytes: Array(repeating: 0, count: 16))
}

extension PartnerPostback {
    /// The document behind its revision. Every document begins with its id and its revision.
    package var documentWithoutRevision: String {
        let lead = "{\"id\":\"\(id)\",\"revision\":"
        guard document.utf8.starts(with: lead.utf8) else { return document }
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        let rest = document.utf8.dropFirst(lead.utf8.count).drop { digits.contains($0) }
        return String(Substring(rest))
    }
}
