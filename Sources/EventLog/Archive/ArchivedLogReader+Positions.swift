/// Where partitions are read, and where the archive ends and the log goes on.
extension ArchivedLogReader {
    /// The bounds of the log, begun where the archive begins; of a partition that is read from the log
    /// already, those of the log.
    package func bounds(of partitions: [Int32]) throws(LogError) -> [PartitionBounds] {
        let known = try archive.bounds(of: partitions.filter(isKnown))
        return try live.bounds(of: partitions).map { bounds in
            var bounds = bounds
            let held = known.first { $0.partition == bounds.partition }
            if let held, !held.isEmpty, !crossed.contains(bounds.partition) {
                bounds.earliestOffset = min(bounds.earliestOffset, held.earliestOffset)
            }
            return bounds
        }
    }

    /// Reads a partition from an offset on, from the archive when it lies there.
    ///
    /// Throws `badArchive` when neither holds the offset, or there is a hole between both.
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
        try place(partition, inArchiveUpTo: held.lastOffset)
        try archive.seek(partition: partition, to: offset)
        try archive.resume(partition: partition)
    }

    /// Goes on in the log with a partition whose archive was read to its end.
    func cross(_ partition: Int32) throws(LogError) {
        let seam = seams[partition]
        guard let held = try held(partition) else {
            throw misfit("no longer holds \(place(partition)), which was read: start again")
        }
        // It may have grown meanwhile.
        if let last = archived[partition], held.lastOffset > last {
            archived[partition] = held.lastOffset
            seams[partition] = nil
            return
        }
        let log = try liveBounds(partition)
        try checkFit(held.bounds, log)
        try place(partition, inArchiveUpTo: nil)
        if let seam, seam.offset >= log.earliestOffset {
            seams[partition] = seam
            try live.seek(partition: partition, to: seam.offset)
        } else {
            try live.seek(partition: partition, to: held.bounds.endOffset)
        }
        try live.resume(partition: partition)
    }

    /// Reads nothing of a partition until it is resumed.
    package func pause(partition: Int32) throws(LogError) {
        guard archived[partition] == nil else { return try archive.pause(partition: partition) }
        try live.pause(partition: partition)
    }

    /// Reads on with a paused partition.
    package func resume(partition: Int32) throws(LogError) {
        guard archived[partition] == nil else { return try archive.resume(partition: partition) }
        try live.resume(partition: partition)
    }

    /// The first record of that time or later, in whichever of both it comes first.
    package func offset(
        partition: Int32, atOrAfter timestampMilliseconds: Int64
    ) throws(LogError) -> Int64? {
        let later = try live.offset(partition: partition, atOrAfter: timestampMilliseconds)
        guard isKnown(partition) else { return later }
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
        try place(partition, inArchiveUpTo: nil)
        try live.seek(partition: partition, to: offset)
        if wasArchived { try live.resume(partition: partition) }
    }

    /// What the archive holds of a partition now; nil when that is nothing.
    private func held(
        _ partition: Int32
    ) throws(LogError) -> (bounds: PartitionBounds, lastOffset: Int64)? {
        guard isKnown(partition), let bounds = try archive.bounds(of: [partition]).first,
            !bounds.isEmpty
        else { return nil }
        return (bounds, try archive.lastOffset(partition: partition) ?? bounds.earliestOffset - 1)
    }

    private func liveBounds(_ partition: Int32) throws(LogError) -> PartitionBounds {
        guard let bounds = try live.bounds(of: [partition]).first else {
            throw .unknownPartition(
                place(partition), partitionCount: try live.partitionCount())
        }
        return bounds
    }

    private func isKnown(_ partition: Int32) -> Bool {
        archive.partitions.indices.contains(Int(partition))
    }

    private func checkFit(_ held: PartitionBounds, _ log: PartitionBounds) throws(LogError) {
        guard log.earliestOffset <= held.endOffset else { throw hole(held, log) }
        guard log.endOffset >= held.endOffset else {
            throw misfit(
                "holds \(place(held.partition)) up to offset \(held.endOffset), and the log ends "
                    + "at \(log.endOffset): the topic was created anew or truncated; give the "
                    + "archive of this one")
        }
    }

    private func hole(_ held: PartitionBounds, _ log: PartitionBounds) -> LogError {
        misfit(
            "ends at offset \(held.endOffset) of \(place(held.partition)), and the log begins at "
                + "\(log.earliestOffset): the records between are in neither. Give an archive that "
                + "reaches further, or fold this one alone (--log \(archive.log.address)) into a "
                + "--data directory of its own")
    }
}

extension PartitionBounds {
    /// Whether there is no offset in them.
    fileprivate var isEmpty: Bool { earliestOffset >= endOffset }
}
