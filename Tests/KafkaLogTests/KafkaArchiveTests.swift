import EmbeddedLog
import EventLog
import Foundation
import TestKit
import Testing

@Suite("An archive of a cluster's topic")
struct KafkaArchiveTests {
    private let batch = RecordBatch()

    static var clusters: [TestLog.Kind] { TestLog.Kind.available.filter { $0 != .embedded } }

    @Test(
        "has the partitions, offsets, timestamps and bytes of the original, and its identity",
        arguments: clusters)
    func copies(kind: TestLog.Kind) throws {
        let log = try TestLog(kind)
        let topic = try log.makeTopic(3)
        let writer = try log.log.writer()
        try writer.append([
            OutgoingRecord(topic: topic, key: nil, value: nil),
            OutgoingRecord(topic: topic, partition: 0, key: [], value: []),
            OutgoingRecord(
                topic: topic, partition: 0, key: [0, 255],
                headers: [.init("a", "x"), .init(name: "n", value: nil), .init("", "")],
                value: Array(repeating: 9, count: 300_000)),
        ])
        try writer.append((0..<900).map { record("\($0)", topic: topic, partition: $0 % 3) })
        let archive = try TestLog(.embedded)
        #expect(try copy(topic, log, archive) == 903)
        #expect(try archive.records(of: topic) == log.records(of: topic))
        #expect(
            try archive.log.reader(topic: topic).identity()
                == log.log.reader(topic: topic).identity())

        try writer.append((900..<960).map { record("\($0)", topic: topic, partition: $0 % 3) })
        #expect(try copy(topic, log, archive) == 60)
        #expect(try copy(topic, log, archive) == 0)
        #expect(try archive.records(of: topic) == log.records(of: topic))
    }

    @Test(
        "is read first, and the cluster goes on where it ends", arguments: clusters, [false, true])
    func goesOn(kind: TestLog.Kind, isShared: Bool) throws {
        let log = try TestLog(kind)
        let topic = try log.makeTopic(2)
        let writer = try log.log.writer()
        try writer.append((0..<500).map { record("\($0)", topic: topic, partition: $0 % 2) })
        let archive = try TestLog(.embedded)
        try copy(topic, log, archive)
        try writer.append((500..<800).map { record("\($0)", topic: topic, partition: $0 % 2) })
        let embedded = try #require(archive.log as? EmbeddedLog)
        let reader = try ArchivedLogReader(
            embedded, before: log.log.reader(topic: topic, group: "g-\(UUID().uuidString)"))
        defer { reader.close() }
        try reader.subscribe(isShared ? .shared : .all)
        #expect(try reader.readOn(into: batch) == .assigned([0, 1]))
        var found: [ReadRecord] = []
        while found.count < 800 {
            try #require(try reader.readOn(into: batch, maxRecords: 70) == .records)
            found += batch.copies
        }
        let wanted = try log.records(of: topic)
        for partition in Int32(0)...1 {
            #expect(
                found.filter { $0.partition == partition }
                    == wanted.filter { $0.partition == partition })
        }
        try writer.append([record("late", topic: topic, partition: 1)])
        #expect(try reader.readOn(into: batch) == .records)
        #expect(batch.copies.map(\.text) == ["late"])
        try reader.commit([0: 400, 1: 401])
        #expect(try reader.committedOffsets() == [0: 400, 1: 401])
    }

    @discardableResult
    private func copy(_ topic: String, _ log: TestLog, _ archive: TestLog) throws -> Int64 {
        let reader = try log.log.reader(topic: topic)
        defer { reader.close() }
        let embedded = try #require(archive.log as? EmbeddedLog)
        let copy = try ArchiveCopy(from: reader, to: embedded)
        try copy.copyToEnd()
        return copy.addedCount
    }
}
