import EventLog

/// Reads a topic from its archive first, then from the log.
///
/// While it reads the archive, the log keeps the partitions paused and is read in turns, so that this member stays in
/// its group and serves rebalances. Offsets, group and end are those of the log.
package final class ArchivedLogReader: LogReader {
    package let topic: String
    let live: any LogReader
    let archive: EmbeddedLogReader
    /// Partitions read from the archive, with the offset of their last record in it.
    var archived: [Int32: Int64] = [:]
    /// Partitions read from the log.
    var crossed: Set<Int32> = []
    /// Partitions that the caller has not positioned yet.
    private var unsought: Set<Int32> = []
    /// The last records of the archive. The log is read from these records on and must hold the same.
    var seams: [Int32: RecordCopy] = [:]
    private var readsArchiveNext = false

    /// Reads `archive` before `live`, which is not subscribed yet.
    ///
    /// Throws `badArchive` if the archive lacks the topic or has the topic of another log.
    package init(_ archive: EmbeddedLog, before live: any LogReader) throws(LogError) {
        topic = live.topic
        self.live = live
        do throws(LogError) {
            self.archive = try archive.openReader(topic: live.topic, group: nil)
        } catch {
            guard case .unknownTopic = error else { throw error }
            throw .badArchive(
                address: archive.address,
                detail: "has no topic '\(live.topic)': write it with weir archive")
        }
        let (found, wanted) = (try self.archive.identity(), try live.identity())
        guard found == wanted else {
            throw misfit(
                "belongs to another log, or to topic '\(topic)' before it was recreated (\(found), "
                    + "not \(wanted)): give the archive of this log")
        }
        guard try self.archive.partitionCount() <= live.partitionCount() else {
            throw misfit(
                "has more partitions of '\(topic)' than the log: the topic was recreated; "
                    + "give the archive of this log")
        }
        try self.archive.subscribe(.all)
        _ = try self.archive.read(
            into: RecordBatch(), maxRecords: 1, maxBytes: 1, waitMilliseconds: 0)
        for partition in self.archive.partitions {
            try self.archive.pause(partition: partition.partition)
        }
    }

    package func identity() throws(LogError) -> String { try live.identity() }

    package func partitionCount() throws(LogError) -> Int32 { try live.partitionCount() }

    package func subscribe(_ assignment: LogAssignment) throws(LogError) {
        for partition in crossed.union(archived.keys).union(unsought) { try forget(partition) }
        try live.subscribe(assignment)
    }

    package var isCaughtUp: Bool { archived.isEmpty && live.isCaughtUp }

    package var batchBytes: Int { live.batchBytes }

    package func position(partition: Int32) -> Int64? {
        archived[partition] == nil
            ? live.position(partition: partition) : archive.position(partition: partition)
    }

    package func takeDoubt() -> Bool { live.takeDoubt() }

    package func requireAnswer() throws(LogError) { try live.requireAnswer() }

    package func committedOffsets() throws(LogError) -> [Int32: GroupOffset] {
        try live.committedOffsets()
    }

    package func commit(_ offsets: [Int32: GroupOffset]) throws(LogError) {
        try live.commit(offsets)
    }

    package func awaitCommits(_ patience: Duration) throws(LogError) {
        try live.awaitCommits(patience)
    }

    package func close() {
        live.close()
        archive.close()
    }

    package func read(
        into batch: RecordBatch, maxRecords: Int, maxBytes: Int, waitMilliseconds: Int
    ) throws(LogError) -> LogReading {
        for partition in unsought.sorted() {
            let earliest = try bounds(of: [partition]).first?.earliestOffset ?? 0
            try seek(partition: partition, to: earliest)
        }
        readsArchiveNext = !archived.isEmpty && !readsArchiveNext
        if !archived.isEmpty, !readsArchiveNext {
            let reading = try readLive(batch, maxRecords, maxBytes, waitMilliseconds: 0)
            guard reading == .idle else { return reading }
        }
        if !archived.isEmpty, try readArchive(batch, maxRecords, maxBytes) { return .records }
        return try readLive(batch, maxRecords, maxBytes, waitMilliseconds: waitMilliseconds)
    }

    private func readLive(
        _ batch: RecordBatch, _ maxRecords: Int, _ maxBytes: Int, waitMilliseconds: Int
    ) throws(LogError) -> LogReading {
        let reading = try live.read(
            into: batch, maxRecords: maxRecords, maxBytes: maxBytes,
            waitMilliseconds: waitMilliseconds)
        switch reading {
        case .assigned(let partitions):
            for partition in partitions { try forget(partition) }
            unsought.formUnion(partitions)
        case .revoked(let partitions):
            for partition in partitions { try forget(partition) }
        case .records:
            try checkSeams(in: batch)
            return batch.isEmpty ? .idle : .records
        case .idle: break
        }
        return reading
    }

    /// Reads the archive; false if it had no more records.
    private func readArchive(
        _ batch: RecordBatch, _ maxRecords: Int, _ maxBytes: Int
    ) throws(LogError) -> Bool {
        let reading = try archive.read(
            into: batch, maxRecords: maxRecords, maxBytes: maxBytes, waitMilliseconds: 0)
        for (partition, last) in archived.sorted(by: { $0.key < $1.key })
        where archive.position(partition: partition).map({ $0 > last }) ?? true {
            let index = (0..<batch.count).last { batch.position($0) == (partition, last) }
            seams[partition] = index.map { RecordCopy(batch[$0]) }
            try cross(partition)
        }
        return reading == .records
    }

    /// Compares the first records from the log with the last ones of the archive.
    private func checkSeams(in batch: RecordBatch) throws(LogError) {
        var index = 0
        while !seams.isEmpty, index < batch.count {
            let (partition, offset) = batch.position(index)
            guard let seam = seams.removeValue(forKey: partition), seam.offset == offset else {
                index += 1
                continue
            }
            guard RecordCopy(batch[index]) == seam else {
                throw misfit(
                    "contains another record at offset \(offset) of \(topicPartition(partition)) than the "
                        + "log: the topic was recreated or truncated; give the archive of "
                        + "this log")
            }
            batch.remove(at: index)
        }
    }

    private func forget(_ partition: Int32) throws(LogError) {
        unsought.remove(partition)
        crossed.remove(partition)
        seams[partition] = nil
        guard archived.removeValue(forKey: partition) != nil else { return }
        try archive.pause(partition: partition)
    }

    /// Sets the source of a partition: `last` is the offset of its last record in the archive, or nil for the log.
    func setSource(_ partition: Int32, inArchiveUpTo last: Int64?) throws(LogError) {
        try forget(partition)
        if let last { archived[partition] = last } else { crossed.insert(partition) }
    }

    func topicPartition(_ partition: Int32) -> TopicPartition {
        TopicPartition(topic: topic, partition: partition)
    }

    func misfit(_ detail: String) -> LogError {
        .badArchive(address: archive.log.address, detail: detail)
    }
}

