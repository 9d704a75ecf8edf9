import ConversionModels

/// What an app, or its server, says and asks about one install.
package struct ConversionRequest: Equatable, Sendable {
    /// Which of the addresses was called.
    package enum Kind: String, Codable, Sendable {
        /// `GET /v1/conversion_value`: the device asks for its next value.
        case conversionValue = "conversion_value"
        /// `POST /v1/launch`: a session, as a server sends it.
        case launch
        /// `POST /v1/event`: an event, as a server sends it.
        case event
    }

    /// Apple's framework that the app calls.
    package enum Framework: String, Codable, CaseIterable, Sendable {
        /// `skadnetwork`
        case skAdNetwork = "skadnetwork"
        /// `adattributionkit`
        case adAttributionKit = "adattributionkit"
    }

    /// Name of a session, as the clients write it.
    package static let session = "__SESSION__"

    /// Which of the addresses was called.
    package var kind: Kind
    /// The client's own id of what it says, the same when it says so again.
    package var updateID: String?
    /// Vendor id of the install, 1 to 128 bytes; UUIDs in capitals.
    package var installID: String
    /// App Store id of the app.
    package var appID: Int64
    /// Bundle id, where it was named.
    package var bundleID: String?
    /// Version of the app, where it was named.
    package var appVersion: String?
    /// Framework that the app calls.
    package var framework: Framework
    /// It speaks of three windows.
    package var hasThreeWindows: Bool
    /// Name of the event.
    package var event: String
    /// By currency, total revenue of the install so far, in micros, 0 or more.
    package var totalRevenueMicros: [String: Int64]
    /// First call to the framework, in milliseconds since 1970.
    package var firstCallMilliseconds: Int64?
    /// Latest call to the framework.
    package var lastCallMilliseconds: Int64?
    /// The fine value that the install has, 0...63; nil for none.
    package var fine: Int?
    /// The coarse values that it has, by window.
    package var coarse: [CoarseValue?]
    /// Windows that it has locked, by window.
    package var locks: [Bool]
    /// The framework's error at its latest call; 0 is none.
    package var error: Int64
}
