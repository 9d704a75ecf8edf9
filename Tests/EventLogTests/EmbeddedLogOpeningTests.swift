import DatabaseFiles
import EmbeddedLog
import EventLog
import Foundation
import GRDB
import Testing

@Suite("Opening an EmbeddedLog")
struct EmbeddedLogOpeningTests {
    @Test("a missing log is said to be missing, and nothing is created")
    func missing() throws {
        let temporary = try TemporaryLog()
        let path = temporary.directory + "/deep/er/log.sqlite"
        #expect(throws: LogError.noLog(address: "sqlite:\(path)")) {
            try EmbeddedLog(path: path, mode: .existing)
        }
        #expect(!FileManager.default.fileExists(atPath: temporary.directory + "/deep"))
        #expect(try EmbeddedLog(path: path, mode: .create).topics().isEmpty)
        #expect(try EmbeddedLog(path: path, mode: .existing).topics().isEmpty)
    }

    @Test("a file that is no log is refused and left as it is", arguments: [true, false])
    func refusesOtherFiles(creating: Bool) throws {
        let temporary = try TemporaryLog()
        let text = Data(String(repeating: "not a database ", count: 1000).utf8)
        try text.write(to: URL(fileURLWithPath: temporary.path))
        expectNotALog(temporary.path, creating)
        #expect(try Data(contentsOf: URL(fileURLWithPath: temporary.path)) == text)

        let other = temporary.directory + "/other.sqlite"
        try DatabaseQueue(path: other).write { db in try db.execute(sql: "CREATE TABLE theirs (x)")
        }
        let bytes = try Data(contentsOf: URL(fileURLWithPath: other))
        expectNotALog(other, creating)
        #expect(try Data(contentsOf: URL(fileURLWithPath: other)) == bytes)
    }

    @Test("a directory in the place of a log is said to be one", arguments: [true, false])
    func refusesDirectories(creating: Bool) throws {
        let temporary = try TemporaryLog()
        let error = LogError.disk(
            operation: "open", address: "sqlite:\(temporary.directory)",
            detail: SystemRefusal.directory.explanation)
        #expect(throws: error) {
            try EmbeddedLog(path: temporary.directory, mode: creating ? .create : .existing)
        }
    }

    @Test("what does not let a log be looked for is not taken for its absence")
    func refusesUnreadablePaths() throws {
        let temporary = try TemporaryLog()
        try Data("text".utf8).write(to: URL(fileURLWithPath: temporary.path))
        let address = "sqlite:\(temporary.path)/log.sqlite"
        let error = LogError.disk(
            operation: "open", address: address, detail: SystemRefusal.noDirectory.explanation)
        #expect(throws: error) {
            try EmbeddedLog(path: temporary.path + "/log.sqlite", mode: .existing)
        }
    }

    @Test("a log of a newer format is refused", arguments: [true, false])
    func refusesNewerVersions(creating: Bool) throws {
        let temporary = try TemporaryLog()
        _ = try temporary.open()
        try DatabaseQueue(path: temporary.path).write { db in
            try db.execute(sql: "PRAGMA user_version = 3")
        }
        let address = "sqlite:\(temporary.path)"
        #expect(throws: LogError.newerVersion(address: address, found: 3, supported: 2)) {
            try EmbeddedLog(path: temporary.path, mode: creating ? .create : .existing)
        }
    }

    @Test("a log whose creation was interrupted is none yet, and is created then")
    func finishesAnInterruptedCreation() throws {
        let temporary = try TemporaryLog()
        try DatabaseQueue(path: temporary.path).writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA journal_mode = WAL")
        }
        #expect(throws: LogError.emptyLog(address: "sqlite:\(temporary.path)")) {
            try EmbeddedLog(path: temporary.path, mode: .existing)
        }
        #expect(try temporary.open().topics().isEmpty)
        #expect(try EmbeddedLog(path: temporary.path, mode: .existing).topics().isEmpty)
    }

    @Test("a file without a byte is said to be empty, and not to be missing")
    func empty() throws {
        let temporary = try TemporaryLog()
        try Data().write(to: URL(fileURLWithPath: temporary.path))
        #expect(throws: LogError.emptyLog(address: "sqlite:\(temporary.path)")) {
            try EmbeddedLog(path: temporary.path, mode: .existing)
        }
        #expect(try temporary.open().topics().isEmpty)
    }

    @Test("a log is one log by whatever path it is opened")
    func resolvesLinks() throws {
        let temporary = try TemporaryLog()
        let log = try temporary.open(topic: "bids", partitionCount: 1)
        let link = temporary.directory + "/link"
        try FileManager.default.createSymbolicLink(
            atPath: link, withDestinationPath: temporary.path)
        let linked = try EmbeddedLog(path: link, mode: .existing)
        try linked.writer().append([record("a")])
        #expect(try log.allRecords(of: "bids").map(\.text) == ["a"])
        #expect(!FileManager.default.fileExists(atPath: link + ".lock"))
    }

    @Test("writing where the disk refuses is a disk error")
    func reportsTheDisk() throws {
        let temporary = try TemporaryLog()
        let log = try temporary.open(topic: "bids", partitionCount: 1)
        try FileManager.default.removeItem(atPath: temporary.path + ".lock")
        try FileManager.default.createDirectory(
            atPath: temporary.path + ".lock", withIntermediateDirectories: false)
        do {
            _ = try log.writer()
            Issue.record("a writer without a lock")
        } catch {
            guard case .disk = error else {
                Issue.record("\(error)")
                return
            }
        }
    }

    @Test("a log that was removed while it was open is not made anew")
    func noticesRemoval() throws {
        let temporary = try TemporaryLog()
        let log = try temporary.open(topic: "bids", partitionCount: 1)
        try FileManager.default.removeItem(atPath: temporary.path)
        do {
            _ = try log.writer()
            Issue.record("a writer of a log that is gone")
        } catch {
            guard case .moved = error else {
                Issue.record("\(error)")
                return
            }
        }
        #expect(!FileManager.default.fileExists(atPath: temporary.path))
    }

    @Test(
        "a log that was moved away or replaced while it was open is neither read nor written on",
        arguments: [false, true])
    func noticesMoves(isReplaced: Bool) throws {
        let temporary = try TemporaryLog()
        let log = try temporary.open(topic: "bids", partitionCount: 1)
        let writer = try log.writer()
        try writer.append([record("a")])
        let reader = try log.reader(topic: "bids")
        try reader.subscribe(.all)
        #expect(try reader.readRest().count == 1)
        let moved = temporary.directory + "/moved.sqlite"
        try FileManager.default.moveItem(atPath: temporary.path, toPath: moved)
        if isReplaced {
            try FileManager.default.copyItem(atPath: moved, toPath: temporary.path)
        }
        #expect(
            throws: LogError.moved(
                operation: "append to", address: log.address, detail: FileFault.movedWords())
        ) { try writer.append([record("b")]) }
        #expect(
            throws: LogError.moved(
                operation: "read", address: log.address, detail: FileFault.movedWords())
        ) { try reader.readRest() }
        // Nor is what is in its place now.
        let opening = LogError.moved(
            operation: "open", address: log.address, detail: FileFault.movedWords())
        #expect(throws: opening) { _ = try log.writer() }
        #expect(throws: opening) { _ = try log.reader(topic: "bids") }
        try? FileManager.default.removeItem(atPath: temporary.path)
        try FileManager.default.moveItem(atPath: moved, toPath: temporary.path)
        try writer.append([record("c")])
        #expect(try reader.readRest().map(\.text) == ["c"])
    }

    @Test(
        "a log whose -wal or -shm was removed or replaced while it was open is neither read nor written on",
        arguments: ["-wal", "-shm"], [false, true])
    func noticesMovesBeside(end: String, isReplaced: Bool) throws {
        let temporary = try TemporaryLog()
        let log = try temporary.open(topic: "bids", partitionCount: 1)
        let writer = try log.writer()
        try writer.append([record("a")])
        let reader = try log.reader(topic: "bids")
        try reader.subscribe(.all)
        #expect(try reader.readRest().count == 1)
        let file = temporary.path + end
        let moved = temporary.directory + "/moved"
        try FileManager.default.moveItem(atPath: file, toPath: moved)
        if isReplaced { try FileManager.default.copyItem(atPath: moved, toPath: file) }
        func error(_ operation: String) -> LogError {
            .moved(operation: operation, address: log.address, detail: FileFault.movedWords(end))
        }
        #expect(throws: error("append to")) { try writer.append([record("b")]) }
        #expect(throws: error("read")) { try reader.readRest() }
        #expect(throws: error("open")) { _ = try log.writer() }
        try? FileManager.default.removeItem(atPath: file)
        try FileManager.default.moveItem(atPath: moved, toPath: file)
        try log.writer().append([record("c")])
        #expect(try reader.readRest().map(\.text) == ["c"])
    }

    private func expectNotALog(_ path: String, _ creating: Bool) {
        do {
            _ = try EmbeddedLog(path: path, mode: creating ? .create : .existing)
            Issue.record("\(path) was opened")
        } catch {
            guard case .notALog(let address, _) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(address == "sqlite:\(path)")
        }
    }
}

