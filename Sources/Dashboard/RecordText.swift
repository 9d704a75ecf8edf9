import EventLog
import Foundation
import Reports
import Store
import Streams

/// A record as its page shows it.
struct LoggedRecord {
    /// A line of JSON, as in `weir read`.
    let line: [UInt8]
    /// The value, if the line has it only as an escaped text.
    let text: RecordText?
    /// What is left of an erased record; nil for others.
    let erased: ErasedRecord?
}

/// The value of a record that is not JSON of one line.
struct RecordText {
    let bytes: [UInt8]
    /// Whether secrets are hidden, so that positions are those of other bytes.
    let isMasked: Bool

    var all: String { String(decoding: bytes, as: UTF8.self) }

    /// The text before the character at a byte, the character, and the text after it. The character is empty at the end
    /// of the value. Nil for a position outside it.
    func parts(around byte: Int) -> (before: String, marked: String, after: String)? {
        guard !isMasked, (0...bytes.count).contains(byte) else { return nil }
        func isInCharacter(_ index: Int) -> Bool {
            index < bytes.count && bytes[index] & 0xC0 == 0x80
        }
        var start = byte
        while start > 0, isInCharacter(start) { start -= 1 }
        var end = min(byte + 1, bytes.count)
        while isInCharacter(end) { end += 1 }
        return (
            String(decoding: bytes[..<start], as: UTF8.self),
            String(decoding: bytes[start..<end], as: UTF8.self),
            String(decoding: bytes[end...], as: UTF8.self)
        )
    }
}

extension StoredRefusal {
    /// The byte of the value where its syntax is wrong, as the detail names it; nil for another reason.
    var fault: Int? {
        guard reason == RejectionReason.malformedJSON.name,
            let text = detail.firstMatch(of: #/ at byte ([0-9]+)$/#)?.1
        else { return nil }
        return Int(text)
    }
}

/// JSON over several lines for reading, indented by two spaces. Every byte of its values stays unchanged.
enum JSONLines {
    private static let indentation = "  "

    static func indented(_ json: [UInt8]) -> [String] {
        var lines: [String] = []
        var line: [UInt8] = []
        var depth = 0
        var isInString = false
        var isEscaped = false
        // An opened bracket without content so far.
        var isOpened = false
        func end() {
            guard !line.isEmpty else { return }
            let text = String(decoding: line, as: UTF8.self)
            lines.append(String(repeating: indentation, count: depth) + text)
            line = []
        }
        for byte in json {
            if isInString {
                line.append(byte)
                if !isEscaped, byte == UInt8(ascii: "\"") { isInString = false }
                isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
                continue
            }
            let isClosing = byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]")
            guard ![0x09, 0x0A, 0x0D, 0x20].contains(byte) else { continue }
            if isOpened, !isClosing {
                end()
                depth += 1
            } else if isClosing, !isOpened {
                end()
                depth = max(depth - 1, 0)
            }
            isOpened = byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[")
            isInString = byte == UInt8(ascii: "\"")
            line.append(byte)
            switch byte {
            case UInt8(ascii: ","): end()
            case UInt8(ascii: ":"): line.append(0x20)
            default: break
            }
        }
        end()
        return lines
    }
}
