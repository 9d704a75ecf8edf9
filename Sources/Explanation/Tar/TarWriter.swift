import Foundation

/// Writes a tar archive of plain files.
struct TarWriter {
    private let handle: FileHandle
    private static let pieceBytes = 1 << 20

    /// Writes to a file that is open and empty.
    init(_ handle: FileHandle) { self.handle = handle }

    /// Appends a file of these bytes.
    func add(_ name: String, _ bytes: Data) throws {
        try handle.write(contentsOf: Data(TarHeader(name: name, size: bytes.count).block) + bytes)
        try pad(bytes.count)
    }

    /// Appends a file that lies elsewhere; `size` is that of its contents.
    func add(_ name: String, from path: String, size: Int) throws {
        try handle.write(contentsOf: Data(TarHeader(name: name, size: size).block))
        let source = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        defer { try? source.close() }
        while let piece = try source.read(upToCount: Self.pieceBytes), !piece.isEmpty {
            try handle.write(contentsOf: piece)
        }
        try pad(size)
    }

    /// Ends the archive.
    func finish() throws {
        try handle.write(contentsOf: Data(count: 2 * TarHeader.blockBytes))
    }

    private func pad(_ size: Int) throws {
        try handle.write(contentsOf: Data(count: Self.padded(size) - size))
    }

    /// A size rounded up to whole blocks.
    static func padded(_ size: Int) -> Int {
        (size + TarHeader.blockBytes - 1) / TarHeader.blockBytes * TarHeader.blockBytes
    }
}
