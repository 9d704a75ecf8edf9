import Crypto
import Foundation
import JSON
import Program
import Store
import Wording

/// A directory of incremental backups, which share their unchanged parts.
///
///     2026-11-22T03-15-00Z.json   the list of a backup, named after its UTC time
///     parts/8f/8f3c…              a part of a file, named after its SHA-256
///
/// Files never change. A list is written after its parts, so that a crash leaves parts without a list at most. The next
/// backup uses them.
struct BackupRepository {
    let path: String

    /// The size of a part; the last one of a file may be smaller. Pages of the copied databases keep their places, so
    /// an unchanged page is in the same part of the next backup.
    static let partBytes = 64 << 10
    private static let partsName = "parts"
    private static let workPrefix = "work-"
    private static let listSuffix = ".json"

    /// A directory that already contains backups, or that `create` makes one.
    init(_ path: String) {
        self.path = path
    }

    /// Throws if the directory is not one of incremental backups.
    init(present path: String) throws(CommandError) {
        self.path = path
        guard isThere else {
            throw .failure(
                "\(path) is not a directory of incremental backups: name the one of weir backup --incremental"
            )
        }
    }

    /// Whether a directory is one of incremental backups.
    var isThere: Bool {
        var isDirectory: ObjCBool = false
        let exists = FileManager.default.fileExists(atPath: partsPath, isDirectory: &isDirectory)
        return exists && isDirectory.boolValue
    }

    private var partsPath: String { "\(path)/\(Self.partsName)" }

    func partPath(_ name: String) -> String { "\(partsPath)/\(name.prefix(2))/\(name)" }

    func listPath(_ name: String) -> String { "\(path)/\(name)\(Self.listSuffix)" }

