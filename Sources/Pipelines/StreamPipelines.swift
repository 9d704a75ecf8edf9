/// The settings of a worker that remembers ids for a window of event time.
package protocol WindowedPipeline: Equatable, Sendable {
    var stream: StreamSettings { get }
    /// `dedupe_window_seconds`: how long an id is remembered, 0...31,622,400.
    var dedupeWindowSeconds: Int { get }
}

extension ConfigurationNode {
    fileprivate func windowed(
        _ stream: PipelineStream, defaultSeconds: Int
    ) throws(ConfigurationError) -> (StreamSettings, Int) {
        let key = "dedupe_window_seconds"
        let mapping = try mapping(StreamSettings.keys + [key])
        let settings = try StreamSettings(mapping, topic: stream)
        let seconds = try mapping.integer(
            key, in: 0...31_622_400, default: Int64(defaultSeconds))
        return (settings, seconds.asInt)
    }
}

/// `bids.yaml`
package struct BidsPipeline: WindowedPipeline {
    package let stream: StreamSettings
    package let dedupeWindowSeconds: Int

    package static let defaultDedupeWindowSeconds = 3600

    init(_ node: ConfigurationNode) throws(ConfigurationError) {
        (stream, dedupeWindowSeconds) = try node.windowed(
            .bids, defaultSeconds: Self.defaultDedupeWindowSeconds)
    }
}

/// `impressions.yaml`
package struct ImpressionsPipeline: WindowedPipeline {
    package let stream: StreamSettings
    package let dedupeWindowSeconds: Int

    package static let defaultDedupeWindowSeconds = 604_800

    init(_ node: ConfigurationNode) throws(ConfigurationError) {
        (stream, dedupeWindowSeconds) = try node.windowed(
            .impressions, defaultSeconds: Self.defaultDedupeWindowSeconds)
    }
}

/// `overlay-clicks.yaml`
package struct OverlayClicksPipeline: WindowedPipeline {
    package let stream: StreamSettings
    package let dedupeWindowSeconds: Int

    package static let defaultDedupeWindowSeconds = 604_800

    init(_ node: ConfigurationNode) throws(ConfigurationError) {
        (stream, dedupeWindowSeconds) = try node.windowed(
            .overlayClicks, defaultSeconds: Self.defaultDedupeWindowSeconds)
    }
}

/// `conversion-updates.yaml`
package struct ConversionUpdatesPipeline: WindowedPipeline {
    package let stream: StreamSettings
    package let dedupeWindowSeconds: Int

    init(_ node: ConfigurationNode) throws(ConfigurationError) {
        (stream, dedupeWindowSeconds) = try node.windowed(
            .conversionUpdates, defaultSeconds: 604_800)
    }
}

/// `partner-postbacks.yaml`, of the program that delivers to partners.
package struct PartnerPostbacksPipeline: Equatable, Sendable {
    /// There is no dedupe memory to bound.
    package let stream: StreamSettings

    init(_ node: ConfigurationNode) throws(ConfigurationError) {
        let mapping = try node.mapping(StreamSettings.keys.filter { $0 != "dedupe_max_ids" })
        stream = try StreamSettings(mapping, topic: .partnerPostbacks)
    }
}
