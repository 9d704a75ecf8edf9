import EventLog
import JSON
import Monitoring
import Streams
import Tokens

/// Win, billing and loss notices as exchanges send them: GET with OpenRTB's macros substituted in the query.
struct NoticeRoutes: Sendable {
    let appender: DurableAppender
    let readers: KeyReaders
    let access: CollectorAccess

    var routes: [CollectorRoute] {
        ["win", "billing", "loss"].map { kind in
            CollectorRoute(.get, "/v1/notices/\(kind)") { request in
                try await answer(request, type: "openrtb.\(kind)")
            }
        }
    }

    private func answer(
        _ request: CollectorRequest, type: String
    ) async throws -> CollectorResponse {
        if request.query["t"] == nil, let refusal = refusalWithoutToken(request) { return refusal }
        var notice = try Notice(request.query, type: type)
        try addToken(request, type: type, to: &notice)
        return try await appender.answer(
            readers.records(of: notice.value(type: type), BidsFold.self, type: type, request))
    }

    /// Nil if a request without a token has a producer's key or does not need one.
    private func refusalWithoutToken(_ request: CollectorRequest) -> CollectorResponse? {
        if request.header(.authorization) != nil {
            return access.rules.producers.refusal(of: request, stream: BidsFold.self)
        }
        guard access.rules.requiresNoticeTokens else { return nil }
        return .refusal(
            403, "no_token", "a notice needs a token in the parameter t, or a producer's key")
    }

    /// The token's members replace those of the query. Throws a `TokenFault` or a `Rejection`.
    private func addToken(
        _ request: CollectorRequest, type: String, to notice: inout Notice
    ) throws {
        guard let text = request.query["t"] else { return }
        let token = try access.rules.keys.read(
            text, for: .notice, atMilliseconds: request.receivedAtMilliseconds)
        guard token.type == type else {
            throw TokenFault.bad("the token is for \(token.type), and this notice is \(type)")
        }
        let members = try readers.read { reader throws(Rejection) in
            try reader.read(Array(token.event.utf8)) { event throws(Rejection) in
                Notice.members(of: event)
            }
        }
        notice.override(with: members)
    }
}

/// A notice built from a query.
struct Notice {
    /// The event's members, each value as JSON.
    private var members: [(name: String, json: String)] = []

    private static let texts = ["auction_id", "bid_id", "seat", "currency"]
    private static let campaignNumbers = ["campaign_id", "app_id", "source_app_id"]
    private static let campaignTexts = ["ad_network_id", "source_identifier"]

    /// Throws if a macro was not substituted, so that a day's notices are not counted without values. An empty
    /// parameter counts as absent. Only a billing requires a number as its price: prices of wins and losses are not
    /// counted, and exchanges encrypt them.
    init(_ query: QueryParameters, type: String) throws(Rejection) {
        let needsPrice = type == "openrtb.billing"
        for name in query.names where query[name]?.contains("${") == true {
            throw Rejection(.outOfRange, "\(name) contains a macro that was not replaced")
        }
        func said(_ name: String) -> String? {
            query[name].flatMap { $0.isEmpty ? nil : $0 }
        }
        for name in Self.texts {
            if let text = said(name) { members.append((name, Self.quoted(text))) }
        }
        if let text = said("price") {
            let price = Self.number(text)
            if needsPrice, price == nil { throw Rejection(.wrongType, "price is not a number") }
            members.append(("price", price ?? Self.quoted(text)))
        }
        if let text = said("loss_reason") {
            members.append(("loss_reason", try Self.requiredNumber(text, "loss_reason")))
        }
        if let text = said("skan_version") { members.append(("skan_version", Self.quoted(text))) }
        var campaign: [(name: String, json: String)] = []
        for name in Self.campaignTexts {
            if let text = said(name) { campaign.append((name, Self.quoted(text))) }
        }
        for name in Self.campaignNumbers {
            if let text = said(name) {
                campaign.append((name, try Self.requiredNumber(text, name)))
            }
        }
        if !campaign.isEmpty { members.append(("campaign", Self.object(campaign))) }
    }

    /// The members that a sender with a token cannot choose. The seat distinguishes notices, so that a sender could
    /// report as many notices as there are seats. The campaign pays the price.
    private static let ofTokensOnly = ["seat", "campaign"]

    /// The members of a token replace those of the same names.
    mutating func override(with others: [(name: String, json: String)]) {
        members.removeAll { member in
            Self.ofTokensOnly.contains(member.name) || others.contains { $0.name == member.name }
        }
        members += others
    }

    /// Throws if the event lacks a member that its type requires.
    func value(type: String) throws(Rejection) -> [UInt8] {
        var needed = ["auction_id", "bid_id"]
        if type == "openrtb.billing" { needed.append("price") }
        if type == "openrtb.loss" { needed.append("loss_reason") }
        for name in needed where !members.contains(where: { $0.name == name }) {
            throw Rejection(.missingField, "\(name) is missing")
        }
        return Array(Self.object(members).utf8)
    }

    /// The members of an event, each value as JSON.
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

    /// A number as JSON; nil for other texts, and beyond a double.
    private static func number(_ text: String) -> String? {
        if let number = Int64(text) { return "\(number)" }
        guard let number = Double(text), number.isFinite,
            text.utf8.allSatisfy({ (0x2B...0x39).contains($0) || $0 | 0x20 == 0x65 })
        else { return nil }
        return "\(number)"
    }

    /// A number as JSON. The worker's decoder checks its bounds.
    private static func requiredNumber(
        _ text: String, _ name: String
    ) throws(Rejection) -> String {
        guard let number = number(text) else {
            throw Rejection(.wrongType, "\(name) is not a number")
        }
        return number
    }
}
