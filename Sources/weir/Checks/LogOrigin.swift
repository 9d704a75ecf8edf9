import AggregateStore
import EventLog
import Worker

/// The topic that a store is of, and what told its log from others.
struct LogOrigin {
    let topic: String
    let identity: String

    /// Why a store whose partitions go on at these offsets cannot go on with a log; empty when it can.
    ///
    /// - Parameter rungs: gives a few records of a partition that were folded, at or after an offset.
    func faults(
        of nextOffsets: [(partition: Int32, nextOffset: Int64)], in log: any LogBackend,
        rungs: (_ partition: Int32, _ earliest: Int64) throws -> [Rung] = { _, _ in [] }
    ) throws -> [String] {
        guard let description = try log.topics().first(where: { $0.name == topic }) else {
            return [
                "its topic \(topic) is not in \(log.address): give --log the one it was folded from"
            ]
        }
        if identity != description.identity {
            return [
                "it was folded from another topic \(topic) than that of \(log.address): give --log "
                    + "that one, or move the store away and fold again"
            ]
        }
        let bounds = try log.reader(topic: topic).bounds()
        let faults = nextOffsets.compactMap { partition, nextOffset in
            Self.fault(of: partition, nextOffset, in: bounds, log)
        }
        guard faults.isEmpty else { return faults }
        let known = try nextOffsets.flatMap { partition, _ in
            try rungs(partition, bounds.first { $0.partition == partition }?.earliestOffset ?? 0)
        }
        guard !known.isEmpty else { return [] }
        let reader = try log.lookingReader(topic: topic)
        defer { reader.close() }
        let look = try LadderLook(known, with: reader)
        return look.others.map { other in
            "\(topic)/\(other.partition) of \(log.address) holds another record at offset "
                + "\(other.offset) than was folded: the topic was created anew, or its log lost its end "
                + "and was written on; give --log the one that was folded, or move the store away and "
                + "fold again"
        }
            + look.unread.sorted().map { partition in
                "\(topic)/\(partition) of \(log.address) does not answer: see weir lag and the cluster"
            }
    }

    private static func fault(
        of partition: Int32, _ nextOffset: Int64, in bounds: [PartitionBounds],
        _ log: any LogBackend
    ) -> String? {
        guard let bounds = bounds.first(where: { $0.partition == partition }) else {
            return "partition \(partition) is not in \(log.address)"
        }
        if nextOffset < bounds.earliestOffset {
            return
                "partition \(partition) goes on at offset \(nextOffset), and the log begins at "
                + "\(bounds.earliestOffset): move the store away and fold again"
        }
        if nextOffset > bounds.endOffset {
            return
                "partition \(partition) goes on at offset \(nextOffset), and the log ends at "
                + "\(bounds.endOffset): give --log the one it was folded from"
        }
        return nil
    }
}
