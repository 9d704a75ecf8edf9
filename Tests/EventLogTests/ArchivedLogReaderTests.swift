import EmbeddedLog
import EventLog
import Foundation
import TestKit
import Testing

@Suite("A reader with an archive before its log")
struct ArchivedLogReaderTests {
    private let temporary: TemporaryLog
    private let archive: EmbeddedLog
    private let live = ScriptedReader()
    private let all = (0..<20).flatMap { offset in
        (0..<2).map {
            ReadRecord("\($0)-\(offset)", partition: $0, offset: offset, timestamp: offset)
        }
    }.sorted { ($0.partition, $0.offset) < ($1.partition, $1.offset) }

    /// An archive of the first ten offsets of two partitions, before a log of twenty.
    init() throws {
        temporary = try TemporaryLog()
        archive = try temporary.open()
        live.records = all.filter { $0.offset < 10 }
        try ArchiveCopy(from: live, to: archive).copyToEnd()
        live.records = all
    }

    private func expire(before offset: Int64) {
        live.records = all.filter { $0.offset >= offset }
        live.earliest = [0: offset, 1: offset]
    }

    private func read(_ reader: any LogReader, from offset: Int64? = nil) throws -> [ReadRecord] {
        let batch = RecordBatch()
        try reader.subscribe(.all)
        #expect(
            try reader.read(into: batch, maxRecords: 4, maxBytes: 1 << 20, waitMilliseconds: 0)
                == .assigned([0, 1]))
        if let offset {
            for partition in Int32(0)...1 { try reader.seek(partition: partition, to: offset) }
        }
        var records: [ReadRecord] = []
        while (0..<2).contains(where: { (reader.position(partition: $0) ?? 0) < 20 }) {
            _ = try reader.read(into: batch, maxRecords: 4, maxBytes: 1 << 20, waitMilliseconds: 0)
            records += (0..<batch.count).map { ReadRecord(batch[$0]) }
            try #require(records.count <= 40)
        }
        return records
    }

    private func sorted(_ records: [ReadRecord]) -> [ReadRecord] {
        records.sorted { ($0.partition, $0.offset) < ($1.partition, $1.offset) }
    }

    private func refusal(_ body: () throws -> Void) throws -> String {
        do {
            try body()
            return ""
        } catch let error as LogError {
            return error.description
        }
    }

    @Test(
        "begins in the archive and ends in the log, each record once and in order",
        arguments: [0, 5, 10] as [Int64])
    func crosses(expired: Int64) throws {
        expire(before: expired)
        let reader = try ArchivedLogReader(archive, before: live)
        #expect(
            try reader.bounds().map { [$0.earliestOffset, $0.endOffset] } == [[0, 20], [0, 20]])
        let found = try read(reader)
        #expect(sorted(found) == all)
        for partition in Int32(0)...1 {
            #expect(found.filter { $0.partition == partition }.map(\.offset) == Array(0..<20))
        }
    }

    @Test("reads from any offset, of either", arguments: [0, 3, 9, 10, 11, 19, 20] as [Int64])
    func seeks(offset: Int64) throws {
        expire(before: 8)
        let reader = try ArchivedLogReader(archive, before: live)
        let found = try read(reader, from: offset)
        #expect(sorted(found) == all.filter { $0.offset >= offset })
    }

    @Test("asks the log in turns, so that its group goes on")
    func polls() throws {
        let reader = try ArchivedLogReader(archive, before: live)
        let batch = RecordBatch()
        try reader.subscribe(.all)
        for _ in 0..<7 {
            _ = try reader.read(into: batch, maxRecords: 1, maxBytes: 1, waitMilliseconds: 0)
        }
        #expect(live.reads >= 4)
        #expect(!reader.isCaughtUp)
    }

    @Test("goes on in an archive that grows meanwhile, though the log has lost its part")
    func growsMeanwhile() throws {
        let reader = try ArchivedLogReader(archive, before: live)
        let source = ScriptedReader()
        source.records = all.filter { $0.offset < 15 }
        let copy = try ArchiveCopy(from: source, to: archive)
        live.onRead = {
            guard copy.addedCount == 0 else { return }
            try? copy.copyToEnd()
            self.expire(before: 14)
        }
        #expect(sorted(try read(reader)) == all)
    }

    @Test("a pause holds a partition back, in the archive and behind it")
    func pauses() throws {
        let reader = try ArchivedLogReader(archive, before: live)
        let batch = RecordBatch()
        try reader.subscribe(.all)
        _ = try reader.read(into: batch, maxRecords: 1, maxBytes: 1, waitMilliseconds: 0)
        try reader.seek(partition: 0, to: 0)
        try reader.seek(partition: 1, to: 0)
        try reader.pause(partition: 0)
        var found: [ReadRecord] = []
        for _ in 0..<40 {
            _ = try reader.read(into: batch, maxRecords: 5, maxBytes: 1 << 20, waitMilliseconds: 0)
            found += (0..<batch.count).map { ReadRecord(batch[$0]) }
        }
        #expect(found == all.filter { $0.partition == 1 })
        try reader.resume(partition: 0)
        for _ in 0..<40 {
            _ = try reader.read(into: batch, maxRecords: 5, maxBytes: 1 << 20, waitMilliseconds: 0)
            found += (0..<batch.count).map { ReadRecord(batch[$0]) }
        }
        #expect(sorted(found) == all)
    }

    @Test(
        "what the group takes is no longer read, and what it gives back begins where it is sought")
    func rebalances() throws {
        let reader = try ArchivedLogReader(archive, before: live)
        let batch = RecordBatch()
        try reader.subscribe(.all)
        func readOn(_ times: Int) throws -> (changes: [LogReading], records: [ReadRecord]) {
            var found: (changes: [LogReading], records: [ReadRecord]) = ([], [])
            for _ in 0..<times {
                let reading = try reader.read(
                    into: batch, maxRecords: 2, maxBytes: 1 << 20, waitMilliseconds: 0)
                if reading != .records, reading != .idle { found.changes.append(reading) }
                found.records += (0..<batch.count).map { ReadRecord(batch[$0]) }
            }
            return found
        }
        #expect(try readOn(3).changes == [.assigned([0, 1])])
        live.changes = [.revoked([0, 1])]
        #expect(try readOn(2).changes == [.revoked([0, 1])])
        #expect(reader.position(partition: 0) == nil)
        let quiet = try readOn(5)
        #expect(quiet.records.isEmpty && quiet.changes.isEmpty)
        live.changes = [.assigned([1])]
        #expect(try readOn(1).changes == [.assigned([1])])
        try reader.seek(partition: 1, to: 7)
        #expect(try readOn(60).records == all.filter { $0.partition == 1 && $0.offset >= 7 })
    }

    @Test("partitions that the archive does not have are the log's")
    func unarchivedPartitions() throws {
        let others = [try TemporaryLog(), try TemporaryLog()]
        let other = try others[0].open()
        let source = ScriptedReader()
        source.records = all.filter { $0.offset < 10 }
        try ArchiveCopy(from: source, to: other, partitions: [1]).copyToEnd()
        #expect(sorted(try read(ArchivedLogReader(other, before: live))) == all)
        source.count = 1
        source.records = source.records.filter { $0.partition == 0 }
        let small = try others[1].open()
        try ArchiveCopy(from: source, to: small).copyToEnd()
        #expect(sorted(try read(ArchivedLogReader(small, before: live))) == all)
    }

    @Test("a hole between both is refused, unless what is read lies behind it")
    func holes() throws {
        expire(before: 12)
        let reader = try ArchivedLogReader(archive, before: live)
        for offset in [0, 10, 11] as [Int64] {
            let words = try refusal { _ = try read(reader, from: offset) }
            #expect(words.contains("ends at offset 10 of bids/0, but the log starts at 12"))
        }
        #expect(sorted(try read(reader, from: 12)) == all.filter { $0.offset >= 12 })
        // A partition that is read from the log has the log's bounds.
        #expect(try reader.bounds().map(\.earliestOffset) == [12, 12])
    }

    @Test("an archive of another log, or of other records, is refused")
    func misfits() throws {
        live.records[9] = ReadRecord("other", offset: 9)
        let reader = try ArchivedLogReader(archive, before: live)
        let words = try refusal { _ = try read(reader) }
        #expect(words.contains("another record at offset 9 of bids/0"))
        live.records = all.filter { $0.offset < 7 }
        #expect(
            try refusal { _ = try read(ArchivedLogReader(archive, before: live)) }
                .contains("the log ends at 7"))
        live.name = "kafka:other"
        #expect(
            try refusal { _ = try ArchivedLogReader(archive, before: live) }
                .contains("another log"))
        live.name = "kafka:one"
        live.count = 1
        #expect(
            try refusal { _ = try ArchivedLogReader(archive, before: live) }
                .contains("more partitions"))
        let other = try TemporaryLog()
        let empty = try other.open()
        #expect(
            try refusal { _ = try ArchivedLogReader(empty, before: live) }
                .contains("has no topic 'bids'"))
        #expect(
            try refusal { _ = try ArchivedLogReader(path: "/nowhere/a.sqlite", before: live) }
                .contains("write it with weir archive"))
    }

    @Test("finds a time in whichever of both has it first")
    func times() throws {
        expire(before: 8)
        let reader = try ArchivedLogReader(archive, before: live)
        #expect(try reader.offset(partition: 0, atOrAfter: 3) == 3)
        #expect(try reader.offset(partition: 1, atOrAfter: 15) == 15)
        #expect(try reader.offset(partition: 1, atOrAfter: 99) == nil)
    }
}
