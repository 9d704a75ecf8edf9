import EventLog
import Store

/// Reads folded records again, to see whether a log still holds them.
package struct FingerprintCheck {
    /// Per partition, the first folded record whose offset now holds a different record.
    package private(set) var others: [RecordFingerprint] = []
    /// Partitions that did not answer in time.
    package private(set) var unread: Set<Int32> = []

    private static let waitMilliseconds = 100

    /// Compares records that lie within the bounds of their partitions. Where a log has no record at an
    /// offset any more, as after compaction, there is nothing to compare.
    ///
    /// - Parameter reader: of the topic, that was not subscribed yet.
    package init(
        _ fingerprints: [RecordFingerprint], with reader: any LogReader,
        patience: Duration = .seconds(10)
    ) throws(LogError) {
        guard !fingerprints.isEmpty else { return }
        // The next one of each partition is at the end.
        var left = Dictionary(grouping: fingerprints, by: \.partition)
            .mapValues { $0.sorted { $0.offset > $1.offset } }
        let batch = RecordBatch()
        try reader.subscribe(.partitions(left.keys.sorted()))
        _ = try reader.read(into: batch, maxRecords: 1, maxBytes: 1, waitMilliseconds: 0)
        for (partition, fingerprints) in left.sorted(by: { $0.key < $1.key }) {
            try reader.seek(partition: partition, to: fingerprints.last?.offset ?? 0)
        }
        var deadline = ContinuousClock.now + patience
        while !left.isEmpty, ContinuousClock.now < deadline {
            _ = try reader.read(
                into: batch, maxRecords: 1, maxBytes: 1, waitMilliseconds: Self.waitMilliseconds)
            for (partition, fingerprints) in left.sorted(by: { $0.key < $1.key }) {
                guard let known = fingerprints.last,
                    let isSame = Self.compare(known, batch, reader.position(partition: partition))
                else { continue }
                deadline = .now + patience
                if !isSame { others.append(known) }
                left[partition] = isSame && fingerprints.count > 1 ? fingerprints.dropLast() : nil
                if let next = left[partition]?.last {
                    try reader.seek(partition: partition, to: next.offset)
                } else {
                    try reader.pause(partition: partition)
                }
            }
        }
        unread = Set(left.keys)
    }

    /// Whether a record is what it was, or is not there any more; nil while that is not known.
    private static func compare(
        _ known: RecordFingerprint, _ batch: RecordBatch, _ position: Int64?
    ) -> Bool? {
        for index in 0..<batch.count where batch.position(index).partition == known.partition {
            let offset = batch.position(index).offset
            if offset == known.offset { return batch[index].fingerprint == known.fingerprint }
            if offset > known.offset { return true }
        }
        return (position ?? 0) > known.offset ? true : nil
    }
}
