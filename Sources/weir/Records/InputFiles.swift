import Foundation
import JSON
import Program

/// A file that a command reads as a whole.
enum InputFile {
    /// The bytes of a file, without a byte order mark; `-` and nil mean standard input.
    ///
    /// - Parameter alternative: the alternative to a file, for the error.
    static func contents(
        of path: String?, or alternative: String = ""
    ) throws(CommandError) -> [UInt8] {
        do {
            guard let path, path != "-" else {
                let data = try FileHandle.standardInput.readToEnd() ?? Data()
                return [UInt8](data.withoutByteOrderMark)
            }
            // Reads pipes to their end too.
            let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            defer { try? file.close() }
            let data = try file.readToEnd() ?? Data()
            return [UInt8](data.withoutByteOrderMark)
        } catch {
            throw .failure(
                "cannot read \(path ?? "standard input"): give a readable file"
                    + alternative)
        }
    }
}

final class LineReader {
    /// The number of the last line that was read, from 1.
    private(set) var lineNumber = 0
    let name: String

    private let file: FileHandle
    /// The initial position in a regular file; nil for input that can be read only once, such as a pipe.
    private let start: off_t?
    private var buffer: UnsafeMutableRawBufferPointer
    private var unread = 0..<0
    private var isAtEnd = false

    private static let pieceBytes = 1 << 20
    private static let longestLineBytes = 64 << 20

    /// Opens a file; `-` and nil mean standard input.
    init(path: String?) throws(CommandError) {
        if let path, path != "-" {
            guard let file = FileHandle(forReadingAtPath: path) else {
                throw .failure("cannot read \(path): give a readable file")
            }
            name = path
            self.file = file
        } else {
            name = "standard input"
            file = .standardInput
        }
        var status = stat()
        let isRegular =
            fstat(file.fileDescriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
        let position = isRegular ? lseek(file.fileDescriptor, 0, SEEK_CUR) : -1
        start = position < 0 ? nil : position
        buffer = .allocate(byteCount: 2 * Self.pieceBytes, alignment: 16)
    }

    /// Whether the lines can be read again. A pipe can be read only once.
    var canRewind: Bool { start != nil }

    /// Restarts at the first line.
    func rewind() throws(CommandError) {
        guard let start, lseek(file.fileDescriptor, start, SEEK_SET) == start else {
            throw .failure("\(name) cannot be read twice: give a file that does not change")
        }
        unread = 0..<0
        isAtEnd = false
        lineNumber = 0
    }

    deinit {
        buffer.deallocate()
    }

    /// The next line without its end, and the first one without a byte order mark. Valid until the next call; nil at
    /// the end of the file.
    func next() throws(CommandError) -> UnsafeRawBufferPointer? {
        var searched = unread.lowerBound
        while true {
            if let end = newline(from: searched) {
                defer { unread = end + 1..<unread.upperBound }
                return line(unread.lowerBound..<end)
            }
            if isAtEnd {
                guard !unread.isEmpty else { return nil }
                defer { unread = unread.upperBound..<unread.upperBound }
                return line(unread)
            }
            guard unread.count <= Self.longestLineBytes else {
                throw .failure(
                    "\(name):\(lineNumber + 1): the line is longer than 64 MiB: split the record")
            }
            let known = unread.count
            makeRoom()
            searched = unread.lowerBound + known
            try readOn()
        }
    }

    private func line(_ range: Range<Int>) -> UnsafeRawBufferPointer {
        lineNumber += 1
        let line = UnsafeRawBufferPointer(rebasing: buffer[range])
        return lineNumber == 1 ? UnsafeRawBufferPointer(rebasing: line.withoutByteOrderMark) : line
    }

    private func newline(from start: Int) -> Int? {
        guard start < unread.upperBound, let base = buffer.baseAddress,
            let found = memchr(base + start, 0x0A, unread.upperBound - start)
        else { return nil }
        return UnsafeRawPointer(found) - UnsafeRawPointer(base)
    }

    /// Moves the unread bytes to the front, into a larger buffer if a piece would not fit.
    private func makeRoom() {
        let rest = UnsafeRawBufferPointer(rebasing: buffer[unread])
        if unread.count + Self.pieceBytes > buffer.count {
            let larger = UnsafeMutableRawBufferPointer.allocate(
                byteCount: buffer.count * 2, alignment: 16)
            larger.copyMemory(from: rest)
            buffer.deallocate()
            buffer = larger
        } else if unread.lowerBound > 0, let base = buffer.baseAddress {
            memmove(base, base + unread.lowerBound, unread.count)
        }
        unread = 0..<unread.count
    }

    private func readOn() throws(CommandError) {
        while true {
            let count = read(
                file.fileDescriptor, buffer.baseAddress.map { $0 + unread.upperBound },
                buffer.count - unread.upperBound)
            if count < 0 {
                if errno == EINTR { continue }
                throw .failure("cannot read \(name): \(String(cString: strerror(errno)))")
            }
            isAtEnd = count == 0
            unread = unread.lowerBound..<unread.upperBound + count
            return
        }
    }
}
