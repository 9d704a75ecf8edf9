/// The streams that have a file in the pipelines directory; the raw value is the file's name
/// without `.yaml`, and by default the topic's.
package enum PipelineStream: String, CaseIterable, Sendable {
    /// Auctions, wins and losses.
    case bids
    /// Impressions of ads and overlays.
    case impressions
    /// Clicks on overlays and recommendations.
    case overlayClicks = "overlay-clicks"
    /// Postbacks of SKAdNetwork and AdAttributionKit.
    case postbacks
    /// Notifications of the App Store.
    case storeNotifications = "store-notifications"
    /// Conversion values as apps set them.
    case conversionUpdates = "conversion-updates"
    /// Decoded postbacks on their way to partners.
    case partnerPostbacks = "partner-postbacks"

    /// The file's name in the pipelines directory.
    package var fileName: String { "\(rawValue).yaml" }
    /// The consumer group of its worker where none is configured: the program's name.
    package var defaultGroup: String { "weir-\(rawValue)" }
}
