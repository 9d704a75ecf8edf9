import HTTPTypes
import Hummingbird
import JSON
import Monitoring
import Streams
import Tokens

struct CollectorRequest: Sendable {
    /// The path without its query and trailing slash.
    let path: String
    /// The parts of the path that match the route's names in braces.
    let parameters: Parameters
    let query: QueryParameters
    let headers: HTTPFields
    /// In lower case, without parameters. If the request has no type, the route's first media type.
    let mediaType: String
    var body: [UInt8]
    /// Through a trusted proxy, the address that the proxy names.
    let clientAddress: String
    /// When the request's head was handled, in milliseconds since 1970.
    let receivedAtMilliseconds: Int64

    /// Nil if the header is absent.
    func header(_ name: HTTPField.Name?) -> String? { name.flatMap { headers.value(of: $0) } }
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
