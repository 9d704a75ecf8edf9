import AggregateStore
import Testing

@testable import Inspection

@Suite("Keys of rows")
struct RowKeyBytesTests {
    private func key(_ values: [StoredValue]) -> RowKeyBytes {
        var key = RowKeyBytes()
        for value in values { key.append(value) }
        return key
    }

    @Test("their bytes order as the values do")
    func order() {
        let texts = ["", "\u{0}", "\u{0}\u{1}", "\u{1}", "a", "a\u{0}", "a\u{0}b", "ab", "é", "z"]
        let numbers: [Int64] = [.min, -256, -1, 0, 1, 255, 256, .max]
        let rows = texts.flatMap { text in
            numbers.flatMap { number in
                ["", "b"].map { [StoredValue.text(text), .integer(number), .text($0)] }
            }
        }
        for left in rows {
            for right in rows {
                #expect(
                    (key(left) < key(right)) == left.lexicographicallyPrecedes(right),
                    "\(left) \(right)")
                #expect((key(left) == key(right)) == (left == right))
            }
        }
    }
}
