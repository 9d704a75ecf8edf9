import Foundation
import JSONReader
import Streams

/// A document of the topic `partner-postbacks`, parsed for templates.
package struct PostbackDocument: Sendable {
    /// 32 hex digits.
    package let id: String
    /// From 1.
    package let revision: Int64
    package let partner: String
    package let bytes: [UInt8]
    /// All values except null and objects, by path; including lists and the object of revenue.
    private var values: [String: MacroValue] = [:]

    package init(_ bytes: [UInt8], parser: JSONParser) throws(UnreadableDocument) {
        self.bytes = bytes
        var values: [String: MacroValue] = [:]
        var fault: UnreadableDocument?
        bytes.withUnsafeBytes { bytes in
            do throws(JSONFault) {
                let value = try parser.parse(bytes)
                Self.collect(value, path: "", into: &values)
                Self.derive(from: value, into: &values)
            } catch {
                fault = UnreadableDocument("\(error)")
            }
        }
        if let fault { throw fault }
        guard case .text(let id)? = values["id"], id.isPostbackID else {
            throw UnreadableDocument("id: is not 32 hex digits")
        }
        guard case .literal(let digits)? = values["revision"], let revision = Int64(digits),
            revision > 0
        else { throw UnreadableDocument("revision: is no number from 1") }
        guard case .text(let partner)? = values["partner"], !partner.isEmpty else {
            throw UnreadableDocument("partner: is no name")
        }
        values[Macro.idempotencyKey.rawValue] = .text("\(id):\(revision)")
        self.id = id
        self.revision = revision
        self.partner = partner
        self.values = values
    }

    /// Partners recognise repeated requests by it.
    var idempotencyKey: String { "\(id):\(revision)" }

    /// Nil when the document has no value for the macro.
    func value(_ macro: Macro) -> MacroValue? { values[macro.rawValue] }

    private static func collect(
        _ value: JSONValue, path: String, into values: inout [String: MacroValue]
    ) {
        value.forEachMember { name, member in
            let name = String(decoding: name, as: UTF8.self)
            let path = path.isEmpty ? name : "\(path).\(name)"
            guard values[path] == nil, !member.isNull else { return }
            guard !member.isObject else { return collect(member, path: path, into: &values) }
            values[path] = MacroValue(member)
        }
    }

    /// Macros whose values are derived.
    private static func derive(from value: JSONValue, into values: inout [String: MacroValue]) {
        for (macro, source) in [
            (Macro.receivedAtUnix, Macro.receivedAt), (.installEarliestUnix, .installEarliest),
            (.installLatestUnix, .installLatest),
        ] {
            guard let text = values[source.rawValue]?.text,
                let milliseconds = UTC.milliseconds(text: text)
            else { continue }
            values[macro.rawValue] = .literal("\(milliseconds / 1000)")
        }
        if let revenue = value.member("conversion")?.member("revenue"), revenue.isObject {
            values[Macro.revenue.rawValue] = MacroValue(revenue)
        }
        if let events = value.member("conversion")?.member("events"), !events.elements.isEmpty {
            for (macro, member) in [
                (Macro.eventNames, "name" as StaticString), (.countsMin, "count_min"),
                (.countsMax, "count_max"),
            ] {
                values[macro.rawValue] = .list(
                    events.elements.compactMap { $0.member(member).map { MacroValue($0) } })
            }
        } else {
            values[Macro.conversionEvents.rawValue] = nil
        }
        for (macro, source) in [
            (Macro.redownloadFlag, Macro.redownload), (.didWinFlag, .didWin),
        ] {
            guard let flag = values[source.rawValue] else { continue }
            values[macro.rawValue] = .literal(flag.text == "true" || flag.text == "1" ? "1" : "0")
        }
        values[Macro.transaction.rawValue] =
            values[Macro.transactionID.rawValue] ?? values[Macro.postbackIdentifier.rawValue]
        guard let postback = value.member("postback") else { return }
        values[Macro.window.rawValue] = values[Macro.sequenceIndex.rawValue] ?? .literal("0")
        let isJWS = postback.member("jws_string") != nil
        values[Macro.framework.rawValue] = .text(isJWS ? "adattributionkit" : "skadnetwork")
        let payload = payload(of: postback, isJWS: isJWS)
        values[Macro.payload.rawValue] = .json(payload)
        values[Macro.payloadBase64.rawValue] = .text(Data(payload.utf8).base64EncodedString())
    }

    /// What the device sent. For AdAttributionKit without the claims, which are in the JWS.
    private static func payload(of postback: JSONValue, isJWS: Bool) -> String {
        let envelope: Set = [
            "jws_string", "ad_interaction_type", "conversion_value", "coarse_conversion_value",
            "country_code",
        ]
        var json = JSONText()
        json.object { json in
            postback.forEachMember { name, member in
                let name = String(decoding: name, as: UTF8.self)
                guard !member.isNull, !isJWS || envelope.contains(name) else { return }
                json.name(name.split(separator: "_").joined(separator: "-"))
                json.value(member)
            }
        }
        return json.text
    }
}

/// Why a record of `partner-postbacks` cannot be delivered.
package struct UnreadableDocument: Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String

    init(_ words: String) {
        description = words
    }
}

extension MacroValue {
    fileprivate init(_ value: JSONValue) {
        var json = JSONText()
        json.value(value)
        switch value.kind {
        case .string: self = .text(value.string.map { String(decoding: $0, as: UTF8.self) } ?? "")
        case .object, .array: self = .json(json.text)
        default: self = .literal(json.text)
        }
    }
}

extension String {
    /// 32 hex digits in lower case.
    var isPostbackID: Bool {
        utf8.count == 32
            && utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}
