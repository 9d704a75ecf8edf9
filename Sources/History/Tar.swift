import Foundation

/// Writes a tar archive of plain files.
struct TarWriter {
    private let handle: FileHandle
    private static let pieceBytes = 1 << 20

    init(_ handle: FileHandle) { self.handle = handle }

    func add(_ name: String, _ bytes: Data) throws {
        try handle.write(contentsOf: Data(TarHeader(name: name, size: bytes.count).block) + bytes)
        try pad(bytes.count)
    }

    /// Appends an existing file; `size` is that of its contents.
    func add(_ name: String, from path: String, size: Int) throws {
        try handle.write(contentsOf: Data(TarHeader(name: name, size: size).block))
        let source = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        defer { try? source.close() }
        while let piece = try source.read(upToCount: Self.pieceBytes), !piece.isEmpty {
            try handle.write(contentsOf: piece)
        }
        try pad(size)
    }

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

/// Finds the files of a tar archive.
enum TarReader {
    /// The contents of each file.
    static func files(in archive: Data) throws(TarFault) -> [(name: String, bytes: Data)] {
        var files: [(name: String, bytes: Data)] = []
        var names: Set<String> = []
        var place = archive.startIndex
        while place + TarHeader.blockBytes <= archive.endIndex {
            let block = Array(archive[place..<place + TarHeader.blockBytes])
            if block.allSatisfy({ $0 == 0 }) { return files }
            let header = try TarHeader(block[...])
            let start = place + TarHeader.blockBytes
            guard header.size <= archive.endIndex - start else { throw .cutOff }
            guard names.insert(header.name).inserted else { throw .twice(header.name) }
            files.append((header.name, archive[start..<start + header.size]))
            place = start + TarWriter.padded(header.size)
        }
        throw files.isEmpty ? .noTar : .cutOff
    }
}

/// The header of a file in a tar archive: ustar, POSIX.1-1988.
struct TarHeader {
    static let blockBytes = 512

    var name: String
    var size: Int

    private enum Field {
        static let name = 0..<100
        static let mode = 100..<108
        static let owner = 108..<116
        static let group = 116..<124
        static let size = 124..<136
        static let time = 136..<148
        static let checksum = 148..<156
        static let type = 156
        static let magic = 257..<263
        static let version = 263..<265
    }

    /// The largest number of eleven octal digits.
    static let maxSize = 1 << 33 - 1

    /// The block before the file's bytes, without owner and time, so that equal files give equal archives.
    var block: [UInt8] {
        var block = [UInt8](repeating: 0, count: Self.blockBytes)
        func put(_ text: String, in field: Range<Int>) {
            for (place, byte) in zip(field, text.utf8) { block[place] = byte }
        }
        put(name, in: Field.name)
        put("0000644", in: Field.mode)
        put("0000000", in: Field.owner)
        put("0000000", in: Field.group)
        put(Self.octal(size, digits: 11), in: Field.size)
        put(Self.octal(0, digits: 11), in: Field.time)
        block[Field.type] = UInt8(ascii: "0")
        put("ustar", in: Field.magic)
        put("00", in: Field.version)
        put(Self.octal(Self.checksum(of: block[...]), digits: 6) + "\0 ", in: Field.checksum)
        return block
    }

    init(name: String, size: Int) {
        self.name = name
        self.size = size
    }

    init(_ block: ArraySlice<UInt8>) throws(TarFault) {
        func field(_ range: Range<Int>) -> ArraySlice<UInt8> {
            block[(block.startIndex + range.lowerBound)..<(block.startIndex + range.upperBound)]
        }
        guard field(Field.magic).starts(with: "ustar".utf8) else { throw .noTar }
        guard Self.number(field(Field.checksum)) == Self.checksum(of: block) else {
            throw .badChecksum
        }
        let type = block[block.startIndex + Field.type]
        guard type == UInt8(ascii: "0") || type == 0 else { throw .noPlainFile }
        guard let size = Self.number(field(Field.size)) else { throw .badChecksum }
        name = String(decoding: field(Field.name).prefix { $0 != 0 }, as: UTF8.self)
        self.size = size
    }

    /// The sum of the block's bytes, with spaces for the checksum.
    private static func checksum(of block: ArraySlice<UInt8>) -> Int {
        var sum = 0
        for (place, byte) in block.enumerated() {
            sum += Field.checksum.contains(place) ? 0x20 : Int(byte)
        }
        return sum
    }

    private static func octal(_ number: Int, digits: Int) -> String {
        let text = String(number, radix: 8)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }

    /// Nil unless the field has digits only: a size has no sign.
    private static func number(_ field: ArraySlice<UInt8>) -> Int? {
        let digits = field.drop { $0 == 0x20 }.prefix { $0 != 0 && $0 != 0x20 }
        guard digits.allSatisfy({ (0x30...0x37).contains($0) }) else { return nil }
        return Int(String(decoding: digits, as: UTF8.self), radix: 8)
    }
}

/// Why bytes are not a readable archive.
enum TarFault: Error, Equatable {
    case noTar, badChecksum, noPlainFile, cutOff, twice(String)

    var description: String {
        switch self {
        case .noTar: "it is not a ustar archive"
        case .badChecksum: "a file header in it has a wrong checksum"
        case .noPlainFile: "it contains entries that are not plain files"
        case .cutOff: "it ends within a file"
        case .twice(let name): "it contains \(name) twice"
        }
    }
}
