import ConfigurationValues
import Program
import Store
import Streams

/// The progress of replaying a stream.
package struct ReplayedStream: Sendable {
    package var stream: String
    package var topic: String
    /// Whether it reached its end; otherwise it was stopped, or gave way to a promotion.
    package var isComplete: Bool
    /// The present state of its partitions.
    package var partitions: [PartitionState]
    /// Records that were erased before they were replayed: what they had added is missing.
    package var erased: Int64 = 0
}

extension StreamFold {
    package static func topic(in pipelines: PipelineDirectory) throws -> String {
        try file(in: pipelines).settings.topic
    }

    /// Returns what a replay would read. Writes only a sample, which it removes.
    package static func planReplay(_ order: ReplayOrder) throws -> ReplayPlan {
        try StreamReplay<Self>(order, stop: StopSignal()).plan()
    }

    /// The requested records that no longer exist.
    static func lostHistory(ofReplay order: ReplayOrder) throws -> [LostHistory] {
        try StreamReplay<Self>(order, stop: StopSignal()).lostHistory()
    }

    /// Whether the log or the archive has records of the requested range.
    static func hasRecords(toReplay order: ReplayOrder) throws -> Bool {
        let replay = try StreamReplay<Self>(order, stop: StopSignal())
        let reader = try replay.openReader()
        defer { reader.close() }
        return try replay.stretches(of: reader).values.contains { !$0.isEmpty }
    }

    /// Replays the stream.
    ///
    /// - Parameters:
    ///   - isFollowed: whether it will be followed: if live stores record the configurations, it does not pass them.
    ///   - isWanted: whether the store is needed elsewhere.
    package static func replay(
        _ order: ReplayOrder, stop: StopSignal, isFollowed: Bool = false,
        isWanted: @escaping () -> Bool = { false }
    ) throws -> ReplayedStream {
        let replay = try StreamReplay<Self>(order, stop: stop)
        let end =
            isFollowed
            ? try replay.runToLive(interruption: isWanted)
            : try replay.run(interruption: isWanted)
        return try replayed(replay, isComplete: end == .reachedEnd)
    }

    /// Replays the stream and continues with new records, until it is stopped or the store is needed elsewhere.
    package static func followReplay(
        _ order: ReplayOrder, stop: StopSignal, isWanted: @escaping () -> Bool
    ) throws -> ReplayedStream {
        let replay = try StreamReplay<Self>(order, stop: stop)
        let end = try replay.follow(interruption: isWanted)
        return try replayed(replay, isComplete: end == .reachedEnd)
    }

    private static func replayed(
        _ replay: StreamReplay<Self>, isComplete: Bool
    ) throws -> ReplayedStream {
        let (partitions, erased) = try StoreReader(path: replay.storePath).snapshot {
            (try $0.partitionStates(), try $0.erasedRecords())
        }
        return ReplayedStream(
            stream: streamName, topic: replay.settings.topic, isComplete: isComplete,
            partitions: partitions, erased: erased)
    }
}
