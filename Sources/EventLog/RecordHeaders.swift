/// The headers of a record: names with values, in the order in which the producer wrote them.
///
/// They are read where the log keeps them, and only when somebody asks: a record without interest in
/// its headers pays nothing for them.
package struct RecordHeaders {
    private enum Form {
        case encoded(UnsafeRawBufferPointer)
        case foreign(UnsafeMutableRawPointer, any ForeignHeaders.Type)
    }

    private let form: Form

    /// Takes headers as `encode` wrote them: for each the length of the name (UInt32, little endian),
    /// the name, the length of the value (Int32, little endian, -1 for a null value) and the value.
    package init(encoded: UnsafeRawBufferPointer) {
        form = .encoded(encoded)
    }

    /// Takes headers that lie in a record of another library, which outlives this value.
    package init(of record: UnsafeMutableRawPointer, readBy reader: any ForeignHeaders.Type) {
        form = .foreign(record, reader)
    }

    /// True when there is none.
    package var isEmpty: Bool {
        switch form {
        case .encoded(let bytes): bytes.isEmpty
        case .foreign(let record, let reader): reader.isEmpty(record)
        }
    }

    /// Calls `body` with each name and value in order, until it returns false.
    package func forEach(
        _ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer?) -> Bool
    ) {
        switch form {
        case .encoded(let bytes): Self.forEach(in: bytes, body)
        case .foreign(let record, let reader): reader.forEach(record, body)
        }
    }

    /// The value of the first header of that name; nil when there is none or its value is null.
    package func first(named name: StaticString) -> UnsafeRawBufferPointer? {
        if case .foreign(let record, let reader) = form {
            return reader.first(record, named: name)
        }
        var found: UnsafeRawBufferPointer?
        let wanted = UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        forEach { candidate, value in
            guard candidate.elementsEqual(wanted) else { return true }
            found = value
            return false
        }
        return found
    }

    /// The headers in the form that `init(encoded:)` reads.
    package func encodedBytes() -> [UInt8] {
        var bytes: [UInt8] = []
        encode(onto: &bytes)
        return bytes
    }

    /// Appends the headers, in the form that `init(encoded:)` reads, to a buffer that is used again and
    /// again.
    package func encode(onto bytes: inout [UInt8]) {
        if case .encoded(let encoded) = form {
            bytes.append(contentsOf: encoded)
            return
        }
        forEach { name, value in
            Self.encode(name: name, value: value, onto: &bytes)
            return true
        }
    }

    private static func forEach(
        in encoded: UnsafeRawBufferPointer,
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

    /// Encodes headers in the form that this type reads.
    package static func encode(_ headers: [OutgoingRecord.Header]) -> [UInt8] {
        var bytes: [UInt8] = []
        encode(headers, onto: &bytes)
        return bytes
    }

    /// Appends headers, in the form that this type reads, to a buffer that is used again and again.
    package static func encode(_ headers: [OutgoingRecord.Header], onto bytes: inout [UInt8]) {
        for var header in headers {
            header.name.withUTF8 { name in
                header.value.withBytes { value in
                    encode(name: UnsafeRawBufferPointer(name), value: value, onto: &bytes)
                }
            }
        }
    }

    private static func encode(
        name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?, onto bytes: inout [UInt8]
    ) {
        withUnsafeBytes(of: UInt32(name.count).littleEndian) { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: name)
        let length = value.map { Int32($0.count) } ?? -1
        withUnsafeBytes(of: length.littleEndian) { bytes.append(contentsOf: $0) }
        if let value { bytes.append(contentsOf: value) }
    }
}

extension [UInt8]? {
    /// Lends the bytes; nil for null.
    package func withBytes<Answer>(
        _ body: (UnsafeRawBufferPointer?) throws -> Answer
    ) rethrows -> Answer {
        guard let self else { return try body(nil) }
        return try self.withUnsafeBytes { try body($0) }
    }
}
