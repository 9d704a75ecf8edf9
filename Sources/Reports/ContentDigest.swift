import ConfigurationValues
import Crypto
import Foundation
import Store
import Synchronization

/// Equal digests mean equal contents: the first 16 bytes of SHA-256.
struct ContentDigest: Hashable, Sendable, CustomStringConvertible {
    /// The input of a digest. A text has its length before it, so that no other parts make the same input.
    struct Parts {
        private var hash = SHA256()

        mutating func append(_ text: String) {
            var text = text
            append(Int64(text.utf8.count))
            text.withUTF8 { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }
        }

        mutating func append(_ integer: Int64) {
            withUnsafeBytes(of: integer) { hash.update(bufferPointer: $0) }
        }

        mutating func append(_ digest: ContentDigest) {
            append(digest.first)
            append(digest.second)
        }

        fileprivate func finish() -> (Int64, Int64) {
            hash.finalize().withUnsafeBytes {
                (
                    $0.loadUnaligned(as: Int64.self),
                    $0.loadUnaligned(fromByteOffset: 8, as: Int64.self)
                )
            }
        }
    }

    private let first: Int64
    private let second: Int64

    init(_ append: (inout Parts) -> Void) {
        var parts = Parts()
        append(&parts)
        (first, second) = parts.finish()
    }

    var description: String { "\(first) \(second)" }
}

extension ContentDigest.Parts {
    mutating func append(_ mark: HourMark) {
        for integer in [Int64(mark.partition), mark.firstOffset, mark.lastOffset, mark.records] {
            append(integer)
        }
        for text in [mark.hour, mark.firstRecord, mark.lastRecord] { append(text) }
    }
}

extension ReportTimeZone {
    private static let known = Mutex<[ReportTimeZone: String]>([:])

    /// A text that differs for zones with other rules.
    var rules: String {
        guard !isUTC else { return name }
        return Self.known.withLock { known in
            if let text = known[self] { return text }
            let rules = try? JSONEncoder().encode(self)
            let text =
                "\(name) \(ContentDigest { $0.append(String(decoding: rules ?? Data(), as: UTF8.self)) })"
            known[self] = text
            return text
        }
    }
}
