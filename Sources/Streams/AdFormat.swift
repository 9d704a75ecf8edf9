/// What kind of ad was shown or clicked.
package enum AdFormat: ColumnWord {
    /// StoreKit's overlay at the bottom of an app.
    case skOverlay
    /// An impression that SKAdNetwork was told of.
    case skadn
    /// Recommendations of Outbrain.
    case outbrain
    /// An ad of an in-app bidder.
    case inApp

    /// The format as it is stored and printed.
    package var name: StaticString {
        switch self {
        case .skOverlay: "skoverlay"
        case .skadn: "skadn"
        case .outbrain: "outbrain"
        case .inApp: "inapp"
        }
    }
}
