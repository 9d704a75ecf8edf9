import Foundation
import Worker

/// Standard output, written in large pieces.
final class BufferedOutput {
    private var buffer: [UInt8] = []
    private let fileDescriptor: Int32
    private static let pieceBytes = 1 << 18

    /// Writes to a file descriptor, which stays the caller's.
    init(fileDescriptor: Int32 = STDOUT_FILENO) {
        self.fileDescriptor = fileDescriptor
    }

    /// Writes text, now or later.
    func write(_ text: String) throws(CommandError) {
        buffer.append(contentsOf: text.utf8)
        if buffer.count >= Self.pieceBytes { try flush() }
    }

    /// Writes bytes, now or later.
    func write(_ bytes: [UInt8]) throws(CommandError) {
        buffer.append(contentsOf: bytes)
        if buffer.count >= Self.pieceBytes { try flush() }
    }

    /// Lets `body` append bytes, which are written now or later.
    func write(_ body: (inout [UInt8]) -> Void) throws(CommandError) {
        body(&buffer)
        if buffer.count >= Self.pieceBytes { try flush() }
    }

    /// Writes everything now. To be called at the end.
    func flush() throws(CommandError) {
        let fault = buffer.withUnsafeBytes { StandardStream.write($0, to: fileDescriptor) }
        if let fault {
            guard fault != EPIPE else { throw .outputClosed }
            throw .failure("cannot write to standard output: \(String(cString: strerror(fault)))")
        }
        buffer.removeAll(keepingCapacity: true)
    }
}
