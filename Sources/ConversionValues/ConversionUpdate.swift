import ConversionModels
import EventLog
import Foundation
import Streams

/// An event of the topic `conversion-updates`: a request of an install, and its answer.
package struct ConversionUpdate: Codable, Equatable, Sendable {
    /// The outcome of a request.
    enum Outcome: String, Codable, Sendable {
        /// A value was returned.
        case told
        /// The install already has the value, or no value describes its activity.
        case unchanged
        case locked
        /// The last window has ended.
        case ended
        /// No version of a model was in effect for the app.
        case noModel = "no_model"
        /// The request belongs to an earlier install with the same id.
        case stale
    }

    /// Most updates belong to installs and have no type.
    enum ConversionType: String, Codable, Sendable {
        case reengagement = "re-engagement"
    }

    static let type = "conversion.update"

    /// The same for a repeated request.
    var id: String
    /// The common part of repeated requests: the client's own id, or a hash.
    var content: String
    /// Vendor id (idfv).
    var installID: String
    var appID: Int64
    var request: ConversionRequest.Kind
    var framework: ConversionRequest.Framework
    /// Nil for an install.
    var conversionType: ConversionType?
    /// For a re-engagement with a tag.
    var conversionTag: String?
    var bundleID: String?
    package var appVersion: String?
    /// The event that led to the request.
    var event: String
    /// Whether the event counts as activity of its window.
    var isCounted: Bool
    /// When the request was answered, in milliseconds since 1970; never earlier than a previous answer.
    package var receivedAtMilliseconds: Int64
    /// The first call that counts.
    var firstCallMilliseconds: Int64
    /// The reported first call, even if wrong; nil for none.
    var reportedFirstCallMilliseconds: Int64?
    /// The latest reported call.
    var lastCallMilliseconds: Int64?
    /// Whether this is the first update of an install.
    var startsInstall: Bool
    /// Reported total revenue by currency, in micros.
    var totalRevenueMicros: [String: Int64]
    /// Currencies with revenue, other than the model's currency.
    var uncountedCurrencies: [String]
    var windowing: ConversionWindows
    /// 0...2; nil after the end of the last window.
    var sequenceIndex: Int?
    /// The id of the model's version; nil if none was in effect.
    var model: String?
    var outcome: Outcome
    /// The change of the fine value.
    var fine: ValueChange<Int>?
    /// The change of the window's coarse value.
    var coarse: ValueChange<CoarseValue>?
    /// Whether an answer asked the install to lock the window.
    var locksWindow: Bool
    /// Windows that the install reports as locked.
    var reportedLocks: [Int]
    /// The framework's reported error.
    var error: Int64?

    enum CodingKeys: String, CodingKey {
        case id = "update_id"
        case content
        case installID = "install_id"
        case appID = "app_id"
        case request, framework
        case conversionType = "conversion_type"
        case conversionTag = "conversion_tag"
        case bundleID = "bundle_id"
        case appVersion = "app_version"
        case event
        case isCounted = "counted"
        case receivedAtMilliseconds = "received_at_ms"
        case firstCallMilliseconds = "first_call_at_ms"
        case reportedFirstCallMilliseconds = "reported_first_call_at_ms"
        case lastCallMilliseconds = "last_call_at_ms"
        case startsInstall = "starts_install"
        case totalRevenueMicros = "total_revenue_micros"
        case uncountedCurrencies = "uncounted_currencies"
        case windowing = "windows"
        case sequenceIndex = "sequence_index"
        case model, outcome, fine, coarse
        case locksWindow = "lock_window"
        case reportedLocks = "reported_locks"
        case error
    }

    /// Nil if the bytes are not such an event, for example from another producer, or if its times are out of range.
    package static func read(_ bytes: UnsafeRawBufferPointer) -> ConversionUpdate? {
        let update = try? JSONDecoder().decode(ConversionUpdate.self, from: Data(bytes))
        let instants = [
            update?.receivedAtMilliseconds, update?.firstCallMilliseconds,
            update?.reportedFirstCallMilliseconds, update?.lastCallMilliseconds,
        ]
        let isUsable = instants.allSatisfy { $0?.magnitude ?? 0 <= mostMilliseconds }
        return isUsable ? update : nil
    }

    /// In the year 287396.
    private static let mostMilliseconds: UInt64 = 1 << 53

    /// The event's value in the topic: the same bytes for the same event.
    func json() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try Array(encoder.encode(self))
    }
}

extension ConversionUpdate {
    package var install: InstallKey {
        InstallKey(
            appID: appID, installID: installID, framework: framework,
            conversion: conversionType == nil ? .install : .reengagement(tag: conversionTag ?? ""))
    }

    /// The event as a record, with the install as its key.
    package func record(topic: String) throws -> OutgoingRecord {
        OutgoingRecord(
            topic: topic, key: Array(installID.utf8),
            headers: [
                .init("ce_specversion", "1.0"), .init("ce_type", Self.type), .init("ce_id", id),
                .init("ce_source", "/apps/\(appID)"),
                .init("ce_time", UTC.text(milliseconds: receivedAtMilliseconds)),
                .init("content-type", "application/json"),
            ], value: try json())
    }
}

/// A returned conversion value and its model version.
struct ModelledValue<Value: Codable & Equatable & Sendable>: Codable, Equatable, Sendable {
    /// The fine value, 0...63, or the coarse one.
    var value: Value
    /// The id of the model's version; empty if none was in effect.
    var model: String

    init(_ value: Value, model: String) {
        self.value = value
        self.model = model
    }
}

/// The highest value that was returned to an install, and the highest that it has reported.
struct HighestValues<Value: Codable & Comparable & Sendable>: Codable, Equatable, Sendable {
    /// It never decreases.
    var told: ModelledValue<Value>?
    var reported: ModelledValue<Value>?

    /// Lower values are never returned.
    var floor: Value? {
        guard let told, let reported else { return told?.value ?? reported?.value }
        return max(told.value, reported.value)
    }

    mutating func apply(_ change: ValueChange<Value>) {
        if let new = change.told { told = told.map { $0.value > new.value ? $0 : new } ?? new }
        if let new = change.reported {
            reported = reported.map { $0.value >= new.value ? $0 : new } ?? new
        }
    }
}

/// The change by one update of an install's fine value, or of a window's coarse value.
struct ValueChange<Value: Codable & Comparable & Sendable>: Codable, Equatable, Sendable {
    /// The value in the answer, if the install lacked it.
    var told: ModelledValue<Value>?
    /// The value returned earlier.
    var toldBefore: ModelledValue<Value>?
    /// The value that the request reports.
    var reported: ModelledValue<Value>?
    /// The highest value reported earlier.
    var reportedBefore: ModelledValue<Value>?

    enum CodingKeys: String, CodingKey {
        case told
        case toldBefore = "told_before"
        case reported
        case reportedBefore = "reported_before"
    }

    /// No change.
    init(before highest: HighestValues<Value>) {
        toldBefore = highest.told
        reportedBefore = highest.reported
    }

    var isEmpty: Bool {
        told == nil && toldBefore == nil && reported == nil && reportedBefore == nil
    }
}
