import Foundation
import JSON
import Streams

/// The content of a signed token: the event that its holder may report, and the expiry.
package struct EventToken: Equatable, Sendable {
    package var use: TokenUse
    package var type: String
    /// The event, a JSON object. It is appended unchanged, except for the filled-in open members.
    package var event: String
    /// The members that the query fills in.
    package var openMembers: [String]
    /// The address that a click is redirected to; empty for other uses.
    package var target: String
    /// The token expires at this second since 1970.
    package var expiresAtSeconds: Int64

    /// Throws the fault of the content.
    package init(
        use: TokenUse, type: String, event: String, openMembers: [String], target: String,
        expiresAtSeconds: Int64
    ) throws(TokenFault) {
        guard use.types.contains(type) else {
            throw .bad(
                "type '\(type)' is not possible here: use \(use.types.joined(separator: ", "))")
        }
        if let unknown = openMembers.first(where: { !use.openMembers.contains($0) }) {
            let valid = use.openMembers.joined(separator: ", ")
            throw .bad(
                "'\(unknown)' cannot be open: tokens of this use can open \(valid.isEmpty ? "no members" : valid)"
            )
        }
        if use == .click {
            guard !target.isEmpty else { throw .bad("a click needs a target") }
            guard Self.isTarget(target) else {
                throw .bad("the target is not an address: write it as https://example.com/landing")
            }
        } else if !target.isEmpty {
            throw .bad("only a click can have a target")
        }
        self.use = use
        self.type = type
        self.event = event
        self.openMembers = openMembers
        self.target = target
        self.expiresAtSeconds = expiresAtSeconds
    }

    /// Whether a text is valid for the header `Location`: a web address in visible ASCII.
    private static func isTarget(_ text: String) -> Bool {
        let rest = ["https://", "http://"].first { text.hasPrefix($0) }.map {
            text.dropFirst($0.count)
        }
        guard let rest, let first = rest.first, !"/?#:@\\".contains(first) else { return false }
        let host = rest.prefix { !"/?#".contains($0) }
        // A user name and password before the host would make it look like another host.
        return text.utf8.count <= 4096 && !host.contains { "@\\".contains($0) }
            && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}

package enum TokenFault: Error, Equatable, Sendable, CustomStringConvertible {
    /// It does not have the form of a token, or no known key signed it for this use.
    case forged
    /// A known key signed it, but its audience is another one.
    case otherUse(wantedAudience: String)
    case expired
    /// It is valid for longer than its topic's worker remembers ids, so it could count more than once.
    case lastsTooLong(longestSeconds: Int64)
    /// It is longer than `TokenKeys.maxBytes`.
    case tooLong(byteCount: Int)
    /// Its content is not allowed.
    case bad(String)

    package var description: String {
        switch self {
        case .forged: "the token is not signed with a known key for this use"
        case .otherUse(let audience):
            "the token is for another use: its aud must be \(audience) here"
        case .expired: "the token has expired"
        case .lastsTooLong(let seconds):
            "the token is valid for longer than its event is remembered: create it for at most \(seconds) s"
        case .tooLong(let byteCount):
            "the token is too long: it has \(byteCount) bytes, the limit is \(TokenKeys.maxBytes)"
        case .bad(let explanation): explanation
        }
    }
}

// MARK: JSON

/// The names of the members of a token's payload.
struct TokenClaims {
    let expiry: StaticString
    let type: StaticString
    let event: StaticString
    let target: StaticString
    let openMembers: StaticString
    let conditions: StaticString

    static let jwt = TokenClaims(
        expiry: "exp", type: "type", event: "event", target: "to", openMembers: "open",
        conditions: "where")
    /// The names in tokens of the form before JWT.
    static let old = TokenClaims(
        expiry: "x", type: "t", event: "e", target: "u", openMembers: "o", conditions: "w")

    func expirySeconds(of payload: JSONValue) throws(TokenFault) -> Int64 {
        guard case .exact(let seconds)? = payload.member(expiry)?.number?.asInteger else {
            throw .bad(
                "\(expiry) of the token, its expiry, is not a whole number of seconds since 1970")
        }
        return seconds
    }
}

extension EventToken {
    /// The claims that are signed.
    var payload: String {
        var json = JSONText()
        json.object { json in
            json.member("aud", use.audience)
            json.member("exp", expiresAtSeconds)
            json.member("type", type)
            if !openMembers.isEmpty { json.member("open", openMembers) }
            if !target.isEmpty { json.member("to", target) }
            json.name("event")
            json.raw(event)
        }
        return json.text
    }

    /// Reads the payload of a token that was signed for a use. The errors are for the signer.
    init(_ payload: JSONValue, _ names: TokenClaims, use: TokenUse) throws(TokenFault) {
        let expiry = try names.expirySeconds(of: payload)
        guard let type = payload.member(names.type)?.text else {
            throw .bad("\(names.type) of the token, the type of its event, is not a text")
        }
        guard let event = payload.member(names.event), event.isObject else {
            throw .bad("\(names.event) of the token, its event, is not an object")
        }
        if let target = payload.member(names.target), target.text == nil {
            throw .bad("\(names.target) of the token, its target, is not a text")
        }
        let open = payload.member(names.openMembers)
        let listed = open.map { Array($0.elements) } ?? []
        let openMembers = listed.compactMap(\.text)
        guard open?.isArray != false, openMembers.count == listed.count else {
            throw .bad(
                "\(names.openMembers) of the token, its open members, is not a list of texts")
        }
        try Self.checkFixedMembers(of: event, use: use)
        var json = JSONText()
        json.value(event)
        try self.init(
            use: use, type: type, event: json.text, openMembers: openMembers,
            target: payload.member(names.target)?.text ?? "", expiresAtSeconds: expiry)
    }
}

extension EventToken {
    /// Throws if an event lacks a member that tokens of this use must fix.
    package static func checkFixedMembers(of event: JSONValue, use: TokenUse) throws(TokenFault) {
        for name in use.fixedMembers where event.member(name)?.string?.isEmpty != false {
            throw .bad(
                "the event has no \(name), which a token of this use must set")
        }
    }
}

extension JSONValue {
    /// Nil unless it is a string.
    var text: String? { string.map { String(decoding: $0, as: UTF8.self) } }

    /// The first name that the object has again; nil if all names differ.
    var repeatedName: String? {
        var names: Set<[UInt8]> = []
        var repeated: String?
        forEachMember { name, _ in
            // Compares bytes: different texts can be equal strings.
            guard !names.insert(Array(name)).inserted, repeated == nil else { return }
            repeated = String(decoding: name, as: UTF8.self)
        }
        return repeated
    }
}

/// The use of a token. The audience names the use, so that a token is invalid for other uses.
package enum TokenUse: String, CaseIterable, Sendable {
    /// `GET /i`: something was shown.
    case impression = "i"
    /// `GET /c`: something was clicked.
    case click = "c"
    /// `GET /v1/notices/...`: a bid won, lost or must be paid.
    case notice = "n"

    /// The claim `aud`.
    var audience: String {
        switch self {
        case .impression: "impression"
        case .click: "click"
        case .notice: "notice"
        }
    }

    package var stream: any StreamFold.Type {
        switch self {
        case .impression: ImpressionsFold.self
        case .click: OverlayClicksFold.self
        case .notice: BidsFold.self
        }
    }

    /// The event types for a token of this use. The first is the default of `weir token make`.
    package var types: [String] {
        switch self {
        case .impression: ["skoverlay.presented", "skadn.impression"]
        case .click: ["skoverlay.click"]
        case .notice: ["openrtb.win", "openrtb.loss", "openrtb.billing"]
        }
    }

    package var openMembers: [String] {
        switch self {
        case .impression: ["zone_id", "sdk_version", "os_version"]
        case .click: ["presented_at_ms", "zone_id", "sdk_version", "initiated_by"]
        case .notice: []
        }
    }

    /// The required members of a token's event. They distinguish it from other events, and only they bind the token.
    var fixedMembers: [StaticString] {
        switch self {
        case .impression, .click: []
        case .notice: ["auction_id", "bid_id"]
        }
    }
}
