import ConfigurationValues
import ConversionValues
import DatabaseFiles
import EmbeddedLog
import EventLog
import Foundation
import Program
import Store
import Streams

/// Finds what files beside the log contain of a person: stores and the collector's file, which are erased, and copies,
/// which are named.
struct ErasureFiles {
    private enum Content {
        case log, store, segment, installs
        /// Another database, or none.
        case other
    }

    private struct File {
        let path: String
        /// The data directory, for files that Weir changes.
        let data: String?
        let content: Content
        /// The advice for the file if it contains records.
        let remedy: String
    }

    private let subject: ErasureSubject
    private let log: any LogBackend
    private var files: [File] = []
    /// Files that cannot be read.
    private var unread: [ErasureFindings.Copy] = []

    private static let header = Array("SQLite format 3\0".utf8)
    /// The endings of the files beside a database.
    private static let besides = ["-wal", "-shm", "-journal"]

    /// - Parameters:
    ///   - others: files and directories with copies.
    ///   - isBackup: whether a directory is a backup.
    ///   - hasParts: whether a directory has parts of databases, which are not looked at.
    init(
        _ subject: ErasureSubject, log: any LogBackend, directories: [String], others: [String],
        snapshots: [String], isBackup: (String) -> Bool, hasParts: (String) -> Bool
    ) throws {
        self.subject = subject
        self.log = log
        var seen: Set<String> = []
        if let path = (try? LogAddress(log.address))?.path { seen.insert(Self.real(path)) }
        for (root, isData) in directories.map({ ($0, true) })
            + (snapshots + others).map({ ($0, false) })
        {
            let paths = try Self.files(
                at: root, isNamed: others.contains(root), exceptBelow: hasParts)
            for path in paths
            where seen.insert(Self.real(path)).inserted && Self.isDatabase(path) {
                add(path, below: root, isData: isData, isBackup: isBackup)
            }
        }
    }

    // MARK: Erased files

    /// Rejected records in stores: those with the id, and those that were found in the log.
    func refused(
        _ records: [ErasureFindings.Records]
    ) throws(StoreError) -> [ErasureFindings.Refused] {
        var found: [ErasureFindings.Refused] = []
        for file in files where file.content == .store {
            guard let data = file.data else { continue }
            let bytes = RefusedBytes(path: file.path)
            let origin = try bytes.origin()
            let logged = Set(
                records.filter { ($0.topic, $0.identity) == origin }.flatMap { records in
                    records.records.map {
                        RefusedBytes.Place(partition: records.partition, offset: $0.offset)
                    }
                })
            let places = try bytes.places { record in
                let place = RefusedBytes.Place(partition: record.partition, offset: record.offset)
                return logged.contains(place) || subject.isIn(record)
            }
            guard !places.isEmpty else { continue }
            found.append(.init(path: file.path, data: data, places: places))
        }
        return found
    }

    func installs() throws -> [ErasureFindings.Installs] {
        try files.filter { $0.content == .installs && $0.data != nil }.compactMap { file in
            let count = try StoredInstalls.count(id: subject.id, at: file.path)
            return count == 0 ? nil : .init(path: file.path, states: count)
        }
    }

    // MARK: Named files

    func copies() throws -> [ErasureFindings.Copy] {
        var copies = unread
        for file in files {
            do {
                let isErased = file.data != nil && [.store, .installs].contains(file.content)
                let count =
                    isErased ? 0 : try Self.records(of: subject, in: file.content, at: file.path)
                guard count > 0 else { continue }
                copies.append(.init(path: file.path, records: count, remedy: file.remedy))
            } catch {
                copies.append(Self.unreadable(file.path, error))
            }
        }
        return copies
    }

    /// The number of records and states in a database.
    static func records(of subject: ErasureSubject, inCopy path: String) throws -> Int {
        guard isDatabase(path) else { return 0 }
        return try records(of: subject, in: content(of: path), at: path)
    }

    private static func records(
        of subject: ErasureSubject, in content: Content, at path: String
    ) throws -> Int {
        switch content {
        case .other: return 0
        case .store, .segment:
            return try RefusedBytes(path: path).places(where: subject.isIn).count
        case .installs: return try StoredInstalls.count(id: subject.id, at: path)
        case .log:
            let copy = try EmbeddedLog(path: path, mode: .existing)
            var scan = ErasureScan(subject, in: copy)
            try scan.read(copy.topics())
            return scan.found.reduce(0) { $0 + $1.records.count }
        }
    }

