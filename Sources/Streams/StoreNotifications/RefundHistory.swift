/// The cancellations of one transaction that were counted, in the order in which they were folded, and
/// the reversals that are still without their refund.
package struct RefundHistory: Equatable, Sendable {
    /// A cancellation that was counted.
    package struct Cancellation: Equatable, Sendable {
        /// When Apple cancelled, in milliseconds since 1970; nil when it did not say.
        package var dateMilliseconds: Int64?
        /// What a reversal would take back, in millionths of the unit; nil when nothing can be: it was
        /// taken back, or the transaction was upgraded.
        package var openMicros: Int64?

        /// Describes a cancellation.
        package init(dateMilliseconds: Int64?, openMicros: Int64?) {
            self.dateMilliseconds = dateMilliseconds
            self.openMicros = openMicros
        }
    }

    /// The cancellations, oldest first.
    package var cancellations: [Cancellation]
    /// Reversals that came before their refund.
    package var earlyReversals: Int64

    /// A history as it was stored; by default one of nothing.
    package init(cancellations: [Cancellation] = [], earlyReversals: Int64 = 0) {
        self.cancellations = cancellations
        self.earlyReversals = earlyReversals
    }

    /// Whether the cancellation of that date was counted.
    func counts(_ dateMilliseconds: Int64?) -> Bool {
        cancellations.contains { $0.dateMilliseconds == dateMilliseconds }
    }

    /// Takes a refund in; says how much of it counts: nothing when its reversal came before it.
    mutating func refund(dateMilliseconds: Int64?, micros: Int64) -> Int64 {
        let isReversed = earlyReversals > 0
        if isReversed { earlyReversals -= 1 }
        cancellations.append(
            Cancellation(
                dateMilliseconds: dateMilliseconds, openMicros: isReversed ? nil : micros))
        return isReversed ? 0 : micros
    }

    /// Takes a cancellation in that an upgrade made.
    mutating func upgrade(dateMilliseconds: Int64) {
        cancellations.append(Cancellation(dateMilliseconds: dateMilliseconds, openMicros: nil))
    }

    /// Takes back the refund that was folded last of those not taken back; says how much that is. When
    /// there is none, the next refund is reversed as it comes.
    mutating func reverse() -> Int64 {
        guard let last = cancellations.lastIndex(where: { $0.openMicros != nil }),
            let micros = cancellations[last].openMicros
        else {
            earlyReversals += 1
            return 0
        }
        cancellations[last].openMicros = nil
        return micros
    }
}

extension RefundHistory {
    static let table = MemoryTable(
        "refunds",
        "What was counted of the cancellations of a transaction, so that none counts twice.",
        digest: """
            'refunds '
              || iif(typeof(transaction_id) = 'blob', 'x' || hex(transaction_id), transaction_id)
              || ' ' || cancellations || ' ' || early_reversals
            """,
        [
            .init(
                "transaction_id", .integerOrBytes, "a number, or the bytes of a text that is none"),
            .init(
                "cancellations", .text,
                "in order of folding: 'ms=micros', without micros once nothing can be taken back"),
            .init("early_reversals", .integer, "reversals that came before their refund"),
        ])

    /// Reads the columns after the transaction.
    init(_ row: [MemoryValue]) {
        self.init(stored: row[0].text ?? "", earlyReversals: row[1].integer ?? 0)
    }

    /// Writes what `init` reads.
    var row: [MemoryValue] { [.text(storedCancellations), .integer(earlyReversals)] }
}

extension TransactionID {
    var memoryValue: MemoryValue {
        switch self {
        case .number(let number): .integer(number)
        case .text(let text): .bytes(text)
        }
    }
}

extension RefundHistory {
    /// Reads what `storedCancellations` wrote.
    init(stored: String, earlyReversals: Int64) {
        let cancellations = stored.split(separator: ",").map { part in
            let sides = part.split(separator: "=", omittingEmptySubsequences: false)
            return Cancellation(
                dateMilliseconds: sides.first.flatMap { Int64($0) },
                openMicros: sides.dropFirst().first.flatMap { Int64($0) })
        }
        self.init(cancellations: cancellations, earlyReversals: earlyReversals)
    }

    /// The cancellations as `date=micros`, joined by commas; what is absent is left empty.
    var storedCancellations: String {
        cancellations.map { cancellation in
            let date = cancellation.dateMilliseconds.map { "\($0)" } ?? ""
            return date + "=" + (cancellation.openMicros.map { "\($0)" } ?? "")
        }.joined(separator: ",")
    }
}
