import EventLog

/// Copies a topic to an archive, from the end of the archive on: partition, offset, timestamp, key, headers and value
/// of every record. Offsets without a record stay gaps.
package final class ArchiveCopy {
    private let source: any LogReader
    private let writer: ArchiveWriter
    private let numbers: [Int32]
    private let partitionCount: Int32
    /// The ends of the partitions when the copy began.
    private var ends: [Int32: Int64] = [:]
    /// The expected offset of the next record of each partition.
    private var expected: [Int32: Int64] = [:]
    /// The last records of the archive. The copy reads them again from the source, and they must be unchanged.
    private var seams: [Int32: RecordCopy] = [:]
    private var added: [Int32: Int64] = [:]
    private var lastCount = ContinuousClock.now
    private let batch = RecordBatch()

    private static let batchRecords = 10_000
    private static let batchBytes = 16 << 20
    private static let waitMilliseconds = 200

    /// Compares the archive with the source and decides where to continue.
    ///
    /// Throws `badArchive` if they do not fit: the archive belongs to another log, the source has lost records that
    /// the archive lacks, the source ends before the archive, or `start` contradicts the archive.
    ///
    /// - Parameter partitions: the partitions to copy; nil for all.
    package init(
        from source: any LogReader, to archive: EmbeddedLog, partitions: [Int32]? = nil,
        start: ArchiveStart = .earliest
    ) throws(LogError) {
        self.source = source
        partitionCount = try source.partitionCount()
        numbers = partitions ?? Array(0..<partitionCount)
        let bounds = try source.bounds(of: numbers)
        writer = try ArchiveWriter(
            archive, topic: source.topic, identity: try source.identity(),
            partitionCount: partitionCount)
        for bounds in bounds {
            ends[bounds.partition] = bounds.endOffset
            try plan(bounds, start)
        }
        try takePositions()
    }

    /// The contents of the archive by copied partition.
    package var ranges: [ArchiveRange] {
        numbers.map { number in
            let partition = writer.partitions[Int(number)]
            return ArchiveRange(
                partition: number, earliestOffset: partition.earliestOffset,
                endOffset: partition.endOffset, added: added[number] ?? 0)
        }
    }

    package var addedCount: Int64 { added.values.reduce(0, +) }

    /// Copies the records that the source held at the start. Reports the number of added records after each
    /// transaction. Ends early if `isStopped` returns true.
    package func copyToEnd(
        isStopped: () -> Bool = { false }, onProgress: (Int64) -> Void = { _ in }
    ) throws(LogError) {
        while !isStopped(), !isAtEnd { try step(onProgress) }
        try writer.mergeWriteAheadLog()
    }

    /// Continues to copy new records of the source until `isStopped` returns true.
    package func follow(
        isStopped: () -> Bool, onProgress: (Int64) -> Void = { _ in }
    ) throws(LogError) {
        while !isStopped() {
            try step(onProgress)
            try checkPartitionCount()
        }
        try writer.mergeWriteAheadLog()
    }

    private var isAtEnd: Bool {
        ends.allSatisfy { writer.partitions[Int($0.key)].endOffset >= $0.value }
    }

    private func step(_ onProgress: (Int64) -> Void) throws(LogError) {
        let reading = try source.read(
            into: batch, maxRecords: Self.batchRecords, maxBytes: Self.batchBytes,
            waitMilliseconds: Self.waitMilliseconds)
        guard reading == .records || reading == .idle else { return }
        try checkSeams()
        try checkContinuity()
        var positions: [Int32: Int64] = [:]
        for number in numbers where seams[number] == nil {
            let end = writer.partitions[Int(number)].endOffset
            if let position = source.position(partition: number), position > end {
                positions[number] = position
            }
        }
        guard !positions.isEmpty else { return }
        try writer.append(batch, positions: positions)
        for index in 0..<batch.count { added[batch.position(index).partition, default: 0] += 1 }
        onProgress(addedCount)
    }
}

// MARK: Where to begin

extension ArchiveCopy {
    private func plan(_ bounds: PartitionBounds, _ start: ArchiveStart) throws(LogError) {
        let number = bounds.partition
        let held = writer.partitions[Int(number)]
        let wanted = try offset(of: start, in: bounds)
        guard held.earliestOffset < held.endOffset else {
            let goesOn = start == .earliest && held.endOffset > bounds.earliestOffset
            guard !goesOn || held.endOffset <= bounds.endOffset else {
                throw endsEarlier(bounds, held)
            }
            let first = goesOn ? held.endOffset : wanted
            try writer.begin(number, at: first)
            expected[number] = first
            return
        }
        guard bounds.earliestOffset <= held.endOffset else { throw startsLater(bounds, held) }
        guard bounds.endOffset >= held.endOffset else { throw endsEarlier(bounds, held) }
        guard start == .earliest || (held.earliestOffset...held.endOffset).contains(wanted) else {
            throw beginsElsewhere(held, wanted)
        }
        expected[number] = held.endOffset
        if let last = try writer.lastRecord(of: number), last.offset >= bounds.earliestOffset {
            seams[number] = last
        }
    }

