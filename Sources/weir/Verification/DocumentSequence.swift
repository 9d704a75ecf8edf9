/// The JSON documents of a file: one over many lines, or many, one behind the other.
///
/// A JWS on a line of its own is a document. What is no JSON is one too, up to the end of its line when
/// the line looks like one whole document, else up to the end of the file.
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
        let isWhole = isOneLine || Self.isJWS(UnsafeRawBufferPointer(rebasing: line))
        return isWhole ? line.endIndex : bytes.count
    }

    /// Whether a text looks like a compact JWS: three parts in the digits of base64url.
    static func isJWS(_ text: UnsafeRawBufferPointer) -> Bool {
        var dots = 0
        for byte in text {
            switch byte {
            case UInt8(ascii: "."): dots += 1
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                continue
            default: return false
            }
        }
        return dots == 2
    }
}
