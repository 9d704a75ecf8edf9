import CSimulatedSystem
import EventLog
import TestKit

/// A cluster that every process of a simulation reads from and writes to, with the freedoms that Kafka takes.
final class SimulatedCluster: RecordSink {
    struct Record {
        /// Counts all appends to the cluster.
        let number: Int
        let offset: Int64
        let timestampMilliseconds: Int64
        let key: [UInt8]?
        let headers: [OutgoingRecord.Header]
        let value: [UInt8]?
    }

    struct Partition {
        /// In order of offset, with gaps.
        var records: [Record] = []
        var earliestOffset: Int64 = 0
        var endOffset: Int64 = 0
        /// Where the topic ended that this one has replaced. Below it there are no gaps: an offset without a record says
        /// nothing of what was folded there.
        var oldEndOffset: Int64 = 0
    }

    final class Topic {
        let name: String
        let number: Int
        var partitions: [Partition]

        /// Whether `recordsAsAppended` knows the order among partitions.
        let knowsOrder: Bool

        /// - Parameter number: 0 for a copy of a topic.
        init(name: String, number: Int, partitionCount: Int32) {
            self.name = name
            knowsOrder = number > 0
            self.number = number
            partitions = Array(repeating: Partition(), count: Int(partitionCount))
        }

        /// Of earlier appends nothing is asked any more.
        fileprivate(set) var firstNumber = 0

        /// The records of all partitions, in the order in which they were appended.
        var recordsAsAppended: [Record] {
            partitions.flatMap(\.records).filter { $0.number >= firstNumber }
                .sorted { $0.number < $1.number }
        }
    }

    /// The readers of a topic that share its partitions.
    final class Group {
        /// In the order in which they joined.
        var members: [SimulatedReader] = []
        var committed: [Int32: Int64] = [:]
        var generation = 0

        /// Which partitions a member has now: each one in turn.
        func share(of member: SimulatedReader, partitionCount: Int) -> [Int32] {
            guard let place = members.firstIndex(where: { $0 === member }) else { return [] }
            return (0..<partitionCount).filter { $0 % members.count == place }.map { Int32($0) }
        }
    }

    /// How often calls fail, in a million.
    struct Chances {
        var unavailable: UInt64 = 0
        /// A read gives nothing, although there is something.
        var slow: UInt64 = 0
        /// An append is done, and its answer is lost.
        var lostAnswer: UInt64 = 0
        /// A producer sends again what was appended.
        var repeated: UInt64 = 0
        /// Offsets are not taken.
        var notTaken: UInt64 = 0
    }

