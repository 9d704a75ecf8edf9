import EventLog
import Foundation
import Store
import Streams
import Wording

/// The lag of the stores in some directories.
package struct LagReport {
    /// By stream, then by topic.
    package let streams: [StreamLag]
    package let nowMilliseconds: Int64?

    /// Compares every store with the log.
    ///
    /// - Parameters:
    ///   - groups: the configured consumer groups of the workers; by default their programs' names.
    ///   - nowMilliseconds: the current time, milliseconds since 1970; nil to skip the ages of records.
    package init(
        directories: [String], log: any LogBackend, groups: [String: String] = [:],
        nowMilliseconds: Int64?
    ) throws {
        self.nowMilliseconds = nowMilliseconds
        streams = try (OpenStores.streams + [DeliveryStore.streamName]).flatMap { stream in
            let stores = try directories.compactMap { directory in
                stream == DeliveryStore.streamName
                    ? try Self.deliveryStore(in: directory)
                    : try Self.store(of: stream, in: directory)
            }
            return try Set(stores.map(\.topic)).sorted().map { topic in
                try StreamLag(
                    stream: stream, topic: topic, group: groups[stream],
                    stores: stores.filter { $0.topic == topic }, log: log,
                    nowMilliseconds: nowMilliseconds)
            }
        }
    }

    private static func store(of stream: String, in directory: String) throws -> StreamLag.Store? {
        let path = try OpenStores.path(of: stream, in: directory)
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        return try StoreReader(path: path).snapshot(verifying: false) { snapshot in
            let states = try snapshot.partitionStates()
            return StreamLag.Store(
                path: path, topic: snapshot.topic, logIdentity: snapshot.logIdentity,
                nextOffsets: states.nextOffsets,
                unfolded: Set(states.filter { $0.records == 0 }.map(\.partition)),
                oldestExpected: states.oldestExpected,
                fingerprints: try states.compactMap(\.watched).flatMap {
                    try snapshot.fingerprints(of: $0, from: 0)
                })
        }
    }

    private static func deliveryStore(in directory: String) throws -> StreamLag.Store? {
        guard let store = try DeliveryStore.existing(in: directory) else { return nil }
        let origin = try store.origin()
        return StreamLag.Store(
            path: store.path, topic: origin.topic, logIdentity: origin.logIdentity,
            nextOffsets: try store.nextOffsets(),
            fingerprints: try store.watched().flatMap { try store.fingerprints(of: $0, from: 0) },
            waiting: try store.waiting())
    }
}

