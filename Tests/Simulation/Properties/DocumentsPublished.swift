import Foundation
import Store

extension Comparison {
    /// What partners are told is what the contract says. What a fold from scratch has for them was published, each document at least once, the first time in the
    /// order of its partition, and nothing else.
    ///
    /// - Returns: how many documents there are.
    func comparePartnerPostbacks(
        _ published: SimulatedCluster.Topic?, withFoldIn anew: String
    ) throws -> Int {
        let documents = feed.documents
        var ids: [String] = []
        for record in published?.recordsAsAppended ?? [] {
            let bytes = record.headers.first { $0.name == "ce_id" }?.value
            guard let id = bytes.map({ String(decoding: $0, as: UTF8.self) }) else { continue }
            ids.append(id)
            if let difference = documents?.difference(id, record.value) {
                throw SimulationFault(difference)
            }
        }
        var seen: Set<String> = []
        let first = ids.filter { seen.insert($0).inserted }
        let reader = try StoreReader(path: "\(anew)/\(stream).sqlite")
        var partitions: [String: Set<Int32>] = [:]
        try reader.snapshot { snapshot in
            let wanted = try snapshot.partitionStates().map { state in
                // Partner, id, revision.
                (
                    state.partition,
                    try snapshot.outboxIDs(of: state.partition).map { row in
                        row.split(separator: " ", maxSplits: 3).dropFirst().prefix(2)
                            .joined(separator: ":")
                    }
                )
            }
            for (partition, ids) in wanted {
                for id in ids { partitions[id, default: []].insert(partition) }
            }
            for (partition, ids) in wanted {
                // A postback that came to two partitions is published for the one that was folded first.
                let there = first.filter { partitions[$0] == [partition] }
                let expected = ids.filter { partitions[$0] == [partition] }
                guard
                    published?.knowsOrder == false
                        ? Set(expected) == Set(there) : expected == there,
                    seen.isSuperset(of: ids)
                else {
                    throw SimulationFault(
                        "of partition \(partition) \(there.count) documents were published, and \(ids.count) are for partners, or their order differs"
                    )
                }
            }
        }
        let wanted = Set(documents.map(\.documents.keys) ?? [:].keys)
        if let other = wanted.symmetricDifference(partitions.keys).first {
            throw SimulationFault(
                "\(other) is \(wanted.contains(other) ? "not in a store, and is" : "in a store, and not") for partners by the contract"
            )
        }
        return partitions.count
    }
}