    /// Files that still contain the id as text: in pages that an earlier version has freed, or as a part of a longer
    /// word, which may be the id of another person. Pages that this version frees are overwritten.
    static func remains(
        of subject: ErasureSubject, in log: any LogBackend,
        _ installs: [ErasureFindings.Installs]
    ) -> [ErasureFindings.Copy] {
        let logPath = (try? LogAddress(log.address))?.path
        let ids = Set([subject.id, subject.id.uppercased(), subject.id.lowercased()])
        return ([logPath].compactMap(\.self) + installs.map(\.path)).filter { path in
            OpenDatabaseBytes.contain(ids, at: path)
        }.map {
            .init(
                path: $0, records: 0,
                remedy:
                    "contains the id as a part of a longer word, or in free pages of an earlier version"
            )
        }
    }

    // MARK: Files

    private mutating func add(
        _ path: String, below root: String, isData: Bool, isBackup: (String) -> Bool
    ) {
        let content: Content
        do {
            content = try Self.content(of: path)
        } catch {
            unread.append(Self.unreadable(path, error))
            return
        }
        let backup = Self.directories(of: path, below: root, withRoot: !isData).first(
            where: isBackup)
        var isErased = isData && backup == nil
        var remedy =
            backup.map { "take a new backup, and delete \($0)" }
            ?? Self.remedy(of: content, at: path)
        if isErased, content == .installs {
            let isCollectors = path == "\(root)/\(ConversionStoreProgress.fileName)"
            isErased = isCollectors && isOfLog(path)
            if isCollectors { remedy = "run the command with --log of the log that it follows" }
        }
        files.append(
            File(path: path, data: isErased ? root : nil, content: content, remedy: remedy))
    }

    /// Whether the collector's file follows the log. One of another log would be set aside.
    private func isOfLog(_ path: String) -> Bool {
        guard let progress = try? ConversionStoreProgress(path: path),
            let topic = try? log.topics().first(where: { $0.name == progress.topic })
        else { return false }
        return !topic.isArchive && topic.identity == progress.logIdentity
    }

    private static func remedy(of content: Content, at path: String) -> String {
        switch content {
        case .log: "erase there too: weir erase with --log sqlite:\(path)"
        case .segment:
            "the worker of the store replaces it with its next snapshots; delete the file if no worker writes there"
        case .installs, .store, .other: "delete the file if you no longer need it"
        }
    }

    private static func unreadable(_ path: String, _ error: any Error) -> ErasureFindings.Copy {
        .init(
            path: path, records: 0,
            remedy: "it cannot be read, so it may contain records (\(error)): check it")
    }

    private static func content(of path: String) throws -> Content {
        if let log = try? EmbeddedLog(path: path, mode: .existing), try !log.topics().isEmpty {
            return .log
        }
        let tables = try CheckedPages.tables(at: path)
        if tables.contains("installs") { return .installs }
        guard tables.contains("refused") else { return .other }
        return tables.contains("epochs") ? .store : .segment
    }

    /// The files at a path or below it, in order. For a missing data directory, there are no files.
    private static func files(
        at root: String, isNamed: Bool, exceptBelow hasParts: (String) -> Bool
    ) throws -> [String] {
        let files = FileManager.default
        var isDirectory: ObjCBool = false
        guard files.fileExists(atPath: root, isDirectory: &isDirectory) else {
            guard isNamed else { return [] }
            throw CommandError.failure("no file or directory \(root): correct --also")
        }
        guard isDirectory.boolValue else { return [root] }
        var paths: [String] = []
        guard let found = files.enumerator(atPath: root), !hasParts(root) else { return [] }
        for case let name as String in found {
            let path = "\(root)/\(name)"
            if hasParts(path) { found.skipDescendants() }
            if !besides.contains(where: path.hasSuffix) { paths.append(path) }
        }
        return paths.sorted()
    }

    /// Do not call it for a database that this process has open, or for the files beside it: closing any of them
    /// releases the locks of SQLite.
    private static func isDatabase(_ path: String) -> Bool {
        var found = stat()
        guard stat(path, &found) == 0, found.st_mode & S_IFMT == S_IFREG,
            let file = FileHandle(forReadingAtPath: path)
        else { return false }
        defer { try? file.close() }
        guard let bytes = try? file.read(upToCount: header.count) else { return false }
        return Array(bytes) == header
    }

    /// The directories of a file up to a root, which is last if it is included.
    private static func directories(
        of path: String, below root: String, withRoot: Bool
    ) -> [String] {
        var directories: [String] = []
        var directory = (path as NSString).deletingLastPathComponent
        while directory.count > root.count {
            directories.append(directory)
            directory = (directory as NSString).deletingLastPathComponent
        }
        return directories + (withRoot ? [root] : [])
    }

    private static func real(_ path: String) -> String {
        URL(fileURLWithPath: path).standardizedFileURL.resolvingSymlinksInPath().path
    }
}
