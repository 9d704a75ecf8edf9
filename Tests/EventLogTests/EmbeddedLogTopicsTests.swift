import EmbeddedLog
import EventLog
import GRDB
import Testing

@Suite("Topics of an EmbeddedLog")
struct EmbeddedLogTopicsTests {
    @Test("topics are listed bytewise, and an existing one is left as it is")
    func listsTopics() throws {
        let temporary = try TemporaryLog()
        let log = try temporary.open()
        for name in ["b", "a.dlq", "B", "a-b"] {
            #expect(try log.createTopic(name, partitionCount: 4))
        }
        let before = try log.topics()
        #expect(before.map(\.name) == ["B", "a-b", "a.dlq", "b"])
        #expect(before.map(\.partitionCount) == [4, 4, 4, 4])
        #expect(try !log.createTopic("b", partitionCount: 9))
        #expect(try temporary.open().topics() == before)
    }

    @Test(
        "a topic that Kafka could not have is refused",
        arguments: [
            ("", 1), ("a b", 1), ("..", 1), ("ä", 1), (String(repeating: "a", count: 250), 1),
            ("a", 0), ("a", -1), ("a", 10_001),
        ] as [(String, Int32)])
    func refusesTopics(name: String, partitionCount: Int32) throws {
        let temporary = try TemporaryLog()
        let log = try temporary.open()
        #expect(throws: LogError.self) { try log.createTopic(name, partitionCount: partitionCount) }
        #expect(try log.topics().isEmpty)
    }

    @Test("a topic that was created again has another identity and none of the old records")
    func recreatedTopicsDiffer() throws {
        let temporary = try TemporaryLog()
        let log = try temporary.open(topic: "bids", partitionCount: 1)
        try log.writer().append((0..<10_000).map { record("\($0)") })
        let old = try log.reader(topic: "bids", group: "g")
        try old.subscribe(.all)
        try old.commit([0: 5])
        let identity = try old.identity()
        #expect(identity.utf8.count == 32)
        #expect(try log.topics().map(\.identity) == [identity])

        #expect(try log.deleteTopic("bids"))
        #expect(try !log.deleteTopic("bids"))
        #expect(throws: LogError.unknownTopic("bids", address: log.address)) {
            try log.reader(topic: "bids")
        }
        #expect(throws: LogError.unknownTopic("bids", address: log.address)) { try old.readRest() }
        try log.createTopic("bids", partitionCount: 1)
        let new = try log.reader(topic: "bids", group: "g")
        #expect(try new.identity() != identity)
        #expect(try new.committedOffsets().isEmpty)
        #expect(try log.allRecords(of: "bids").isEmpty)
        #expect(try log.writer().append([record("new")]).map(\.offset) == [0])
        #expect(throws: LogError.self) { try old.readRest() }
        #expect(throws: LogError.self) { try old.identity() }
        let rows = try DatabaseQueue(path: temporary.path).read { db in
            try Int.fetchAll(
                db,
                sql: """
                    SELECT count(*) FROM records UNION ALL SELECT count(*) FROM partitions
                    UNION ALL SELECT count(*) FROM times UNION ALL SELECT count(*) FROM group_offsets
                    """)
        }
        #expect(rows == [1, 1, 1, 0])
    }

    @Test("a group's offsets are kept, each for its topic and group")
    func keepsGroupOffsets() throws {
        let temporary = try TemporaryLog()
        do {
            let log = try temporary.open(topic: "bids", partitionCount: 3)
            try log.createTopic("other", partitionCount: 3)
            let reader = try log.reader(topic: "bids", group: "g")
            #expect(try reader.committedOffsets().isEmpty)
            try reader.commit([0: 10, 2: 20])
            try reader.commit([0: 11])
            try log.reader(topic: "bids", group: "h").commit([1: 1])
            #expect(throws: LogError.self) { try reader.commit([3: 1]) }
        }
        let log = try temporary.open()
        #expect(try log.reader(topic: "bids", group: "g").committedOffsets() == [0: 11, 2: 20])
        #expect(try log.reader(topic: "bids", group: "h").committedOffsets() == [1: 1])
        #expect(try log.reader(topic: "other", group: "g").committedOffsets().isEmpty)
    }

    @Test("a trimmed partition starts later, and a reader goes on with the first record there is")
    func trims() throws {
        let temporary = try TemporaryLog()
        let log = try temporary.open(topic: "bids", partitionCount: 2)
        let writer = try log.writer()
        try writer.append((0..<10_000).map { record("\($0)") } + [record("other", partition: 1)])
        let reader = try log.reader(topic: "bids")
        try reader.subscribe(.partitions([0]))
        let batch = RecordBatch()
        _ = try reader.read(into: batch, maxRecords: 5, maxBytes: 1 << 20, waitMilliseconds: 0)
        _ = try reader.read(into: batch, maxRecords: 5, maxBytes: 1 << 20, waitMilliseconds: 0)
        #expect((0..<batch.count).map { batch[$0].offset } == [0, 1, 2, 3, 4])

        #expect(try log.trim(topic: "bids", partition: 0, before: 9000) == 9000)
        #expect(try reader.readRest().map(\.offset) == (9000..<10_000).map { Int64($0) })
        #expect(
            try reader.bounds() == [
                PartitionBounds(partition: 0, earliestOffset: 9000, endOffset: 10_000),
                PartitionBounds(partition: 1, earliestOffset: 0, endOffset: 1),
            ])
        #expect(try log.trim(topic: "bids", partition: 0, before: 10) == 9000)
        #expect(try log.trim(topic: "bids", partition: 0, before: 50_000) == 10_000)
        #expect(try reader.bounds()[0].earliestOffset == 10_000)
        #expect(try writer.append([record("next")]).map(\.offset) == [10_000])
        #expect(
            try log.allRecords(of: "bids").map(\.text).sorted { $0 ?? "" < $1 ?? "" } == [
                "next", "other",
            ])
        let unknown = LogError.unknownPartition(
            TopicPartition(topic: "bids", partition: 2), partitionCount: 2)
        #expect(throws: unknown) { try log.trim(topic: "bids", partition: 2, before: 1) }
    }
}
