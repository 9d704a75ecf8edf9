import ConversionModels
import Foundation

/// An event of the topic `conversion-updates`: a request of an install, and what it was told.
package struct ConversionUpdate: Codable, Equatable, Sendable {
    /// What became of a request.
    package enum Outcome: String, Codable, Sendable {
        /// A value was told.
        case told
        /// The install has the value already, or none says what it did.
        case unchanged
        /// The window is locked.
        case locked
        /// The last window has ended.
        case ended
        /// No version of a model was in effect for the app.
        case noModel = "no_model"
        /// It is of an earlier install under the same id.
        case stale
    }

    /// `conversion.update`
    package static let type = "conversion.update"

    /// The same when a request is repeated.
    package var id: String
    /// What is the same in repeated requests: the client's own id, or a hash.
    package var content: String
    /// Vendor id of the install (idfv).
    package var installID: String
    /// App Store id of the app.
    package var appID: Int64
    /// What was asked.
    package var request: ConversionRequest.Kind
    /// Framework that the app calls.
    package var framework: ConversionRequest.Framework
    /// Bundle id, where it was named.
    package var bundleID: String?
    /// Version of the app, where it was named.
    package var appVersion: String?
    /// Name of the event that led to the request.
    package var event: String
    /// The event counts as activity of its window.
    package var isCounted: Bool
    /// When the request was answered; milliseconds since 1970, never before an earlier one's.
    package var receivedAtMilliseconds: Int64
    /// First call to the framework, as far as it is known now.
    package var firstCallMilliseconds: Int64
    /// The same as the request reports it, be it wrong; nil for none.
    package var reportedFirstCallMilliseconds: Int64?
    /// The latest call, where one was reported.
    package var lastCallMilliseconds: Int64?
    /// It is the first of an install.
    package var startsInstall: Bool
    /// By currency, the total revenue as it was reported, in micros.
    package var totalRevenueMicros: [String: Int64]
    /// Currencies with revenue that the model does not speak of.
    package var uncountedCurrencies: [String]
    /// Which windows the install has.
    package var windowing: ConversionWindows
    /// Index of the window, 0...2; nil when the last has ended.
    package var sequenceIndex: Int?
    /// Id of the model's version; nil when none was in effect.
    package var model: String?
    /// What became of the request.
    package var outcome: Outcome
    /// The fine value; in the first window only.
    package var fine: ValueChange<Int>?
    /// The coarse value of the window.
    package var coarse: ValueChange<CoarseValue>?
    /// It was told to lock the window.
    package var locksWindow: Bool
    /// Windows that the install says it has locked.
    package var reportedLocks: [Int]
    /// The framework's error, where one was reported.
    package var error: Int64?

    enum CodingKeys: String, CodingKey {
        case id = "update_id"
        case content
        case installID = "install_id"
        case appID = "app_id"
        case request, framework
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

    /// Reads an event; nil when the bytes are none, as another producer's may be, or speak of times that
    /// cannot be reckoned with.
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

    /// The event as it stands in the topic: the same bytes for the same event.
    package func json() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try Array(encoder.encode(self))
    }
}
