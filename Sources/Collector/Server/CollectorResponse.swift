import Streams

/// What the collector answers.
package struct CollectorResponse: Sendable {
    /// The status, 200...599.
    package var status: Int
    /// The media type of the body; empty without one.
    package var contentType: String
    /// The body.
    package var body: [UInt8]
    /// Further headers, by their names.
    package var headers: [(name: String, value: String)]

    /// Makes an answer.
    package init(
        status: Int, contentType: String = "", body: [UInt8] = [],
        headers: [(name: String, value: String)] = []
    ) {
        self.status = status
        self.contentType = contentType
        self.body = body
        self.headers = headers
    }

    /// An answer in JSON.
    package static func json(_ status: Int, _ text: JSONText) -> CollectorResponse {
        CollectorResponse(
            status: status, contentType: "application/json", body: Array(text.text.utf8))
    }

    /// An answer in plain text.
    package static func text(_ status: Int, _ text: String) -> CollectorResponse {
        CollectorResponse(
            status: status, contentType: "text/plain; charset=utf-8", body: Array(text.utf8))
    }

    /// A refusal: `{"error": reason, "detail": words}`.
    package static func refusal(
        _ status: Int, _ reason: String, _ detail: String
    ) -> CollectorResponse {
        var json = JSONText()
        json.object { json in
            json.name("error")
            json.string(reason)
            json.name("detail")
            json.string(detail)
        }
        return .json(status, json)
    }

    /// A refusal that is worth to be tried again.
    package static func refusal(
        _ status: Int, _ reason: String, _ detail: String, retryAfterSeconds: Int
    ) -> CollectorResponse {
        var response = refusal(status, reason, detail)
        response.headers.append(("Retry-After", "\(max(1, retryAfterSeconds))"))
        return response
    }

    /// The answer to what a worker would reject: 400, but 413 for what is too large.
    package static func refusal(_ rejection: Rejection) -> CollectorResponse {
        refusal(
            rejection.reason == .tooLarge ? 413 : 400, rejection.reason.name, rejection.detail)
    }

    /// The answer when the log has not acknowledged: 503.
    package static func refusal(_ refusal: AppendRefusal) -> CollectorResponse {
        .refusal(
            503, "not_acknowledged", refusal.words, retryAfterSeconds: refusal.retryAfterSeconds)
    }
}
