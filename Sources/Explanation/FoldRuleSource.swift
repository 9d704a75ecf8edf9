import AggregateStore
import Attestation
import Foundation
import Pipelines
import Streams
import Worker

/// Where the rules of a recorded configuration are put together from.
package enum FoldRuleSource: Sendable {
    /// The present configuration has what stores keep only digests of.
    case pipelines(PipelineDirectory)
    /// Records of which secrets are masked, and these roots beside Apple's.
    case masked(roots: [AppStoreRoot])

    /// Makes the fold that a store has recorded.
    func makeFold(
        stream: String, topic: String, configuration: FoldConfiguration
    ) throws -> any RecordFold {
        switch stream {
        case BidsFold.streamName: try windowed(BidsWorker.self, topic, configuration)
        case ImpressionsFold.streamName: try windowed(ImpressionsWorker.self, topic, configuration)
        case OverlayClicksFold.streamName:
            try windowed(OverlayClicksWorker.self, topic, configuration)
        case ConversionUpdatesFold.streamName:
            try windowed(ConversionUpdatesWorker.self, topic, configuration)
        case PostbacksFold.streamName:
            try postbacks(topic, configuration)
        default:
            RecalledFold(
                try StoreNotificationsWorker.makeFold(
                    notificationRules(configuration), topic: topic, memory: RecalledMemory(),
                    threadCount: Self.threadCount))
        }
    }

    /// The root certificates of which a recorded configuration has fingerprints.
    func roots(of configuration: FoldConfiguration, stream: String) throws -> [AppStoreRoot] {
        guard stream == StoreNotificationsFold.streamName else { return [] }
        return try notificationRules(configuration).roots
    }

    /// Without partners: what they would get is no sum.
    private func postbacks(
        _ topic: String, _ configuration: FoldConfiguration
    ) throws -> any RecordFold {
        var rules = try PostbackRules(recorded: configuration, pipelines: directory)
        rules.partners = []
        return RecalledFold(
            try PostbacksWorker.makeFold(
                rules, topic: topic, memory: RecalledMemory(), threadCount: Self.threadCount))
    }

    private func windowed<Program: WindowedWorker>(
        _ program: Program.Type, _ topic: String, _ configuration: FoldConfiguration
    ) throws -> any RecordFold {
        RecalledFold(
            try program.makeFold(
                WindowedRules(recorded: configuration, pipelines: directory), topic: topic,
                threadCount: Self.threadCount))
    }

    private func notificationRules(
        _ configuration: FoldConfiguration
    ) throws -> StoreNotificationRules {
        switch self {
        case .pipelines(let directory):
            try StoreNotificationRules(recorded: configuration, pipelines: directory)
        case .masked(let roots):
            try StoreNotificationRules(masked: configuration, roots: roots)
        }
    }

    /// Nothing but rules of notifications looks into the directory.
    private var directory: PipelineDirectory {
        switch self {
        case .pipelines(let directory): directory
        case .masked: PipelineDirectory("")
        }
    }

    private static var threadCount: Int { max(1, ProcessInfo.processInfo.activeProcessorCount) }
}
