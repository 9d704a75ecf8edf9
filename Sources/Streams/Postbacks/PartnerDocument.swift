import ConversionModels
import Crypto
import JSON
import Signatures

/// A document for a partner: what it is told of one postback.
///
/// The fold encodes the content once, and the store keeps it after the id and the revision. The rest is
/// joined when the document is published: the revision that corrections give it, what it supersedes, and
/// the names of the campaign. What is published is never written again from what a parser has read: the
/// amounts are decimal numbers, of which a parser loses digits.
///
///     var document = PartnerDocument(stored: text, id: id, revision: 1)
///     document.revision += 1
///     try document.values(parser)["conversion.revenue.currency"]?.text
package struct PartnerDocument: Sendable {
    /// 32 hex digits, the same for every copy of the postback.
    package let id: String
    /// From 1, and one more for each better copy.
    package var revision: Int64
    /// `id:revision` of the document that this one, a correction, replaces.
    package var supersedes: String?
    /// Whether it takes back what the partner was told.
    private var isWithdrawn = false
    /// The members from `partner` to `origin`, as JSON.
    package private(set) var content: String

    /// - Parameter content: the members after `partner`, as `PartnerContent` has written them.
    init(id: String, revision: Int64, partner: String, content: String) {
        self.id = id
        self.revision = revision
        var text = JSONText()
        text.member("partner", partner)
        text.raw(content)
        self.content = text.text
    }

    /// Reads what `stored` has written. The revision is that of the text, if it has one.
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

    /// The document that takes this one back: the same without a conversion.
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

    /// When the postback was received, RFC 3339; empty in a document that does not say it.
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

    /// The stable id of a partner's document: the first 128 bits of SHA-256 over the parts, each
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
        return hash.finalize().prefix(16).hexDigits
    }
}

/// A document for a partner in the outbox, with what the names of its campaign are found by.
package struct PartnerPostback: Sendable {
    package var document: PartnerDocument
    package var partner: String
    /// The partition and the offset of the postback.
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

    /// The text that is published: the document with its campaign, whose names are nil where the catalog
    /// has none.
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

extension PartnerDocument {
    /// A value of a document that was read, or what a template makes of several.
    package enum Value: Equatable, Sendable {
        case text(String)
        /// A number or a boolean, as JSON.
        case literal(String)
        /// In a text they are joined with commas.
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

        /// A number of units with up to six decimals, as documents write amounts of money. A double of such an
        /// amount would be written as `1e-06` when it is small. Nil for other values.
        private static func amount(_ value: JSONValue) -> String? {
            guard case .double(let units)? = value.number, units > 0 else { return nil }
            let micros = (units * 1_000_000).rounded()
            guard micros < 1e15, micros / 1_000_000 == units else { return nil }
            return PartnerContent.units(micros: Int128(micros))
        }

        /// The value as text, not yet encoded for where it stands.
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

    /// The values of a document, stored or published, by their paths: `conversion.revenue.min`. There are
    /// none for null and for objects.
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

        /// Where two documents say something else, in bytewise order of the paths; values are JSON.
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