/// The lag of the partitions of one stream and topic.
package struct StreamLag {
    package struct Store {
        var path: String
        var topic: String
        var logIdentity: String
        /// The first unfolded record of each partition.
        var nextOffsets: [Int32: Int64]
        /// Partitions without a folded record.
        var unfolded: Set<Int32> = []
        /// As `PartitionState.oldestExpected`.
        var oldestExpected: [Int32: Int64] = [:]
        /// A sample of the folded records.
        var fingerprints: [RecordFingerprint] = []
        /// Pending deliveries; nil for the store of a fold.
        var waiting: WaitingDeliveries?
    }

    package let stream: String
    package let topic: String
    /// By partition, then in the order of the stores.
    package let partitions: [PartitionLag]
    /// Pending deliveries in all stores together; nil for a folded stream.
    package let waiting: WaitingDeliveries?

    /// Compares stores of one stream and topic with the log.
    ///
    /// - Parameters:
    ///   - group: the consumer group of the worker; nil for the program's name.
    ///   - nowMilliseconds: the current time, milliseconds since 1970; nil to skip the ages of records.
    package init(
        stream: String, topic: String, group: String? = nil, stores: [Store], log: any LogBackend,
        nowMilliseconds: Int64?
    ) throws(LogError) {
        self.stream = stream
        self.topic = topic
        let all = stores.compactMap(\.waiting)
        waiting = all.first.map { first in all.dropFirst().reduce(first) { $0.adding($1) } }
        guard let found = try log.topics().first(where: { $0.name == topic }) else {
            partitions = Self.strangers(
                stores,
                "topic '\(topic)' does not exist in \(log.address): give --log the log that the store was folded from"
            )
            return
        }
        let reader = try log.reader(topic: topic, group: group ?? "weir-\(stream)")
        defer { reader.close() }
        let (bounds, faults) = try reader.knownBounds(of: Array(0..<found.partitionCount))
        var committed: [Int32: GroupOffset] = [:]
        var groupFault: LogError?
        do throws(LogError) {
            committed = try reader.committedOffsets()
        } catch {
            groupFault = error
        }
        let own = stores.filter { $0.logIdentity == found.identity }
        var partitions = Self.strangers(
            stores.filter { $0.logIdentity != found.identity },
            "folded from another log than \(log.address), or before the topic was recreated: give --log the original log, or "
                + (waiting == nil
                    ? "fold into a fresh --data directory" : "run weir check"))
        for store in own {
            let others = nowMilliseconds == nil ? [] : try Self.otherRecords(store, bounds, in: log)
            partitions += try Self.folded(
                store, bounds, faults, committed, otherRecords: others, reader, nowMilliseconds)
        }
        let folded = Set(own.flatMap(\.nextOffsets.keys))
        partitions += try Self.unfolded(
            bounds.filter { !folded.contains($0.partition) }, reader, nowMilliseconds)
        partitions += faults.filter { !folded.contains($0.key) }.map { partition, fault in
            PartitionLag(partition: partition, isUnanswered: true, note: "\(fault)")
        }
        let lags = partitions.map { lag in
            var lag = lag
            lag.committedOffset = committed[lag.partition]?.next
            lag.note = lag.note ?? groupFault?.description
            // A store commits before its consumer group does. A store with a next offset below the group's is an older
            // copy, or is being rebuilt.
            if lag.note == nil, lag.store != nil, let next = lag.nextOffset,
                let committed = lag.committedOffset, next < committed
            {
                lag.note = Self.setBack(next, committed)
            }
            return lag
        }
        self.partitions = Self.sorted(lags)
    }

    /// Unfolded records, counting the furthest store of each partition.
    package var lag: Int64 {
        furthest.reduce(0) { $0 + ($1.lag ?? 0) }
    }

    /// Age of the oldest unfolded record; nil when no age is known.
    package var lagSeconds: Int64? { furthest.compactMap(\.lagSeconds).max() }

    /// The furthest copy of each partition, by partition.
    package var furthest: [PartitionLag] {
        Dictionary(grouping: partitions, by: \.partition).values
            .compactMap { $0.max(by: Self.isBehind) }
            .sorted { $0.partition < $1.partition }
    }

    /// Orders copies as readers do (`PartitionState.extent`). A store that cannot continue ranks below any that can,
    /// and one without a folded record below any with one.
    private static func isBehind(_ left: PartitionLag, _ right: PartitionLag) -> Bool {
        guard (left.lag == nil) == (right.lag == nil) else { return left.lag == nil }
        guard left.isUnfolded == right.isUnfolded else { return left.isUnfolded }
        return (left.nextOffset ?? -1) < (right.nextOffset ?? -1)
    }

    private static func sorted(_ partitions: [PartitionLag]) -> [PartitionLag] {
        partitions.enumerated()
            .sorted { ($0.element.partition, $0.offset) < ($1.element.partition, $1.offset) }
            .map(\.element)
    }
}

extension StreamLag.Store {
    fileprivate var wayOutOfOtherRecords: String {
        waiting == nil
            ? "give the right --log, or move the store away and fold again"
            : "run weir check for what to do"
    }

    /// Why a store cannot continue a partition at an offset; nil when it can.
    fileprivate func fault(_ nextOffset: Int64, _ bounds: PartitionBounds?) -> String? {
        guard let bounds else {
            return
                "the topic no longer has this partition: give --log the log that the store was folded from"
        }
        if nextOffset < bounds.earliestOffset {
            let gone = bounds.earliestOffset - nextOffset
            let noun = waiting == nil ? "record" : "document"
            let remedy =
                waiting == nil
                ? "start the worker with --archive, or fold into a fresh --data directory"
                : "run weir check for what to do"
            return
                "the log now starts later: up to \(counted(gone, noun)) \(gone == 1 ? "was" : "were") deleted"
                + (waiting == nil ? "; " : " and not sent; ") + remedy
        }
        if nextOffset > bounds.endOffset {
            return "the log ends earlier: it was truncated or is another log; "
                + (waiting == nil ? "give the right --log" : wayOutOfOtherRecords)
        }
        return nil
    }
}

extension StreamLag {
    /// The partitions of stores that cannot be compared with the log.
    private static func strangers(_ stores: [Store], _ note: String) -> [PartitionLag] {
        sorted(
            stores.flatMap { store in
                store.nextOffsets.map { partition, nextOffset in
                    PartitionLag(
                        partition: partition, store: store.path, nextOffset: nextOffset, note: note)
                }
            })
    }

    /// Folded records with a different record at their offset in the log.
    private static func otherRecords(
        _ store: Store, _ bounds: [PartitionBounds], in log: any LogBackend
    ) throws(LogError) -> [RecordFingerprint] {
        let fingerprints = store.fingerprints.filter { fingerprint in
            bounds.contains {
                $0.partition == fingerprint.partition
                    && ($0.earliestOffset..<$0.endOffset).contains(fingerprint.offset)
            }
        }
        guard !fingerprints.isEmpty else { return [] }
        let reader = try log.lookingReader(topic: store.topic)
        defer { reader.close() }
        return try FingerprintCheck(fingerprints, with: reader).others
    }

