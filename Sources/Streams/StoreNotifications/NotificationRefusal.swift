/// Why a record is kept instead of counted.
enum NotificationRefusal: Error {
    /// It cannot be decoded.
    case rejected(Rejection)
    /// It is not from whom it says it is: a member, and what is wrong with it.
    case untrusted(StaticString, StaticString)

    var cause: RefusedRecord.Cause {
        switch self {
        case .rejected(let rejection): .rejected(rejection)
        case .untrusted(let member, let explanation):
            .untrusted(detail: "\(member): \(explanation)")
        }
    }

    var outcome: Outcome {
        switch self {
        case .rejected: .rejected
        case .untrusted: .untrusted
        }
    }
}
