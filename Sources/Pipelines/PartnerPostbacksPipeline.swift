/// Settings of `weir-partner-postbacks`, which delivers to partners: `partner-postbacks.yaml`.
public struct PartnerPostbacksPipeline: Equatable, Sendable {
    /// What every worker has; there is no dedupe memory to bound.
    public let stream: StreamSettings

    init(_ node: ConfigurationNode) throws(ConfigurationError) {
        let mapping = try node.mapping(StreamSettings.keys.filter { $0 != "dedupe_max_ids" })
        stream = try StreamSettings(mapping, topic: .partnerPostbacks)
    }
}

extension PipelineDirectory {
    /// The settings of `weir-partner-postbacks`.
    public func partnerPostbacks() throws(ConfigurationError) -> PartnerPostbacksPipeline {
        if let unknown = try unknownFiles().first { throw unknown }
        return try partnerPostbacksPipeline()
    }

    func partnerPostbacksPipeline() throws(ConfigurationError) -> PartnerPostbacksPipeline {
        try PartnerPostbacksPipeline(ConfigurationFile.read(required(.partnerPostbacks)))
    }
}
