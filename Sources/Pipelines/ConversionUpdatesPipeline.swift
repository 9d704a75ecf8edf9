/// How `weir-conversion-updates` works: `conversion-updates.yaml`.
package struct ConversionUpdatesPipeline: WindowedPipeline {
    /// What every worker has.
    package let stream: StreamSettings
    /// How long an id is remembered (`dedupe_window_seconds`), 0...31,622,400; by default 604,800.
    package let dedupeWindowSeconds: Int

    init(_ node: ConfigurationNode) throws(ConfigurationError) {
        let mapping = try node.mapping(ConfigurationMapping.windowedKeys)
        stream = try StreamSettings(mapping, topic: .conversionUpdates)
        dedupeWindowSeconds = try mapping.dedupeWindowSeconds(default: 604_800)
    }
}
