/// The JSON documents of a file: one over many lines, or many, one behind the other.
///
/// What is no JSON is a document too, up to the end of its line when the line looks like one whole
/// document, else up to the end of the file.
struct DocumentSequence: Sequence, IteratorProtocol {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    mutating func next() -> UnsafeRawBufferPointer? {
        var scanner = JSONScanner(UnsafeRawBufferPointer(rebasing: bytes[position...]))
        scanner.skipSpace()
        let start = position + scanner.position
        guard start < bytes.count else { return nil }
        let isWhole = (try? scanner.skipValue()) != nil
        let end = isWhole ? position + scanner.position : faultyEnd(from: start)
        position = end
        return UnsafeRawBufferPointer(rebasing: bytes[start..<end])
    }

    private func faultyEnd(from start: Int) -> Int {
        let line = bytes[start...].prefix { $0 != 0x0A && $0 != 0x0D }
        let isOneLine = line.first == UInt8(ascii: "{") && line.last == UInt8(ascii: "}")
        return isOneLine ? line.endIndex : bytes.count
    }
}
