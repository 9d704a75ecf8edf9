import EventLog
import Foundation
import GRDB
import Pipelines
import Program
import Streams
import Worker

/// A temporary directory with a log, a configuration and stores; removed at the end.
final class Workplace {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "weir-worker-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: pipelines, withIntermediateDirectories: true)
        for stream in WindowedStream.allCases.map(\.rawValue) + ["postbacks"] {
            try write("\(stream).yaml", "batch_records: 100\n")
        }
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    var pipelines: String { path + "/pipelines" }
    var logAddress: LogAddress { .sqlite(path: path + "/log.sqlite") }

    /// Writes a file of the configuration.
    func write(_ name: String, _ text: String) throws {
        let file = pipelines + "/" + name
        try FileManager.default.createDirectory(
            atPath: (file as NSString).deletingLastPathComponent,
            withIntermediateDirectories: true)
        try text.write(toFile: file, atomically: true, encoding: .utf8)
    }

    /// Removes a file of the configuration.
    func remove(_ name: String) throws {
        try FileManager.default.removeItem(atPath: pipelines + "/" + name)
    }

    func openLog() throws -> EmbeddedLog {
        try EmbeddedLog(path: path + "/log.sqlite", mode: .create)
    }

    /// Appends records to a topic, which is made with 4 partitions.
    func publish(_ topic: String, _ records: [OutgoingRecord]) throws {
        let log = try openLog()
        try log.createTopic(topic, partitionCount: 4)
        try log.writer().append(records)
    }

    /// Every record of a topic, by partition and offset.
    func records(_ topic: String) throws -> [ReadRecord] {
        let reader = try openLog().reader(topic: topic)
        try reader.subscribe(.all)
        let batch = RecordBatch()
        var records: [ReadRecord] = []
        while true {
            let reading = try reader.read(
                into: batch, maxRecords: 1000, maxBytes: 1 << 24, waitMilliseconds: 0)
            if reading == .idle { break }
            guard reading == .records else { continue }
            for index in 0..<batch.count { records.append(ReadRecord(batch[index])) }
        }
        return records.sorted { ($0.partition, $0.offset) < ($1.partition, $1.offset) }
    }

    func options(data: String = "data") -> WorkerOptions {
        WorkerOptions(
            log: logAddress, data: path + "/" + data, pipelines: pipelines, untilEnd: true)
    }

    func foldBids(data: String = "data") throws {
        try fold(.bids, data: data)
    }

    func fold(_ stream: WindowedStream, data: String = "data") throws {
        try stream.work(options(data: data))
    }

    func foldPostbacks(data: String = "data") throws {
        try PostbacksFold.work(options(data: data), stop: StopSignal())
    }

    func foldNotifications(data: String = "data") throws {
        try StoreNotificationsFold.work(options(data: data), stop: StopSignal())
    }

    /// Everything in a store that follows from the log, as text: equal for equal stores.
    func contents(_ stream: String, data: String = "data") throws -> [String] {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(30)
        let queue = try DatabaseQueue(
            path: "\(path)/\(data)/\(stream).sqlite", configuration: configuration)
        return try queue.read { db in
            let tables = try String.fetchAll(
                db, sql: "SELECT name FROM sqlite_schema WHERE type <> 'index' ORDER BY name")
            // An aggregate's keys and sums are compared together, as its view shows them.
            let parts = ["dedupe"] + tables.flatMap { ["\($0)_keys", "\($0)_sums"] }
            return try tables.filter { !parts.contains($0) && !$0.hasPrefix("sqlite_") }.flatMap {
                table in
                let columns = try db.columns(in: table).map(\.name).filter {
                    !["row", "emit_from", "dead_letters_next", "outbox_emitted"].contains($0)
                }
                return try Row.fetchAll(
                    db, sql: "SELECT \(columns.joined(separator: ", ")) FROM \(table)"
                ).map { "\(table) \($0)" }.sorted()
            }
        }
    }

    /// Runs SQL against a store of this workplace.
    func execute(_ sql: String, stream: String, data: String = "data") throws {
        let queue = try DatabaseQueue(path: "\(path)/\(data)/\(stream).sqlite")
        try queue.inDatabase { try $0.execute(sql: sql) }
    }

    func texts(_ sql: String, stream: String, data: String = "data") throws -> [String] {
        let queue = try DatabaseQueue(path: "\(path)/\(data)/\(stream).sqlite")
        return try queue.inDatabase { try String.fetchAll($0, sql: sql) }
    }

    func integer(_ sql: String, stream: String, data: String = "data") throws -> Int64? {
        // Only read: a store that is not there yet is not made by looking for it.
        var configuration = Configuration()
        configuration.readonly = true
        let queue = try DatabaseQueue(
            path: "\(path)/\(data)/\(stream).sqlite", configuration: configuration)
        return try queue.inDatabase { try Int64.fetchOne($0, sql: sql) }
    }
}

/// A record that was read, copied.
struct ReadRecord {
    var partition: Int32
    var offset: Int64
    var key: String?
    var headers: [String: String]
    var value: String?

    init(_ view: RecordView) {
        partition = view.partition
        offset = view.offset
        key = view.key.map { String(decoding: $0, as: UTF8.self) }
        value = view.value.map { String(decoding: $0, as: UTF8.self) }
        var headers: [String: String] = [:]
        view.headers.forEach { name, value in
            headers[String(decoding: name, as: UTF8.self)] = value.map {
                String(decoding: $0, as: UTF8.self)
            }
            return true
        }
        self.headers = headers
    }
}
