import CSimulatedSystem
import EventLog
import TestKit

/// The log as one process has it: what a process that was killed still asks for has no effect.
final class SimulatedLog: LogBackend {
    let cluster: SimulatedCluster
    let process: Int32

    init(_ cluster: SimulatedCluster, process: Int32) {
        self.cluster = cluster
        self.process = process
    }

    var address: String { "kafka://simulated:9092" }

    func topics() throws(LogError) -> [TopicDescription] {
        try call(.ask)
        return cluster.topicDescriptions
    }

    func createTopic(
        _ name: String, partitionCount: Int32, settings: [String: String]
    ) throws(LogError) -> Bool {
        try call(.createTopic)
        guard cluster.topic(name) == nil else { return false }
        cluster.make(name, partitionCount: partitionCount)
        return true
    }

    func settings(ofTopic name: String) throws(LogError) -> [String: String]? { nil }

    func reader(topic: String, group: String?) throws(LogError) -> any LogReader {
        try call(.open)
        return try SimulatedReader(self, topic: topic, group: group)
    }

    func writer() throws(LogError) -> any LogWriter { SimulatedWriter(self) }

    /// Whether the process still lives; then the call may fail, or the process be killed at it.
    func call(_ call: LogCall) throws(LogError) {
        guard !weir_sim_is_dead(process), !cluster.isAway(for: call) else {
            throw unavailable(call)
        }
    }

    func unavailable(_ call: LogCall) -> LogError {
        .unavailable(
            operation: call.rawValue, address: address, detail: "the simulated brokers are away")
    }

    func found(_ name: String) throws(LogError) -> SimulatedCluster.Topic {
        guard let topic = cluster.topic(name) else {
            throw .unknownTopic(name, address: address)
        }
        return topic
    }
}

/// Reads a topic as a member of a group, or by itself.
final class SimulatedReader: LogReader {
    let topic: String
    private let log: SimulatedLog
    private let groupName: String?
    private var assignment: LogAssignment?
    private var positions: [Int32: Int64] = [:]
    private var paused: Set<Int32> = []
    /// What is to be said before anything else is read.
    private var isSubscribing = false
    private var generation = -1
    /// The group went on without this member: what it had is nobody's, or another one's, until it is given again.
    private var wasLeftOut = false
    /// What it still reads, and another member was given since.
    var lost: Set<Int32> = []
    /// What it was told to give up at its last read: until the next one it may tell how far it is.
    private var givingUp: Set<Int32> = []
    /// At how many reads it has waited for others to give up what it is to be given.
    private var waits = 0
    /// Then the group goes on without them, as after the timeout of their sessions.
    private static let patience = 20
    private var isClosed = false
    private(set) var isCaughtUp = false
    private var nextPartition = 0
    private var hasDoubt = false
    /// Which topic of the name was read last.
    private var topicNumber: Int?

    init(_ log: SimulatedLog, topic: String, group: String?) throws(LogError) {
        self.log = log
        self.topic = topic
        groupName = group
        _ = try log.found(topic)
    }

    private var group: SimulatedCluster.Group? {
        groupName.map { log.cluster.group($0, of: topic) }
    }

    func identity() throws(LogError) -> String {
        try log.call(.ask)
        _ = try log.found(topic)
        // As with Kafka, a topic that is made anew looks the same.
        return "simulated"
    }

    func partitionCount() throws(LogError) -> Int32 {
        try log.call(.ask)
        return Int32(try log.found(topic).partitions.count)
    }

    func bounds(of partitions: [Int32]) throws(LogError) -> [PartitionBounds] {
        try log.call(.ask)
        let topic = try log.found(topic)
        return try partitions.sorted().map { (partition) throws(LogError) in
            let found = try self.partition(partition, in: topic)
            return PartitionBounds(
                partition: partition, earliestOffset: found.earliestOffset,
                endOffset: found.endOffset)
        }
    }

    private func partition(
        _ number: Int32, in topic: SimulatedCluster.Topic
    ) throws(LogError) -> SimulatedCluster.Partition {
        guard topic.partitions.indices.contains(Int(number)) else {
            throw .unknownPartition(
                TopicPartition(topic: topic.name, partition: number),
                partitionCount: Int32(topic.partitions.count))
        }
        return topic.partitions[Int(number)]
    }

    func subscribe(_ assignment: LogAssignment) throws(LogError) {
        self.assignment = assignment
        isSubscribing = true
        positions = [:]
        guard case .shared = assignment, let group else { return }
        group.members.append(self)
        group.generation += 1
    }

