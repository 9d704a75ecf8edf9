import Foundation
import TestKit

@testable import History

/// `tar`: the input is an archive, which is read as it is, and with the checksums of its headers put right; and it is
/// a file of an archive.
@Sendable func archives() throws -> FuzzTarget.Run {
    { bytes in
        try check(bytes)
        try check(withChecksums(bytes))
        let two = [
            ArchivedFile(name: "a", bytes: bytes),
            ArchivedFile(name: "b", bytes: Array(bytes.prefix(bytes.count / 2))),
        ]
        try require(try files(in: archive(of: two)) == two, "written, other files")
    }
}

private func check(_ bytes: [UInt8]) throws {
    let read = try same("an archive") { try files(in: bytes) }
    guard case .success(let found) = read else { return }
    try require(Set(found.map(\.name)).count == found.count, "two files of one name")
    guard found.allSatisfy({ (1...100).contains($0.name.utf8.count) }) else { return }
    try require(try files(in: archive(of: found)) == found, "written again, other files")
}

private func archive(of files: [ArchivedFile]) -> [UInt8] {
    var archive: [UInt8] = []
    for file in files {
        archive += TarHeader(name: file.name, size: file.bytes.count).block + file.bytes
        archive += [UInt8](repeating: 0, count: (512 - file.bytes.count % 512) % 512)
    }
    return archive + [UInt8](repeating: 0, count: 1024)
}

private struct ArchivedFile: Equatable {
    let name: String
    let bytes: [UInt8]
}

private func files(in archive: [UInt8]) throws -> [ArchivedFile] {
    try TarReader.files(in: Data(archive)).map {
        ArchivedFile(name: $0.name, bytes: Array($0.bytes))
    }
}

/// The archive with the magic word and a checksum in each block that could be a header.
private func withChecksums(_ archive: [UInt8]) -> [UInt8] {
    var archive = archive
    for start in stride(from: 0, to: archive.count - 511, by: 512) {
        guard archive[start..<start + 512].contains(where: { $0 != 0 }) else { continue }
        archive.replaceSubrange(start + 257..<start + 262, with: "ustar".utf8)
        archive.replaceSubrange(start + 148..<start + 156, with: "        ".utf8)
        let sum = archive[start..<start + 512].reduce(0) { $0 + Int($1) }
        let digits = String(sum, radix: 8)
        let field = String(repeating: "0", count: 6 - digits.count) + digits + "\0 "
        archive.replaceSubrange(start + 148..<start + 156, with: field.utf8)
    }
    return archive
}

/// `evidence`: files of evidence, each after a line `== ` with its name.
@Sendable func evidence() throws -> FuzzTarget.Run {
    let files = try TemporaryDirectory()
    return { bytes in
        let parts = bytes.split(separator: Array("== ".utf8)).compactMap { part in
            part.firstIndex(of: UInt8(ascii: "\n")).map { end in
                ArchivedFile(
                    name: String(decoding: part[..<end], as: UTF8.self),
                    bytes: Array(part[(end + 1)...]))
            }
        }
        let path = try files.write(archive(of: parts), to: "evidence.tar")
        _ = try same("evidence") {
            var verifier = try EvidenceVerifier(path: path)
            return try [verifier.claim] + verifier.verify().map { "\($0)" }
        }
    }
}
