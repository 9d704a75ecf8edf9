import ConfigurationValues
import EventLog
import Foundation
import Program
import Store
import Streams
import Synchronization

/// Replays several streams into one directory.
package final class ReplayRun {
    private static let pauseMicroseconds: UInt32 = 50_000

    private let order: ReplayOrder
    private let programs: [any StreamFold.Type]
    private let manifest: ReplayManifest
    /// The streams without a configuration recorded by a live store.
    package let streamsWithoutStore: [String]

    /// Finds the streams of some topics. Without topics, these are the streams of the replay that began the
    /// directory, otherwise all with a store or with their topic in the log.
    package init(_ order: ReplayOrder, topics: [String]) throws {
        self.order = order
        let pipelines = order.source.pipelines
        let known = try allStreams.filter { $0.isConfigured(in: pipelines) }.map {
            (program: $0, topic: try $0.topic(in: pipelines))
        }
        let stored = try known.filter { known in
            try order.dataDirectories.contains {
                FileManager.default.fileExists(
                    atPath: try PromotionJournal(directory: $0).path(of: known.program.streamName))
            }
        }.map(\.topic)
        var wanted = topics
        if wanted.isEmpty, let begun = try ReplayManifest.read(in: order.directory) {
            wanted = begun.topics
        }
        if wanted.isEmpty {
            let logged = try order.source.openLog().topics().map(\.name)
            wanted = known.map(\.topic).filter { logged.contains($0) || stored.contains($0) }
        }
        if let unknown = wanted.first(where: { name in !known.contains { $0.topic == name } }) {
            throw ReplayError.unknownTopic(unknown, known: known.map(\.topic))
        }
        let chosen = known.filter { wanted.contains($0.topic) }
        guard !chosen.isEmpty else {
            throw ReplayError.nothing(
                detail:
                    "\(order.source.log) has no topic that a worker folds: give --log, or check weir topics list"
            )
        }
        programs = chosen.map(\.program)
        manifest = ReplayManifest(order, topics: chosen.map(\.topic))
        streamsWithoutStore = chosen.filter { !stored.contains($0.topic) }.map {
            $0.program.streamName
        }
    }

    /// Returns what would be read; writes nothing.
    package func plan() throws -> [ReplayPlan] {
        try programs.map { try $0.planReplay(order) }
    }

    /// Returns the requested records that no longer exist, by topic and partition.
    package func lostHistory() throws -> [LostHistory] {
        try programs.flatMap { try $0.lostHistory(ofReplay: order) }
    }

    /// A range without a record in any of the topics is a mistake.
    private func refuseEmptyRange() throws {
        guard order.range != ReplayRange() else { return }
        for program in programs where try program.hasRecords(toReplay: order) { return }
        throw ReplayError.emptyRange(topics: manifest.topics)
    }

    /// Folds one stream after the other, up to its end.
    ///
    /// - Parameter follows: continues with new records, until it is stopped or the directory is put in force.
    /// - Returns: the progress, and whether it is complete.
    package func replay(
        follows: Bool, stop: StopSignal
    ) throws -> (streams: [ReplayedStream], isDone: Bool) {
        // A followed range may begin with future records.
        if !follows { try refuseEmptyRange() }
        try manifest.begin(in: order.directory)
        guard follows else {
            var streams: [ReplayedStream] = []
            for program in programs where streams.last?.isComplete ?? true {
                streams.append(try program.replay(order, stop: stop))
            }
            return (
                streams, streams.count == programs.count && streams.last?.isComplete ?? true
            )
        }
        return (try follow(stop: stop), true)
    }

    private func follow(stop: StopSignal) throws -> [ReplayedStream] {
        while true {
            var streams: [ReplayedStream] = []
            for program in programs where streams.last?.isComplete ?? true {
                streams.append(
                    try program.replay(
                        order, stop: stop, isFollowed: true, isWanted: { self.isWanted }))
            }
            if !stop.isRequested, !isWanted { streams = try followAll(stop: stop) }
            while isWanted, !stop.isRequested { usleep(Self.pauseMicroseconds) }
            let isPromoted = try isInForce
            guard !stop.isRequested, !isPromoted else { return streams }
        }
    }

    /// Each stream on its own thread. The first failure ends the others.
    private func followAll(stop: StopSignal) throws -> [ReplayedStream] {
        let results = Mutex<[(place: Int, result: Result<ReplayedStream, any Error>)]>([])
        let ending = StopSignal()
        var order = order
        // Several streams at once would overwrite each other's line.
        order.showsProgress = false
        let done = DispatchSemaphore(value: 0)
        for (place, program) in programs.enumerated() {
            let (ordered, directories) = (order, order.dataDirectories)
            let thread = Thread {
                let result = Result {
                    try program.followReplay(
                        ordered, stop: ending,
                        isWanted: {
                            stop.isRequested || directories.contains(where: Self.isHeld)
                        })
                }
                if case .failure = result { ending.request() }
                results.withLock { $0.append((place, result)) }
                done.signal()
            }
            thread.stackSize = 8 << 20
            thread.start()
        }
        for _ in programs { done.wait() }
        return try results.withLock { $0.sorted { $0.place < $1.place } }.map {
            try $0.result.get()
        }
    }

    private var isWanted: Bool { order.dataDirectories.contains(where: Self.isHeld) }

    private static func isHeld(_ directory: String) -> Bool {
        PromotionRequest.isMade(in: directory) && PromotionRequest.isHeld(in: directory)
    }

    /// Whether a promotion has put stores of this directory in force.
    private var isInForce: Bool {
        get throws {
            try order.dataDirectories.contains { data in
                let sets = try PromotionJournal(directory: data)
                let own = sets.set(at: order.directory)
                return programs.contains { sets.set(of: $0.streamName) == own }
            }
        }
    }
}
