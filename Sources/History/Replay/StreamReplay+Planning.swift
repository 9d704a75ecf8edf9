import EventLog
import Foundation
import Store

extension StreamReplay {
    /// Most records of the sample that measures the speed.
    private static var sampleRecords: Int64 { 20_000 }

    /// The records to read, those that still exist, and the approximate speed. Folds a sample in a temporary
    /// directory, and writes nothing else.
    func plan() throws -> ReplayPlan {
        let reader = try openReader()
        defer { reader.close() }
        let stretches = try stretches(of: reader)
        let recorded = try recordedEpochs(reader)
        let log = try order.source.openLog(settings).reader(topic: settings.topic, group: nil)
        defer { log.close() }
        let archive = try order.source.archiveBounds(topic: settings.topic) ?? []
        let folded = try foldedOffsets()
        let partitions = try log.bounds().map { bounds in
            let stretch = stretches[bounds.partition] ?? 0..<0
            let held = archive.first { $0.partition == bounds.partition }?.offsets
            let earliest = min(held.map(\.lowerBound) ?? .max, bounds.earliestOffset)
            let wanted = wanted(recorded?.partitions[bounds.partition]) ?? stretch.lowerBound
            let goneEnd = min(earliest, order.range.toOffset ?? .max)
            let next = max(folded[bounds.partition] ?? 0, stretch.lowerBound)
            return ReplayPlan.Partition(
                partition: bounds.partition, fromOffset: min(next, stretch.upperBound),
                toOffset: stretch.upperBound,
                log: bounds.earliestOffset..<max(bounds.earliestOffset, bounds.endOffset),
                archive: held, gone: wanted < goneEnd ? wanted..<goneEnd : nil)
        }
        return ReplayPlan(
            stream: Fold.streamName, topic: settings.topic,
            mode: recorded == nil ? .present : order.mode,
            lacksStore: recorded == nil && order.mode == .recorded, partitions: partitions,
            recordsPerSecond: try rate(of: partitions, reader))
    }

    /// The requested records that are gone from both the log and the archive.
    func lostHistory() throws -> [LostHistory] {
        let reader = try openReader()
        defer { reader.close() }
        let lost = try reader.bounds().compactMap { bounds -> LostHistory? in
            if let time = order.range.fromMilliseconds {
                // If the first record is older than that time, no record of the range was lost before it.
                let found = try reader.offset(partition: bounds.partition, atOrAfter: time)
                guard found.map({ $0 <= bounds.earliestOffset }) ?? bounds.isEmpty else {
                    return nil
                }
            }
            let first = order.range.fromOffset ?? 0
            let end = min(bounds.earliestOffset, order.range.toOffset ?? .max)
            guard first < end else { return nil }
            return LostHistory(
                topic: settings.topic, partition: bounds.partition, offsets: first..<end)
        }
        let positions = lost.map { ($0.partition, $0.offsets.upperBound) }
        let records = try FirstRecords(at: Dictionary(uniqueKeysWithValues: positions), of: reader)
        return lost.map { lost in
            var lost = lost
            lost.firstMilliseconds = records.timestamps[lost.partition]
            return lost
        }
    }

    /// The first requested offset, whether or not it still exists; nil if a time decides.
    private func wanted(_ live: RecordedEpochs.Partition?) -> Int64? {
        if let offset = order.range.fromOffset { return offset }
        if order.range.fromMilliseconds != nil { return nil }
        return live?.firstOffset ?? 0
    }

    /// Where an earlier run stopped.
    private func foldedOffsets() throws -> [Int32: Int64] {
        guard FileManager.default.fileExists(atPath: storePath) else { return [:] }
        return try StoreReader(path: storePath).snapshot { snapshot in
            try snapshot.partitionStates().reduce(into: [:]) { $0[$1.partition] = $1.nextOffset }
        }
    }

    private func rate(
        of partitions: [ReplayPlan.Partition], _ reader: any LogReader
    ) throws -> Double? {
        let share = Self.sampleRecords / Int64(max(1, partitions.count))
        var sample: [Int32: Range<Int64>] = [:]
        for partition in partitions where partition.records > 0 {
            let end = min(partition.toOffset, partition.fromOffset + share)
            sample[partition.partition] = partition.fromOffset..<end
        }
        let records = sample.values.reduce(0) { $0 + $1.count }
        guard records > 0 else { return nil }
        let directory = NSTemporaryDirectory() + "weir-sample-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        var order = order
        order.directory = directory
        order.showsProgress = false
        let replay = try StreamReplay(order, stop: stop)
        let start = ContinuousClock.now
        _ = try replay.fold(
            sample, configurations(reader), identity: reader.identity(),
            partitionCount: reader.partitionCount(), interruption: { false })
        let (seconds, attoseconds) = start.duration(to: .now).components
        return Double(records) / max(0.001, Double(seconds) + Double(attoseconds) / 1e18)
    }
}

extension PartitionBounds {
    fileprivate var isEmpty: Bool { earliestOffset >= endOffset }

    fileprivate var offsets: Range<Int64>? {
        earliestOffset < endOffset ? earliestOffset..<endOffset : nil
    }
}
