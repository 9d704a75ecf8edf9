import Crypto
import Foundation

/// What a backup consists of: `backup.json` in it.
struct BackupManifest: Codable, Equatable {
    static let fileName = "backup.json"
    static let currentVersion = 1

    /// What a file of a backup is.
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
        /// Hex.
        var sha256: String
    }

    var version = currentVersion
    /// When it was begun, in milliseconds since 1970.
    var atMilliseconds: Int64
    /// The data directory that it is of.
    var data: String
    /// `weir digest` of the stores in it; nil when it has none.
    var digest: String?
    var files: [File]

    private enum CodingKeys: String, CodingKey {
        case version
        case atMilliseconds = "at_ms"
        case data, digest, files
    }

    /// Reads that of a backup.
    init(directory: String) throws(CommandError) {
        let path = "\(directory)/\(Self.fileName)"
        do {
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            self = try JSONDecoder().decode(Self.self, from: bytes)
        } catch let error as DecodingError {
            throw .failure("\(path) is not understood (\(error)): take another backup")
        } catch {
            throw .failure(
                "no backup in \(directory): \(Self.fileName) cannot be read; name the directory "
                    + "that weir backup wrote")
        }
        guard version == Self.currentVersion else {
            throw .failure("\(path) has version \(version): use the newer program")
        }
    }

    init(atMilliseconds: Int64, data: String) {
        self.atMilliseconds = atMilliseconds
        self.data = data
        files = []
    }

    func encoded() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(self) + Data("\n".utf8)
    }

    /// Adds a file of the directory of a backup.
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
        let digits = hash.finalize().map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        return (bytes, digits.joined())
    }
}
