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
        /// Whether the brokers have appended it once more.
        var isRepetition = false
    }

    struct Partition {
        /// In order of offset, with gaps.
        var records: [Record] = []
        var earliestOffset: Int64 = 0
        var endOffset: Int64 = 0
        /// Where the topic ended that this one has replaced. Below it there are no gaps: an offset without a record says
        /// nothing of what was folded there.
        var oldEndOffset: Int64 = 0
        /// A record that every store has folded that has folded anything of the replaced topic, while they go on with this
        /// one. Retention that removed it too, within the half minute between two looks, would leave nothing that tells
        /// them.
        var lastOldOffset: Int64?

        /// A worker that starts now may find nothing that tells it: it marks batches in memory.
        var isTrimmedOverOldTopic: Bool { lastOldOffset != nil && earliestOffset > 0 }
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
        var firstNumber = 0

        /// The last process that had been started when this topic replaced another one.
        var lastProcessOfOld: Int32 = 0

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
        var committed: [Int32: GroupOffset] = [:]
        var generation = 0
        /// Who was given a partition last.
        private var holders: [Int32: SimulatedReader] = [:]

        /// Whether another member has not given a partition up, and is there to do it.
        func isHeld(_ partition: Int32, beside member: SimulatedReader) -> Bool {
            guard let holder = holders[partition], holder !== member else { return false }
            return holder.position(partition: partition) != nil
                && members.contains { $0 === holder }
        }

        func give(_ partition: Int32, to member: SimulatedReader) {
            member.lost.remove(partition)
            if let holder = holders[partition], holder !== member { holder.lost.insert(partition) }
            holders[partition] = member
        }

        /// Which partitions a member has now: each one in turn.
        func share(of member: SimulatedReader, partitionCount: Int) -> [Int32] {
            guard let index = members.firstIndex(where: { $0 === member }) else { return [] }
            return (0..<partitionCount).filter { $0 % members.count == index }.map { Int32($0) }
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
    /// Whether a process delivers from an older copy of its store.
    var mayTakeAgain: (_ process: Int32) -> Bool = { _ in false }
    /// The first thing that a member of a group should not have done.
    var fault: SimulationFault?
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

    func cover(_ transition: Transition) { met[transition.rawValue, default: 0] += 1 }

    func happens(_ millionths: UInt64, _ transition: Transition) -> Bool {
        guard draws(millionths) else { return false }
        cover(transition)
        return true
    }

    private func draws(_ millionths: UInt64) -> Bool {
        millionths > 0 && random.next() % 1_000_000 < millionths
    }

    /// Whether the brokers are away for a call.
    func isAway(for call: LogCall) -> Bool {
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
    func recreate(_ name: String, partitionCount: Int32) {
        let old = topics[name]?.partitions ?? []
        let topic = make(name, partitionCount: partitionCount)
        for (index, partition) in old.enumerated().prefix(topic.partitions.count) {
            topic.partitions[index].oldEndOffset = max(
                partition.endOffset, partition.oldEndOffset)
        }
        publications.forget(topic: name)
        forgetOffsets(ofTopic: name)
    }

    /// No store has anything of the topic any more that this one has replaced.
    func endOldTopic(_ name: String) {
        guard let topic = topics[name] else { return }
        for index in topic.partitions.indices { topic.partitions[index].lastOldOffset = nil }
    }

    func forgetOffsets(ofTopic name: String) {
        publications.forgetOffsets(of: name)
        for (group, members) in groups where group.hasSuffix(" \(name)") {
            members.committed = [:]
        }
    }

    /// An operator sets a partition's offset of each group, while nobody reads it.
    func setOffset(_ offset: Int64, of topicPartition: TopicPartition) {
        for (group, members) in groups where group.hasSuffix(" \(topicPartition.topic)") {
            members.committed[topicPartition.partition] = GroupOffset(offset)
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

    /// Drops the oldest records of a partition, as retention does. Returns where it begins then.
    @discardableResult
    func trim(_ topic: Topic, partition: Int32, below end: Int64) -> Int64 {
        let index = Int(partition)
        let offset = min(end, topic.partitions[index].lastOldOffset ?? end)
        topic.partitions[index].records.removeAll { $0.offset < offset }
        topic.partitions[index].earliestOffset = max(
            offset, topic.partitions[index].earliestOffset)
        return topic.partitions[index].earliestOffset
    }

    func group(_ name: String, of topic: String) -> Group {
        let key = "\(name) \(topic)"
        if let group = groups[key] { return group }
        let group = Group()
        groups[key] = group
        return group
    }

    /// The run is over. Groups know their readers, and these the cluster.
    func dissolveGroups() { groups = [:] }

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
        _ record: OutgoingRecord, to topic: Topic, at milliseconds: Int64,
        isRepetition: Bool = false
    ) -> RecordPosition {
        let partition =
            record.partition
            ?? KeyPartitioner.partition(
                key: record.key, value: record.value,
                partitionCount: Int32(topic.partitions.count))
        let index = Int(partition)
        let offset = topic.partitions[index].endOffset
        appends += 1
        topic.partitions[index].records.append(
            Record(
                number: appends, offset: offset,
                timestampMilliseconds: record.timestampMilliseconds ?? milliseconds,
                key: record.key, headers: record.headers, value: record.value,
                isRepetition: isRepetition))
        topic.partitions[index].endOffset = offset + 1
        return RecordPosition(partition: partition, offset: offset)
    }

    /// Leaves offsets out, as the marks of a transaction and its aborted records do.
    func leaveGap(in topic: Topic, partition: Int32, count: Int64) {
        let index = Int(partition)
        guard topic.partitions[index].endOffset >= topic.partitions[index].oldEndOffset else {
            return
        }
        topic.partitions[index].endOffset += count
        cover(.gap)
    }
}
