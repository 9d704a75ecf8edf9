import EventLog
import JSON
import Streams
import Tokens

/// `GET /i`, an image of one pixel, and `GET /c`, a redirect. Only the token determines the event and the target of
/// the redirect.
struct TokenRoutes: Sendable {
    /// A transparent GIF of one pixel.
    private static let image: [UInt8] = [
        0x47, 0x49, 0x46, 0x38, 0x39, 0x61, 1, 0, 1, 0, 0x80, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF,
        0x21, 0xF9, 4, 1, 0, 0, 0, 0, 0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0, 0x3B,
    ]
    private static let headers: [(name: String, value: String)] = [
        ("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer"),
    ]

    let appender: DurableAppender
    let readers: KeyReaders
    let access: CollectorAccess

    var routes: [CollectorRoute] {
        [
            CollectorRoute(.get, "/i") { request in
                try await answer(request, .impression) { _ in
                    CollectorResponse(
                        status: 200, contentType: "image/gif", body: Self.image,
                        headers: Self.headers)
                }
            },
            CollectorRoute(.get, "/c") { request in
                try await answer(request, .click) { token in
                    CollectorResponse(
                        status: 302, headers: Self.headers + [("Location", token.target)])
                }
            },
        ]
    }

    private func answer(
        _ request: CollectorRequest, _ use: TokenUse, _ response: (EventToken) -> CollectorResponse
    ) async throws -> CollectorResponse {
        let text = request.query["t"] ?? ""
        let token = try access.rules.keys.read(
            text, for: use, atMilliseconds: request.receivedAtMilliseconds)
        let value = try readers.read { reader throws(Rejection) in
            try reader.read(Array(token.event.utf8)) { event throws(Rejection) in
                try Self.value(event, token, id: TokenKeys.eventID(of: text), request)
            }
        }
        let records = try readers.records(of: value, use.stream, type: token.type, request)
        return try await appender.answer(records, response(token))
    }

    /// The event of a token, with its open members from the query. A click gets its time of arrival and, without an
    /// id of its own, the token's id: so a token is one click, however often it is followed.
    private static func value(
        _ event: JSONValue, _ token: EventToken, id: String, _ request: CollectorRequest
    ) throws(Rejection) -> [UInt8] {
        var said: [(name: String, value: String, isNumber: Bool)] = []
        for name in token.openMembers {
            guard let value = request.query[name], !value.isEmpty else { continue }
            let isNumber = name.hasSuffix("_ms")
            guard !isNumber || Int64(value) != nil else {
                throw Rejection(.wrongType, "\(name) is not a whole number")
            }
            said.append((name, isNumber ? "\(Int64(value) ?? 0)" : value, isNumber))
        }
        if token.use == .click {
            if event.member("click_id")?.string?.isEmpty != false {
                said.append(("click_id", id, false))
            }
            said.append(("clicked_at_ms", "\(request.receivedAtMilliseconds)", true))
        }
        var json = JSONText()
        json.object { json in
            event.forEachMember { name, member in
                let name = String(decoding: name, as: UTF8.self)
                guard !said.contains(where: { $0.name == name }) else { return }
                json.name(name)
                json.value(member)
            }
            for (name, value, isNumber) in said {
                json.name(name)
                if isNumber { json.raw(value) } else { json.string(value) }
            }
        }
        return json.bytes
    }
}