    /// What was met, by its name.
    private(set) var met: [String: Int] = [:]
    var chances = Chances()
    /// Whether a member keeps the partitions that are its own before and after a rebalance.
    var isIncremental = false
    /// How many appends are refused before the leaders of partitions are there again.
    var appendsToRefuse = 0
    /// Is told which process has to wait because of that.
    var onRefusal: (_ process: Int32) -> Void = { _ in }
    /// The first thing that a member of a group should not have done.
    fileprivate(set) var fault: SimulationFault?
    var publications = Publications()
    var random: SeededGenerator
    private var topics: [String: Topic] = [:]
    private var groups: [String: Group] = [:]
    private var topicsMade = 0
    private var appends = 0

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
    }

    func send(_ record: OutgoingRecord, at milliseconds: Int64) -> RecordPosition? {
        topic(record.topic).map { append(record, to: $0, at: milliseconds) }
    }

    func note(_ transition: Transition) { met[transition.rawValue, default: 0] += 1 }

    func happens(_ millionths: UInt64, _ transition: Transition) -> Bool {
        guard draws(millionths) else { return false }
        note(transition)
        return true
    }

    private func draws(_ millionths: UInt64) -> Bool {
        millionths > 0 && random.next() % 1_000_000 < millionths
    }

    /// Whether the brokers are away for a call.
    fileprivate func isAway(for call: LogCall) -> Bool {
        guard draws(chances.unavailable) else { return false }
        met[call.event, default: 0] += 1
        return true
    }

    func topic(_ name: String) -> Topic? { topics[name] }

    @discardableResult
    func make(_ name: String, partitionCount: Int32) -> Topic {
        topicsMade += 1
        let topic = Topic(name: name, number: topicsMade, partitionCount: partitionCount)
        topics[name] = topic
        return topic
    }

    /// Deletes a topic and makes one of the same name, as an operator does; offsets of groups go with it.
    func makeAnew(_ name: String, partitionCount: Int32) {
        let old = topics[name]?.partitions ?? []
        let topic = make(name, partitionCount: partitionCount)
        for (place, partition) in old.enumerated().prefix(topic.partitions.count) {
            topic.partitions[place].oldEndOffset = max(
                partition.endOffset, partition.oldEndOffset)
        }
        forgetOffsets(ofTopic: name)
    }

    func forgetOffsets(ofTopic name: String) {
        publications.forget(topic: name)
        for (group, members) in groups where group.hasSuffix(" \(name)") {
            members.committed = [:]
        }
    }

    /// Adds a partition, of which the groups hear.
    func addPartition(to topic: Topic) {
        topic.partitions.append(Partition())
        for (group, members) in groups where group.hasSuffix(" \(topic.name)") {
            members.generation += 1
        }
    }

    /// What was appended to a topic is not asked for any more.
    func disregard(_ name: String) { topics[name]?.firstNumber = appends + 1 }

    /// Drops the oldest records of a partition, as retention does.
    func trim(_ topic: Topic, partition: Int32, below offset: Int64) {
        let place = Int(partition)
        topic.partitions[place].records.removeAll { $0.offset < offset }
        topic.partitions[place].earliestOffset = max(
            offset, topic.partitions[place].earliestOffset)
    }

    func group(_ name: String, of topic: String) -> Group {
        let key = "\(name) \(topic)"
        if let group = groups[key] { return group }
        let group = Group()
        groups[key] = group
        return group
    }

    var topicDescriptions: [TopicDescription] {
        topics.values.map {
            TopicDescription(
                name: $0.name, partitionCount: Int32($0.partitions.count),
                identity: "simulated")
        }.sorted { $0.name < $1.name }
    }

    /// Appends a record as the brokers do. Returns where it lies.
    @discardableResult
    func append(
        _ record: OutgoingRecord, to topic: Topic, at milliseconds: Int64
    ) -> RecordPosition {
        let partition =
            record.partition
            ?? KeyPartitioner.partition(
                key: record.key, value: record.value,
                partitionCount: Int32(topic.partitions.count))
        let place = Int(partition)
        let offset = topic.partitions[place].endOffset
        appends += 1
        topic.partitions[place].records.append(
            Record(
                number: appends, offset: offset,
                timestampMilliseconds: record.timestampMilliseconds ?? milliseconds,
                key: record.key, headers: record.headers, value: record.value))
        topic.partitions[place].endOffset = offset + 1
        return RecordPosition(partition: partition, offset: offset)
    }

    /// Leaves offsets out, as the marks of a transaction and its aborted records do.
    func leaveGap(in topic: Topic, partition: Int32, count: Int64) {
        let place = Int(partition)
        guard topic.partitions[place].endOffset >= topic.partitions[place].oldEndOffset else {
            return
        }
        topic.partitions[place].endOffset += count
        note(.gap)
    }
}

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
        for turn in numbers.indices where batch.isEmpty {
            let number = numbers[(turn + nextPartition) % numbers.count]
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
            log.cluster.note(.offsetGone)
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
            guard let group, generation != group.generation else { return nil }
            let share = group.share(of: self, partitionCount: count)
            let kept = log.cluster.isIncremental ? Set(share) : []
            let revoked = Set(positions.keys).union(paused).subtracting(kept)
            if !revoked.isEmpty {
                for number in revoked { positions[number] = nil }
                paused.subtract(revoked)
                log.cluster.note(.revoked)
                return .revoked(revoked.sorted())
            }
            generation = group.generation
            return assigned(share.filter { positions[$0] == nil })
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
        log.cluster.note(.assigned)
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

    func committedOffsets() throws(LogError) -> [Int32: Int64] {
        try log.call(.ask)
        let committed = group?.committed ?? [:]
        log.cluster.publications.tell(log.process, committed, of: topic)
        return committed
    }

    func commit(_ offsets: [Int32: Int64]) throws(LogError) {
        guard let group, !weir_sim_is_dead(log.process) else { return }
        if log.cluster.happens(log.cluster.chances.notTaken, .offsetsNotTaken) { return }
        // A member of an older generation is not listened to.
        if case .shared = assignment, generation != group.generation {
            log.cluster.note(.olderGeneration)
            return
        }
        for (partition, offset) in offsets.sorted(by: { $0.key < $1.key }) {
            if positions[partition] == nil {
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
        guard let group, let place = group.members.firstIndex(where: { $0 === self }) else {
            return
        }
        group.members.remove(at: place)
        group.generation += 1
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
            cluster.note(.appendsRefused)
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
                cluster.append(record, to: topic, at: milliseconds)
            }
        }
        if isLost { throw log.unavailable(.append) }
        cluster.publications.acknowledge(records, of: log.process)
        return positions
    }
}
