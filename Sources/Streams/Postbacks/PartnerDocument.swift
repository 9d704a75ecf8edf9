import ConversionModels
import Crypto
import JSON
import Signatures

/// A document for a partner about one postback.
///
/// The fold encodes the content once, and the store keeps it after the id and the revision. Publishing adds the rest:
/// the revision of corrections, the superseded document, and the names of the campaign. Publishing copies the text
/// instead of writing parsed values, because a parser loses digits of decimal amounts.
///
///     var document = PartnerDocument(stored: text, id: id, revision: 1)
///     document.revision += 1
///     try document.values(parser)["conversion.revenue.currency"]?.text
package struct PartnerDocument: Sendable {
    /// 32 hex digits, the same for every copy of the postback.
    package let id: String
    /// From 1; increases by one with each better copy.
    package var revision: Int64
    /// `id:revision` of the document that this correction replaces.
    package var supersedes: String?
    /// Whether the document withdraws the earlier ones.
    package private(set) var isWithdrawn = false
    /// The members from `partner` to `origin`, as JSON.
    package private(set) var content: String

    /// - Parameter content: the members after `partner`, from `PartnerContent`.
    init(id: String, revision: Int64, partner: String, content: String) {
        self.id = id
        self.revision = revision
        var text = JSONText()
        text.member("partner", partner)
        text.raw(content)
        self.content = text.text
    }

    /// Reads the text of `stored`. The revision in the text, if any, takes precedence.
    package init(stored text: String, id: String, revision: Int64) {
        self.id = id
        let lead = "{\"id\":\"\(id)\",\"revision\":"
        let hasLead = text.utf8.starts(with: lead.utf8)
        let rest = text.utf8.dropFirst(hasLead ? lead.utf8.count : 0)
        let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        self.revision = Int64(String(Substring(digits))) ?? revision
        content = String(Substring(rest.dropFirst(digits.count + 1).dropLast()))
    }

    package var stored: String { text { _ in } }

    /// - Parameter join: writes further members.
    fileprivate func text(_ join: (inout JSONText) -> Void) -> String {
        var text = JSONText()
        text.object { text in
            text.member("id", id)
            text.member("revision", revision)
            if let supersedes { text.member("supersedes", supersedes) }
            if isWithdrawn { text.member("withdrawn", true) }
            text.raw(content)
            join(&text)
        }
        return text.text
    }

    /// The document that withdraws this one: the same without a conversion.
    package func withdrawn(_ parser: JSONParser) throws(JSONFault) -> PartnerDocument {
        var document = self
        document.isWithdrawn = true
        document.content = try parsed(parser) { root in
            var text = JSONText()
            root.forEachMember { name, member in
                let name = String(decoding: name, as: UTF8.self)
                guard name != "id", name != "revision" else { return }
                text.name(name)
                if name == "conversion" { text.raw("null") } else { text.value(member) }
            }
            return text.text
        }
        return document
    }

    /// The time of receipt of the postback, RFC 3339; empty if the document does not contain it.
    package func receivedAt(_ parser: JSONParser) throws(JSONFault) -> String {
        try parsed(parser) { root in
            let text = root.member("received_at")?.string
            return text.map { String(decoding: $0, as: UTF8.self) } ?? ""
        }
    }

    package func values(_ parser: JSONParser) throws(JSONFault) -> Values {
        try parsed(parser) { Values($0) }
    }

    private func parsed<Output>(
        _ parser: JSONParser, _ body: (JSONValue) -> Output
    ) throws(JSONFault) -> Output {
        try Array(stored.utf8).withUnsafeBytes { bytes in
            Result { () throws(JSONFault) in body(try parser.parse(bytes)) }
        }.get()
    }

    /// The stable id of a partner's document: the first 128 bits of SHA-256 over the parts, each written as its length
    /// in bytes, a colon and the part.
    static func id(
        partner: String, framework: String, network: String, transaction: String,
        sequenceIndex: Int
    ) -> String {
        var hash = SHA256()
        for part in [partner, framework, network, transaction, String(sequenceIndex)] {
            let text = Array("\(part.utf8.count):\(part)".utf8)
            text.withUnsafeBytes { hash.update(bufferPointer: $0) }
        }
        return hash.finalize().prefix(16).hexDigits
    }
}

