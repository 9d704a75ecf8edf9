/// How `weir-bids` works: `bids.yaml`.
public struct BidsPipeline: Equatable, Sendable {
    /// What every worker has.
    public let stream: StreamSettings
    /// How long an id is remembered (`dedupe_window_seconds`), 0...31,622,400; by default 3600.
    public let dedupeWindowSeconds: Int

    init(_ node: ConfigurationNode) throws(ConfigurationError) {
        let mapping = try node.mapping(StreamSettings.keys + ["dedupe_window_seconds"])
        stream = try StreamSettings(mapping, topic: .bids)
        dedupeWindowSeconds =
            try mapping.integer("dedupe_window_seconds", in: 0...31_622_400, default: 3600).asInt
    }
}
