import JSONReader
import Streams

/// A notice as it is put together from a query.
struct Notice {
    /// Members of the event in JSON, by name.
    private var members: [(name: String, json: String)] = []

    private static let texts = ["auction_id", "bid_id", "seat", "currency"]
    private static let campaignNumbers = ["campaign_id", "app_id", "source_app_id"]
    private static let campaignTexts = ["ad_network_id", "source_identifier"]

    /// Reads a query. A macro that nobody substituted is refused; an empty parameter is absent.
    init(_ query: QueryParameters) throws(Rejection) {
        for name in query.names where query[name]?.contains("${") == true {
            throw Rejection(.outOfRange, "\(name) holds a macro that was not substituted")
        }
        func said(_ name: String) -> String? {
            query[name].flatMap { $0.isEmpty ? nil : $0 }
        }
        for name in Self.texts {
            if let text = said(name) { members.append((name, Self.quoted(text))) }
        }
        if let text = said("price") {
            guard let price = Double(text), price.isFinite,
                text.utf8.allSatisfy({ (0x2B...0x39).contains($0) || $0 | 0x20 == 0x65 })
            else { throw Rejection(.wrongType, "price is not a number") }
            members.append(("price", "\(price)"))
        }
        if let text = said("loss_reason") {
            members.append(("loss_reason", try Self.number(text, "loss_reason")))
        }
        if let text = said("skan_version") { members.append(("skan_version", Self.quoted(text))) }
        var campaign: [(name: String, json: String)] = []
        for name in Self.campaignTexts {
            if let text = said(name) { campaign.append((name, Self.quoted(text))) }
        }
        for name in Self.campaignNumbers {
            if let text = said(name) { campaign.append((name, try Self.number(text, name))) }
        }
        if !campaign.isEmpty { members.append(("campaign", Self.object(campaign))) }
    }

    /// Puts the members of a token in place of those of the same names. The seat is the token's or none: it
    /// tells one notice from another, so that whoever chose it could report as many as there are seats.
    mutating func override(with others: [(name: String, json: String)]) {
        members.removeAll { member in
            member.name == "seat" || others.contains { $0.name == member.name }
        }
        members += others
    }

    /// The event. Throws when it lacks what its type needs.
    func value(type: String) throws(Rejection) -> [UInt8] {
        var needed = ["auction_id", "bid_id"]
        if type == "openrtb.billing" { needed.append("price") }
        if type == "openrtb.loss" { needed.append("loss_reason") }
        for name in needed where !members.contains(where: { $0.name == name }) {
            throw Rejection(.missingField, "\(name) is missing")
        }
        return Array(Self.object(members).utf8)
    }

    /// The members of an event, as they are to be written again.
    static func members(of event: JSONValue) -> [(name: String, json: String)] {
        var members: [(name: String, json: String)] = []
        event.forEachMember { name, member in
            var json = JSONText()
            json.value(member)
            members.append((String(decoding: name, as: UTF8.self), json.text))
        }
        return members
    }

    private static func object(_ members: [(name: String, json: String)]) -> String {
        var text = JSONText()
        text.object { text in
            for (name, json) in members {
                text.name(name)
                text.raw(json)
            }
        }
        return text.text
    }

    private static func quoted(_ text: String) -> String {
        var json = JSONText()
        json.string(text)
        return json.text
    }

    private static func number(_ text: String, _ name: String) throws(Rejection) -> String {
        guard let number = Int64(text) else {
            throw Rejection(.wrongType, "\(name) is not a whole number")
        }
        return "\(number)"
    }
}
