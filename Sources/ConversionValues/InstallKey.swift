/// One install, as one of Apple's frameworks knows it: each has values of its own.
package struct InstallKey: Hashable, Sendable {
    /// App Store id of the app.
    package var appID: Int64
    /// Vendor id of the install.
    package var installID: String
    /// Framework that the app calls.
    package var framework: ConversionRequest.Framework

    /// Names an install.
    package init(
        appID: Int64, installID: String, framework: ConversionRequest.Framework = .skAdNetwork
    ) {
        self.appID = appID
        self.installID = installID
        self.framework = framework
    }
}
