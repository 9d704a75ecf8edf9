import Foundation
import JSON
import Streams

/// A document of the topic `partner-postbacks` with the values of its macros.
package struct DeliveryDocument: Sendable {
    /// 32 hex digits.
    package let id: String
    /// From 1.
    package let revision: Int64
    package let partner: String
    package let bytes: [UInt8]
    private let values: PartnerDocument.Values

    package init(_ bytes: [UInt8], parser: JSONParser) throws(UnreadableDocument) {
        self.bytes = bytes
        let read = bytes.withUnsafeBytes { bytes in
            Result { () throws(JSONFault) in Self.values(of: try parser.parse(bytes)) }
        }
        var values: PartnerDocument.Values
        do throws(JSONFault) { values = try read.get() } catch {
            throw UnreadableDocument("\(error)")
        }
        guard case .text(let id)? = values["id"], id.isPostbackID else {
            throw UnreadableDocument("id: is not 32 hex digits")
        }
        guard case .literal(let digits)? = values["revision"], let revision = Int64(digits),
            revision > 0
        else { throw UnreadableDocument("revision: is not a number from 1") }
        guard case .text(let partner)? = values["partner"], !partner.isEmpty else {
            throw UnreadableDocument("partner: is not a name")
        }
        values[.idempotencyKey] = .text("\(id):\(revision)")
        self.id = id
        self.revision = revision
        self.partner = partner
        self.values = values
    }

    /// Partners recognise repeated requests by this key.
    var idempotencyKey: String { "\(id):\(revision)" }

    /// Nil if the document has no value for the macro.
    func value(_ macro: Macro) -> PartnerDocument.Value? { values[macro] }

    /// The values of the document, and values derived from them.
    private static func values(of document: JSONValue) -> PartnerDocument.Values {
        var values = PartnerDocument.Values(document)
        for (macro, source) in [
            (Macro.receivedAtUnix, Macro.receivedAt), (.installEarliestUnix, .installEarliest),
            (.installLatestUnix, .installLatest),
        ] {
            guard let text = values[source]?.text, let milliseconds = UTC.milliseconds(text: text)
            else { continue }
            values[macro] = .literal("\(milliseconds / 1000)")
        }
        let conversion = document.member("conversion")
        if let revenue = conversion?.member("revenue"), revenue.isObject {
            values[.revenue] = PartnerDocument.Value(revenue)
        }
        if let events = conversion?.member("events"), !events.elements.isEmpty {
            for (macro, member) in [
                (Macro.eventNames, "name" as StaticString), (.countsMin, "count_min"),
                (.countsMax, "count_max"),
            ] {
                values[macro] = .list(
                    events.elements.compactMap {
                        $0.member(member).map { PartnerDocument.Value($0) }
                    })
            }
        } else {
            values[.conversionEvents] = nil
        }
        for (macro, source) in [
            (Macro.redownloadFlag, Macro.redownload), (.didWinFlag, .didWin),
        ] {
            guard let flag = values[source] else { continue }
            values[macro] = .literal(flag.text == "true" || flag.text == "1" ? "1" : "0")
        }
        values[.transaction] = values[.transactionID] ?? values[.postbackIdentifier]
        guard let postback = document.member("postback") else { return values }
        values[.window] = values[.sequenceIndex] ?? .literal("0")
        let isJWS = postback.member("jws_string") != nil
        values[.framework] = .text(isJWS ? "adattributionkit" : "skadnetwork")
        let payload = payload(of: postback, isJWS: isJWS)
        values[.payload] = .json(payload)
        values[.payloadBase64] = .text(Data(payload.utf8).base64EncodedString())
        return values
    }

    /// The device's data. For AdAttributionKit without the claims, which are in the JWS.
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

    init(_ explanation: String) {
        description = explanation
    }
}

extension PartnerDocument.Values {
    fileprivate subscript(macro: Macro) -> PartnerDocument.Value? {
        get { self[macro.rawValue] }
        set { self[macro.rawValue] = newValue }
    }
}

extension String {
    /// 32 hex digits in lower case.
    var isPostbackID: Bool {
        utf8.count == 32
            && utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}