/// A document for a partner in the outbox, with the keys of its campaign's names.
package struct PartnerPostback: Sendable {
    package var document: PartnerDocument
    package var partner: String
    /// The partition and offset of the postback.
    package var partition: Int32
    package var originOffset: Int64
    /// In lower case.
    package var adNetworkID: String
    /// The source identifier or campaign id.
    package var campaign: String
    package var hasSourceIdentifier: Bool
    package var appID: Int64
    /// The publisher's app; 0 when unknown.
    package var sourceAppID: Int64

    package init(
        document: PartnerDocument, partner: String, partition: Int32, originOffset: Int64,
        adNetworkID: String, campaign: String, hasSourceIdentifier: Bool, appID: Int64,
        sourceAppID: Int64
    ) {
        self.document = document
        self.partner = partner
        self.partition = partition
        self.originOffset = originOffset
        self.adNetworkID = adNetworkID
        self.campaign = campaign
        self.hasSourceIdentifier = hasSourceIdentifier
        self.appID = appID
        self.sourceAppID = sourceAppID
    }

    package var id: String { document.id }

    /// The text to publish: the document with its campaign. Names are nil if the catalog does not contain them.
    package func published(
        name: String?, network: String?, app: String?, mediaSource: String?
    ) -> String {
        document.text { text in
            text.object("campaign") { text in
                text.member("name", name)
                text.member("network", network)
                text.member("app", app)
                text.member("media_source", mediaSource)
                text.member("ad_network_id", adNetworkID)
                text.member("campaign", campaign)
                text.member("app_id", appID)
                text.member("source_app_id", sourceAppID)
            }
        }
    }
}

// MARK: Reading

extension PartnerPostback {
    /// Reads a record of the topic of documents: the text of `published`.
    ///
    /// - Returns: nil for another text. `isWithdrawn`: whether the document withdraws the earlier ones; the returned
    ///   one does not contain that, or what it supersedes.
    package static func published(
        _ bytes: UnsafeRawBufferPointer, _ parser: JSONParser
    ) -> (postback: PartnerPostback, topic: String, isWithdrawn: Bool)? {
        guard let root = try? parser.parse(bytes), let campaign = root.member("campaign"),
            let origin = root.member("origin"), let id = text(root.member("id")),
            let revision = integer(root.member("revision")),
            let topic = text(origin.member("topic")),
            let partition = integer(origin.member("partition")),
            let partition = Int32(exactly: partition),
            let offset = integer(origin.member("offset"))
        else { return nil }
        let stored = PartnerDocument.published(bytes, id: id, revision: revision)
        guard let (document, isWithdrawn) = stored else { return nil }
        let postback = root.member("postback")
        return (
            PartnerPostback(
                document: document, partner: text(root.member("partner")) ?? "",
                partition: partition, originOffset: offset,
                adNetworkID: text(campaign.member("ad_network_id")) ?? "",
                campaign: text(campaign.member("campaign")) ?? "",
                hasSourceIdentifier: postback?.member("campaign_id") == nil,
                appID: integer(campaign.member("app_id")) ?? 0,
                sourceAppID: integer(campaign.member("source_app_id")) ?? 0), topic,
            isWithdrawn
        )
    }

    private static func integer(_ value: JSONValue?) -> Int64? {
        guard case .exact(let integer)? = value?.number?.asInteger else { return nil }
        return integer
    }

    private static func text(_ value: JSONValue?) -> String? {
        value?.string.map { String(decoding: $0, as: UTF8.self) }
    }
}