@Suite("LogAddress")
struct LogAddressTests {
    @Test("understands files and Kafka clusters, and writes them as they were read")
    func understands() throws {
        #expect(try LogAddress("sqlite:data/log.sqlite") == .sqlite(path: "data/log.sqlite"))
        #expect(try LogAddress("kafka://a:9092,b.example:1") == .kafka(["a:9092", "b.example:1"]))
        #expect(try LogAddress("kafka://[::1]:9092") == .kafka(["[::1]:9092"]))
        for text in ["sqlite:/x y/log", "kafka://a:9092,b:9093"] {
            #expect(try LogAddress(text).description == text)
        }
    }

    @Test(
        "refuses everything else",
        arguments: [
            "", "log.sqlite", "sqlite:", "SQLITE:x", "kafka:a:9092", "kafka://", "kafka://a",
            "kafka://a:", "kafka://a:0", "kafka://a:65536", "kafka://a:9092,", "kafka://:9092",
            "kafka://a:9092/topic", "kafka://a:+1", "kafka://a b:9092",
        ])
    func refuses(text: String) {
        #expect(throws: LogError.badAddress(text)) { try LogAddress(text) }
    }

    @Test(
        "never says a user and password back",
        arguments: [
            "kafka://anna:geheim@a:9092", "anna:geheim@a:9092", "kafka://b:9092,anna:ge@heim@a:1",
            "http://anna:geheim@a:9092/x", "sqlite:\0//anna:geheim@a",
        ])
    func masks(text: String) throws {
        let failure = #expect(throws: LogError.self) { try LogAddress(text) }
        let words = try #require(failure).description
        #expect(!words.contains("anna") && !words.contains("heim"), "\(words)")
        #expect(words.contains("***@a") && words.contains("kafka.yaml"), "\(words)")
    }
}
