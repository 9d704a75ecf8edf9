import Crypto
import Foundation

/// The list of the files of a backup: `backup.json` in it.
struct BackupManifest: Codable, Equatable {
    static let fileName = "backup.json"
    /// 2 has a checksum of itself; 1 had none.
    static let currentVersion = 2
    /// Stands in place of the checksum while that is computed.
    private static let noChecksum = String(repeating: "0", count: 64)

    enum Kind: String, Codable {
        case store, corrections, deliveries, conversions, log
        /// A file that is no database.
        case note
    }

    struct File: Codable, Equatable {
        /// Its path in the backup.
        var name: String
        var kind: Kind
        var bytes: Int
        /// In hex.
        var sha256: String
    }

    var version = currentVersion
    /// When the backup was begun, in milliseconds since 1970.
    var atMilliseconds: Int64
    var data: String
    /// `weir digest` of the stores in the backup; nil when it has no stores.
    var digest: String?
    var files: [File]
    /// SHA-256 of the file with zeros in place of this, in hex; nil in version 1.
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
        func damaged(_ words: String) -> CommandError {
            .failure(
                "\(path) is not what was written: \(words); restore it from a copy of this backup, or take "
                    + "another backup")
        }
        let bytes: Data
        do {
            bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            throw .failure(
                "no backup in \(directory): \(Self.fileName) cannot be read; name the directory "
                    + "that weir backup wrote")
        }
        do {
            let version = try JSONDecoder().decode(Version.self, from: bytes).version
            guard version <= Self.currentVersion else {
                throw CommandError.failure(
                    "\(path) has version \(version), and this program knows \(Self.currentVersion): use the "
                        + "program that wrote the backup, or a newer one")
            }
            self = try JSONDecoder().decode(Self.self, from: bytes)
        } catch let error as DecodingError {
            throw damaged(error.words)
        } catch {
            throw CommandError(error) ?? damaged("\(error)")
        }
        if version >= 2, checksum == nil || Self.checksum(of: bytes, saying: checksum) != checksum {
            throw damaged("its own checksum is not right")
        }
        if let words = fault { throw damaged(words) }
    }

    /// Why this cannot be the list of a backup; nil when it can.
    private var fault: String? {
        if version < 1 { return "its version is \(version)" }
        if files.isEmpty { return "it lists no file" }
        var names: Set<String> = []
        for file in files {
            let parts = file.name.split(separator: "/", omittingEmptySubsequences: false)
            // A file elsewhere is no part of the backup, and is not what is restored.
            guard !parts.contains(where: { ["", ".", ".."].contains($0) }) else {
                return "it lists '\(file.name)', which is no path within the backup"
            }
            guard names.insert(file.name).inserted else { return "it lists '\(file.name)' twice" }
        }
        if digest == nil, files.contains(where: { $0.kind == .store }) {
            return "it lists stores, and has no digest of them"
        }
        return nil
    }

    private static func checksum(of bytes: Data, saying said: String?) -> String? {
        guard let said, said.utf8.count == noChecksum.utf8.count,
            let place = bytes.range(of: Data(said.utf8))
        else { return nil }
        var open = bytes
        open.replaceSubrange(place, with: Data(noChecksum.utf8))
        return sha256(open)
    }

    private static func sha256(_ bytes: Data) -> String {
        hex(SHA256.hash(data: bytes))
    }

    private static func hex(_ digest: SHA256.Digest) -> String {
        digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    init(atMilliseconds: Int64, data: String) {
        self.atMilliseconds = atMilliseconds
        self.data = data
        files = []
    }

    /// The file's bytes, with their checksum.
    func encoded() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        var manifest = self
        manifest.checksum = Self.noChecksum
        let open = try encoder.encode(manifest) + Data("\n".utf8)
        manifest.checksum = Self.sha256(open)
        return try encoder.encode(manifest) + Data("\n".utf8)
    }

    mutating func add(_ name: String, _ kind: Kind, in directory: String) throws {
        let (bytes, sha256) = try Self.hash("\(directory)/\(name)")
        files.append(File(name: name, kind: kind, bytes: bytes, sha256: sha256))
    }

    /// The size of a file, and the SHA-256 of its bytes in hex.
    static func hash(_ path: String) throws -> (bytes: Int, sha256: String) {
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        defer { try? file.close() }
        var hash = SHA256()
        var bytes = 0
        while let piece = try file.read(upToCount: 1 << 20), !piece.isEmpty {
            hash.update(data: piece)
            bytes += piece.count
        }
        return (bytes, hex(hash.finalize()))
    }
}

extension DecodingError {
    /// What is wrong with a file in JSON, and where.
    fileprivate var words: String {
        func place(_ path: [any CodingKey], _ key: String? = nil) -> String {
            (path.map { $0.intValue.map { "\($0)" } ?? $0.stringValue } + [key].compactMap(\.self))
                .joined(separator: ".")
        }
        switch self {
        case .keyNotFound(let key, let context):
            return "it has no \(place(context.codingPath, key.stringValue))"
        case .valueNotFound(_, let context): return "it has no \(place(context.codingPath))"
        case .typeMismatch(_, let context) where context.codingPath.isEmpty:
            return "it is no JSON object"
        case .typeMismatch(_, let context):
            return "\(place(context.codingPath)) is of another kind than it was written"
        case .dataCorrupted(let context) where !context.codingPath.isEmpty:
            return "\(place(context.codingPath)) is none of the words that are written there"
        default: return "it is not JSON"
        }
    }
}
