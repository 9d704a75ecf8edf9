/// Why a record is refused, in the order in which the reasons are looked for: the first that applies
/// to the record as a whole is the one given.
package enum RejectionReason: UInt8, CaseIterable, Comparable, Sendable {
    /// The value is null.
    case tombstone
    /// The value is longer than the topic allows.
    case tooLarge
    /// The value is not UTF-8.
    case invalidUTF8
    /// Arrays and objects are nested deeper than 64.
    case tooDeep
    /// The value is not JSON.
    case malformedJSON
    /// The topic has no such type, or the record is a CloudEvent in structured mode.
    case unknownType
    /// A required field is absent, null or, for an id, empty.
    case missingField
    /// A field is of another JSON type than documented.
    case wrongType
    /// A field's value lies outside its bounds or its closed list.
    case outOfRange
    /// A sum would no longer fit 64 bits.
    case overflow

    /// The reason as it is stored and printed.
    package var name: String {
        switch self {
        case .tombstone: "tombstone"
        case .tooLarge: "too_large"
        case .invalidUTF8: "invalid_utf8"
        case .tooDeep: "too_deep"
        case .malformedJSON: "malformed_json"
        case .unknownType: "unknown_type"
        case .missingField: "missing_field"
        case .wrongType: "wrong_type"
        case .outOfRange: "out_of_range"
        case .overflow: "overflow"
        }
    }

    /// Orders by precedence: the smaller reason wins. `tooDeep` and `malformedJSON` never meet.
    package static func < (left: RejectionReason, right: RejectionReason) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// A refused record's reason, with words for people.
package struct Rejection: Error, Equatable, Sendable {
    /// The reason.
    package var reason: RejectionReason
    /// Which field, and what is wrong with it.
    package var detail: String

    /// Makes a rejection.
    package init(_ reason: RejectionReason, _ detail: String) {
        self.reason = reason
        self.detail = detail
    }
}

extension Rejection {
    /// A sum would no longer fit 64 bits.
    package static let overflow = Rejection(
        .overflow, "a sum of its row would no longer fit 64 bits")
}
