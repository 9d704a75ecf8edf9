import Foundation
import Store
import Streams

/// The progress of a stream's live stores, and their configurations by offset.
struct RecordedEpochs {
    /// A partition in a store.
    struct Partition {
        var firstOffset: Int64
        var nextOffset: Int64
        fileprivate let extent: Int64
        var epochs: [Epoch]
    }

    /// By number; for several copies the one that readers use.
    private(set) var partitions: [Int32: Partition] = [:]

    /// Reads the stores in force in some data directories; nil without stores.
    ///
    /// - Throws: `StoreError`, and `ReplayError.otherLog` for a store of another log or topic.
    init?(
        stream: String, directories: [String], topic: String, logIdentity: String
    ) throws {
        var isFound = false
        let sets = try directories.map { try PromotionJournal(settledIn: $0) }
        for set in PromotionJournal.lastPromotedFirst(sets, of: stream) {
            let path = set.path(of: stream)
            guard FileManager.default.fileExists(atPath: path) else { continue }
            isFound = true
            try read(path, topic: topic, logIdentity: logIdentity)
        }
        guard isFound else { return nil }
    }

    private mutating func read(_ path: String, topic: String, logIdentity: String) throws {
        let (origin, found) = try StoreReader(path: path).snapshot { snapshot in
            (
                (snapshot.topic, snapshot.logIdentity),
                try snapshot.partitionStates().map { state in
                    (
                        state.partition,
                        Partition(
                            firstOffset: state.firstOffset, nextOffset: state.nextOffset,
                            extent: state.extent,
                            epochs: try snapshot.epochs(of: state.partition))
                    )
                }
            )
        }
        guard origin == (topic, logIdentity) else {
            throw ReplayError.otherLog(store: path, topic: topic)
        }
        for (number, partition) in found
        where partitions[number].map({ $0.extent < partition.extent }) ?? true {
            partitions[number] = partition
        }
    }
}
