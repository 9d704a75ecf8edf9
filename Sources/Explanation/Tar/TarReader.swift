import Foundation

/// Finds the files of a tar archive.
enum TarReader {
    /// Where the bytes of each file lie.
    static func files(in archive: Data) throws(TarFault) -> [(name: String, bytes: Data)] {
        var files: [(name: String, bytes: Data)] = []
        var place = archive.startIndex
        while place + TarHeader.blockBytes <= archive.endIndex {
            let block = Array(archive[place..<place + TarHeader.blockBytes])
            if block.allSatisfy({ $0 == 0 }) { return files }
            let header = try TarHeader(block[...])
            let start = place + TarHeader.blockBytes
            guard header.size <= archive.endIndex - start else { throw .cutOff }
            guard !files.contains(where: { $0.name == header.name }) else {
                throw .twice(header.name)
            }
            files.append((header.name, archive[start..<start + header.size]))
            place = start + TarWriter.padded(header.size)
        }
        throw files.isEmpty ? .noTar : .cutOff
    }
}
