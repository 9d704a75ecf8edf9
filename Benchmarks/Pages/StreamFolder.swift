import ConfigurationValues
import EventLog
import Foundation
import Store
import Streams

/// Folds records of any stream into its store, without a log.
protocol RecordFolder: AnyObject {
    /// Folds records in batches, and commits each.
    func fold(_ records: [OutgoingRecord]) throws
}

/// Folds the records of one stream as its worker does: decodes, verifies, deduplicates and commits.
final class StreamFolder<Fold: StreamFold>: RecordFolder {
    private let store: AggregateStore
    private let lanes: FoldLanes<Fold>
    private var offsets: [Int32: Int64] = [:]
    private let batch = RecordBatch()

    private let partitionCount: Int32 = 4
    private let batchSize = 10_000

    /// Continues a store, or begins one.
    init(_ stream: Fold.Type, in directory: String, _ pipelines: PipelineDirectory) throws {
        store = try AggregateStore(
            path: "\(directory)/\(Fold.streamName).sqlite", fold: Fold.self,
            topic: Fold.streamName, logIdentity: "benchmark", partitionCount: partitionCount)
        let rules = try Fold.rules(in: pipelines)
        let cores = ProcessInfo.processInfo.activeProcessorCount
        lanes = FoldLanes(
            try Fold.makeLanes(
                1, rules, topic: Fold.streamName, partitionCount: partitionCount, memory: store,
                threadCount: cores))
        if try store.partitionStates().isEmpty {
            for partition in 0..<partitionCount {
                try store.beginPartition(partition, at: 0, emitFrom: 0)
                try store.recordEpoch(partition: partition, configuration: rules.configuration)
            }
        }
        for state in try store.partitionStates() {
            store.expect(state)
            offsets[state.partition] = state.nextOffset
            try store.restore(state, in: lanes[partition: state.partition])
        }
    }

    func fold(_ records: [OutgoingRecord]) throws {
        var rest = records[...]
        while !rest.isEmpty {
            batch.removeAll()
            for record in rest.prefix(batchSize) { append(record) }
            rest = rest.dropFirst(batchSize)
            let prepared = lanes.folds[0].prepare(batch)
            for index in 0..<batch.count { try lanes.folds[0].fold(index, of: prepared) }
            _ = try store.store(lanes, prepared)
        }
        try store.awaitCommit()
    }

    private func append(_ record: OutgoingRecord) {
        let key = record.key ?? []
        let partition = Int32(Self.hash(key) % UInt64(partitionCount))
        let offset = offsets[partition, default: 0]
        offsets[partition] = offset + 1
        key.withUnsafeBytes { key in
            RecordHeaders.encode(record.headers).withUnsafeBytes { headers in
                (record.value ?? []).withUnsafeBytes { value in
                    batch.append(
                        partition: partition, offset: offset,
                        timestampMilliseconds: record.timestampMilliseconds ?? 0, key: key,
                        headers: headers, value: record.value == nil ? nil : value)
                }
            }
        }
    }

    /// FNV-1a.
    private static func hash(_ bytes: [UInt8]) -> UInt64 {
        bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}

extension StreamFold {
    static func folder(
        in directory: String, _ pipelines: PipelineDirectory
    ) throws -> any RecordFolder { try StreamFolder(Self.self, in: directory, pipelines) }
}
