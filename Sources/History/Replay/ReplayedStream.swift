import ConfigurationValues
import Program
import Store
import Streams

/// How far a stream was folded again.
package struct ReplayedStream: Sendable {
    /// Name of the stream.
    package var stream: String
    /// Name of the topic.
    package var topic: String
    /// Whether it went to its end; else it was stopped, or gave way to a promotion.
    package var isComplete: Bool
    /// Its partitions as they are now.
    package var partitions: [PartitionState]
}

extension StreamFold {
    /// Name of the topic.
    package static func topic(in pipelines: PipelineDirectory) throws -> String {
        try file(in: pipelines).settings.topic
    }

    /// Says what a replay would read. Writes nothing but a sample, which it removes.
    package static func planReplay(_ order: ReplayOrder) throws -> ReplayPlan {
        try StreamReplay<Self>(order, stop: StopSignal()).plan()
    }

    /// What a replay would have to do without.
    static func lostHistory(ofReplay order: ReplayOrder) throws -> [LostHistory] {
        try StreamReplay<Self>(order, stop: StopSignal()).lostHistory()
    }

    /// Whether the log or the archive has records of what is asked for.
    static func hasRecords(toReplay order: ReplayOrder) throws -> Bool {
        let replay = try StreamReplay<Self>(order, stop: StopSignal())
        let reader = try replay.openReader()
        defer { reader.close() }
        return try replay.stretches(of: reader).values.contains { !$0.isEmpty }
    }

    /// Folds the stream again.
    ///
    /// - Parameters:
    ///   - isFollowed: it will be followed: where live stores say under which configuration a record is
    ///     folded, it does not go beyond them.
    ///   - isWanted: whether somebody else wants the store.
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

    /// Folds the stream again and goes on with what is appended, until it is stopped or somebody else
    /// wants the store.
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
        ReplayedStream(
            stream: streamName, topic: replay.settings.topic, isComplete: isComplete,
            partitions: try StoreReader(path: replay.storePath).snapshot {
                try $0.partitionStates()
            })
    }
}
