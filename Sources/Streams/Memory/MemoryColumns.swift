/// The columns of a memory table after its key. Each declares its part of the remembered value, for reading and writing
/// rows.
struct MemoryColumns<Remembered>: Sendable, ExpressibleByArrayLiteral {
    struct Column: Sendable {
        fileprivate let column: MemoryTable.Column
        fileprivate let write: @Sendable (Remembered) -> MemoryValue
        fileprivate let read: @Sendable (inout Remembered, MemoryValue) -> Void
    }

    private let all: [Column]

    init(arrayLiteral columns: Column...) {
        all = columns
    }

    /// The columns for the table's declaration.
    var declared: [MemoryTable.Column] { all.map(\.column) }

    /// The values of a row after its key.
    func row(of remembered: Remembered) -> [MemoryValue] { all.map { $0.write(remembered) } }

    func read(_ row: [MemoryValue], into remembered: inout Remembered) {
        for (column, value) in zip(all, row) { column.read(&remembered, value) }
    }
}

extension MemoryColumns.Column {
    /// A required number.
    static func integer(
        _ name: String, note: String = "",
        _ write: @escaping @Sendable (Remembered) -> Int64,
        _ read: @escaping @Sendable (inout Remembered, Int64) -> Void
    ) -> Self {
        Self(
            column: .init(name, .integer, note), write: { .integer(write($0)) },
            read: { read(&$0, $1.integer ?? 0) })
    }

    /// An optional number.
    static func optionalInteger(
        _ name: String, _ write: @escaping @Sendable (Remembered) -> Int64?,
        _ read: @escaping @Sendable (inout Remembered, Int64?) -> Void
    ) -> Self {
        Self(
            column: .init(name, .integer, isOptional: true), write: { MemoryValue(write($0)) },
            read: { read(&$0, $1.integer) })
    }

    /// A text; in an optional column, a missing or empty one is null.
    static func text(
        _ name: String, note: String = "", isOptional: Bool = false,
        _ write: @escaping @Sendable (Remembered) -> String?,
        _ read: @escaping @Sendable (inout Remembered, String?) -> Void
    ) -> Self {
        Self(
            column: .init(name, .text, note, isOptional: isOptional),
            write: { isOptional ? MemoryValue(write($0)) : .text(write($0) ?? "") },
            read: { read(&$0, $1.text) })
    }

    /// Any value of a column.
    static func value(
        _ column: MemoryTable.Column, _ write: @escaping @Sendable (Remembered) -> MemoryValue,
        _ read: @escaping @Sendable (inout Remembered, MemoryValue) -> Void
    ) -> Self { Self(column: column, write: write, read: read) }
}