    func seek(partition: Int32, to offset: Int64) throws(LogError) {
        try log.call(.seek)
        if let committed = group?.committed[partition]?.next, offset < committed,
            topic == SimulatedDocuments.topic, !log.cluster.mayTakeAgain(log.process)
        {
            log.cluster.fault = SimulationFault(
                "\(topic)/\(partition) is taken over again from \(offset), and the group is at \(committed)"
            )
        }
        positions[partition] = offset
    }

    func read(
        into batch: RecordBatch, maxRecords: Int, maxBytes: Int, waitMilliseconds: Int
    ) throws(LogError) -> LogReading {
        batch.removeAll()
        try log.call(.read)
        let topic = try log.found(topic)
        // Clients may see that a topic was away for a while, or nothing of it.
        if let topicNumber, topicNumber != topic.number, log.cluster.random.next() % 2 == 0 {
            hasDoubt = true
        }
        topicNumber = topic.number
        if let change = try changeOfAssignment(topic) { return change }
        if log.cluster.happens(log.cluster.chances.slow, .slowRead) {
            isCaughtUp = false
            weir_sim_pass(Int64(waitMilliseconds) * 1_000_000)
            return .idle
        }
        let limit = 1 + Int(log.cluster.random.next() % UInt64(max(1, maxRecords)))
        let numbers = positions.keys.sorted().filter { !paused.contains($0) }
        for step in numbers.indices where batch.isEmpty {
            let number = numbers[(step + nextPartition) % numbers.count]
            try fill(batch, from: number, in: topic, limit: min(limit, maxRecords), maxBytes)
        }
        nextPartition &+= 1
        isCaughtUp = numbers.allSatisfy {
            (positions[$0] ?? 0) >= topic.partitions[Int($0)].endOffset
        }
        guard batch.isEmpty else { return .records }
        weir_sim_pass(Int64(waitMilliseconds) * 1_000_000)
        return .idle
    }

    private func fill(
        _ batch: RecordBatch, from number: Int32, in topic: SimulatedCluster.Topic, limit: Int,
        _ maxBytes: Int
    ) throws(LogError) {
        let partition = try partition(number, in: topic)
        let position = positions[number] ?? 0
        guard position >= partition.earliestOffset else {
            log.cluster.cover(.offsetGone)
            throw .offsetGone(
                TopicPartition(topic: topic.name, partition: number), offset: position)
        }
        guard position < partition.endOffset else {
            // A topic that was made anew, and is shorter: Kafka's clients begin again, and tell nobody.
            if position > partition.endOffset {
                positions[number] = partition.earliestOffset
                hasDoubt = true
            }
            return
        }
        var next = position
        for record in partition.records where record.offset >= position {
            guard batch.count < limit, batch.byteCount < maxBytes else { break }
            batch.append(
                ReadRecord(
                    partition: number, offset: record.offset,
                    timestamp: record.timestampMilliseconds, key: record.key,
                    headers: record.headers, value: record.value))
            next = record.offset + 1
        }
        // Offsets at the end that have no record are passed too.
        let isAtLast = !partition.records.contains { $0.offset >= next }
        positions[number] = isAtLast ? partition.endOffset : next
    }

    private func changeOfAssignment(
        _ topic: SimulatedCluster.Topic
    ) throws(LogError) -> LogReading? {
        let count = topic.partitions.count
        switch assignment {
        case nil: return .idle
        case .shared:
            givingUp = []
            guard let group, generation != group.generation else { return nil }
            let share = group.share(of: self, partitionCount: count)
            let kept =
                log.cluster.isIncremental && !wasLeftOut ? Set(share).subtracting(lost) : []
            let revoked = Set(positions.keys).union(paused).subtracting(kept)
            if !revoked.isEmpty {
                for number in revoked { positions[number] = nil }
                if !wasLeftOut { givingUp = revoked.subtracting(lost) }
                lost = []
                paused.subtract(revoked)
                log.cluster.cover(.revoked)
                return .revoked(revoked.sorted())
            }
            let given = share.filter { positions[$0] == nil }
            // Every other rebalance waits for all members, as brokers do; the others are those that lose patience.
            if group.generation % 2 == 0, waits < Self.patience,
                given.contains(where: { group.isHeld($0, beside: self) })
            {
                waits += 1
                log.cluster.cover(.waitedForMembers)
                return isSubscribing ? assigned([]) : .idle
            }
            waits = 0
            generation = group.generation
            wasLeftOut = false
            for number in given { group.give(number, to: self) }
            return assigned(given)
        case .all:
            guard isSubscribing else { return nil }
            return assigned((0..<count).map { Int32($0) })
        case .partitions(let numbers):
            guard isSubscribing else { return nil }
            return assigned(numbers)
        }
    }

