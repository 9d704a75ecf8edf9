import AggregateStore
import Pipelines
import Streams

/// A worker whose ids are remembered for a window of event time: its fold depends on its own file only.
public protocol WindowedWorker: WorkerProgram where Fold: WindowedStoredFold {
    /// What the worker's file says.
    associatedtype Pipeline: WindowedPipeline

    /// Reads the worker's file.
    static func pipeline(of pipelines: PipelineDirectory) throws -> Pipeline
}

extension WindowedWorker {
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
        text.object { text in
            text.name("stream")
            text.string(Fold.streamName)
            text.name("rules")
            text.raw(1)
            text.name("dedupe_window_ms")
            text.raw(window)
            text.name("max_record_bytes")
            text.raw(settings.maxRecordBytes)
        }
        return (fold, FoldConfiguration(text: text.text, dedupeWindowMilliseconds: window))
    }
}
