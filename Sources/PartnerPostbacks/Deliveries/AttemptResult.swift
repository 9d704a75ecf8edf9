/// What came of asking a partner once.
enum AttemptResult: Equatable, Sendable {
    /// The partner answered; `retryAfterMilliseconds` is the pause that it asked for.
    case answered(status: Int, retryAfterMilliseconds: Int64?)
    /// Nothing of HTTP came back.
    case failed(ConnectionFault, detail: String)
    /// The partner's address is one where partners may not be.
    case addressRefused(detail: String)
}

extension AttemptResult {
    /// The same, its words without the partner's secrets.
    func masked(by template: RequestTemplate) -> AttemptResult {
        switch self {
        case .answered: self
        case .failed(let fault, let detail): .failed(fault, detail: template.masking(detail))
        case .addressRefused(let detail): .addressRefused(detail: template.masking(detail))
        }
    }
}

/// Why there was no answer.
enum ConnectionFault: String, CaseIterable, Sendable {
    /// No answer in time.
    case timeout
    /// The name has no address.
    case resolution
    /// No connection, or one that ended before the answer.
    case connection
    /// No encrypted connection, or a certificate that is not the partner's.
    case tls
    /// What came back was no HTTP.
    case protocolError = "protocol"
}

/// What an attempt means for a delivery.
enum AttemptOutcome: String, CaseIterable, Sendable {
    /// The partner has it: any status of 200 to 299.
    case delivered
    /// To be tried again: 5xx, 429, no answer in time, no connection.
    case retry
    /// Never to be tried again by itself: 4xx that is none of the others, or a status that is none of these.
    case refused
    /// A redirect, which is not followed.
    case redirect
    /// 410: the partner wants nothing more at this address.
    case gone
    /// 401 or 403: the partner does not know who asks, so that it would answer all others the same.
    case denied
    /// The address is one where partners may not be.
    case address

    init(_ result: AttemptResult) {
        switch result {
        case .answered(let status, _):
            switch status {
            case 200...299: self = .delivered
            case 300...399: self = .redirect
            case 401, 403: self = .denied
            case 410: self = .gone
            case 429, 500...599: self = .retry
            default: self = .refused
            }
        case .failed: self = .retry
        case .addressRefused: self = .address
        }
    }
}

/// An attempt that was made.
struct Attempt: Equatable, Sendable {
    var startedMilliseconds: Int64
    var durationMilliseconds: Int64
    var result: AttemptResult

    /// What went wrong, for people; nil for an answer.
    var fault: String? {
        switch result {
        case .answered: nil
        case .failed(let fault, let detail): "\(fault.rawValue): \(detail)"
        case .addressRefused(let detail): detail
        }
    }

    var endMilliseconds: Int64 { startedMilliseconds + durationMilliseconds }

    var status: Int? {
        if case .answered(let status, _) = result { status } else { nil }
    }
}
