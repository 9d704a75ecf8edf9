import EventLog
import Foundation
import KafkaLog
import Synchronization
import TestKit

/// A member of a consumer group on a thread of its own: reads on from the group's offsets, and commits
/// what it read.
final class Member: Sendable {
    struct Seen: Sendable {
        var owned: Set<Int32> = []
        var records: [Int32: [Int64]] = [:]
        var failure: LogError?
        var hasEnded = false
    }

    private enum Order {
        case read
        case halt
        case leave
        case vanish
    }

    private let order = Mutex(Order.read)
    private let state = Mutex(Seen())

    /// What it has seen so far.
    var seen: Seen { state.withLock { $0 } }

    /// Joins.
    init(
        _ brokers: [String], topic: String, group: String, settings: [String: String] = [:],
        name: String? = nil
    ) {
        Thread.detachNewThread { [self] in
            do {
                let log = try TestLog.kafka(brokers, settings, name)
                let reader = try log.reader(topic: topic, group: group)
                try work(reader)
                if order.withLock({ $0 == .leave }) { reader.close() }
            } catch {
                state.withLock { $0.failure = error as? LogError }
            }
            state.withLock {
                $0.hasEnded = true
                $0.owned = []
            }
        }
    }

    /// Asks nothing of its reader any more, as a process that hangs.
    func halt() { order.withLock { $0 = .halt } }

    /// Reads on after a halt.
    func goOn() { order.withLock { $0 = .read } }

    /// Leaves the group.
    func leave() { end(.leave) }

    /// Ends without leaving, as a process that is killed.
    func vanish() { end(.vanish) }

    private func end(_ last: Order) {
        order.withLock { $0 = last }
        Wait.until { self.seen.hasEnded }
    }

    private func work(_ reader: any LogReader) throws {
        try reader.subscribe(.shared)
        let batch = RecordBatch()
        var next: [Int32: GroupOffset] = [:]
        while true {
            switch order.withLock({ $0 }) {
            case .read: break
            case .halt:
                usleep(10_000)
                continue
            case .leave, .vanish: return
            }
            switch try reader.read(
                into: batch, maxRecords: 100, maxBytes: 1 << 20, waitMilliseconds: 50)
            {
            case .assigned(let partitions):
                let committed = try reader.committedOffsets()
                for partition in partitions {
                    next[partition] = committed[partition] ?? 0
                    try reader.seek(partition: partition, to: committed[partition]?.next ?? 0)
                }
                state.withLock { $0.owned.formUnion(partitions) }
            case .revoked(let partitions):
                try reader.commit(next)
                for partition in partitions { next[partition] = nil }
                state.withLock { $0.owned.subtract(partitions) }
            case .records:
                for index in 0..<batch.count {
                    let (partition, offset) = batch.position(index)
                    state.withLock { $0.records[partition, default: []].append(offset) }
                    next[partition] = GroupOffset(offset + 1)
                }
                try reader.commit(next)
            case .idle: break
            }
        }
    }
}
