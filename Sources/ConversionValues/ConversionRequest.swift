import ConversionModels

/// What an app, or its server, says and asks about one install.
public struct ConversionRequest: Equatable, Sendable {
    /// Which of the addresses was called.
    public enum Kind: String, Codable, Sendable {
        /// `GET /v1/conversion_value`: the device asks for its next value.
        case conversionValue = "conversion_value"
        /// `POST /v1/launch`: a session, as a server sends it.
        case launch
        /// `POST /v1/event`: an event, as a server sends it.
        case event
    }

    /// Apple's framework that the app calls.
    public enum Framework: String, Codable, CaseIterable, Sendable {
        /// `skadnetwork`
        case skAdNetwork = "skadnetwork"
        /// `adattributionkit`
        case adAttributionKit = "adattributionkit"
    }

    /// Name of a session, as the clients write it.
    public static let session = "__SESSION__"

    /// Which of the addresses was called.
    public var kind: Kind
    /// The client's own id of what it says, the same when it says so again.
    public var updateID: String?
    /// Vendor id of the install, 1 to 128 bytes; UUIDs in capitals.
    public var installID: String
    /// App Store id of the app.
    public var appID: Int64
    /// Bundle id, where it was named.
    public var bundleID: String?
    /// Version of the app, where it was named.
    public var appVersion: String?
    /// Framework that the app calls.
    public var framework: Framework
    /// It speaks of three windows.
    public var hasThreeWindows: Bool
    /// Name of the event.
    public var event: String
    /// By currency, total revenue of the install so far, in micros, 0 or more.
    public var totalRevenueMicros: [String: Int64]
    /// First call to the framework, in milliseconds since 1970.
    public var firstCallMilliseconds: Int64?
    /// Latest call to the framework.
    public var lastCallMilliseconds: Int64?
    /// The fine value that the install has, 0...63; nil for none.
    public var fine: Int?
    /// The coarse values that it has, by window.
    public var coarse: [CoarseValue?]
    /// Windows that it has locked, by window.
    public var locks: [Bool]
    /// The framework's error at its latest call; 0 is none.
    public var error: Int64
}
