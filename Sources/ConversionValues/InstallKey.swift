/// One install: an app and a vendor id.
public struct InstallKey: Hashable, Sendable {
    /// App Store id of the app.
    public var appID: Int64
    /// Vendor id of the install.
    public var installID: String

    /// Names an install.
    public init(appID: Int64, installID: String) {
        self.appID = appID
        self.installID = installID
    }
}
