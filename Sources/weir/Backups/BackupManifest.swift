import Crypto
import DatabaseFiles
import EmbeddedLog
import Engine
import EventLog
import Foundation
import GRDB
import JSON
import Program
import Reports
import Store
import Wording

/// The list of the files of a backup, stored in it as `backup.json`.
struct BackupManifest: Codable, Equatable {
    static let fileName = "backup.json"
    /// 2 has a checksum of itself; 1 does not.
    static let currentVersion = 2
    /// Replaces the checksum while it is computed.
    private static let noChecksum = String(repeating: "0", count: 64)

    enum Kind: String, Codable {
        case store, corrections, deliveries, conversions, log
        /// A file that is not a database.
        case note
    }

    struct File: Codable, Equatable {
        var name: String
        var kind: Kind
        var bytes: Int
        var sha256: String
    }

    var version = currentVersion
    /// When the backup began, in milliseconds since 1970.
    var atMilliseconds: Int64
    var data: String
    /// `weir digest` of the stores in the backup; nil without stores.
    var digest: String?
    var files: [File]
    /// SHA-256 of the file with zeros in place of the checksum, in hex; nil in version 1.
    private(set) var checksum: String?

    private enum CodingKeys: String, CodingKey {
        case version
        case atMilliseconds = "at_ms"
        case data, digest, files, checksum
    }

    private struct Version: Decodable {
        var version: Int
    }

    init(directory: String) throws(CommandError) {
        let path = "\(directory)/\(Self.fileName)"
        func damaged(_ explanation: String) -> CommandError {
            .failure(
                "\(path) is damaged or was changed: \(explanation). Restore it from a copy of this backup, or take "
                    + "another backup")
        }
        let bytes: Data
        do {
            bytes = try RegularFile.contents(of: path)
        } catch {
            throw .failure(
                "\(directory) does not contain a backup: cannot read \(Self.fileName) (\(error)). Name the directory "
                    + "that weir backup wrote")
        }
        do {
            let version = try JSONDecoder().decode(Version.self, from: bytes).version
            guard version <= Self.currentVersion else {
                throw CommandError.failure(
                    "\(path) has version \(version), and this program reads up to \(Self.currentVersion). Use the "
                        + "program that wrote the backup, or a newer one")
            }
            self = try JSONDecoder().decode(Self.self, from: bytes)
        } catch let error as DecodingError {
            throw damaged(error.explanation)
        } catch {
            throw CommandError(error) ?? damaged("\(error)")
        }
        if version >= 2, checksum == nil || Self.checksum(of: bytes, saying: checksum) != checksum {
            throw damaged("its own checksum does not match")
        }
        if let explanation = fault { throw damaged(explanation) }
    }

    /// Why this is not a valid list of a backup; nil when it is.
    private var fault: String? {
        if version < 1 { return "its version is \(version)" }
        if files.isEmpty { return "it lists no files" }
        var names: Set<String> = []
        for file in files {
            let parts = file.name.split(separator: "/", omittingEmptySubsequences: false)
            // Files outside the backup do not belong to it and must not be restored.
            guard !parts.contains(where: { ["", ".", ".."].contains($0) }) else {
                return "it lists '\(file.name)', which is not a path in the backup"
            }
            guard names.insert(file.name).inserted else { return "it lists '\(file.name)' twice" }
        }
        if digest == nil, files.contains(where: { $0.kind == .store }) {
            return "it lists stores, but not their digest"
        }
        return nil
    }

    private static func checksum(of bytes: Data, saying said: String?) -> String? {
        guard let said, said.utf8.count == noChecksum.utf8.count,
            let range = bytes.range(of: Data(said.utf8))
        else { return nil }
        var open = bytes
        open.replaceSubrange(range, with: Data(noChecksum.utf8))
        return sha256(open)
    }

    private static func sha256(_ bytes: Data) -> String {
        SHA256.hash(data: bytes).hexDigits
    }

    init(atMilliseconds: Int64, data: String) {
        self.atMilliseconds = atMilliseconds
        self.data = data
        files = []
    }

    /// The file's bytes, including their checksum.
    func encoded() throws -> Data {
        var manifest = self
        manifest.checksum = Self.noChecksum
        manifest.checksum = Self.sha256(try Self.encode(manifest))
        return try Self.encode(manifest)
    }

    /// The bytes of a JSON file of the backup.
    static func encode(_ file: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(file) + Data("\n".utf8)
    }

    mutating func add(_ name: String, _ kind: Kind, in directory: String) throws {
        let (bytes, sha256) = try Self.hash("\(directory)/\(name)")
        files.append(File(name: name, kind: kind, bytes: bytes, sha256: sha256))
    }

    static func hash(_ path: String) throws -> (bytes: Int, sha256: String) {
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        defer { try? file.close() }
        var hash = SHA256()
        var bytes = 0
        while let piece = try file.read(upToCount: 1 << 20), !piece.isEmpty {
            hash.update(data: piece)
            bytes += piece.count
        }
        return (bytes, hash.finalize().hexDigits)
    }
}

