import EventLog

/// A request that waits for its answer.
typealias PendingAnswer = PendingRequest<AnswerContent, ConversionAnswer, ConversionServiceError>

/// What is asked.
struct AnswerContent: Sendable {
    let request: ConversionRequest
    /// The instant of the answer, milliseconds since 1970.
    let nowMilliseconds: Int64
}