extension PartnerDocument {
    /// The document in a published text. Its members are copied, because a parser loses digits of decimal amounts.
    fileprivate static func published(
        _ bytes: UnsafeRawBufferPointer, id: String, revision: Int64
    ) -> (PartnerDocument, isWithdrawn: Bool)? {
        let lead = Array("{\"id\":\"\(id)\",\"revision\":\(revision),".utf8)
        let last = Array(",\"campaign\":{".utf8)
        // The last member. Texts contain no unescaped quotes.
        let end = bytes.indices.dropLast(last.count - 1).last { index in
            bytes[index] == last[0] && bytes[index..<index + last.count].elementsEqual(last)
        }
        guard bytes.starts(with: lead), let end, end >= lead.count else { return nil }
        var content = Substring(decoding: bytes[lead.count..<end], as: UTF8.self)
        if content.hasPrefix("\"supersedes\":\""), let comma = content.firstIndex(of: ",") {
            content = content[content.index(after: comma)...]
        }
        let withdrawn = "\"withdrawn\":true,"
        let isWithdrawn = content.hasPrefix(withdrawn)
        if isWithdrawn { content = content.dropFirst(withdrawn.count) }
        return (
            PartnerDocument(
                stored: "\(String(decoding: lead, as: UTF8.self))\(content)}", id: id,
                revision: revision), isWithdrawn
        )
    }

    /// A value of a read document, or a template's combination of several.
    package enum Value: Equatable, Sendable {
        case text(String)
        /// A number or a boolean, as JSON.
        case literal(String)
        /// Joined with commas in a text.
        case list([Value])
        /// An object or an array, as JSON.
        case json(String)

        package init(_ value: JSONValue) {
            var json = JSONText()
            json.value(value)
            switch value.kind {
            case .string:
                self = .text(value.string.map { String(decoding: $0, as: UTF8.self) } ?? "")
            case .object, .array: self = .json(json.text)
            default: self = .literal(Self.amount(value) ?? json.text)
            }
        }

        /// A number of units with up to six decimals, as documents write amounts of money. A small double would be
        /// written as `1e-06`. Nil for other values.
        private static func amount(_ value: JSONValue) -> String? {
            guard case .double(let units)? = value.number, units > 0 else { return nil }
            let micros = (units * 1_000_000).rounded()
            guard micros < 1e15, micros / 1_000_000 == units else { return nil }
            return PartnerContent.units(micros: Int128(micros))
        }

        /// The value as text, not encoded for its context.
        package var text: String {
            switch self {
            case .text(let text), .literal(let text), .json(let text): text
            case .list(let elements): elements.map(\.text).joined(separator: ",")
            }
        }

        package var json: String {
            var json = JSONText()
            write(to: &json)
            return json.text
        }

        package func write(to json: inout JSONText) {
            switch self {
            case .text(let text): json.string(text)
            case .literal(let text), .json(let text): json.raw(text)
            case .list(let elements):
                json.array { json in for element in elements { element.write(to: &json) } }
            }
        }
    }

    /// The values of a stored or published document by path: `conversion.revenue.min`. Null and objects have no
    /// entries.
    package struct Values: Sendable {
        private var values: [String: Value] = [:]

        package init(_ document: JSONValue) {
            collect(document, path: "")
        }

        package subscript(path: String) -> Value? {
            get { values[path] }
            set { values[path] = newValue }
        }

        private mutating func collect(_ object: JSONValue, path: String) {
            object.forEachMember { name, member in
                let name = String(decoding: name, as: UTF8.self)
                let path = path.isEmpty ? name : "\(path).\(name)"
                guard values[path] == nil, !member.isNull else { return }
                if member.isObject {
                    collect(member, path: path)
                } else {
                    values[path] = Value(member)
                }
            }
        }

        /// The differences between two documents, in bytewise order of the paths; values are JSON.
        package static func differences(
            from old: Values, to new: Values
        ) -> [(path: String, from: String?, to: String?)] {
            Set(old.values.keys).union(new.values.keys)
                .subtracting(["id", "revision", "supersedes", "withdrawn"])
                .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
                .filter { old[$0] != new[$0] }
                .map { ($0, old[$0]?.json, new[$0]?.json) }
        }
    }
}
