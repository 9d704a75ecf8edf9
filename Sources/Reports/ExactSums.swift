import Store

/// Exact sums of stored rows, one for each measure. A sum is unknown, and nil, if that of any row is.
package struct ExactSums: Equatable, Sendable, RandomAccessCollection, ExpressibleByArrayLiteral {
    /// 0 for an unknown sum without other rows.
    private var amounts: [Int128]
    /// The unknown sums, as bits: a table has at most 64 measures.
    private(set) var unknown: UInt64 = 0

    package init(arrayLiteral amounts: Int128...) {
        self.amounts = amounts
    }

    /// Zeros.
    init(count: Int) {
        amounts = Array(repeating: 0, count: count)
    }

    init(_ amounts: [Int128], unknown: UInt64 = 0) {
        self.amounts = amounts
        self.unknown = unknown
    }

    init(_ sums: StoredSums) {
        self.init(sums.amounts.map { Int128($0) }, unknown: sums.unknown)
    }

    package var startIndex: Int { 0 }
    package var endIndex: Int { amounts.count }

    package subscript(index: Int) -> Int128? {
        unknown >> UInt64(index) & 1 == 0 ? amounts[index] : nil
    }

    /// Whether every sum is known and 0.
    var isZero: Bool { unknown == 0 && amounts.allSatisfy { $0 == 0 } }

    /// The amounts, which are 0 or incomplete where the sum is unknown.
    var countedAmounts: [Int128] { amounts }

    /// - Parameter first: the index of the first of these sums among the own ones.
    mutating func add(_ sums: StoredSums, at first: Int = 0) {
        add(amounts: sums.amounts, at: first)
        unknown |= sums.unknown << UInt64(first)
    }

    mutating func add(_ sums: ExactSums, at first: Int = 0) {
        add(amounts: sums.amounts, at: first)
        unknown |= sums.unknown << UInt64(first)
    }

    mutating func add(amounts added: [some FixedWidthInteger], at first: Int) {
        for index in added.indices { amounts[first + index] += Int128(added[index]) }
    }

    /// Only these sums, in this order.
    func selecting(_ indices: [Int]) -> ExactSums {
        var bits: UInt64 = 0
        for (bit, index) in indices.enumerated() where self[index] == nil {
            bits |= 1 << UInt64(bit)
        }
        return ExactSums(indices.map { amounts[$0] }, unknown: bits)
    }

    /// Changes the amounts of some sums; unknown ones stay unknown.
    mutating func change(_ indices: [Int], _ change: (Int128) -> Int128) {
        for index in indices where self[index] != nil { amounts[index] = change(amounts[index]) }
    }
}

extension Optional where Wrapped == Int128 {
    /// The sum; unknown if either part is.
    static func + (left: Int128?, right: Int128?) -> Int128? {
        guard let left, let right else { return nil }
        return left + right
    }

    /// The difference; unknown if either part is.
    static func - (left: Int128?, right: Int128?) -> Int128? {
        guard let left, let right else { return nil }
        return left - right
    }

    /// An integer, or null if unknown.
    var reportValue: ReportValue { map { .integer($0) } ?? .null }
}
