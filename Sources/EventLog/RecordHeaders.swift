/// The headers of a record: names with values, in the order in which the producer wrote them.
///
/// Kept in one buffer, so that a record without interest in its headers pays nothing for them. Each
/// header is the length of the name (UInt32, little endian), the name, the length of the value (Int32,
/// little endian, -1 for a null value) and the value.
public struct RecordHeaders {
    /// The encoded headers; empty when there are none.
    public let encoded: UnsafeRawBufferPointer

    /// Takes headers as `encode` wrote them.
    public init(encoded: UnsafeRawBufferPointer) {
        self.encoded = encoded
    }

    /// Calls `body` with each name and value in order, until it returns false.
    public func forEach(
        _ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer?) -> Bool
    ) {
        var position = 0
        while position + 8 <= encoded.count {
            let nameLength = Int(
                UInt32(
                    littleEndian: encoded.loadUnaligned(fromByteOffset: position, as: UInt32.self)
                )
            )
            let nameStart = position + 4
            guard nameStart + nameLength + 4 <= encoded.count else { return }
            let valueLength = Int(
                Int32(
                    littleEndian: encoded.loadUnaligned(
                        fromByteOffset: nameStart + nameLength,
                        as: Int32.self
                    )
                )
            )
            let valueStart = nameStart + nameLength + 4
            let valueEnd = valueStart + max(valueLength, 0)
            guard valueEnd <= encoded.count else { return }
            let name = UnsafeRawBufferPointer(rebasing: encoded[nameStart..<nameStart + nameLength])
            let value =
                valueLength < 0
                ? nil : UnsafeRawBufferPointer(rebasing: encoded[valueStart..<valueEnd])
            guard body(name, value) else { return }
            position = valueEnd
        }
    }

    /// The value of the first header of that name; nil when there is none or its value is null.
    public func first(named name: StaticString) -> UnsafeRawBufferPointer? {
        var found: UnsafeRawBufferPointer?
        let wanted = UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        forEach { candidate, value in
            guard candidate.elementsEqual(wanted) else { return true }
            found = value
            return false
        }
        return found
    }

    /// Encodes headers in the form that this type reads.
    public static func encode(_ headers: [OutgoingRecord.Header]) -> [UInt8] {
        var bytes: [UInt8] = []
        encode(headers, onto: &bytes)
        return bytes
    }

    /// Appends headers, in the form that this type reads, to a buffer that is used again and again.
    public static func encode(_ headers: [OutgoingRecord.Header], onto bytes: inout [UInt8]) {
        for header in headers {
            let name = header.name.utf8
            withUnsafeBytes(of: UInt32(name.count).littleEndian) { bytes.append(contentsOf: $0) }
            bytes.append(contentsOf: name)
            let length = header.value.map { Int32($0.count) } ?? -1
            withUnsafeBytes(of: length.littleEndian) { bytes.append(contentsOf: $0) }
            if let value = header.value { bytes.append(contentsOf: value) }
        }
    }
}
