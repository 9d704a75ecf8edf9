import EventLog

/// The topic that a store is of, and what told its log from others.
struct LogOrigin {
    let topic: String
    let identity: String

    /// Why a store whose partitions go on at these offsets cannot go on with a log; empty when it can.
    func faults(
        of nextOffsets: [(partition: Int32, nextOffset: Int64)], in log: any LogBackend
    ) throws(LogError) -> [String] {
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
        return nextOffsets.compactMap { partition, nextOffset in
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
}
