import EmbeddedLog
import EventLog
import Foundation
import GRDB
import Synchronization
import Testing

/// What holds between processes: each of these tests starts some.
@Suite("EmbeddedLog between processes", .serialized)
struct EmbeddedLogProcessTests {
    @Test("processes that append at once lose nothing and mix no offsets", .timeLimit(.minutes(15)))
    func appendsAtOnce() async throws {
        let temporary = try TemporaryLog()
        _ = try temporary.open(topic: "bids", partitionCount: 2)
        let path = temporary.path
        async let first = #expect(processExitsWith: .success) { [path = path as String] in
            try appendNumbers("a", rounds: 60, perRound: 50, path: path)
        }
        async let second = #expect(processExitsWith: .success) { [path = path as String] in
            try appendNumbers("b", rounds: 60, perRound: 50, path: path)
        }
        _ = await (first, second)
        let found = try temporary.open().allRecords(of: "bids")
        for partition in Int32(0)...1 {
            let part = found.filter { $0.partition == partition }
            #expect(part.map(\.offset) == (0..<Int64(part.count)).map { $0 })
            for name in ["a", "b"] {
                let numbers = part.compactMap(\.text).filter { $0.hasPrefix(name) }
                let expected = stride(from: Int(partition), to: 3000, by: 2).map { "\(name)\($0)" }
                #expect(numbers == expected)
            }
        }
    }

    @Test(
        "a process killed while it appends leaves whole appends only, and all that it was told of")
    func survivesAKill() async throws {
        let temporary = try TemporaryLog()
        _ = try temporary.open(topic: "bids", partitionCount: 1)
        let path = temporary.path
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
            try appendUntilKilled(path: path)
        }
        let found = try temporary.open().allRecords(of: "bids")
        #expect(found.map(\.offset) == (0..<Int64(found.count)).map { $0 })
        #expect(found.count % 500 == 0)
        let told = try Data(contentsOf: URL(fileURLWithPath: path + ".told")).count
        #expect(told >= 3 && found.count >= told * 500)
        let log = try temporary.open()
        #expect(try log.writer().append([record("after")]).count == 1)
        #expect(try integrityCheck(path) == ["ok"])
    }

    @Test("a full disk is an error that leaves nothing, and the next append goes on")
    func reportsAFullDisk() async throws {
        let temporary = try TemporaryLog()
        _ = try temporary.open(topic: "bids", partitionCount: 1)
        let path = temporary.path
        await #expect(processExitsWith: .success) { [path = path as String] in
            try appendBeyondTheLimit(path: path)
        }
        let found = try temporary.open().allRecords(of: "bids").map(\.text)
        #expect(found == ["before", "after"])
    }

    @Test("threads with writers of their own lose nothing while the log is checkpointed and read")
    func appendsFromThreads() throws {
        let temporary = try TemporaryLog()
        let log = try temporary.open(topic: "bids", partitionCount: 3)
        let threads = 3
        let rounds = 12
        DispatchQueue.concurrentPerform(iterations: threads + 1) { index in
            do {
                if index < threads {
                    try appendLarge(Int32(index), rounds: rounds, log)
                } else {
                    try followUntil(count: threads * rounds * 200, log)
                }
            } catch {
                Issue.record("\(error)")
            }
        }
        let wal = try FileManager.default.attributesOfItem(atPath: temporary.path + "-wal")
        #expect((wal[.size] as? Int ?? 0) < 100 << 20)
        #expect(try integrityCheck(temporary.path) == ["ok"])
    }

    @Test("a writer that appends without pause does not keep others out")
    func takesTurns() throws {
        let temporary = try TemporaryLog()
        let log = try temporary.open(topic: "bids", partitionCount: 1)
        let isOver = Mutex(false)
        let busyAppends = Mutex(0)
        let busy = Thread {
            guard let writer = try? log.writer() else { return }
            let records = (0..<2000).map { record("\($0)") }
            while !isOver.withLock({ $0 }), (try? writer.append(records)) != nil {
                busyAppends.withLock { $0 += 1 }
            }
        }
        busy.start()
        defer { isOver.withLock { $0 = true } }
        while busyAppends.withLock({ $0 }) == 0 { usleep(1000) }
        let start = busyAppends.withLock { $0 }
        let writer = try log.writer()
        for _ in 0..<10 { try writer.append([record("a")]) }
        #expect(busyAppends.withLock { $0 } - start < 200)
    }

    @Test("a write-ahead log that one append made long is cut")
    func cutsTheWriteAheadLog() throws {
        let temporary = try TemporaryLog()
        let log = try temporary.open(topic: "bids", partitionCount: 1)
        let reader = try log.reader(topic: "bids")
        let value = [UInt8](repeating: 7, count: 1 << 20)
        try log.writer().append(
            (0..<80).map { _ in OutgoingRecord(topic: "bids", key: nil, value: value) })
        let wal = try FileManager.default.attributesOfItem(atPath: temporary.path + "-wal")
        #expect((wal[.size] as? Int ?? .max) < 1 << 20)
        try reader.subscribe(.all)
        #expect(try reader.readRest().map(\.value?.count) == (0..<80).map { _ in 1 << 20 })
    }

    @Test("a lock that others keep is waited for, and the wait ends when they let go")
    func waitsForTheLock() throws {
        let temporary = try TemporaryLog()
        let log = try temporary.open(topic: "bids", partitionCount: 1)
        let writer = try log.writer()
        let descriptor = open(temporary.path + ".lock", O_RDWR)
        #expect(descriptor >= 0)
        #expect(flock(descriptor, LOCK_EX) == 0)
        let thread = Thread {
            usleep(150_000)
            close(descriptor)
        }
        let start = ContinuousClock.now
        thread.start()
        #expect(try writer.append([record("a")]).count == 1)
        #expect(ContinuousClock.now - start >= .milliseconds(140))
    }

    @Test("a lock file that was removed is made anew, and appends go on")
    func survivesARemovedLockFile() throws {
        let temporary = try TemporaryLog()
        let writer = try temporary.open(topic: "bids", partitionCount: 1).writer()
        try FileManager.default.removeItem(atPath: temporary.path + ".lock")
        try writer.append([record("a")])
        #expect(FileManager.default.fileExists(atPath: temporary.path + ".lock"))
    }
}

