import HTTPTypes
import JSON
import Streams

struct CollectorRequest: Sendable {
    /// The path without its query and trailing slash.
    let path: String
    /// The part of the path that matches the name in braces of the route; otherwise empty.
    let pathArgument: String
    let query: QueryParameters
    let headers: HTTPFields
    /// In lower case, without parameters. If the request has no type, the route's first media type.
    let mediaType: String
    var body: [UInt8]
    /// Through a trusted proxy, the address that the proxy names.
    let clientAddress: String
    /// When the request's head was handled, in milliseconds since 1970.
    let receivedAtMilliseconds: Int64

    /// `name` is in lower case. Nil if the header is absent.
    func header(_ name: String) -> String? {
        HTTPField.Name(name).flatMap { headers[$0] }
    }
}

/// The decoded parameters of a query or a form. If a name occurs twice, the first counts.
package struct QueryParameters: Sendable, Equatable {
    private var values: [String: String] = [:]
    /// Names that occur more than once; their first value counts.
    package private(set) var repeated: Set<String> = []

    static let maxCount = 256

    /// Reads `name=value&name=value`. Nil if an escape is malformed, bytes are not UTF-8, or there are more than
    /// `maxCount` parameters.
    package init?(_ text: some StringProtocol) {
        for (count, pair) in text.utf8.split(separator: UInt8(ascii: "&")).enumerated() {
            guard count < Self.maxCount else { return nil }
            let equals = pair.firstIndex(of: UInt8(ascii: "="))
            let nameEnd = equals ?? pair.endIndex
            let valueStart = equals.map { pair.index(after: $0) } ?? pair.endIndex
            guard let name = Self.decoded(pair[..<nameEnd]),
                let value = Self.decoded(pair[valueStart...])
            else { return nil }
            if values[name] == nil { values[name] = value } else { repeated.insert(name) }
        }
    }

    package subscript(name: String) -> String? { values[name] }

    /// In bytewise order.
    package var names: [String] {
        values.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// Decodes percent-encoding. A plus is a space.
    static func decoded(_ text: some Collection<UInt8>) -> String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var rest = text[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
            case UInt8(ascii: "%"):
                guard let high = rest.popFirst()?.hexDigit, let low = rest.popFirst()?.hexDigit
                else { return nil }
                bytes.append(high << 4 | low)
            default: bytes.append(byte)
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

struct CollectorResponse: Sendable {
    /// 200...599
    var status: Int
    /// The media type of the body; empty without a body.
    var contentType = ""
    var body: [UInt8] = []
    /// Further headers.
    var headers: [(name: String, value: String)] = []

    static func json(_ status: Int, _ text: JSONText) -> CollectorResponse {
        CollectorResponse(
            status: status, contentType: "application/json", body: text.bytes)
    }

    static func text(_ status: Int, _ text: String) -> CollectorResponse {
        CollectorResponse(
            status: status, contentType: "text/plain; charset=utf-8", body: Array(text.utf8))
    }

    /// A refusal: `{"error": reason, "detail": words}`.
    static func refusal(_ status: Int, _ reason: String, _ detail: String) -> CollectorResponse {
        var json = JSONText()
        json.object { json in
            json.member("error", reason)
            json.member("detail", detail)
        }
        return .json(status, json)
    }

    /// A refusal after which the client may retry.
    static func refusal(
        _ status: Int, _ reason: String, _ detail: String, retryAfterSeconds: Int
    ) -> CollectorResponse {
        var response = refusal(status, reason, detail)
        response.headers.append(("Retry-After", "\(max(1, retryAfterSeconds))"))
        return response
    }
}

/// An error of a route that defines the answer to the request.
protocol AnsweredError: Error {
    var answer: CollectorResponse { get }
}

/// A record that a worker would reject: 400, or 413 if it is too large.
extension Rejection: AnsweredError {
    var answer: CollectorResponse {
        .refusal(reason == .tooLarge ? 413 : 400, reason.name, detail)
    }
}

/// The log has not acknowledged: 503.
extension AppendRefusal: AnsweredError {
    var answer: CollectorResponse {
        .refusal(503, "not_acknowledged", explanation, retryAfterSeconds: retryAfterSeconds)
    }
}

extension TokenFault: AnsweredError {
    var answer: CollectorResponse {
        .refusal(403, self == .expired ? "expired_token" : "bad_token", description)
    }
}