    private static func folded(
        _ store: Store, _ bounds: [PartitionBounds], _ faults: [Int32: LogError],
        _ committed: [Int32: GroupOffset], otherRecords: [RecordFingerprint],
        _ reader: any LogReader, _ nowMilliseconds: Int64?
    ) throws(LogError) -> [PartitionLag] {
        let nextOffsets = store.nextOffsets.sorted { $0.key < $1.key }
        var partitions = nextOffsets.map { partition, nextOffset in
            if let fault = faults[partition] {
                return PartitionLag(
                    partition: partition, store: store.path, nextOffset: nextOffset,
                    isUnanswered: true, note: "\(fault)")
            }
            let bounds = bounds.first { $0.partition == partition }
            if let bounds, bounds.logStart < store.oldestExpected[partition] ?? 0 {
                return PartitionLag(
                    partition: partition, store: store.path, nextOffset: bounds.earliestOffset,
                    earliestOffset: bounds.earliestOffset, endOffset: bounds.endOffset,
                    lag: bounds.endOffset - bounds.earliestOffset,
                    note: "the topic was recreated before any record was folded: its worker "
                        + "starts at \(bounds.earliestOffset)")
            }
            var lag = PartitionLag(
                partition: partition, store: store.path, nextOffset: nextOffset,
                earliestOffset: bounds?.earliestOffset, endOffset: bounds?.endOffset)
            // Another instance may have ingested documents since.
            let isFurther = store.waiting != nil && committed[partition]?.next ?? 0 > nextOffset
            lag.note = store.fault(
                isFurther ? committed[partition]?.next ?? 0 : nextOffset, bounds)
            if let other = otherRecords.first(where: { $0.partition == partition }) {
                lag.note =
                    lag.note
                    ?? "the record at offset \(other.offset) has changed: the topic was recreated, "
                    + "or its log lost its end; \(store.wayOutOfOtherRecords)"
            }
            if let bounds, lag.note == nil { lag.lag = bounds.endOffset - nextOffset }
            lag.isUnfolded = store.unfolded.contains(partition)
            return lag
        }
        try addAges(to: &partitions, reader, nowMilliseconds)
        return partitions
    }

    private static func unfolded(
        _ bounds: [PartitionBounds], _ reader: any LogReader, _ nowMilliseconds: Int64?
    ) throws(LogError) -> [PartitionLag] {
        var partitions = bounds.map { bounds in
            PartitionLag(
                partition: bounds.partition, nextOffset: nil,
                earliestOffset: bounds.earliestOffset, endOffset: bounds.endOffset,
                lag: bounds.endOffset - bounds.earliestOffset, note: "not folded by any store")
        }
        try addAges(to: &partitions, reader, nowMilliseconds)
        return partitions
    }

    /// Describes a store with a next offset below the one that its group has committed.
    package static func setBack(_ nextOffset: Int64, _ committedOffset: Int64) -> String {
        "continues at \(nextOffset), but its group has committed \(committedOffset): if it is not being folded "
            + "again, is no copy of a standby, and no other store is ahead, it is an older copy or has lost data "
            + "(ops/runbooks/damaged-file.md)"
    }

    /// Adds the age of the first unfolded record. A partition with only empty offsets left is caught up.
    private static func addAges(
        to partitions: inout [PartitionLag], _ reader: any LogReader, _ nowMilliseconds: Int64?
    ) throws(LogError) {
        guard let nowMilliseconds else { return }
        var firsts: [Int32: Int64] = [:]
        for lag in partitions where (lag.lag ?? 0) > 0 {
            firsts[lag.partition] = max(lag.nextOffset ?? 0, lag.earliestOffset ?? 0)
        }
        let found = try FirstRecords(at: firsts, of: reader)
        for index in partitions.indices where partitions[index].lag != nil {
            let number = partitions[index].partition
            if firsts[number] == nil || found.isAtEnd.contains(number) {
                partitions[index].lag = 0
                partitions[index].lagSeconds = 0
            } else if let time = found.timestamps[number], time >= 0 {
                partitions[index].lagSeconds = max(nowMilliseconds - time, 0) / 1000
            }
        }
    }
}

/// The lag of a store's partition.
package struct PartitionLag: Equatable {
    package var partition: Int32
    /// Path of the store; nil for a partition without a store.
    package var store: String?
    /// The first unfolded record.
    package var nextOffset: Int64?
    /// The first offset in the log; nil when the log does not have the partition.
    package var earliestOffset: Int64?
    package var endOffset: Int64?
    /// Whether the log did not answer for this partition.
    package var isUnanswered = false
    /// Unfolded records; nil when the store cannot continue, or the log does not answer.
    package var lag: Int64?
    /// Age of the first of them; nil when it is not known.
    package var lagSeconds: Int64?
    /// The offset that the stream's consumer group has committed.
    package var committedOffset: Int64?
    /// Whether the store has no record of the partition.
    package var isUnfolded = false
    package var note: String?
}