    private func assigned(_ numbers: [Int32]) -> LogReading {
        isSubscribing = false
        for number in numbers { positions[number] = 0 }
        log.cluster.cover(.assigned)
        return .assigned(numbers)
    }

    func position(partition: Int32) -> Int64? { positions[partition] }

    func takeDoubt() -> Bool {
        defer { hasDoubt = false }
        return hasDoubt
    }

    func pause(partition: Int32) throws(LogError) { paused.insert(partition) }

    func resume(partition: Int32) throws(LogError) { paused.remove(partition) }

    func offset(partition: Int32, atOrAfter timestampMilliseconds: Int64) throws(LogError) -> Int64?
    {
        try log.call(.ask)
        return try self.partition(partition, in: log.found(topic)).records
            .first { $0.timestampMilliseconds >= timestampMilliseconds }?.offset
    }

    var keepsMetadata: Bool { true }

    func committedOffsets() throws(LogError) -> [Int32: GroupOffset] {
        try log.call(.ask)
        let committed = group?.committed ?? [:]
        log.cluster.publications.tell(log.process, committed, of: topic)
        return committed
    }

    func commit(_ offsets: [Int32: GroupOffset]) throws(LogError) {
        guard let group, !weir_sim_is_dead(log.process) else { return }
        if log.cluster.happens(log.cluster.chances.notTaken, .offsetsNotTaken) { return }
        // A member of an older generation is not listened to, unless it gives partitions up that nobody was given since.
        var offsets = offsets
        if case .shared = assignment, generation != group.generation {
            offsets = offsets.filter { givingUp.contains($0.key) && !lost.contains($0.key) }
            log.cluster.cover(offsets.isEmpty ? .olderGeneration : .toldAtRevocation)
        }
        for (partition, offset) in offsets.sorted(by: { $0.key < $1.key }) {
            if positions[partition] == nil, !givingUp.contains(partition) {
                log.cluster.fault = SimulationFault(
                    "offsets of \(topic)/\(partition) are told by a process that does not have it")
            }
            group.committed[partition] = offset
        }
    }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        leave()
    }

    /// The group goes on without this member: it left, or was silent for too long.
    func leave() {
        guard let group, let index = group.members.firstIndex(where: { $0 === self }) else {
            return
        }
        group.members.remove(at: index)
        group.generation += 1
        wasLeftOut = true
    }

    /// Joins again after the group went on without it; it hears of that at its next read.
    func joinAgain() {
        guard !isClosed, case .shared = assignment, let group,
            !group.members.contains(where: { $0 === self })
        else { return }
        group.members.append(self)
        group.generation += 1
    }
}

/// Appends records for one process.
final class SimulatedWriter: LogWriter {
    private let log: SimulatedLog

    init(_ log: SimulatedLog) { self.log = log }

    func append(
        _ records: [OutgoingRecord], while isWanted: () -> Bool
    ) throws(LogError) -> [RecordPosition] {
        try log.call(.append)
        let cluster = log.cluster
        if let fault = cluster.publications.begin(records, by: log.process) {
            cluster.fault = SimulationFault(fault)
        }
        guard cluster.appendsToRefuse == 0 else {
            cluster.appendsToRefuse -= 1
            cluster.cover(.appendsRefused)
            cluster.onRefusal(log.process)
            throw log.unavailable(.append)
        }
        var positions: [RecordPosition] = []
        // A part of them may be there although the caller is told that it failed.
        let isLost = cluster.happens(cluster.chances.lostAnswer, .lostAnswer)
        let count =
            isLost ? Int(cluster.random.next() % UInt64(records.count + 1)) : records.count
        for record in records.prefix(count) {
            let topic = try log.found(record.topic)
            let milliseconds = weir_sim_now() / 1_000_000
            positions.append(cluster.append(record, to: topic, at: milliseconds))
            if cluster.happens(cluster.chances.repeated, .appendedTwice) {
                cluster.append(record, to: topic, at: milliseconds, isRepetition: true)
            }
        }
        if isLost { throw log.unavailable(.append) }
        cluster.publications.acknowledge(records, of: log.process)
        return positions
    }
}
