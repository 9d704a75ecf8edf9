import AggregateStore
import Pipelines
import Streams

/// A worker whose ids are remembered for a window of event time: its fold depends on its own file only.
public protocol WindowedWorker: WorkerProgram where Fold: WindowedStoredFold {
    /// What the worker's file says.
    associatedtype Pipeline: WindowedPipeline

    /// Reads the worker's file.
    static func pipeline(of pipelines: PipelineDirectory) throws -> Pipeline
    /// Gives the fold what else it depends on, and writes that into the configuration's text; nothing by
    /// default.
    static func complete(
        _ fold: Fold, pipelines: PipelineDirectory, configuration: inout JSONText
    ) throws
}

extension WindowedWorker {
    /// The fold depends on the worker's file only.
    public static func complete(
        _ fold: Fold, pipelines: PipelineDirectory, configuration: inout JSONText
    ) throws {}

    /// Reads the settings that every worker has.
    public static func streamSettings(of pipelines: PipelineDirectory) throws -> StreamSettings {
        try pipeline(of: pipelines).stream
    }

    /// Makes the fold that the worker's file describes.
    public static func makeFold(
        pipelines: PipelineDirectory, settings: StreamSettings, store: AggregateStore
    ) throws -> (fold: Fold, configuration: FoldConfiguration) {
        let window = Int64(try pipeline(of: pipelines).dedupeWindowSeconds) * 1000
        let fold = Fold(
            topic: settings.topic,
            configuration: WindowedState.Configuration(
                dedupeWindowMilliseconds: window, maxRecordBytes: settings.maxRecordBytes),
            parser: try makeParser())
        var text = JSONText()
        try text.object { text in
            text.name("stream")
            text.string(Fold.streamName)
            text.name("rules")
            text.raw(1)
            text.name("dedupe_window_ms")
            text.raw(window)
            text.name("max_record_bytes")
            text.raw(settings.maxRecordBytes)
            try complete(fold, pipelines: pipelines, configuration: &text)
        }
        return (fold, FoldConfiguration(text: text.text, dedupeWindowMilliseconds: window))
    }
}
