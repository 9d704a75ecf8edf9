import Crypto
import DatabaseFiles
import Foundation
import JSON
import Program

/// The list of the files of a backup: `backup.json` in it, or `NAME.json` in a directory of incremental backups.
struct BackupManifest: Codable, Equatable {
    static let fileName = "backup.json"
    /// A list names a part of 64 KiB with 75 bytes.
    private static let maxBytes = 1 << 30
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
        /// The names of the parts of an incremental backup, in the order of the file; nil for a full backup.
        var parts: [String]?
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

    /// The size of all files.
    var bytes: Int { files.reduce(0) { $0 + $1.bytes } }

    private enum CodingKeys: String, CodingKey {
        case version
        case atMilliseconds = "at_ms"
        case data, digest, files, checksum
    }

    private struct Version: Decodable {
        var version: Int
    }

    init(directory: String) throws(CommandError) {
        try self.init(
            path: "\(directory)/\(Self.fileName)",
            missing: "\(directory) does not contain a backup: cannot read \(Self.fileName)")
    }

    /// - Parameter missing: the beginning of the error for a file that cannot be read.
    init(path: String, missing: String) throws(CommandError) {
        func damaged(_ explanation: String) -> CommandError {
            .failure(
                "\(path) is damaged or was changed: \(explanation). Restore it from a copy of this backup, or take "
                    + "another backup")
        }
        let bytes: Data
        do {
            bytes = try RegularFile.contents(of: path, maxBytes: Self.maxBytes)
        } catch {
            throw .failure("\(missing) (\(error)). Name the directory that weir backup wrote")
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
            if let part = file.parts?.first(where: { !BackupRepository.isPart($0) }) {
                return "it lists '\(part)', which is not the name of a part"
            }
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
