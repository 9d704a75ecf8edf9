import EventLog

/// Reads folded records again, to check that a log still holds them.
package struct FingerprintCheck {
    /// Per partition, the first folded record with a different record at its offset now.
    package private(set) var others: [RecordFingerprint] = []
    /// Partitions that did not answer in time.
    package private(set) var unread: Set<Int32> = []

    private static let waitMilliseconds = 100

    /// Compares records within the bounds of their partitions. If a log has no record at an offset any more, for
    /// example after compaction, it skips the comparison.
    ///
    /// - Parameter reader: a reader of the topic that was not subscribed yet.
    package init(
        _ fingerprints: [RecordFingerprint], with reader: any LogReader,
        patience: Duration = .seconds(10)
    ) throws(LogError) {
        guard !fingerprints.isEmpty else { return }
        // The next one of each partition is last.
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
                guard let fingerprint = fingerprints.last,
                    let isSame = Self.compare(
                        fingerprint, batch, reader.position(partition: partition))
                else { continue }
                deadline = .now + patience
                if !isSame { others.append(fingerprint) }
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

    /// Whether a record is unchanged or gone; nil while unknown.
    private static func compare(
        _ fingerprint: RecordFingerprint, _ batch: RecordBatch, _ position: Int64?
    ) -> Bool? {
        for index in 0..<batch.count where batch.position(index).partition == fingerprint.partition
        {
            let offset = batch.position(index).offset
            if offset == fingerprint.offset {
                return batch[index].fingerprint == fingerprint.fingerprint
            }
            if offset > fingerprint.offset { return true }
        }
        return (position ?? 0) > fingerprint.offset ? true : nil
    }
}

extension GroupOffset {
    /// - Parameters:
    ///   - mark: a folded record below the offset.
    ///   - promotion: the last promotion of the stream before documents were published, in milliseconds since 1970.
    package init(_ next: Int64, mark: RecordFingerprint?, promotion: Int64? = nil) {
        let words = [
            mark.map { "\(Self.tag) \($0.offset) \($0.fingerprint)" },
            promotion.map { "\(Self.promotionPrefix)\($0)" },
        ]
        self.init(next, metadata: words.compactMap(\.self).joined(separator: " "))
    }

    /// The promotion under which documents below the offset were published; nil for none, or if unknown.
    package var promotion: Int64? {
        metadata.split(separator: " ").lazy
            .filter { $0.hasPrefix(Self.promotionPrefix) }
            .compactMap { Int64($0.dropFirst(Self.promotionPrefix.count)) }.first
    }

    private static var promotionPrefix: String { "promoted=" }

    /// The record that the worker had folded; nil if another program committed the offset.
    package func mark(in partition: Int32) -> RecordFingerprint? {
        let parts = metadata.split(separator: " ")
        guard parts.count >= 3, parts[0] == Self.tag, let offset = Int64(parts[1]), offset < next
        else { return nil }
        return RecordFingerprint(
            partition: partition, offset: offset, fingerprint: String(parts[2]))
    }

    /// Marks a note of Weir: other programs write their own metadata.
    private static var tag: String { "weir" }
}

extension LogChange {
    /// Why an offset of a group does not belong to this log; nil if all of them may. Records below an offset count as
    /// published: with the offset of a deleted topic, dead letters and documents of the new topic would never be
    /// published.
    ///
    /// - Parameters:
    ///   - watched: partitions of the store that continues. Offsets below its progress are ignored.
    ///   - openReader: opens a reader of the log itself, without an archive.
    package static func ofGroup(
        _ committed: [Int32: GroupOffset], _ bounds: [PartitionBounds], of topic: String,
        watched: [WatchedPartition],
        openReader: LogIdentityCheck.OpenReader
    ) throws -> LogChange? {
        var marks: [RecordFingerprint] = []
        for bounds in bounds {
            let state = watched.first { $0.partition == bounds.partition }
            guard let offset = committed[bounds.partition],
                offset.next > state?.nextOffset ?? bounds.earliestOffset
            else { continue }
            guard offset.next <= bounds.endOffset else {
                return .groupBeyondEnd(
                    TopicPartition(topic: topic, partition: bounds.partition),
                    offset: offset.next, end: bounds.endOffset)
            }
            marks += [offset.mark(in: bounds.partition)].compactMap { $0 }
        }
        guard !marks.isEmpty else { return nil }
        let reader = try openReader()
        defer { reader.close() }
        let held = try reader.bounds(of: marks.map(\.partition))
        let look = try FingerprintCheck(
            marks.filter { mark in
                held.contains { $0.partition == mark.partition && $0.earliestOffset <= mark.offset }
            }, with: reader)
        if let other = look.others.first {
            return .groupOfOther(
                TopicPartition(topic: topic, partition: other.partition),
                offset: committed[other.partition]?.next ?? 0, record: other.offset)
        }
        if let partition = look.unread.min() {
            throw LogError.unanswered(TopicPartition(topic: topic, partition: partition))
        }
        return nil
    }
}
