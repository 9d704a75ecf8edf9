/// Reads a topic from an archive of it as far as that goes, and then from the log itself.
///
/// The log holds the partitions meanwhile, paused, and is read in turns with the archive, so that its
/// group keeps this member and its rebalances are served. Offsets, the group and the end are the log's.
package final class ArchivedLogReader: LogReader {
    /// Name of the topic.
    package let topic: String
    let live: any LogReader
    let archive: EmbeddedLogReader
    /// Partitions that are read from the archive, with the offset of its last record of them.
    var archived: [Int32: Int64] = [:]
    /// Partitions that are read from the log.
    var crossed: Set<Int32> = []
    /// Partitions that the caller has given no position yet.
    private var unsought: Set<Int32> = []
    /// The last records of the archive: the log is read from them on, and must hold the same.
    var seams: [Int32: RecordCopy] = [:]
    private var isArchivesTurn = false

    /// Puts an archive before a reader that was not subscribed yet.
    ///
    /// Throws `badArchive` when it holds no such topic, or that of another log.
    package init(_ archive: EmbeddedLog, before live: any LogReader) throws(LogError) {
        topic = live.topic
        self.live = live
        do throws(LogError) {
            self.archive = try archive.openReader(topic: live.topic, group: nil)
        } catch {
            guard case .unknownTopic = error else { throw error }
            throw .badArchive(
                address: archive.address,
                detail: "holds no topic '\(live.topic)': write it with weir archive")
        }
        let (found, wanted) = (try self.archive.identity(), try live.identity())
        guard found == wanted else {
            throw misfit(
                "is of another log, or of topic '\(topic)' before it was created anew (\(found), "
                    + "not \(wanted)): give the archive of this one")
        }
        guard try self.archive.partitionCount() <= live.partitionCount() else {
            throw misfit(
                "has more partitions of '\(topic)' than the log: the topic was created anew; "
                    + "give the archive of this one")
        }
        try self.archive.subscribe(.all)
        _ = try self.archive.read(
            into: RecordBatch(), maxRecords: 1, maxBytes: 1, waitMilliseconds: 0)
        for partition in self.archive.partitions {
            try self.archive.pause(partition: partition.partition)
        }
    }

    /// The identity of the log, which the archive has too.
    package func identity() throws(LogError) -> String { try live.identity() }

    /// The partitions of the log.
    package func partitionCount() throws(LogError) -> Int32 { try live.partitionCount() }

    /// Subscribes to the log.
    package func subscribe(_ assignment: LogAssignment) throws(LogError) {
        for partition in crossed.union(archived.keys).union(unsought) { try forget(partition) }
        try live.subscribe(assignment)
    }

    /// True when the archive is read and the log is caught up.
    package var isCaughtUp: Bool { archived.isEmpty && live.isCaughtUp }

    /// How far a partition is read, in whichever of both.
    package func position(partition: Int32) -> Int64? {
        archived[partition] == nil
            ? live.position(partition: partition) : archive.position(partition: partition)
    }

    /// Whether the log gives reason to doubt it.
    package func takeDoubt() -> Bool { live.takeDoubt() }

    /// Offsets that the log's group has committed.
    package func committedOffsets() throws(LogError) -> [Int32: Int64] {
        try live.committedOffsets()
    }

    /// Commits to the log's group.
    package func commit(_ offsets: [Int32: Int64]) throws(LogError) { try live.commit(offsets) }

    /// Waits for the log's group.
    package func settleCommits(_ patience: Duration) throws(LogError) {
        try live.settleCommits(patience)
    }

    /// Ends both.
    package func close() {
        live.close()
        archive.close()
    }

    /// Reads the archive and the log in turns.
    package func read(
        into batch: RecordBatch, maxRecords: Int, maxBytes: Int, waitMilliseconds: Int
    ) throws(LogError) -> LogReading {
        for partition in unsought.sorted() {
            let earliest = try bounds(of: [partition]).first?.earliestOffset ?? 0
            try seek(partition: partition, to: earliest)
        }
        isArchivesTurn = !archived.isEmpty && !isArchivesTurn
        if !archived.isEmpty, !isArchivesTurn {
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

    /// Reads on in the archive; false when nothing came of it.
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

    /// Compares the records at which the log goes on with those that the archive ended with.
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
                    "holds another record at offset \(offset) of \(place(partition)) than the "
                        + "log: the topic was created anew or truncated; give the archive of "
                        + "this one")
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

    /// Notes where a partition is read from now on: `last` is the offset of the archive's last record,
    /// or nil for the log.
    func place(_ partition: Int32, inArchiveUpTo last: Int64?) throws(LogError) {
        try forget(partition)
        if let last { archived[partition] = last } else { crossed.insert(partition) }
    }

    func place(_ partition: Int32) -> TopicPartition {
        TopicPartition(topic: topic, partition: partition)
    }

    func misfit(_ detail: String) -> LogError {
        .badArchive(address: archive.log.address, detail: detail)
    }
}
