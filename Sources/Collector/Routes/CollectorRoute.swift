/// One thing that the collector answers.
package struct CollectorRoute: Sendable {
    /// How it is asked.
    package enum Method: String, Sendable {
        case get = "GET"
        /// As `get`, of which the answer's body is not sent.
        case head = "HEAD"
        case post = "POST"
    }

    /// How it is asked.
    package let method: Method
    /// The path, without a slash at its end, which requests may have. Its last part may be a name in
    /// braces, which stands for one part of any text: `/v1/events/{topic}`.
    package let path: String
    /// The media types that a body may have, in lower case; a body without one is of the first. Empty for
    /// a route that takes no body.
    package let mediaTypes: [String]
    /// Bytes that a body may have; nil: as many as `CollectorLimits.maxBodyBytes` says.
    package let maxBodyBytes: Int?
    /// Why a request is refused before its body is read, which is empty in what this is given; nil to read it.
    package let admission: @Sendable (CollectorRequest) -> CollectorResponse?
    /// Answers a request. It may wait, but must not block its thread for longer than a request takes to
    /// be read: what blocks belongs on a thread of its own.
    package let answer: @Sendable (CollectorRequest) async -> CollectorResponse

    /// Describes a route.
    package init(
        _ method: Method, _ path: String, mediaTypes: [String] = [],
        maxBodyBytes: Int? = nil,
        admission: @escaping @Sendable (CollectorRequest) -> CollectorResponse? = { _ in nil },
        answer: @escaping @Sendable (CollectorRequest) async -> CollectorResponse
    ) {
        self.method = method
        self.path = path
        self.mediaTypes = mediaTypes
        self.maxBodyBytes = maxBodyBytes
        self.admission = admission
        self.answer = answer
    }
}