    private func offset(
        of start: ArchiveStart, in bounds: PartitionBounds
    ) throws(LogError) -> Int64 {
        let wanted: Int64 =
            switch start {
            case .earliest: bounds.earliestOffset
            case .offset(let offset): offset
            case .time(let time):
                try source.offset(partition: bounds.partition, atOrAfter: time) ?? bounds.endOffset
            }
        return min(max(wanted, bounds.earliestOffset), bounds.endOffset)
    }

    private func takePositions() throws(LogError) {
        try source.subscribe(.partitions(numbers))
        _ = try source.read(
            into: batch, maxRecords: 1, maxBytes: 1, waitMilliseconds: 0)
        for number in numbers {
            let first = seams[number]?.offset ?? expected[number] ?? 0
            try source.seek(partition: number, to: first)
        }
    }

    private func endsEarlier(_ bounds: PartitionBounds, _ held: EmbeddedPartition) -> LogError {
        misfit(
            "contains \(place(held)) up to offset \(held.endOffset), but the log ends at "
                + "\(bounds.endOffset): the topic was recreated or truncated; archive it to "
                + "another file")
    }

    private func startsLater(_ bounds: PartitionBounds, _ held: EmbeddedPartition) -> LogError {
        misfit(
            "ends at offset \(held.endOffset) of \(place(held)), but the log now starts at "
                + "\(bounds.earliestOffset): the records between were deleted. The archive stays "
                + "valid; archive the remaining records to another file, and archive before records expire"
        )
    }

    private func beginsElsewhere(_ held: EmbeddedPartition, _ wanted: Int64) -> LogError {
        misfit(
            "contains offsets \(held.earliestOffset) to \(held.endOffset) of \(place(held)) and "
                + "cannot begin at \(wanted): remove --from-offset and --from-time to continue "
                + "at its end, or archive to another file")
    }

    private func misfit(_ detail: String) -> LogError {
        .badArchive(address: writer.log.address, detail: detail)
    }

    private func place(_ partition: EmbeddedPartition) -> TopicPartition {
        TopicPartition(topic: source.topic, partition: partition.partition)
    }
}

// MARK: Checks during the copy

extension ArchiveCopy {
    /// Compares the last records of the archive and removes them from the batch.
    private func checkSeams() throws(LogError) {
        for (number, seam) in seams {
            let index = (0..<batch.count).first { batch.position($0).partition == number }
            guard let index else {
                // Compaction removed it and everything up to the end.
                if let position = source.position(partition: number), position > seam.offset {
                    seams[number] = nil
                }
                continue
            }
            seams[number] = nil
            guard batch.position(index).offset == seam.offset else { continue }
            guard RecordCopy(batch[index]) == seam else {
                throw misfit(
                    "contains another record at offset \(seam.offset) of "
                        + "\(TopicPartition(topic: source.topic, partition: number)) than the log: "
                        + "the topic was recreated or truncated; archive it to another file")
            }
            batch.remove(at: index)
        }
    }

    /// A gap in the offsets is normal, unless records expired during the copy.
    private func checkContinuity() throws(LogError) {
        var gaps: [Int32: Int64] = [:]
        for index in 0..<batch.count {
            let (number, offset) = batch.position(index)
            let next = expected.updateValue(offset + 1, forKey: number) ?? offset
            if offset > next, gaps[number] == nil { gaps[number] = next }
        }
        // The end may have moved past offsets without records.
        for number in numbers where seams[number] == nil {
            guard let position = source.position(partition: number),
                let next = expected[number], position > next
            else { continue }
            expected[number] = position
            if gaps[number] == nil { gaps[number] = next }
        }
        guard !gaps.isEmpty else { return }
        for bounds in try source.bounds(of: gaps.keys.sorted()) {
            if let next = gaps[bounds.partition], bounds.earliestOffset > next {
                throw startsLater(bounds, writer.partitions[Int(bounds.partition)])
            }
        }
    }

    /// Checks every 30 s whether the topic has grown. If the log does not answer, a later check retries.
    private func checkPartitionCount() throws(LogError) {
        guard lastCount.duration(to: .now) > .seconds(30) else { return }
        lastCount = .now
        guard let now = try? source.partitionCount(), now != partitionCount else { return }
        throw misfit(
            "is complete for the \(partitionCount) partitions of topic '\(source.topic)', which now has \(now): "
                + "run weir archive again to copy the new ones")
    }
}

/// The start of an archive, for partitions that are still empty in it.
package enum ArchiveStart: Equatable, Sendable {
    /// At the earliest record, or at the end of the archive.
    case earliest
    /// At this offset of every partition, or the first record after it.
    case offset(Int64)
    /// At the first record with this time or a later one, milliseconds since 1970.
    case time(Int64)
}

/// The contents of an archive by partition, and how much a run added.
package struct ArchiveRange: Equatable, Sendable {
    package var partition: Int32
    package var earliestOffset: Int64
    /// Every record below this offset is in the archive.
    package var endOffset: Int64
    /// Records added by this run.
    package var added: Int64
}