extension ArchivedLogReader {
    /// Reads the archive at `path` before `live`, which is not subscribed yet. Throws `badArchive` if it is missing
    /// or does not fit.
    package convenience init(path: String, before live: any LogReader) throws(LogError) {
        let archive: EmbeddedLog
        do throws(LogError) {
            archive = try EmbeddedLog(path: path, mode: .existing)
        } catch {
            switch error {
            case .noLog(let address):
                throw .badArchive(
                    address: address, detail: "does not exist: write it with weir archive")
            case .emptyLog(let address):
                throw .badArchive(address: address, detail: "is empty: write it with weir archive")
            default: throw error
            }
        }
        try self.init(archive, before: live)
    }
}

/// Positions, and the change from the archive to the log.
extension ArchivedLogReader {
    /// The bounds of the log, extended down to the start of the archive. A partition that has already switched to the
    /// log has the bounds of the log.
    package func bounds(of partitions: [Int32]) throws(LogError) -> [PartitionBounds] {
        let archivedBounds = try archive.bounds(of: partitions.filter(isArchived))
        return try live.bounds(of: partitions).map { bounds in
            guard let held = archivedBounds.first(where: { $0.partition == bounds.partition }),
                !held.isEmpty, !crossed.contains(bounds.partition)
            else { return bounds }
            return PartitionBounds(
                partition: bounds.partition,
                earliestOffset: min(bounds.earliestOffset, held.earliestOffset),
                endOffset: bounds.endOffset)
        }
    }

    /// Reads a partition from an offset on, from the archive if it holds the offset.
    ///
    /// Throws `badArchive` if neither holds the offset, or if there is a gap between them.
    package func seek(partition: Int32, to offset: Int64) throws(LogError) {
        guard let held = try held(partition), offset < held.bounds.endOffset else {
            return try seekLive(partition, from: offset, behind: try held(partition)?.bounds)
        }
        let log = try liveBounds(partition)
        if offset < held.bounds.earliestOffset, log.earliestOffset < held.bounds.earliestOffset {
            return try seekLive(partition, from: offset, behind: nil)
        }
        try checkFit(held.bounds, log)
        guard offset <= held.lastOffset else {
            return try seekLive(partition, from: held.bounds.endOffset, behind: nil)
        }
        try live.seek(partition: partition, to: held.bounds.endOffset)
        try live.pause(partition: partition)
        try setSource(partition, inArchiveUpTo: held.lastOffset)
        try archive.seek(partition: partition, to: offset)
        try archive.resume(partition: partition)
    }

    /// Continues in the log after the end of the archive.
    func cross(_ partition: Int32) throws(LogError) {
        let seam = seams[partition]
        guard let held = try held(partition) else {
            throw misfit(
                "no longer contains \(topicPartition(partition)), which was being read: restart")
        }
        // The archive may have grown during the read.
        if let last = archived[partition], held.lastOffset > last {
            archived[partition] = held.lastOffset
            seams[partition] = nil
            return
        }
        let log = try liveBounds(partition)
        try checkFit(held.bounds, log)
        try setSource(partition, inArchiveUpTo: nil)
        if let seam, seam.offset >= log.earliestOffset {
            seams[partition] = seam
            try live.seek(partition: partition, to: seam.offset)
        } else {
            try live.seek(partition: partition, to: held.bounds.endOffset)
        }
        try live.resume(partition: partition)
    }

