import DatabaseFiles
import Foundation
import GRDB
import Store
import Synchronization

/// Keeps sums for the next start of a dashboard, so that its first pages need not read all rows.
///
/// All that it contains follows from the stores, so a file that is damaged, of another program or too large is begun
/// again. Only one process uses a file.
package final class SumsFile: Sendable {
    private let queue: DatabaseQueue
    /// The values to write, by key. A value that changes often is written once.
    private let changed = Mutex<[String: (version: ContentDigest, bytes: @Sendable () -> [UInt8])]>(
        [:])
    private let lists = Mutex<[(list: any KeptList, written: Int)]>([])
    /// After a failure the file is neither read nor written: numbers in it would not fit their lists.
    private let isBroken = Mutex(false)

    private static let mostBytes: Int64 = 2 << 30

    /// - Parameters:
    ///   - path: in a directory that exists.
    ///   - program: identifies the program, because values have its layout in memory.
    package init(path: String, program: String) throws {
        do {
            queue = try Self.open(path, program)
        } catch let error as DatabaseError where error.resultCode != .SQLITE_BUSY {
            for end in ["", "-wal", "-shm", "-journal"] {
                try? FileManager.default.removeItem(atPath: path + end)
            }
            queue = try Self.open(path, program)
        }
    }

    private static func open(_ path: String, _ program: String) throws -> DatabaseQueue {
        let queue = try DatabaseQueue(
            path: path,
            configuration: CheckedPages.configuration(
                pageSize: 16384,
                pragmas: """
                    PRAGMA locking_mode = EXCLUSIVE;
                    PRAGMA journal_mode = TRUNCATE;
                    PRAGMA synchronous = NORMAL;
                    """, busySeconds: 0))
        try queue.write { db in
            try db.execute(
                sql: """
                    CREATE TABLE IF NOT EXISTS program (name TEXT NOT NULL) STRICT;
                    CREATE TABLE IF NOT EXISTS sums (
                      key TEXT PRIMARY KEY, version TEXT NOT NULL, bytes BLOB NOT NULL) STRICT;
                    """)
            let size =
                try Int64.fetchOne(
                    db,
                    sql: "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
                ?? 0
            let known = try String.fetchOne(db, sql: "SELECT name FROM program")
            guard known != program || size > mostBytes else { return }
            try db.execute(sql: "DELETE FROM sums; DELETE FROM program")
            try db.execute(sql: "INSERT INTO program VALUES (?)", arguments: [program])
        }
        return queue
    }

    /// The value of a key in a state; nil if the file does not have it.
    func reader(_ key: String, _ version: ContentDigest) -> KeptReader? {
        guard !isBroken.withLock({ $0 }),
            let bytes = try? queue.read({ db in
                try Data.fetchOne(
                    db.cachedStatement(sql: "SELECT bytes FROM sums WHERE key = ? AND version = ?"),
                    arguments: [key, "\(version)"])
            })
        else { return nil }
        return KeptReader(bytes)
    }

    /// Notes a value for the next `write`.
    func note(
        _ key: String, _ version: ContentDigest, _ bytes: @escaping @Sendable () -> [UInt8]
    ) {
        changed.withLock { $0[key] = (version, bytes) }
    }

    /// Writes what was noted since the last time: all or nothing. After an error the file stays as it is.
    ///
    /// - Returns: the number of values.
    @discardableResult
    package func write() throws -> Int {
        let noted = changed.withLock { noted in
            defer { noted = [:] }
            return noted
        }
        guard !noted.isEmpty, !isBroken.withLock({ $0 }) else { return 0 }
        do {
            try queue.write { try write(noted, $0) }
            return noted.count
        } catch {
            isBroken.withLock { $0 = true }
            throw error
        }
    }

    private func write(
        _ noted: [String: (version: ContentDigest, bytes: @Sendable () -> [UInt8])], _ db: Database
    ) throws {
        let statement = try db.cachedStatement(sql: "INSERT OR REPLACE INTO sums VALUES (?, ?, ?)")
        for (key, value) in noted {
            try statement.execute(arguments: [key, "\(value.version)", Data(value.bytes())])
        }
        // After the values, because these have numbers of the lists.
        for (index, (list, written)) in lists.withLock({ $0 }).enumerated() {
            let added = list.entries(from: written)
            guard !added.isEmpty else { continue }
            var bytes = KeptWriter()
            for entry in added { bytes.append(entry) }
            try statement.execute(arguments: [Self.key(list, written), "", Data(bytes.bytes)])
            lists.withLock { $0[index].written = written + added.count }
        }
    }

    /// Fills an empty list with what the file has, and writes what is added from now on.
    func keep(_ list: some KeptList) {
        var count = 0
        do {
            try queue.read { db in
                while let bytes = try Data.fetchOne(
                    db, sql: "SELECT bytes FROM sums WHERE key = ?",
                    arguments: [Self.key(list, count)])
                {
                    var reader = KeptReader(bytes)
                    while !reader.isAtEnd {
                        list.add(try reader.values())
                        count += 1
                    }
                }
            }
            lists.withLock { $0.append((list, count)) }
        } catch {
            isBroken.withLock { $0 = true }
        }
    }

    private static func key(_ list: any KeptList, _ count: Int) -> String {
        "list \(list.name) from \(count)"
    }
}

/// A list that only grows: its entries keep their numbers.
protocol KeptList: Sendable {
    var name: String { get }
    func add(_ entry: [StoredValue])
    func entries(from index: Int) -> ArraySlice<[StoredValue]>
}

/// Writes values with their layout in memory.
struct KeptWriter {
    private(set) var bytes: [UInt8] = []

    mutating func append<Element: BitwiseCopyable>(_ elements: [Element]) {
        append(elements.count)
        elements.withUnsafeBytes { bytes += $0 }
    }

    mutating func append(_ integer: some FixedWidthInteger & BitwiseCopyable) {
        withUnsafeBytes(of: integer) { bytes += $0 }
    }

    mutating func append(_ text: String) { append(Array(text.utf8)) }

    mutating func append(_ values: [StoredValue]) {
        append(values.count)
        for value in values {
            switch value {
            case .integer(let integer):
                append(UInt8(0))
                append(integer)
            case .text(let text):
                append(UInt8(1))
                append(text)
            }
        }
    }
}

/// Reads what `KeptWriter` has written.
struct KeptReader {
    /// The bytes end too early.
    struct End: Error {}

    private let bytes: Data
    private var index = 0

    init(_ bytes: Data) { self.bytes = bytes }

    var isAtEnd: Bool { index == bytes.count }

    mutating func integer<Integer: FixedWidthInteger & BitwiseCopyable>(
        _: Integer.Type = Integer.self
    ) throws -> Integer {
        let size = MemoryLayout<Integer>.size
        guard bytes.count - index >= size else { throw End() }
        defer { index += size }
        return bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: index, as: Integer.self) }
    }

    mutating func array<Element: BitwiseCopyable>(
        of _: Element.Type = Element.self
    ) throws -> [Element] {
        let count: Int = try integer()
        let stride = MemoryLayout<Element>.stride
        guard count >= 0, count <= (bytes.count - index) / stride else { throw End() }
        defer { index += count * stride }
        return [Element](unsafeUninitializedCapacity: count) { elements, filled in
            let target = UnsafeMutableRawBufferPointer(elements)
            bytes.withUnsafeBytes {
                target.copyMemory(
                    from: UnsafeRawBufferPointer(rebasing: $0[index..<index + count * stride]))
            }
            filled = count
        }
    }

    mutating func text() throws -> String {
        String(decoding: try array(of: UInt8.self), as: UTF8.self)
    }

    mutating func values() throws -> [StoredValue] {
        let count: Int = try integer()
        return try (0..<count).map { _ in
            try integer(UInt8.self) == 0 ? .integer(try integer()) : .text(try text())
        }
    }
}
