import Crypto
import JSON

/// What an erasure leaves of a record: its position, its time, headers without personal data, and this.
///
/// An erased record has neither key nor value. Its headers state the length and the digest of the value, and the
/// fingerprint that the record had, so that the log is still recognised by it.
package struct ErasedRecord: Equatable, Sendable {
    /// `RecordView.fingerprint` of the record before it was erased.
    package let fingerprint: String
    /// The length of the value in bytes.
    package let valueBytes: Int
    /// SHA-256 of the value, as 64 hex digits.
    package let valueSHA256: String
    /// A digest of the id by which the record's repetitions are recognised; empty for records of other kinds.
    package let id: String

    /// The header with the fingerprint. It marks an erased record.
    package static let header: StaticString = "weir_erased"
    private static let digestHeader: StaticString = "weir_sha256"
    private static let lengthHeader: StaticString = "weir_bytes"
    private static let idHeader: StaticString = "weir_id"
    /// Headers that stay: how the record counts, and which record it copies.
    private static let keptHeaders: [StaticString] = ["ce_type", "weir_origin"]

    /// Nil for a record that was not erased.
    package init?(_ record: RecordView) {
        guard record.value == nil, let fingerprint = record.headers.first(named: Self.header) else {
            return nil
        }
        self.fingerprint = String(decoding: fingerprint, as: UTF8.self)
        func text(_ name: StaticString) -> String {
            record.headers.first(named: name).map { String(decoding: $0, as: UTF8.self) } ?? ""
        }
        valueBytes = Int(text(Self.lengthHeader)) ?? 0
        valueSHA256 = text(Self.digestHeader)
        id = text(Self.idHeader)
    }

    /// The headers of a record after its erasure, as `RecordHeaders` reads them.
    ///
    /// - Parameter id: a digest of the id by which the record's repetitions are recognised; nil if there is none.
    package static func headers(erasing record: RecordView, id: String? = nil) -> [UInt8] {
        var headers: [OutgoingRecord.Header] = keptHeaders.compactMap { name in
            record.headers.first(named: name).map { .init(name: "\(name)", value: Array($0)) }
        }
        let value = record.value ?? UnsafeRawBufferPointer(start: nil, count: 0)
        var hash = SHA256()
        hash.update(bufferPointer: value)
        headers += [
            .init("\(header)", record.fingerprint),
            .init("\(digestHeader)", hash.finalize().hexDigits),
            .init("\(lengthHeader)", "\(value.count)"),
        ]
        if let id { headers.append(.init("\(idHeader)", id)) }
        return RecordHeaders.encode(headers)
    }

    /// For people.
    package var explanation: String {
        "\(valueBytes) bytes were erased; their SHA-256 is \(valueSHA256)"
    }
}

/// A record that announces an erasure: programs forget what they have kept of the person. It has no value.
///
/// Its header contains a digest of the id and not the id.
package enum ErasureNotice {
    private static let header: StaticString = "weir_erases"

    /// The headers of a notice.
    ///
    /// - Parameter digest: of the erased id, by `digest(ofID:)`.
    package static func headers(_ digest: String) -> [OutgoingRecord.Header] {
        [.init("\(header)", digest)]
    }

    /// The digest of the erased id; nil for other records.
    package static func digest(in record: RecordView) -> String? {
        guard record.value == nil else { return nil }
        return record.headers.first(named: header).map { String(decoding: $0, as: UTF8.self) }
    }

    /// SHA-256 of an id with its ASCII letters in lower case, as 64 hex digits.
    package static func digest(ofID id: String) -> String {
        let lowercased = id.utf8.map { (65...90).contains($0) ? $0 | 0x20 : $0 }
        return SHA256.hash(data: lowercased).hexDigits
    }
}

extension RecordView {
    /// Distinguishes this record from another one at the same offset: the first 16 bytes of SHA-256 over timestamp,
    /// key and value, each with its length, in hex. An erased record keeps the one that it had.
    package var fingerprint: String {
        if let erased = ErasedRecord(self) { return erased.fingerprint }
        var hash = SHA256()
        withUnsafeBytes(of: timestampMilliseconds.littleEndian) { hash.update(bufferPointer: $0) }
        for part in [key, value] {
            let length = Int64(part?.count ?? -1)
            withUnsafeBytes(of: length.littleEndian) { hash.update(bufferPointer: $0) }
            if let part { hash.update(bufferPointer: part) }
        }
        return hash.finalize().prefix(16).hexDigits
    }
}
