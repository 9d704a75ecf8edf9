/// How `weir-impressions` works: `impressions.yaml`.
package struct ImpressionsPipeline: WindowedPipeline {
    /// What every worker has.
    package let stream: StreamSettings
    /// How long an id is remembered (`dedupe_window_seconds`), 0...31,622,400; by default 604,800.
    package let dedupeWindowSeconds: Int

    /// How long an id is remembered where the file does not say it, in seconds.
    package static let defaultDedupeWindowSeconds = 604_800

    init(_ node: ConfigurationNode) throws(ConfigurationError) {
        let mapping = try node.mapping(ConfigurationMapping.windowedKeys)
        stream = try StreamSettings(mapping, topic: .impressions)
        dedupeWindowSeconds = try mapping.dedupeWindowSeconds(
            default: Int64(Self.defaultDedupeWindowSeconds))
    }
}
