import EmbeddedLog
import EventLog
import Foundation
import TestKit
import Testing

@Suite("An archive")
struct ArchiveTests {
    private let temporary: TemporaryLog
    private let archive: EmbeddedLog

    init() throws {
        temporary = try TemporaryLog()
        archive = try temporary.open()
    }

    /// Copies what a reader has, and says how many records were added.
    @discardableResult
    private func copy(
        _ source: any LogReader, partitions: [Int32]? = nil, start: ArchiveStart = .earliest
    ) throws -> Int64 {
        let copy = try ArchiveCopy(from: source, to: archive, partitions: partitions, start: start)
        try copy.copyToEnd()
        return copy.addedCount
    }

    /// What is said when a copy is refused.
    private func refusal(
        _ source: any LogReader, start: ArchiveStart = .earliest
    ) throws -> String {
        do {
            try copy(source, start: start)
            return ""
        } catch let error as LogError {
            return error.description
        }
    }

    private func bounds() throws -> [[Int64]] {
        try archive.reader(topic: "bids").bounds().map { [$0.earliestOffset, $0.endOffset] }
    }

    @Test("holds partition, offset, timestamp, key, headers and value byte for byte")
    func bytes() throws {
        let other = try TemporaryLog()
        let source = try other.open(topic: "bids", partitionCount: 3)
        let large = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
        try source.writer().append([
            OutgoingRecord(topic: "bids", timestampMilliseconds: 7, key: nil, value: nil),
            OutgoingRecord(
                topic: "bids", partition: 2, timestampMilliseconds: -1, key: [], value: []),
            OutgoingRecord(
                topic: "bids", partition: 2, timestampMilliseconds: 1 << 60, key: [0, 255],
                headers: [
                    .init("ce_type", "x"), .init(name: "n", value: nil), .init("", ""),
                    .init("ce_type", "y"),
                ],
                value: large),
        ])
        let copy = try ArchiveCopy(from: source.reader(topic: "bids"), to: archive)
        var told: [Int64] = []
        try copy.copyToEnd(onProgress: { told.append($0) })
        #expect(told.last == 3)
        #expect(try archive.allRecords(of: "bids") == source.allRecords(of: "bids"))
        #expect(copy.ranges.map(\.partition) == [0, 1, 2])
        #expect(copy.ranges.map(\.endOffset) == [1, 0, 2])
        #expect(copy.ranges.map(\.added) == [1, 0, 2])
        let times = try archive.reader(topic: "bids")
        #expect(try times.offset(partition: 2, atOrAfter: 0) == 1)
        #expect(
            try archive.reader(topic: "bids").identity() == source.reader(topic: "bids").identity())
    }

    @Test("is one file when it is done, which can be copied")
    func oneFile() throws {
        let source = ScriptedReader()
        source.records = (0..<50).map { ReadRecord("\($0)", offset: $0) }
        try copy(source)
        let other = try TemporaryLog()
        try FileManager.default.copyItem(atPath: temporary.path, toPath: other.path)
        #expect(try other.open().allRecords(of: "bids") == source.records)
    }

    @Test("of an archive is an archive of the same log")
    func copiesOfCopies() throws {
        let source = ScriptedReader()
        source.records = (5..<50).map { ReadRecord("\($0)", offset: $0 * 2) }
        try copy(source)
        let other = try TemporaryLog()
        let second = try other.open()
        try ArchiveCopy(from: archive.reader(topic: "bids"), to: second).copyToEnd()
        #expect(try second.allRecords(of: "bids") == source.records)
        try ArchiveCopy(from: source, to: second).copyToEnd()
        #expect(throws: LogError.self) { try second.writer().append([record("a")]) }
    }

    @Test("keeps gaps, and ends where the log does, behind its last record")
    func gaps() throws {
        let source = ScriptedReader()
        source.earliest = [0: 5, 1: 3]
        source.records = [6, 7, 20, 21, 22, 23, 40].map { ReadRecord("\($0)", offset: $0) }
        source.ends = [0: 45, 1: 9]
        #expect(try copy(source) == 7)
        #expect(try archive.allRecords(of: "bids") == source.records)
        #expect(try bounds() == [[5, 45], [3, 9]])
        #expect(try copy(source) == 0)
        source.records.append(ReadRecord("46", offset: 46))
        #expect(try copy(source) == 1)
        #expect(try archive.allRecords(of: "bids") == source.records)
    }

    @Test("goes on where it ends, and grows with its topic")
    func grows() throws {
        let source = ScriptedReader()
        source.records = (0..<10).map { ReadRecord("\($0)", offset: $0) }
        try copy(source)
        source.count = 4
        source.records += (0..<5).map { ReadRecord("c\($0)", partition: 3, offset: $0) }
        source.records.append(ReadRecord("10", offset: 10))
        #expect(try copy(source) == 6)
        let found = try archive.allRecords(of: "bids")
        #expect(found.count == 16)
        #expect(
            found.filter { $0.partition == 3 }.compactMap(\.text) == ["c0", "c1", "c2", "c3", "c4"])
        #expect(try archive.topics().map(\.partitionCount) == [4])
        source.count = 2
        #expect(try refusal(source).contains("has 4 partitions"))
    }

    @Test("begins at an offset or a time, and holds the partitions that are asked for")
    func ranges() throws {
        let source = ScriptedReader()
        source.records =
            (0..<10).map { ReadRecord("a\($0)", offset: $0, timestamp: $0 * 10) }
            + (0..<10).map { ReadRecord("b\($0)", partition: 1, offset: $0, timestamp: $0) }
        #expect(try copy(source, partitions: [1], start: .offset(8)) == 2)
        #expect(try bounds() == [[0, 0], [8, 10]])
        #expect(try copy(source, partitions: [0], start: .time(35)) == 6)
        #expect(try bounds() == [[4, 10], [8, 10]])
        #expect(try refusal(source, start: .offset(0)).contains("cannot begin at 0"))
        #expect(try copy(source, start: .offset(9)) == 0)
        #expect(throws: LogError.self) { try copy(source, partitions: [2]) }
    }

    @Test("is refused where records are missing between it and the log")
    func holes() throws {
        let source = ScriptedReader()
        source.records = (0..<10).map { ReadRecord("\($0)", offset: $0) }
        try copy(source)
        source.records = (12..<20).map { ReadRecord("\($0)", offset: $0) }
        source.earliest = [0: 12]
        let words = try refusal(source)
        #expect(words.contains("ends at offset 10 of bids/0, but the log now starts at 12"))
        #expect(try bounds()[0] == [0, 10])
        source.earliest = [0: 10]
        #expect(try copy(source) == 8)
    }

    @Test("is refused when records expire while they are copied, with what came before kept")
    func expiry() throws {
        let source = ScriptedReader()
        source.records = (0..<30).map { ReadRecord("\($0)", offset: $0) }
        source.onRead = { [unowned source] in
            if source.reads == 4 { source.earliest = [0: 15] }
        }
        #expect(try refusal(source).contains("the log now starts at 15"))
        #expect(try archive.allRecords(of: "bids").map(\.offset) == [0, 1, 2, 3, 4, 5])
    }

    @Test("is refused for another log, and for another topic of the same name and offsets")
    func otherLogs() throws {
        let source = ScriptedReader()
        source.records = (0..<10).map { ReadRecord("\($0)", offset: $0) }
        try copy(source)
        source.records = (0..<12).map { ReadRecord("other \($0)", offset: $0) }
        #expect(try refusal(source).contains("another record at offset 9 of bids/0"))
        source.records = (0..<5).map { ReadRecord("\($0)", offset: $0) }
        #expect(try refusal(source).contains("the log ends at 5"))
        source.name = "kafka:other"
        #expect(try refusal(source).contains("another log"))
        #expect(try bounds()[0] == [0, 10])
    }

    @Test("takes no appends, and a topic with appends becomes no archive")
    func appends() throws {
        let source = ScriptedReader()
        source.records = [ReadRecord("a", offset: 0)]
        try copy(source)
        let writer = try archive.writer()
        #expect { try writer.append([record("b")]) } throws: {
            "\($0)".contains("contains a copy of topic 'bids' from another log")
        }
        try archive.createTopic("own", partitionCount: 1)
        #expect(try writer.append([record("c", topic: "own")]).map(\.offset) == [0])
        #expect(try archive.deleteTopic("bids"))
        try archive.createTopic("bids", partitionCount: 2)
        #expect(try writer.append([record("d")]).map(\.offset) == [0])
        #expect(try refusal(source).contains("has its own topic 'bids'"))
    }

    @Test("is written by one process at a time")
    func oneWriter() throws {
        let source = ScriptedReader()
        source.records = (0..<10).map { ReadRecord("\($0)", offset: $0) }
        let late = try ArchiveCopy(from: source, to: archive)
        let other = ScriptedReader()
        other.records = source.records
        try copy(other)
        #expect { try late.copyToEnd() } throws: { "\($0)".contains("another process") }
        #expect(try archive.allRecords(of: "bids") == source.records)
    }

    @Test("goes on with what is appended until it is stopped")
    func follows() throws {
        let source = ScriptedReader()
        source.records = (0..<4).map { ReadRecord("\($0)", offset: $0) }
        source.onRead = { [unowned source] in
            let next = Int64(source.records.count)
            if next < 20 { source.records.append(ReadRecord("\(next)", offset: next)) }
        }
        let copy = try ArchiveCopy(from: source, to: archive)
        try copy.follow(isStopped: { copy.addedCount == 20 })
        #expect(try archive.allRecords(of: "bids") == source.records)
    }
}
