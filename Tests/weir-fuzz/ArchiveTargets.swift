import Foundation
import TestKit

@testable import History

/// `tar`: the input is an archive, which is read as it is, and with the checksums of its headers put right.
@Sendable func archives() throws -> FuzzTarget.Run {
    { bytes in
        try check(bytes)
        try check(withChecksums(bytes))
    }
}

private func check(_ archive: [UInt8]) throws {
    let read = try same("an archive") { try files(in: archive) }
    guard case .success(let found) = read else { return }
    try require(Set(found.map(\.name)).count == found.count, "two files of one name")
    guard found.allSatisfy({ (1...100).contains($0.name.utf8.count) }) else { return }
    var written: [UInt8] = []
    for file in found {
        written += TarHeader(name: file.name, size: file.bytes.count).block + file.bytes
        written += [UInt8](repeating: 0, count: (512 - file.bytes.count % 512) % 512)
    }
    written += [UInt8](repeating: 0, count: 1024)
    try require(try files(in: written) == found, "written again, other files")
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
        var archive: [UInt8] = []
        for part in bytes.split(separator: Array("== ".utf8)) {
            guard let end = part.firstIndex(of: UInt8(ascii: "\n")), end - part.startIndex <= 100
            else { continue }
            let (name, content) = (part[..<end], part[(end + 1)...])
            archive +=
                TarHeader(name: String(decoding: name, as: UTF8.self), size: content.count).block
            archive += content
            archive += [UInt8](repeating: 0, count: TarWriter.padded(content.count) - content.count)
        }
        archive += [UInt8](repeating: 0, count: 2 * TarHeader.blockBytes)
        let path = try files.write(archive, to: "evidence.tar")
        _ = try same("evidence") {
            var verifier = try EvidenceVerifier(path: path)
            return try [verifier.claim] + verifier.verify().map { "\($0)" }
        }
    }
}
