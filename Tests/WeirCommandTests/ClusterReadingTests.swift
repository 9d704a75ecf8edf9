import ConfigurationValues
import Engine
import EventLog
import History
import Program
import TestKit
import Testing

@testable import weir

@Suite("Reading a topic of a cluster")
struct ClusterReadingTests {
    private let cluster: MockCluster
    private let log: any LogBackend

    /// A topic with 300 records in each of two partitions, and nothing in a third.
    init() throws {
        cluster = try MockCluster()
        try cluster.createTopic("t", partitionCount: 3)
        log = try PipelineDirectory(Repository.path("pipelines")).openLog(
            LogAddress(cluster.address), .existing)
        try log.writer().append(
            (0..<600).map {
                OutgoingRecord(
                    topic: "t", partition: Int32($0 % 2), key: nil, value: Array("\($0)".utf8))
            })
    }

    private func reading(
        partition: Int32? = nil, from: ReadLimit? = nil, to: ReadLimit? = nil,
        patience: Duration = .seconds(60)
    ) throws -> TopicReading {
        try TopicReading(
            log.reader(topic: "t"), partition: partition, from: from, to: to, patience: patience)
    }

    private func offsets(_ reading: TopicReading) throws -> [Int32: [Int64]] {
        var reading = reading
        var offsets: [Int32: [Int64]] = [:]
        try reading.readRange { offsets[$0.partition, default: []].append($0.offset) }
        return offsets
    }

    @Test("prints everything that is there, though no fetch is answered at once")
    func everything() throws {
        cluster.setDelay(50, ofBroker: -1)
        let all = Array(0..<300 as Range<Int64>)
        #expect(try offsets(reading()) == [0: all, 1: all])
    }

    @Test("prints the stretch of one partition that was asked for, and no record more")
    func stretch() throws {
        #expect(
            try offsets(reading(partition: 1, from: .offset(81), to: .offset(83))) == [1: [81, 82]])
        #expect(try offsets(reading(partition: 2)).isEmpty)
    }

    @Test("fails in words when a broker stops answering before the end")
    func silence() throws {
        let reading = try reading(partition: 0, patience: .seconds(1))
        cluster.setLeader(-1, of: "t", 0)
        let failure = #expect(throws: (any Error).self) { try offsets(reading) }
        let error = try #require(failure.flatMap(CommandError.init))
        #expect(error.exitCode == 1)
        #expect(
            error.explanation?.hasPrefix("t/0 returned no records from offset 0 within 1 s") == true
        )
    }
}
