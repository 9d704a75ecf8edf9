import CRdKafka
import Testing

@Suite("The look at the number of headers in a fetched record")
struct HeaderCountTests {
    @Test(
        "finds no headers in a record of format 2 of any length",
        arguments: [1, 63, 64, 1900, 8191, 8192, 1 << 20])
    func withoutHeaders(length: Int) {
        #expect(hasNoHeaders(before: Self.varint(length), length: length, after: [0]))
    }

    @Test("leaves records with headers to librdkafka", arguments: [2, 20, 0x80, 0xFF] as [UInt8])
    func withHeaders(count: UInt8) {
        #expect(!hasNoHeaders(before: Self.varint(1900), length: 1900, after: [count]))
    }

    @Test(
        "leaves records in other places and of any length to librdkafka",
        arguments: [1, 63, 64, 127, 1900, 8191, 32_768, 1 << 20])
    func elsewhere(length: Int) {
        // Formats 0 and 1 have the length in four bytes; the allocator keeps the size of a block before it.
        let inFourBytes = (0..<4).map { UInt8(truncatingIfNeeded: length >> (24 - 8 * $0)) }
        #expect(!hasNoHeaders(before: [0xFF] + inFourBytes, length: length, after: [0]))
        let size = (length + 8 + 15) & ~15 | 1
        let ofBlock = (0..<8).map { UInt8(truncatingIfNeeded: size >> (8 * $0)) }
        #expect(!hasNoHeaders(before: ofBlock, length: length, after: [0]))
    }

    @Test("leaves empty and absent values to librdkafka")
    func withoutValue() {
        #expect(!hasNoHeaders(before: [0], length: 0, after: [0]))
        #expect(weir_has_no_headers(nil, 0) == 0)
    }

    private func hasNoHeaders(before: [UInt8], length: Int, after: [UInt8]) -> Bool {
        var bytes = Array(repeating: UInt8(0), count: 8) + before
        let start = bytes.count
        bytes += Array(repeating: UInt8(ascii: "x"), count: length) + after
        return bytes.withUnsafeBytes { bytes in
            weir_has_no_headers(bytes.baseAddress.map { $0 + start }, length) != 0
        }
    }

    /// A length as Kafka's format 2 writes it: doubled, seven bits a byte.
    private static func varint(_ length: Int) -> [UInt8] {
        var (rest, bytes) = (length * 2, [UInt8]())
        while rest > 0x7F {
            bytes.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }
}
