import EventLog
import Reports
import Store
import Streams

extension Comparison {
    /// Each partition is folded to its end, and every dump is the model's: of the furthest copies, and of each
    /// store by itself.
    ///
    /// - Returns: why records were refused, one for each.
    func compareWithModel() throws -> [String] {
        let copies = try copies.filter { !$0.offsets.isEmpty }
        let (folded, windows) = try furthest()
        for (number, partition) in topic.partitions.enumerated() {
            guard let end = (partition.records.last?.offset).map({ $0 + 1 }) else { continue }
            let next = folded[Int32(number)]?.upperBound ?? 0
            guard next == end else {
                throw SimulationFault("\(stream)/\(number) is folded to \(next) of \(end)")
            }
        }
        var furthest: [Int32: [Int64: String]] = [:]
        // A store that was left behind is a fold of the first part of each of its partitions.
        for (worker, offsets) in copies {
            let refusals = try Self.refusals(worker.directory, stream)
            let refused = refusals.mapValues { $0.mapValues(\.reason) }
            for (partition, reasons) in refused where offsets[partition] == folded[partition] {
                furthest[partition] = reasons
            }
            // All that is left of a topic that was made anew lies behind what this copy has of the old one: nothing
            // shows that, and readers take another copy.
            let isOfOldTopic = offsets.contains { number, range in
                let partition = topic.partitions[Int(number)]
                return partition.oldEndOffset > 0 && range.upperBound <= partition.earliestOffset
            }
            guard !isOfOldTopic else { continue }
            try compareKept(refusals, by: worker)
            guard copies.count > 1 else { continue }
            let alone = try OpenStores(directories: [worker.directory])
            if let difference = try feed.difference(
                alone, at: offsets, under: worker.windows, refused: refused)
            {
                throw SimulationFault("\(worker.name) by itself: \(difference)")
            }
        }
        if let difference = try feed.difference(
            stores, at: folded, under: windows, refused: furthest)
        {
            throw SimulationFault(difference)
        }
        return furthest.values.flatMap(\.values)
    }

    /// A refused record is kept as it was sent; of one that is too large its digest.
    private func compareKept(
        _ refusals: [Int32: [Int64: StoredRefusal]], by worker: SimulatedWorker
    ) throws {
        for (number, refusals) in refusals {
            for record in topic.partitions[Int(number)].records {
                // An erased record is no longer there to compare.
                guard let refusal = refusals[record.offset], record.header("weir_erased") == nil
                else { continue }
                let isLarge = refusal.reason == ContractReason.tooLarge.rawValue
                let parts = [
                    ("key", refusal.key == record.key),
                    ("value", refusal.value == (isLarge ? nil : record.value)),
                    ("digest", refusal.valueSHA256 == (isLarge ? record.valueSHA256 : nil)),
                    ("time", refusal.timestampMilliseconds == max(0, record.timestampMilliseconds)),
                    ("type", refusal.type == record.type),
                ]
                if let other = parts.first(where: { !$0.1 }) {
                    throw SimulationFault(
                        "\(worker.name) keeps a record with another \(other.0) than \(stream)/\(number) has at \(record.offset): \(refusal.reason), \(refusal.type), \(refusal.timestampMilliseconds)"
                    )
                }
            }
        }
    }

    /// The records that a store has refused, by partition and offset.
    private static func refusals(
        _ directory: String, _ stream: String
    ) throws -> [Int32: [Int64: StoredRefusal]] {
        try StoreReader(path: storePath(directory, stream)).snapshot { snapshot in
            try snapshot.partitionStates().reduce(into: [:]) { refused, state in
                for record in try snapshot.refused(partition: state.partition) {
                    refused[state.partition, default: [:]][record.offset] =
                        try snapshot.refusal(partition: state.partition, offset: record.offset)
                }
            }
        }
    }
}