/// What SQLite finds wrong with a log: `ok` when nothing is.
func integrityCheck(_ path: String) throws -> [String] {
    try DatabaseQueue(path: path).read { db in
        try String.fetchAll(db, sql: "PRAGMA integrity_check")
    }
}

private func appendNumbers(_ name: String, rounds: Int, perRound: Int, path: String) throws {
    let writer = try EmbeddedLog(path: path, mode: .existing).writer()
    for round in 0..<rounds {
        let numbers = round * perRound..<(round + 1) * perRound
        try writer.append(numbers.map { record("\(name)\($0)", partition: Int32($0 % 2)) })
    }
}

/// Appends 500 records at a time, and adds a byte to a file for each append that has returned. It is
/// killed after the third, while it appends further ones.
private func appendUntilKilled(path: String) throws {
    let writer = try EmbeddedLog(path: path, mode: .existing).writer()
    let told = open(path + ".told", O_WRONLY | O_CREAT | O_APPEND, 0o600)
    let returned = Mutex(0)
    let killer = Thread {
        while returned.withLock({ $0 }) < 3 { usleep(1000) }
        kill(getpid(), SIGKILL)
    }
    killer.start()
    let value = String(repeating: "x", count: 2000)
    while true {
        try writer.append((0..<500).map { _ in record(value) })
        write(told, "1", 1)
        returned.withLock { $0 += 1 }
    }
}

/// Makes the system refuse to let files grow, appends, and appends less once that is over.
private func appendBeyondTheLimit(path: String) throws {
    let writer = try EmbeddedLog(path: path, mode: .existing).writer()
    try writer.append([record("before")])
    signal(SIGXFSZ, SIG_IGN)
    let limited = __rlimit_resource_t(RLIMIT_FSIZE.rawValue)
    var limit = rlimit()
    getrlimit(limited, &limit)
    var small = limit
    small.rlim_cur = 1 << 20
    setrlimit(limited, &small)
    let value = String(repeating: "x", count: 2 << 20)
    do {
        try writer.append([record("small"), record(value)])
        Issue.record("two megabytes went into one")
    } catch {
        guard case .disk = error else {
            Issue.record("\(error)")
            return
        }
    }
    setrlimit(limited, &limit)
    try writer.append([record("after")])
}

/// Appends 200 records of 16 KB a round, enough for a few checkpoints.
private func appendLarge(_ partition: Int32, rounds: Int, _ log: EmbeddedLog) throws {
    let writer = try log.writer()
    for round in 0..<rounds {
        let value = [UInt8](repeating: UInt8(round), count: 16 << 10)
        try writer.append(
            (0..<200).map { _ in
                OutgoingRecord(topic: "bids", partition: partition, key: nil, value: value)
            })
    }
}

/// Reads while others append, and checks that each partition's offsets follow one another.
private func followUntil(count: Int, _ log: EmbeddedLog) throws {
    let reader = try log.reader(topic: "bids")
    try reader.subscribe(.all)
    let batch = RecordBatch()
    var nextOffsets: [Int32: Int64] = [:]
    var found = 0
    while found < count {
        let reading = try reader.read(
            into: batch, maxRecords: 100, maxBytes: 1 << 20, waitMilliseconds: 60_000)
        guard reading != .idle else {
            Issue.record("only \(found) of \(count) records came")
            return
        }
        for index in 0..<batch.count {
            let view = batch[index]
            #expect(view.offset == nextOffsets[view.partition, default: 0])
            #expect(view.value?.first == UInt8(view.offset / 200))
            nextOffsets[view.partition] = view.offset + 1
        }
        found += batch.count
    }
}