    /// Whether a text is the name of a part: a SHA-256 in hex.
    static func isPart(_ name: String) -> Bool {
        name.utf8.count == 64
            && name.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"):
                    true
                default: false
                }
            }
    }

    /// The directories of incremental backups among some directories and below them.
    static func all(below roots: [String]) -> [BackupRepository] {
        roots.flatMap { root in
            let repository = BackupRepository(root)
            if repository.isThere { return [repository] }
            guard let paths = FileManager.default.enumerator(atPath: root) else { return [] }
            var found: [BackupRepository] = []
            for case let name as String in paths {
                let repository = BackupRepository("\(root)/\(name)")
                guard repository.isThere else { continue }
                found.append(repository)
                paths.skipDescendants()
            }
            return found.sorted { $0.path < $1.path }
        }
    }

    // MARK: Locks

    /// Keeps other writers and readers away.
    func lockToWrite() throws(StoreError) -> StoreLock {
        try naming { () throws(StoreError) in try StoreLock(storePath: partsPath) }
    }

    /// Keeps writers away; nil if nobody can write there.
    func lockToRead() throws(StoreError) -> StoreLock? {
        try naming { () throws(StoreError) in try StoreLock(copying: partsPath) }
    }

    private func naming<Lock>(_ body: () throws(StoreError) -> Lock) throws(StoreError) -> Lock {
        do {
            return try body()
        } catch {
            guard case .locked(_, let owner) = error else { throw error }
            throw .disk(
                operation: "lock", path: path,
                detail: "another weir backup uses it\(owner): wait until it ends")
        }
    }

    // MARK: Reading

    /// The names of the backups, the oldest first.
    func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path)
            .filter { $0.hasSuffix(Self.listSuffix) && $0.first?.isNumber == true }
            .map { String($0.dropLast(Self.listSuffix.count)) }
            .sorted()
    }

    /// The name of a backup: the newest one, or as given by `--at`.
    func name(at given: String?) throws -> String {
        let names = try names()
        guard let newest = names.last else {
            throw CommandError.failure(
                "\(path) has no complete backup: run weir backup \(path) --incremental")
        }
        guard let given else { return newest }
        guard names.contains(given) else {
            throw CommandError.usage("no backup '\(given)': \(UnknownName(given, valid: names))")
        }
        return given
    }

    func manifest(named name: String) throws(CommandError) -> BackupManifest {
        let manifest = try BackupManifest(
            path: listPath(name), missing: "cannot read \(listPath(name))")
        if let file = manifest.files.first(where: { $0.parts == nil }) {
            throw .failure("\(listPath(name)) is damaged: it lists no parts of '\(file.name)'")
        }
        return manifest
    }

    /// Reads a part. Throws what is wrong with it, in words.
    func part(_ name: String) throws(PartFault) -> Data {
        let path = partPath(name)
        guard let bytes = try? Data(contentsOf: URL(fileURLWithPath: path)) else {
            throw PartFault(
                FileManager.default.fileExists(atPath: path)
                    ? "\(path) cannot be read" : "\(path) is missing")
        }
        guard Self.sha256(bytes) == name else { throw PartFault("\(path) is damaged") }
        return bytes
    }

    /// Puts a file together from its parts, for the time of `body`, in the system's directory for temporary files.
    func withFile<Result>(of parts: [String], _ body: (String) throws -> Result) throws -> Result {
        let files = FileManager.default
        let directory = files.temporaryDirectory.path + "/weir-\(UUID().uuidString)"
        try files.createDirectory(
            atPath: directory, withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700])
        defer { try? files.removeItem(atPath: directory) }
        let path = "\(directory)/file"
        try NewFile.write(path) { write in
            for part in parts { try write(try self.part(part)) }
        }
        return try body(path)
    }

    private static func sha256(_ bytes: Data) -> String { SHA256.hash(data: bytes).hexDigits }

    // MARK: Writing

    /// Creates the directory, unless it already is one of incremental backups. Throws if it has other content.
    func create() throws {
        guard !isThere else { return }
        let content = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        guard content.isEmpty else {
            throw CommandError.failure(
                "\(path) is not a directory of incremental backups, and it is not empty: name another directory"
            )
        }
        try FileOwner.createDirectory(partsPath)
        try DurableFile.syncName(of: partsPath)
        try DurableFile.syncName(of: path)
    }

    /// A path for temporary files of this process.
    var workPath: String { "\(path)/\(Self.workPrefix)\(getpid())" }

    /// Removes temporary files of killed processes. The caller has locked the directory.
    func removeWork() throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: path)
        where name.hasPrefix(Self.workPrefix) {
            try FileManager.default.removeItem(atPath: "\(path)/\(name)")
        }
    }

    /// Backs up a data directory. Returns the lock too, which the caller holds as long as it needs the directory.
    ///
    /// - Parameters:
    ///   - logPath: the embedded log; nil when the log is a cluster.
    ///   - onParts: called when all parts are durable; its error ends the backup there.
    func backUp(
        _ data: String, logPath: String?, show: @escaping (String) -> Void,
        onParts: () throws -> Void = {}
    ) throws -> (AddedBackup, StoreLock) {
        // Before anything is created: the directory may be inside the data directory.
        var lock = isThere ? try lockToWrite() : nil
        let data = URL(fileURLWithPath: data).standardizedFileURL.resolvingSymlinksInPath().path
        if lock != nil {
            try removeWork()
            try requireBackups(of: data)
        }
        var writer = try BackupWriter(data: data, logPath: logPath, target: workPath, show: show)
        try create()
        let held = try lock ?? lockToWrite()
        lock = nil
        let manifest = try writer.write()
        defer { try? FileManager.default.removeItem(atPath: workPath) }
        return (try add(manifest, copiedTo: workPath, show: show, onParts: onParts), held)
    }

    /// Restoring the newest backup, and deleting old ones, would mix up several data directories.
    private func requireBackups(of data: String) throws {
        guard let newest = try names().last, let manifest = try? manifest(named: newest),
            manifest.data != data
        else { return }
        throw CommandError.failure(
            "\(path) has backups of \(manifest.data), and --data is \(data): use one directory for each data directory"
        )
    }

    /// Adds a backup: writes the parts that are not there yet, then the list.
    ///
    /// - Parameters:
    ///   - copy: the directory of a full backup. Its files are removed.
    ///   - onParts: called when all parts are durable; its error ends the backup there.
    private func add(
        _ manifest: BackupManifest, copiedTo copy: String, show: (String) -> Void,
        onParts: () throws -> Void
    ) throws -> AddedBackup {
        var manifest = manifest
        var added = AddedBackup(name: "", manifest: manifest)
        var directories: Set<String> = []
        for index in manifest.files.indices {
            let name = manifest.files[index].name
            show("storing \(name) ...")
            let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: "\(copy)/\(name)"))
            defer { try? file.close() }
            var parts: [String] = []
            while let bytes = try file.read(upToCount: Self.partBytes), !bytes.isEmpty {
                let part = Self.sha256(bytes)
                parts.append(part)
                guard try write(bytes, as: part, &directories) else { continue }
                added.newParts += 1
                added.newBytes += bytes.count
                show("storing \(name): \(counted(added.newParts, "new part"))")
            }
            manifest.files[index].parts = parts
            added.parts += parts.count
            try FileManager.default.removeItem(atPath: "\(copy)/\(name)")
        }
        for directory in directories.sorted() { try DurableFile.syncName(of: "\(directory)/x") }
        try DurableFile.syncName(of: "\(partsPath)/x")
        try onParts()
        added.name = try nextName(atMilliseconds: manifest.atMilliseconds)
        added.manifest = manifest
        try DurableFile.replace(listPath(added.name), with: manifest.encoded())
        return added
    }

    /// Writes a part; false if it is there. Its name is durable after the sync of its directory.
    private func write(
        _ bytes: Data, as name: String, _ directories: inout Set<String>
    ) throws -> Bool {
        let path = partPath(name)
        let directory = (path as NSString).deletingLastPathComponent
        // A killed process may not have synced the name of a part.
        if directories.insert(directory).inserted { try FileOwner.createDirectory(directory) }
        var found = stat()
        if stat(path, &found) == 0, found.st_size == bytes.count { return false }
        try DurableFile.replaceContent(path, with: bytes)
        return true
    }

    /// Later than all present names, even if the clock jumps.
    private func nextName(atMilliseconds now: Int64) throws -> String {
        let newest = try names().last.flatMap(Self.seconds) ?? 0
        let date = Date(timeIntervalSince1970: Double(max(now / 1000, newest + 1)))
        return date.formatted(.iso8601).replacing(":", with: "-")
    }

    private static func seconds(_ name: String) -> Int64? {
        guard let middle = name.firstIndex(of: "T") else { return nil }
        let text = name[..<middle] + name[middle...].replacing("-", with: ":")
        return (try? Date(String(text), strategy: .iso8601)).map {
            Int64($0.timeIntervalSince1970)
        }
    }

    // MARK: Pruning

    /// Deletes all but the newest backups, and parts that no other list names. The caller has locked the directory.
    ///
    /// - Parameter count: of the backups that stay, at least 1.
    func prune(keeping count: Int) throws -> PrunedBackups {
        let names = try names()
        var listed: Set<String> = []
        for name in names.suffix(count) {
            do throws(CommandError) {
                for file in try manifest(named: name).files { listed.formUnion(file.parts ?? []) }
            } catch {
                throw CommandError.failure(
                    "\(error.explanation ?? name). The parts of this backup are unknown, so nothing was deleted: delete its list, then prune again"
                )
            }
        }
        var pruned = PrunedBackups(names: Array(names.dropLast(count)), kept: names.suffix(count))
        for name in pruned.names { try FileManager.default.removeItem(atPath: listPath(name)) }
        try DurableFile.syncName(of: listPath("x"))
        for directory in try FileManager.default.contentsOfDirectory(atPath: partsPath) {
            let directory = "\(partsPath)/\(directory)"
            for name in try FileManager.default.contentsOfDirectory(atPath: directory)
            where !listed.contains(name) {
                let path = "\(directory)/\(name)"
                var found = stat()
                if stat(path, &found) == 0 { pruned.bytes += Int(found.st_size) }
                try FileManager.default.removeItem(atPath: path)
                pruned.parts += 1
            }
        }
        return pruned
    }
}

/// What is wrong with a part, in words.
struct PartFault: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// A new incremental backup.
struct AddedBackup {
    var name: String
    var manifest: BackupManifest
    /// The number of parts, and of those among them that were written.
    var parts = 0
    var newParts = 0
    var newBytes = 0
}

/// Deleted backups, the oldest first, with the parts that only they had.
struct PrunedBackups {
    var names: [String]
    var kept: [String]
    var parts = 0
    var bytes = 0
}
