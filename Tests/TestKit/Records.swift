import EventLog
import Foundation
import Logging
import Streams

/// A record that was read, its bytes copied.
package struct ReadRecord: Equatable {
    package var partition: Int32
    package var offset: Int64
    package var timestampMilliseconds: Int64
    package var keyBytes: [UInt8]?
    package var headerList: [OutgoingRecord.Header] = []
    package var value: [UInt8]?

    package init(_ text: String, partition: Int32 = 0, offset: Int64, timestamp: Int64 = 0) {
        self.init(
            partition: partition, offset: offset, timestamp: timestamp,
            key: Array("key-\(text)".utf8), value: Array(text.utf8))
    }

    package init(
        partition: Int32, offset: Int64, timestamp: Int64, key: [UInt8]? = nil,
        headers: [OutgoingRecord.Header] = [], value: [UInt8]?
    ) {
        self.partition = partition
        self.offset = offset
        timestampMilliseconds = timestamp
        keyBytes = key
        headerList = headers
        self.value = value
    }

    package init(_ view: RecordView) {
        partition = view.partition
        offset = view.offset
        timestampMilliseconds = view.timestampMilliseconds
        keyBytes = view.key.map { Array($0) }
        value = view.value.map { Array($0) }
        view.headers.forEach { name, value in
            headerList.append(
                .init(name: String(decoding: name, as: UTF8.self), value: value.map { Array($0) }))
            return true
        }
    }

    package var key: String? { keyBytes.map { String(decoding: $0, as: UTF8.self) } }
    package var text: String? { value.map { String(decoding: $0, as: UTF8.self) } }

    /// The headers by name; without a value they are empty.
    package var headers: [String: String] {
        var headers: [String: String] = [:]
        for header in headerList {
            headers[header.name] = String(decoding: header.value ?? [], as: UTF8.self)
        }
        return headers
    }

    /// A member of the value, which is a JSON object.
    package subscript(name: String) -> Any? { (try? jsonObject(text ?? ""))?[name] }
}

extension RecordBatch {
    package var copies: [ReadRecord] { (0..<count).map { ReadRecord(self[$0]) } }

    package func append(_ record: ReadRecord) {
        RecordHeaders.encode(record.headerList).withUnsafeBytes { headers in
            record.keyBytes.lent { key in
                record.value.lent { value in
                    append(
                        partition: record.partition, offset: record.offset,
                        timestampMilliseconds: record.timestampMilliseconds, key: key,
                        headers: headers, value: value)
                }
            }
        }
    }
}

extension [UInt8]? {
    fileprivate func lent(_ body: (UnsafeRawBufferPointer?) -> Void) {
        guard let self else { return body(nil) }
        self.withUnsafeBytes { body($0) }
    }
}

extension LogReader {
    /// Every partition to the end that it has now, partition by partition. Gives up after a minute.
    package func readToEnd() throws -> [ReadRecord] {
        let ends = try bounds()
        try subscribe(.all)
        let batch = RecordBatch()
        var records: [ReadRecord] = []
        let deadline = ContinuousClock.now + .seconds(Wait.seconds)
        repeat {
            guard ContinuousClock.now < deadline else {
                throw TestFault("\(topic) is not read to its end")
            }
            _ = try read(into: batch, maxRecords: 1000, maxBytes: 64 << 20, waitMilliseconds: 50)
            records += batch.copies
        } while ends.contains { (position(partition: $0.partition) ?? 0) < $0.endOffset }
        return records.sorted { ($0.partition, $0.offset) < ($1.partition, $1.offset) }
    }

    /// Reads until something other than nothing comes. Gives up after a minute.
    package func readOn(into batch: RecordBatch, maxRecords: Int = 1000) throws -> LogReading {
        let deadline = ContinuousClock.now + .seconds(Wait.seconds)
        while ContinuousClock.now < deadline {
            let reading = try read(
                into: batch, maxRecords: maxRecords, maxBytes: 1 << 24, waitMilliseconds: 50)
            if reading != .idle { return reading }
        }
        return .idle
    }
}

extension LogBackend {
    package func records(of topic: String) throws -> [ReadRecord] {
        let reader = try reader(topic: topic)
        defer { reader.close() }
        return try reader.readToEnd()
    }
}

extension OutgoingRecord {
    /// A record of text.
    package init(
        _ topic: String, _ text: String?, key: String? = nil, type: String? = nil,
        partition: Int32? = nil, at milliseconds: Int64? = nil
    ) {
        self.init(
            topic: topic, partition: partition, timestampMilliseconds: milliseconds,
            key: key.map { Array($0.utf8) }, headers: type.map { [.init("ce_type", $0)] } ?? [],
            value: text.map { Array($0.utf8) })
    }
}

extension Logger {
    /// Writes nothing.
    package static var quiet: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }
}

extension DeltaTable {
    /// The index of a row, for a record at an offset.
    package func row(_ key: Key, partition: Int32, hour: Hour, offset: Int64 = 0) -> Int {
        row(key, at: FoldPosition(partition: partition, offset: offset), hour: hour)
    }
}
