import EventLog
import Foundation

/// What processes have published to the brokers, to see whether they publish it again without a reason.
///
/// There are two reasons: the brokers did not answer, or the process ended before it noted in its store what it had
/// published. A process notes it before it publishes the next, and before it ends as it was asked to. What the offsets
/// of the group cover is published already, by whichever store.
struct Publications {
    private struct Position: Hashable {
        let topic: String
        let partition: Int32
    }

    /// A dead letter, or a document for a partner, with the record that it comes from.
    private struct Item: Hashable {
        /// The topic that it is published to.
        let topic: String
        /// Nothing of a dead letter: one comes from a record.
        let document: String?
        let origin: Position
        let offset: Int64

        init?(_ record: OutgoingRecord) {
            topic = record.topic
            if record.topic == SimulatedDocuments.topic {
                guard let document = record.header("ce_id"),
                    let value = record.value.flatMap({
                        try? JSONSerialization.jsonObject(with: Data($0)) as? [String: Any]
                    }), let origin = value["origin"] as? [String: Any],
                    let name = origin["topic"] as? String,
                    let partition = origin["partition"] as? Int,
                    let offset = origin["offset"] as? Int
                else { return nil }
                self.document = document
                self.origin = Position(topic: name, partition: Int32(partition))
                self.offset = Int64(offset)
            } else {
                guard let name = record.header("weir_topic"), record.topic == "\(name).dlq",
                    let partition = record.header("weir_partition").flatMap({ Int32($0) }),
                    let offset = record.header("weir_offset").flatMap({ Int64($0) })
                else { return nil }
                document = nil
                origin = Position(topic: name, partition: partition)
                self.offset = offset
            }
        }
    }

    private struct Process {
        let directory: String
        /// The offsets of the group when it last asked for them.
        var groupOffsets: [Position: Int64] = [:]
        /// What the brokers have taken, and it may not have noted yet.
        var acknowledged: Set<Item> = []
    }

    private var processes: [Int32: Process] = [:]
    /// By the directory of the store.
    private var noted: [String: Set<Item>] = [:]

    mutating func begin(_ process: Int32, in directory: String) {
        processes[process] = Process(directory: directory)
    }

    /// A process was told the offsets of its group.
    mutating func tell(_ process: Int32, _ offsets: [Int32: GroupOffset], of topic: String) {
        for (partition, offset) in offsets {
            processes[process]?.groupOffsets[Position(topic: topic, partition: partition)] =
                offset.next
        }
    }

    /// A process publishes records.
    ///
    /// - Returns: why it should not; nil when it may.
    mutating func begin(_ records: [OutgoingRecord], by process: Int32) -> String? {
        guard let directory = note(process) else { return nil }
        var items: Set<Item> = []
        for item in records.compactMap(Item.init) {
            let position =
                "\(item.topic): \(item.document ?? "the record") of \(item.origin.topic)/\(item.origin.partition) at \(item.offset)"
            if noted[directory, default: []].contains(item) || !items.insert(item).inserted {
                return "\(position) is published again"
            }
            if let told = processes[process]?.groupOffsets[item.origin], item.offset < told {
                return "\(position) is published again, and the group's offset is \(told)"
            }
        }
        return nil
    }

    /// The brokers have said that they have them.
    mutating func acknowledge(_ records: [OutgoingRecord], of process: Int32) {
        processes[process]?.acknowledged.formUnion(records.compactMap(Item.init))
    }

    /// A process ended as it was asked to.
    mutating func end(_ process: Int32) { _ = note(process) }

    /// Returns the directory of a process that works on one.
    private mutating func note(_ process: Int32) -> String? {
        guard let directory = processes[process]?.directory else { return nil }
        noted[directory, default: []].formUnion(processes[process]?.acknowledged ?? [])
        processes[process]?.acknowledged = []
        return directory
    }

    /// The stores of a directory were moved away.
    mutating func forget(_ directory: String) { noted[directory] = nil }

    /// The offsets of groups were deleted.
    mutating func forgetOffsets(of topic: String) {
        processes = processes.mapValues { process in
            var process = process
            process.groupOffsets = process.groupOffsets.filter { $0.key.topic != topic }
            return process
        }
    }

    /// A topic was made anew.
    mutating func forget(topic: String) {
        forgetOffsets(of: topic)
        processes = processes.mapValues { process in
            var process = process
            process.acknowledged = process.acknowledged.filter { $0.origin.topic != topic }
            return process
        }
        noted = noted.mapValues { $0.filter { $0.origin.topic != topic } }
    }
}

extension OutgoingRecord {
    fileprivate func header(_ name: String) -> String? {
        headers.last { $0.name == name }?.value.map { String(decoding: $0, as: UTF8.self) }
    }
}
