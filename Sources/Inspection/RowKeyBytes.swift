import AggregateStore
import Foundation

/// The values of a row's columns as bytes that order as the values do: integers by value, texts by
/// their UTF-8 bytes. Large dumps are grouped and sorted by them.
struct RowKeyBytes: Hashable, Comparable {
    private var bytes: [UInt8] = []

    /// The key of these columns.
    init(_ values: [StoredValue] = []) {
        for value in values { append(value) }
    }

    /// The key of these columns in a partition.
    init(_ partition: Int32, _ values: some Sequence<StoredValue>) {
        append(.integer(Int64(partition)))
        for value in values { append(value) }
    }

    /// Appends the value of the next column.
    mutating func append(_ value: StoredValue) {
        switch value {
        case .integer(let integer):
            // Negative ones come first.
            let ordered = UInt64(bitPattern: integer) ^ 1 << 63
            withUnsafeBytes(of: ordered.bigEndian) { bytes.append(contentsOf: $0) }
        case .text(let text):
            for byte in text.utf8 {
                bytes.append(byte)
                if byte == 0 { bytes.append(0xFF) }
            }
            // Below whatever a longer text goes on with.
            bytes.append(0)
            bytes.append(1)
        }
    }

    func hash(into hasher: inout Hasher) {
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }

    static func < (left: RowKeyBytes, right: RowKeyBytes) -> Bool {
        left.bytes.withUnsafeBytes { left in
            right.bytes.withUnsafeBytes { right in
                guard let start = left.baseAddress, let other = right.baseAddress else {
                    return left.count < right.count
                }
                let order = memcmp(start, other, min(left.count, right.count))
                return order != 0 ? order < 0 : left.count < right.count
            }
        }
    }
}
