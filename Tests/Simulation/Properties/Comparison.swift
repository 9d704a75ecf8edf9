import ConfigurationValues
import Foundation
import History
import Reports
import Store

/// What the workers of a stream have made of their topic, beside what they should have.
struct Comparison {
    let feed: any Feed
    let topic: SimulatedCluster.Topic
    let workers: [SimulatedWorker]
    let stores: OpenStores

    init(
        _ feed: any Feed, _ topic: SimulatedCluster.Topic, _ workers: [SimulatedWorker]
    ) throws {
        self.feed = feed
        self.topic = topic
        self.workers = workers
        stores = try OpenStores(directories: workers.map(\.directory))
    }

    var stream: String { feed.stream.streamName }

    typealias Copies = [(worker: SimulatedWorker, offsets: [Int32: Range<Int64>])]

    var copies: Copies {
        get throws {
            try workers.map { ($0, try Self.foldedOffsets($0.directory, stream)) }
        }
    }

    /// What the furthest copy of each partition has folded, and under which windows; of equal ones the first.
    func furthest() throws -> ([Int32: Range<Int64>], [Int32: WindowsInForce]) {
        var folded: [Int32: Range<Int64>] = [:]
        var windows: [Int32: WindowsInForce] = [:]
        for (worker, offsets) in try copies {
            for (number, range) in offsets
            where range.upperBound > folded[number]?.upperBound ?? -1 {
                folded[number] = range
                windows[number] = worker.windows[number]
            }
        }
        return (folded, windows)
    }

    /// The store that is in force.
    static func storePath(_ directory: String, _ stream: String) throws -> String {
        try PromotionJournal(directory: directory).path(of: stream)
    }

    /// The offsets that a store has folded of each partition.
    static func foldedOffsets(
        _ directory: String, _ stream: String
    ) throws -> [Int32: Range<Int64>] {
        let path = try storePath(directory, stream)
        guard FileManager.default.fileExists(atPath: path) else { return [:] }
        let states = try StoreReader(path: path).snapshot { try $0.partitionStates() }
        // Of a copy without a record nothing counts, wherever it began.
        return states.filter { $0.records > 0 }.reduce(into: [:]) { offsets, state in
            offsets[state.partition] = state.firstOffset..<state.nextOffset
        }
    }
}
