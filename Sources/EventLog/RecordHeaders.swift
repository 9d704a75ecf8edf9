/// The headers of a record in the producer's order.
///
/// They are read on demand in the memory of the log, so unread headers cost nothing.
package struct RecordHeaders {
    private enum Form {
        case encoded(UnsafeRawBufferPointer)
        case foreign(
            UnsafeMutableRawPointer, value: UnsafeRawBufferPointer?, any ForeignHeaders.Type)
    }

    private let form: Form

    /// Headers as written by `encode`. For each: the length of the name (UInt32, little endian), the name, the length
    /// of the value (Int32, little endian, -1 for null) and the value.
    package init(encoded: UnsafeRawBufferPointer) {
        form = .encoded(encoded)
    }

    /// Headers in a record of another library, which must outlive this value.
    ///
    /// - Parameter value: the value of the record.
    package init(
        of record: UnsafeMutableRawPointer, value: UnsafeRawBufferPointer?,
        readBy reader: any ForeignHeaders.Type
    ) {
        form = .foreign(record, value: value, reader)
    }

    package var isEmpty: Bool {
        switch form {
        case .encoded(let bytes): bytes.isEmpty
        case .foreign(let record, let value, let reader): reader.isEmpty(record, value: value)
        }
    }

    /// Calls `body` with each name and value in order, until it returns false.
    package func forEach(
        _ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer?) -> Bool
    ) {
        switch form {
        case .encoded(let bytes): Self.forEach(in: bytes, body)
        case .foreign(let record, _, let reader): reader.forEach(record, body)
        }
    }

    /// The value of the first header of that name; nil if it is missing or null.
    package func first(named name: StaticString) -> UnsafeRawBufferPointer? {
        if case .foreign(let record, _, let reader) = form {
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

    /// The headers in the encoding of `init(encoded:)`.
    package func encodedBytes() -> [UInt8] {
        var bytes: [UInt8] = []
        encode(onto: &bytes)
        return bytes
    }

    /// Appends the headers, in the encoding of `init(encoded:)`, to a reusable buffer.
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

    package static func encode(_ headers: [OutgoingRecord.Header]) -> [UInt8] {
        var bytes: [UInt8] = []
        encode(headers, onto: &bytes)
        return bytes
    }

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
    /// Calls `body` with the bytes; nil for null.
    package func withBytes<Answer>(
        _ body: (UnsafeRawBufferPointer?) throws -> Answer
    ) rethrows -> Answer {
        guard let self else { return try body(nil) }
        return try self.withUnsafeBytes { try body($0) }
    }
}

/// Reads headers in records of another library.
package protocol ForeignHeaders {
    /// - Parameter value: the value of the record.
    static func isEmpty(
        _ record: UnsafeMutableRawPointer, value: UnsafeRawBufferPointer?
    ) -> Bool

    /// Calls `body` with each name and value in order until it returns false. The bytes are valid as long as the
    /// record.
    static func forEach(
        _ record: UnsafeMutableRawPointer,
        _ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer?) -> Bool
    )

    /// The value of the first header of that name; nil if it is missing or null.
    static func first(
        _ record: UnsafeMutableRawPointer, named name: StaticString
    ) -> UnsafeRawBufferPointer?
}
