import AggregateStore
import Pipelines
import Streams

/// A worker whose ids are remembered for a window of event time: its fold depends on its own file only.
package protocol WindowedWorker: WorkerProgram
where Fold: WindowedFold, Rules == WindowedRules {
    /// What the worker's file says.
    associatedtype Pipeline: WindowedPipeline

    /// Reads the worker's file.
    static func pipeline(of pipelines: PipelineDirectory) throws -> Pipeline
    /// Reads the keys that networks sign their ads with, by the networks' ids in lower case; none by
    /// default.
    static func adSigningKeys(of pipelines: PipelineDirectory) throws -> [String: [String]]
    /// Gives the fold what else it depends on; nothing by default.
    static func complete(_ fold: Fold, _ rules: WindowedRules, threadCount: Int) throws
}

extension WindowedWorker {
    /// The fold verifies no ads.
    package static func adSigningKeys(of pipelines: PipelineDirectory) throws -> [String: [String]]
    {
        [:]
    }

    /// The fold depends on the worker's file only.
    package static func complete(_ fold: Fold, _ rules: WindowedRules, threadCount: Int) throws {}

    /// Reads the settings that every worker has.
    package static func streamSettings(of pipelines: PipelineDirectory) throws -> StreamSettings {
        try pipeline(of: pipelines).stream
    }

    /// Reads the worker's file, and what else the fold depends on.
    package static func rules(of pipelines: PipelineDirectory) throws -> WindowedRules {
        let pipeline = try pipeline(of: pipelines)
        return WindowedRules(
            stream: Fold.streamName,
            dedupeWindowMilliseconds: Int64(pipeline.dedupeWindowSeconds) * 1000,
            maxRecordBytes: pipeline.stream.maxRecordBytes,
            adSigningKeys: try adSigningKeys(of: pipelines))
    }

    /// Makes the fold; what it remembers is read partition by partition.
    package static func makeFold(
        _ rules: WindowedRules, topic: String, store: AggregateStore, threadCount: Int
    ) throws -> Fold {
        try makeFold(rules, topic: topic, threadCount: threadCount)
    }

    /// Makes the fold without any memory.
    package static func makeFold(
        _ rules: WindowedRules, topic: String, threadCount: Int
    ) throws -> Fold {
        let fold = Fold(
            topic: topic,
            configuration: WindowedState.Configuration(
                dedupeWindowMilliseconds: rules.dedupeWindowMilliseconds,
                maxRecordBytes: rules.maxRecordBytes),
            parser: try makeParser())
        try complete(fold, rules, threadCount: threadCount)
        return fold
    }
}