    package func pause(partition: Int32) throws(LogError) {
        guard archived[partition] == nil else { return try archive.pause(partition: partition) }
        try live.pause(partition: partition)
    }

    package func resume(partition: Int32) throws(LogError) {
        guard archived[partition] == nil else { return try archive.resume(partition: partition) }
        try live.resume(partition: partition)
    }

    /// The first such record in the archive or the log.
    package func offset(
        partition: Int32, atOrAfter timestampMilliseconds: Int64
    ) throws(LogError) -> Int64? {
        let later = try live.offset(partition: partition, atOrAfter: timestampMilliseconds)
        guard isArchived(partition) else { return later }
        let archived = try archive.offset(partition: partition, atOrAfter: timestampMilliseconds)
        guard let archived, let later else { return archived ?? later }
        return min(archived, later)
    }

    private func seekLive(
        _ partition: Int32, from offset: Int64, behind held: PartitionBounds?
    ) throws(LogError) {
        if let held {
            let log = try liveBounds(partition)
            guard offset >= log.earliestOffset else { throw hole(held, log) }
        }
        let wasArchived = archived[partition] != nil
        try setSource(partition, inArchiveUpTo: nil)
        try live.seek(partition: partition, to: offset)
        if wasArchived { try live.resume(partition: partition) }
    }

    /// The current contents of the archive in a partition; nil if empty.
    private func held(
        _ partition: Int32
    ) throws(LogError) -> (bounds: PartitionBounds, lastOffset: Int64)? {
        guard isArchived(partition), let bounds = try archive.bounds(of: [partition]).first,
            !bounds.isEmpty
        else { return nil }
        return (bounds, try archive.lastOffset(partition: partition) ?? bounds.earliestOffset - 1)
    }

    private func liveBounds(_ partition: Int32) throws(LogError) -> PartitionBounds {
        guard let bounds = try live.bounds(of: [partition]).first else {
            throw .unknownPartition(
                topicPartition(partition), partitionCount: try live.partitionCount())
        }
        return bounds
    }

    private func isArchived(_ partition: Int32) -> Bool {
        archive.partitions.indices.contains(Int(partition))
    }

    private func checkFit(_ held: PartitionBounds, _ log: PartitionBounds) throws(LogError) {
        guard log.earliestOffset <= held.endOffset else { throw hole(held, log) }
        guard log.endOffset >= held.endOffset else {
            throw misfit(
                "contains \(topicPartition(held.partition)) up to offset \(held.endOffset), but the log ends "
                    + "at \(log.endOffset): the topic was recreated or truncated; give the "
                    + "archive of this log")
        }
    }

    private func hole(_ held: PartitionBounds, _ log: PartitionBounds) -> LogError {
        misfit(
            "ends at offset \(held.endOffset) of \(topicPartition(held.partition)), but the log starts at "
                + "\(log.earliestOffset): neither contains the records between. Give an archive that "
                + "reaches further, or fold only this archive (--log \(archive.log.address)) into a "
                + "separate --data directory")
    }
}

extension PartitionBounds {
    fileprivate var isEmpty: Bool { earliestOffset >= endOffset }
}

/// A record with its own bytes, for comparison. An erased record is equal to the one that it was.
struct RecordCopy: Equatable {
    var partition: Int32
    var offset: Int64
    var timestampMilliseconds: Int64
    var key: [UInt8]?
    /// In the encoding of `RecordHeaders`.
    var headers: [UInt8]
    var value: [UInt8]?
}

extension RecordCopy {
    static func == (left: RecordCopy, right: RecordCopy) -> Bool {
        guard
            (left.partition, left.offset, left.timestampMilliseconds)
                == (right.partition, right.offset, right.timestampMilliseconds)
        else { return false }
        guard left.isErased || right.isErased else {
            return left.key == right.key && left.headers == right.headers
                && left.value == right.value
        }
        return left.withRecord(\.fingerprint) == right.withRecord(\.fingerprint)
    }

    private var isErased: Bool { withRecord { ErasedRecord($0) != nil } }

    private func withRecord<Value>(_ body: (RecordView) -> Value) -> Value {
        key.withBytes { key in
            headers.withUnsafeBytes { headers in
                value.withBytes { value in
                    body(
                        RecordView(
                            partition: partition, offset: offset,
                            timestampMilliseconds: timestampMilliseconds, key: key,
                            headers: RecordHeaders(encoded: headers), value: value))
                }
            }
        }
    }

    init(_ record: RecordView) {
        self.init(
            partition: record.partition, offset: record.offset,
            timestampMilliseconds: record.timestampMilliseconds,
            key: record.key.map { Array($0) }, headers: record.headers.encodedBytes(),
            value: record.value.map { Array($0) })
    }
}
