import Foundation
import Store
import Streams

/// Sums rows with equal values in some columns.
struct RowGroups<Sums> {
    struct Group {
        let key: RowKeyBytes
        /// The values of the grouping columns.
        let columns: [StoredValue]
        var sums: Sums
    }

    private let columns: [Int]
    private let empty: Sums
    private var indices: [RowKeyBytes: Int] = [:]
    private var groups: [Group] = []

    /// - Parameters:
    ///   - columns: indices of the grouping columns.
    ///   - empty: the initial sums of a group.
    init(by columns: [Int], empty: Sums) {
        self.columns = columns
        self.empty = empty
    }

    mutating func add(_ values: [StoredValue], _ body: (inout Sums) -> Void) {
        var key = RowKeyBytes()
        for column in columns { key.append(values[column]) }
        let index = indices[key] ?? groups.count
        if index == groups.count {
            indices[key] = index
            groups.append(Group(key: key, columns: columns.map { values[$0] }, sums: empty))
        }
        body(&groups[index].sums)
    }

    /// The groups sorted by their columns.
    var sorted: [Group] { groups.sorted { $0.key < $1.key } }
}

/// The values of a row's columns as bytes with the sort order of the values: integers by value, texts by their UTF-8
/// bytes. Large dumps use them for grouping and sorting.
struct RowKeyBytes: Hashable, Comparable {
    private var bytes: [UInt8] = []

    init(_ values: [StoredValue] = []) {
        for value in values { append(value) }
    }

    /// The key of these columns in a partition.
    init(_ partition: Int32, _ values: some Sequence<StoredValue>) {
        append(.integer(Int64(partition)))
        for value in values { append(value) }
    }

    /// A key from its stored bytes.
    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    var count: Int { bytes.count }

    func append(to buffer: inout [UInt8]) { buffer += bytes }

    /// The values of the key's columns, given their kinds.
    func values(of kinds: [AggregateTable.ColumnKind]) -> [StoredValue] {
        var index = 0
        return kinds.map { kind in
            switch kind {
            case .integer, .boolean:
                let ordered = bytes.withUnsafeBytes {
                    UInt64(bigEndian: $0.loadUnaligned(fromByteOffset: index, as: UInt64.self))
                }
                index += 8
                return .integer(Int64(bitPattern: ordered ^ 1 << 63))
            case .text, .hour, .day:
                var text: [UInt8] = []
                while let nul = bytes[index...].firstIndex(of: 0), nul + 1 < bytes.count {
                    text += bytes[index..<nul]
                    index = nul + 2
                    guard bytes[nul + 1] == 0xFF else { break }
                    text.append(0)
                }
                return .text(String(decoding: text, as: UTF8.self))
            }
        }
    }

    mutating func append(_ value: StoredValue) {
        switch value {
        case .integer(let integer):
            // Sorts negative numbers first.
            let ordered = UInt64(bitPattern: integer) ^ 1 << 63
            withUnsafeBytes(of: ordered.bigEndian) { bytes.append(contentsOf: $0) }
        case .text(var text):
            text.withUTF8 { text in
                var rest = text[...]
                while let nul = rest.firstIndex(of: 0) {
                    bytes.append(contentsOf: rest[...nul])
                    bytes.append(0xFF)
                    rest = rest[(nul + 1)...]
                }
                bytes.append(contentsOf: rest)
            }
            // Sorts before any continuation of a longer text.
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