extension DecodingError {
    fileprivate var explanation: String {
        func location(_ path: [any CodingKey], _ key: String? = nil) -> String {
            (path.map { $0.intValue.map { "\($0)" } ?? $0.stringValue } + [key].compactMap(\.self))
                .joined(separator: ".")
        }
        switch self {
        case .keyNotFound(let key, let context):
            return "it has no \(location(context.codingPath, key.stringValue))"
        case .valueNotFound(_, let context): return "it has no \(location(context.codingPath))"
        case .typeMismatch(_, let context) where context.codingPath.isEmpty:
            return "it is not a JSON object"
        case .typeMismatch(_, let context):
            return "\(location(context.codingPath)) has the wrong type"
        case .dataCorrupted(let context) where !context.codingPath.isEmpty:
            return "\(location(context.codingPath)) has an unknown value"
        default: return "it is not JSON"
        }
    }
}

/// Verifies that a backup is intact, and that workers can continue from it.
struct BackupVerification {
    let directory: String
    let manifest: BackupManifest
    private(set) var faults: [String] = []
    private let show: (String) -> Void

    init(directory: String, show: @escaping (String) -> Void) throws {
        self.directory = directory
        self.show = show
        manifest = try BackupManifest(directory: directory)
        nameUnlisted()
        // SQLite would use a foreign write-ahead log as part of a database.
        guard faults.isEmpty else { return }
        for file in manifest.files { check(file) }
        // Damaged files are not read further.
        guard faults.isEmpty else { return }
        checkOffsets()
        checkDigest()
    }

    /// A restored data directory has all files of the backup, so an unlisted store would be in force there.
    private mutating func nameUnlisted() {
        let listed = Set(manifest.files.map(\.name) + [BackupManifest.fileName])
        let found = FileManager.default.subpaths(atPath: directory) ?? []
        for name in found.sorted() where !listed.contains(name) {
            var isDirectory: ObjCBool = false
            let path = "\(directory)/\(name)"
            let exists = FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
            guard !exists || !isDirectory.boolValue else { continue }
            faults.append(
                "\(path) is not listed in \(BackupManifest.fileName): it does not belong to the backup, but would be "
                    + "restored with it. Move it elsewhere")
        }
    }

    private mutating func check(_ file: BackupManifest.File) {
        let path = path(file)
        show("checking \(file.name) ...")
        do {
            let (bytes, sha256) = try BackupManifest.hash(path)
            guard bytes == file.bytes, sha256 == file.sha256 else {
                faults.append(
                    "\(path) is damaged or was changed: its \(bytes) bytes have the SHA-256 \(sha256). "
                        + "Take another backup")
                return
            }
            guard file.kind != .note else { return }
            let damage = try CheckedPages.openToRead(path).inDatabase { db in
                let damage = try CheckedPages.findDamage(db, path: path)
                // Opening the log reports that it is empty.
                if damage == nil, file.kind != .log {
                    try StoreMark.requireTables(in: db, path: path)
                }
                return damage
            }
            if let damage {
                faults.append(
                    file.kind == .log
                        ? "\(LogError.damaged(address: "sqlite:\(path)", detail: damage))"
                        : "\(StoreError.damaged(path: path, detail: damage))")
            }
            if file.kind == .log {
                try EmbeddedLog(path: path, mode: .existing).verifyRecords { [show] count in
                    show("checking \(file.name): \(counted(count, "record"))")
                }
            }
        } catch let error as LogError {
            faults.append(error.description)
        } catch {
            faults.append("\(StoreError(error, operation: "read", path: path))")
        }
    }

    /// Each store continues at its next offset, so the copied log must reach it.
    private mutating func checkOffsets() {
        guard let file = manifest.files.first(where: { $0.kind == .log }) else { return }
        do {
            let log = try EmbeddedLog(path: path(file), mode: .existing)
            for file in manifest.files {
                guard let table = file.kind.originTable else { continue }
                let path = path(file)
                let (row, partitions) = try CheckedPages.openToRead(path).read { db in
                    (
                        try Row.fetchOne(db, sql: "SELECT topic, log_identity FROM \(table)"),
                        try Row.fetchAll(db, sql: "SELECT partition, next_offset FROM partitions")
                    )
                }
                let folded = FoldedLog(
                    store: path, topic: row?["topic"] ?? "", logIdentity: row?["log_identity"] ?? ""
                )
                let offsets: [Int32: Int64] = partitions.reduce(into: [:]) {
                    $0[$1["partition"]] = $1["next_offset"]
                }
                faults += try folded.refusals(in: log, nextOffsets: offsets).map(\.description)
            }
        } catch {
            faults.append("\(error)")
        }
    }

    private mutating func checkDigest() {
        guard let expected = manifest.digest else { return }
        show("computing the digest ...")
        do {
            let found = try OpenStores(directories: [directory]).digest()
            if found != expected {
                faults.append(
                    "\(directory): the digest of the stores is \(found), expected \(expected). Use the "
                        + "version of Weir that wrote it, or take another backup")
            }
        } catch {
            faults.append(error.description)
        }
    }

    private func path(_ file: BackupManifest.File) -> String { "\(directory)/\(file.name)" }
}

extension BackupManifest.Kind {
    /// The table with the topic of a file; nil for a file without a topic.
    fileprivate var originTable: String? {
        switch self {
        case .store, .deliveries: "store"
        case .conversions: "log"
        case .corrections, .log, .note: nil
        }
    }
}
