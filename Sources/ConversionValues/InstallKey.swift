/// One install, as one of Apple's frameworks knows it: each has values of its own.
public struct InstallKey: Hashable, Sendable {
    /// App Store id of the app.
    public var appID: Int64
    /// Vendor id of the install.
    public var installID: String
    /// Framework that the app calls.
    public var framework: ConversionRequest.Framework

    /// Names an install.
    public init(
        appID: Int64, installID: String, framework: ConversionRequest.Framework = .skAdNetwork
    ) {
        self.appID = appID
        self.installID = installID
        self.framework = framework
    }
}
