/// A conversion value, and the version of the model under which it was told.
package struct StandingValue<Value: Codable & Equatable & Sendable>: Codable, Equatable, Sendable {
    /// The fine value, 0...63, or the coarse one.
    package var value: Value
    /// Id of the model's version; empty when none was in effect.
    package var model: String

    /// States both.
    package init(_ value: Value, model: String) {
        self.value = value
        self.model = model
    }
}

/// What an install was told, and what it says it has: the highest of each.
package struct Standing<Value: Codable & Comparable & Sendable>: Codable, Equatable, Sendable {
    /// The value that it was told last; it never sinks.
    package var told: StandingValue<Value>?
    /// The highest value that it has said it has.
    package var reported: StandingValue<Value>?

    /// Nothing so far.
    package init() {}

    /// The value below which nothing is told.
    package var floor: Value? {
        guard let told, let reported else { return told?.value ?? reported?.value }
        return max(told.value, reported.value)
    }

    /// Takes over what an update says.
    mutating func apply(_ change: ValueChange<Value>) {
        if let new = change.told { told = told.map { $0.value > new.value ? $0 : new } ?? new }
        if let new = change.reported {
            reported = reported.map { $0.value >= new.value ? $0 : new } ?? new
        }
    }
}

/// What one update did to the fine value of an install, or to the coarse one of a window.
package struct ValueChange<Value: Codable & Comparable & Sendable>: Codable, Equatable, Sendable {
    /// The value in the answer, which the install lacked.
    package var told: StandingValue<Value>?
    /// What it had been told before.
    package var toldBefore: StandingValue<Value>?
    /// The value that it says it has.
    package var reported: StandingValue<Value>?
    /// The highest that it had said before.
    package var reportedBefore: StandingValue<Value>?

    enum CodingKeys: String, CodingKey {
        case told
        case toldBefore = "told_before"
        case reported
        case reportedBefore = "reported_before"
    }

    /// Nothing but what was before.
    init(before standing: Standing<Value>) {
        toldBefore = standing.told
        reportedBefore = standing.reported
    }

    var isEmpty: Bool {
        told == nil && toldBefore == nil && reported == nil && reportedBefore == nil
    }
}
