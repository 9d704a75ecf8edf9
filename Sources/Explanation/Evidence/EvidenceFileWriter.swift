import Crypto
import Foundation

/// Writes one of the files of evidence, line by line, and hashes it.
final class EvidenceFileWriter {
    private let path: String
    private let handle: FileHandle
    private var buffer = Data()
    private var hash = SHA256()
    private var size = 0
    private static let pieceBytes = 1 << 18

    init(_ path: String) throws {
        self.path = path
        guard FileManager.default.createFile(atPath: path, contents: nil) else {
            throw ExplanationError.file(
                operation: "write", path: path, detail: String(cString: strerror(errno)))
        }
        handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    }

    func write(_ part: some Encodable, pretty: Bool = false) throws {
        buffer.append(try EvidenceCoding.encode(part, pretty: pretty))
        if buffer.count >= Self.pieceBytes { try flush() }
    }

    private func flush() throws {
        hash.update(data: buffer)
        size += buffer.count
        try handle.write(contentsOf: buffer)
        buffer.removeAll(keepingCapacity: true)
    }

    /// Ends the file; says what it is.
    func finish(_ name: String) throws -> EvidenceManifest.File {
        try flush()
        try handle.close()
        return EvidenceManifest.File(name: name, bytes: size, sha256: hash.finalize().hexDigits)
    }
}

extension Data {
    /// SHA-256 of the bytes, as lower-case hex digits.
    var sha256: String { SHA256.hash(data: self).hexDigits }
}

extension Sequence<UInt8> {
    /// The bytes as lower-case hex digits.
    var hexDigits: String {
        map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }
}
