import EventLog
import Foundation
import JSON
import Wording

/// The person whose data is erased, by an id of the app or of its developer.
package struct ErasureSubject: Sendable {
    package enum Kind: String, Sendable {
        /// The install id (idfv) under which conversion values are kept.
        case install
        /// The `appAccountToken` that the developer gave a customer's purchases.
        case account
    }

    package let kind: Kind
    /// SHA-256 of the id in lower case, as 64 hex digits. It stands for the id in logs and notices.
    package let digest: String
    package let id: String
    private let search: TextSearch

    /// The shortest id: a shorter text would be found in records of others.
    private static let shortest = 8
    private static let longest = 255

    /// Throws what is wrong with the id, in words.
    package init(_ kind: Kind, _ id: String) throws(ErasureError) {
        guard (Self.shortest...Self.longest).contains(id.utf8.count),
            id.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C })
        else { throw .badID(kind, shortest: Self.shortest, longest: Self.longest) }
        self.kind = kind
        self.id = id
        digest = ErasureNotice.digest(ofID: id)
        search = TextSearch(id)
    }

    /// For the operator's log and for people: without the id itself.
    package var words: String { "\(kind.rawValue) sha256:\(digest)" }

    /// Whether the key, a header or the value of a record contains the id: as text, or in Base64 as the parts of signed
    /// notifications are.
    package func isIn(_ record: RecordView) -> Bool { search.isIn(record) }

    /// Whether a text contains the id.
    package func isIn(_ text: String) -> Bool {
        Array(text.utf8).withUnsafeBytes { search.isIn($0) }
    }
}

/// Finds a text in bytes, ignoring ASCII case, also in Base64 within them.
struct TextSearch: Sendable {
    /// In lower case: the text, and a UUID without its hyphens too.
    private let texts: [[UInt8]]
    private let shortestRun: Int

    /// A signed notification has a payload with signed parts, each with a payload.
    private static let mostLayers = 4

    init(_ text: String) {
        let lowercased = text.utf8.map(Self.lowercased)
        texts =
            UUID(uuidString: text) == nil
            ? [lowercased] : [lowercased, lowercased.filter { $0 != UInt8(ascii: "-") }]
        let shortest = texts.map(\.count).min() ?? 0
        shortestRun = (shortest * 4 + 2) / 3
    }

    func isIn(_ record: RecordView) -> Bool {
        if let key = record.key, isIn(key) { return true }
        if let value = record.value, isIn(value) { return true }
        var isFound = false
        record.headers.forEach { _, value in
            if let value, isIn(value) { isFound = true }
            return !isFound
        }
        return isFound
    }

    func isIn(_ bytes: UnsafeRawBufferPointer) -> Bool { isIn(bytes, layer: 0) }

    private func isIn(_ bytes: UnsafeRawBufferPointer, layer: Int) -> Bool {
        if hasText(bytes) { return true }
        guard layer < Self.mostLayers else { return false }
        var start = 0
        for index in 0...bytes.count {
            if index < bytes.count, Self.isDigit(bytes[index]) { continue }
            if index - start >= shortestRun {
                let run = UnsafeRawBufferPointer(rebasing: bytes[start..<index])
                if let decoded = Self.decoded(run),
                    decoded.withUnsafeBytes({ isIn($0, layer: layer + 1) })
                {
                    return true
                }
            }
            start = index + 1
        }
        return false
    }

    /// Whether a text is there as a whole: not as a part of a longer word.
    private func hasText(_ bytes: UnsafeRawBufferPointer) -> Bool {
        texts.contains { Self.has($0, bytes) }
    }

    private static func has(_ text: [UInt8], _ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count >= text.count, let first = text.first else { return false }
        for start in 0...(bytes.count - text.count)
        where lowercased(bytes[start]) == first && isText(text, bytes, at: start) {
            let end = start + text.count
            guard start == 0 || !isWord(bytes[start - 1]) || isEscape(bytes, endingAt: start),
                end == bytes.count || !isWord(bytes[end])
            else { continue }
            return true
        }
        return false
    }

    private static func isText(
        _ text: [UInt8], _ bytes: UnsafeRawBufferPointer, at start: Int
    ) -> Bool {
        for index in 0..<text.count where lowercased(bytes[start + index]) != text[index] {
            return false
        }
        return true
    }

    /// Whether the bytes before an index are an escape of URLs such as `%3D`.
    private static func isEscape(_ bytes: UnsafeRawBufferPointer, endingAt end: Int) -> Bool {
        end >= 3 && bytes[end - 3] == UInt8(ascii: "%")
            && bytes[end - 2..<end].allSatisfy {
                (0x30...0x39).contains($0) || (0x61...0x66).contains($0 | 0x20)
            }
    }

    /// Decodes digits of either variant, without padding.
    private static func decoded(_ run: UnsafeRawBufferPointer) -> [UInt8]? {
        // One digit more than whole bytes need belongs to something else.
        let count = run.count - (run.count % 4 == 1 ? 1 : 0)
        let digits = run.prefix(count).map { digit in
            digit == UInt8(ascii: "+")
                ? UInt8(ascii: "-") : digit == UInt8(ascii: "/") ? UInt8(ascii: "_") : digit
        }
        var decoded: [UInt8] = []
        let range = digits.withUnsafeBytes { Base64.url.decode($0, into: &decoded) }
        return range == nil ? nil : decoded
    }

    @inline(__always)
    private static func lowercased(_ byte: UInt8) -> UInt8 {
        byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
    }

    @inline(__always)
    private static func isDigit(_ byte: UInt8) -> Bool {
        isWord(byte) || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "/")
    }

    /// A letter, a digit, a hyphen or an underscore.
    @inline(__always)
    private static func isWord(_ byte: UInt8) -> Bool {
        let letter = byte | 0x20
        return letter >= 0x61 && letter <= 0x7A || byte >= 0x30 && byte <= 0x39 || byte == 0x2D
            || byte == 0x5F
    }
}

/// Why an erasure cannot begin or end.
package enum ErasureError: OperatorError, Equatable, Sendable {
    case badID(ErasureSubject.Kind, shortest: Int, longest: Int)
    /// The reason for the operator's log contains the id.
    case idInReason
    /// A reader of an older state keeps the old bytes in the write-ahead log.
    case keptByReader(address: String)
    /// The install sends new records faster than they are erased.
    case stillArriving(topic: String)
    /// A worker has not released its store.
    case storeInUse(path: String, detail: String)
    case installs(path: String, detail: String)

    package var isUsage: Bool {
        switch self {
        case .badID, .idInReason: true
        case .keptByReader, .stillArriving, .storeInUse, .installs: false
        }
    }

    package var description: String {
        switch self {
        case .badID(let kind, let shortest, let longest):
            "the \(kind.rawValue) id cannot be erased: give \(shortest) to \(longest) printable ASCII characters, without spaces, quotes and backslashes. A shorter text would be found in records of others"
        case .idInReason:
            "--reason contains the id, which would stay in the operator's log: write the number of the request instead"
        case .keptByReader(let address):
            "the records are erased, but the write-ahead log of \(address) still contains their bytes, because a program reads an older state: end long reports and run the same command again"
        case .stillArriving(let topic):
            "new records of this id arrive in \(topic) all the time: stop the sender, then run the same command again"
        case .storeInUse(let path, let detail):
            "\(path) contains rejected records of this id and is in use (\(detail)): stop that program, then run the same command again"
        case .installs(let path, let detail):
            "\(path) still contains the state of the install (\(detail)): run the same command again"
        }
    }
}
