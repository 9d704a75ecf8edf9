/// The reasons for rejecting a record, in the order of checking: the first that applies to the whole record is
/// reported.
package enum RejectionReason: UInt8, CaseIterable, Comparable, Sendable {
    /// The bytes of the record were erased, or it announces an erasure.
    case erased
    case tombstone
    case tooLarge
    case invalidUTF8
    /// Arrays and objects are nested deeper than 64.
    case tooDeep
    case malformedJSON
    /// The topic does not have the type, or the record is a CloudEvent in structured mode.
    case unknownType
    /// A required field is absent, null or, for an id, empty.
    case missingField
    /// A field has another JSON type than documented.
    case wrongType
    /// A field's value is outside its bounds or its closed list.
    case outOfRange
    case overflow

    package var name: String {
        switch self {
        case .erased: "erased"
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

    /// Orders by precedence: the smaller reason wins. `tooDeep` and `malformedJSON` never apply to the same record.
    package static func < (left: RejectionReason, right: RejectionReason) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// A rejected record's reason, with an explanation for people.
package struct Rejection: Error, Equatable, Sendable {
    package var reason: RejectionReason
    package var detail: String

    package init(_ reason: RejectionReason, _ detail: String) {
        self.reason = reason
        self.detail = detail
    }
}

extension Rejection {
    package static let overflow = Rejection(
        .overflow, "a sum of its row would no longer fit 64 bits")
}

/// A record that is kept instead of counted.
package struct RefusedRecord: Sendable {
    package enum Cause: Sendable {
        /// The record cannot be decoded, or its sums overflow.
        case rejected(Rejection)
        /// An accepted record has the same id and other values; `detail` names them.
        case conflict(detail: String)
        /// The record's origin is not verified; `detail` contains the failed check.
        case untrusted(detail: String)
    }

    private static let conflictReason = "conflict"
    private static let untrustedReason = "untrusted"
    /// The reasons of decodable records that are kept anyway. They are not dead letters.
    package static let otherReasons = [untrustedReason, conflictReason]

    /// Whether a stored reason is that of a rejection.
    package static func isRejection(_ reason: String) -> Bool { !otherReasons.contains(reason) }

    /// The outcome of a record with a stored reason.
    package static func outcome(ofReason reason: String) -> Outcome {
        switch reason {
        case conflictReason: .conflicts
        case untrustedReason: .untrusted
        default: .rejected
        }
    }

    /// The record's index in the folded batch.
    package var index: Int
    /// The type in the record's header; empty if missing.
    package var type: String
    package var cause: Cause

    package var reason: String {
        switch cause {
        case .rejected(let rejection): rejection.reason.name
        case .conflict: Self.conflictReason
        case .untrusted: Self.untrustedReason
        }
    }

    package var detail: String {
        switch cause {
        case .rejected(let rejection): rejection.detail
        case .conflict(let detail), .untrusted(let detail): detail
        }
    }
}

/// The outcome of a record. Each record read has exactly one.
package enum Outcome: Int, AggregateMeasure {
    /// Counted in the stream's aggregates.
    case accepted
    case duplicates
    /// Seen earlier with other values: kept, not counted.
    case conflicts
    /// The origin is not verified: kept, not counted.
    case untrusted
    /// Cannot be decoded: kept, not counted.
    case rejected
}

package struct OutcomeKey: RowKey {
    package var topic: Symbol
    package var type: Symbol

    package typealias Measure = Outcome

    package static let columns: KeyColumns<Self> = [
        .text("topic", \.topic, .page("the topic that was read")),
        .text("type", \.type, "'unknown' if the topic does not have the type"),
    ]
    package static let table = AggregateTable(
        "outcomes", "All records read, by outcome.", columns, measures: Outcome.self,
        notes: [
            .accepted: .page("counted in the aggregates of the stream"),
            .duplicates: .page("seen before"),
            .conflicts: .page("seen before with other values; stored, not counted"),
            .untrusted: .page("not verified as coming from the stated sender; stored, not counted"),
            .rejected: .page("cannot be decoded; stored, not counted"),
        ])
}
