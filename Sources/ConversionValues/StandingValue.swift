/// A conversion value, and the version of the model under which it was told.
public struct StandingValue<Value: Codable & Equatable & Sendable>: Codable, Equatable, Sendable {
    /// The fine value, 0...63, or the coarse one.
    public var value: Value
    /// Id of the model's version; empty when none was in effect.
    public var model: String

    /// States both.
    public init(_ value: Value, model: String) {
        self.value = value
        self.model = model
    }
}

/// What an install was told, and what it says it has: the highest of each.
public struct Standing<Value: Codable & Comparable & Sendable>: Codable, Equatable, Sendable {
    /// The value that it was told last; it never sinks.
    public var told: StandingValue<Value>?
    /// The highest value that it has said it has.
    public var reported: StandingValue<Value>?

    /// Nothing so far.
    public init() {}

    /// The value below which nothing is told.
    public var floor: Value? {
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
public struct ValueChange<Value: Codable & Comparable & Sendable>: Codable, Equatable, Sendable {
    /// The value in the answer, which the install lacked.
    public var told: StandingValue<Value>?
    /// What it had been told before.
    public var toldBefore: StandingValue<Value>?
    /// The value that it says it has.
    public var reported: StandingValue<Value>?
    /// The highest that it had said before.
    public var reportedBefore: StandingValue<Value>?

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
