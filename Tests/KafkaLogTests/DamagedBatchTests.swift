import EventLog
import Foundation
import Glibc
import TestKit
import Testing

@Suite("A damaged batch of records")
struct DamagedBatchTests {
    private func log(_ settings: [String: String] = [:]) throws -> (log: TestLog, topic: String) {
        let log = try TestLog(.mock, settings: settings)
        let topic = try log.makeTopic(1)
        let cluster = try #require(log.cluster)
        cluster.setLeader(1, of: topic, 0)
        let writer = try log.log.writer()
        try writer.append([record("a", topic: topic), record("b", topic: topic)])
        try DamagedBatch(topic: topic, partition: 0).append(to: cluster.brokers[0])
        try writer.append([record("c", topic: topic)])
        return (log, topic)
    }

    @Test("is never taken for records: reading fails, and says where it lies")
    func refused() async throws {
        try await onThread {
            let (log, topic) = try log()
            let failure = #expect(throws: LogError.self) { try log.records(of: topic) }
            let place = TopicPartition(topic: topic, partition: 0)
            #expect(failure == .corrupt(place, offset: 2, address: log.log.address))
            #expect(
                failure?.description.hasPrefix(
                    "\(topic)/0 contains a damaged batch of records at offset 2") == true)
        }
    }

    @Test("is read where kafka.yaml says that checksums are not looked at")
    func unchecked() async throws {
        try await onThread {
            let (log, topic) = try log(["check.crcs": "false"])
            #expect(try log.records(of: topic).map(\.text) == ["a", "b", "v", "v", "c"])
        }
    }
}

/// A batch of two records whose checksum is not that of its bytes, sent to a broker as it is.
struct DamagedBatch {
    /// The request that produces it, in Kafka's protocol.
    private let request: [UInt8]

    init(topic: String, partition: Int32) {
        let records: [UInt8] = (0..<2).flatMap { (index: Int) -> [UInt8] in
            // Attributes, time and offset as differences, a key and a value of a byte, no headers.
            let record: [UInt8] = [0, 0, UInt8(index * 2), 2, 0x6B, 2, 0x76, 0]
            return [UInt8(record.count * 2)] + record
        }
        var tail = Self.bytes(Int16(0)) + Self.bytes(Int32(1))
        tail += Self.bytes(Int64(1_795_284_000_000)) + Self.bytes(Int64(1_795_284_000_000))
        tail += Self.bytes(Int64(-1)) + Self.bytes(Int16(-1)) + Self.bytes(Int32(-1))
        tail += Self.bytes(Int32(2)) + records
        // The epoch of the leader, the format's version, and the checksum.
        let rest = Self.bytes(Int32(0)) + [2] + Self.bytes(Int32(0x0BAD_0BAD)) + tail
        let batch = Self.bytes(Int64(0)) + Self.bytes(Int32(rest.count)) + rest
        var request = Self.bytes(Int16(0)) + Self.bytes(Int16(3)) + Self.bytes(Int32(1))
        request += Self.text("damaged") + Self.bytes(Int16(-1)) + Self.bytes(Int16(-1))
        request += Self.bytes(Int32(5000)) + Self.bytes(Int32(1)) + Self.text(topic)
        request += Self.bytes(Int32(1)) + Self.bytes(partition)
        request += Self.bytes(Int32(batch.count)) + batch
        self.request = Self.bytes(Int32(request.count)) + request
    }

    /// Appends it, to the broker `HOST:PORT` that leads the partition.
    func append(to broker: String) throws {
        let port = try #require(broker.split(separator: ":").last.flatMap { UInt16($0) })
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try #require(isConnected == 0)
        try #require(write(descriptor, request, request.count) == request.count)
        var answer = [UInt8](repeating: 0, count: 256)
        try #require(read(descriptor, &answer, answer.count) > 0)
    }

    private static func bytes<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }

    private static func text(_ text: String) -> [UInt8] {
        bytes(Int16(text.utf8.count)) + Array(text.utf8)
    }
}
