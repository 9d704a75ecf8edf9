/// Settings of `weir-partner-postbacks`, which delivers to partners: `partner-postbacks.yaml`.
package struct PartnerPostbacksPipeline: Equatable, Sendable {
    /// What every worker has; there is no dedupe memory to bound.
    package let stream: StreamSettings

    init(_ node: ConfigurationNode) throws(ConfigurationError) {
        let mapping = try node.mapping(StreamSettings.keys.filter { $0 != "dedupe_max_ids" })
        stream = try StreamSettings(mapping, topic: .partnerPostbacks)
    }
}

extension PipelineDirectory {
    /// The settings of `weir-partner-postbacks`.
    package func partnerPostbacks() throws(ConfigurationError) -> PartnerPostbacksPipeline {
        if let unknown = try unknownFiles().first { throw unknown }
        return try partnerPostbacksPipeline()
    }

    /// The topic that documents for partners are written to and delivered from, as `partner-postbacks.yaml`
    /// has it; the default where there is no such file.
    package func partnerPostbacksTopic() throws(ConfigurationError) -> String {
        has(.partnerPostbacks)
            ? try partnerPostbacks().stream.topic : PipelineStream.partnerPostbacks.rawValue
    }

    /// The consumer groups of the workers by stream, where their files say them.
    package func groups() throws(ConfigurationError) -> [PipelineStream: String] {
        var groups: [PipelineStream: String] = [:]
        for stream in PipelineStream.allCases where has(stream) {
            groups[stream] = try settings(of: stream).group
        }
        return groups
    }

    /// What every worker has, of one of them.
    package func settings(of stream: PipelineStream) throws(ConfigurationError) -> StreamSettings {
        switch stream {
        case .bids: try bids().stream
        case .impressions: try impressions().stream
        case .overlayClicks: try overlayClicks().stream
        case .postbacks: try postbacks().stream
        case .storeNotifications: try storeNotifications().stream
        case .conversionUpdates: try conversionUpdates().stream
        case .partnerPostbacks: try partnerPostbacks().stream
        }
    }

    func partnerPostbacksPipeline() throws(ConfigurationError) -> PartnerPostbacksPipeline {
        try PartnerPostbacksPipeline(ConfigurationFile.read(required(.partnerPostbacks)))
    }
}
