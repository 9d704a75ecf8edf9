/// The cancellations of one transaction that were counted, in the order in which they were folded, and
/// the reversals that are still without their refund.
struct RefundHistory: Equatable, Sendable {
    struct Cancellation: Equatable, Sendable {
        /// When Apple cancelled, in milliseconds since 1970; nil when it did not say.
        var dateMilliseconds: Int64?
        /// What a reversal would take back, in millionths of the unit; nil when nothing can be: it was
        /// taken back, or the transaction was upgraded.
        var openMicros: Int64?
    }

    var cancellations: [Cancellation] = []
    /// Reversals that came before their refund.
    var earlyReversals: Int64 = 0

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

    init(_ row: [MemoryValue]) {
        self.init(stored: row[0].text ?? "", earlyReversals: row[1].integer ?? 0)
    }

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

/// What is noted of a memory's answers about one notification.
struct NotificationAnswers: Equatable, Sendable {
    /// Where its id was accepted before; nil for a new one.
    var originalOffset: Int64?
    /// The refunds that were known of its transactions, by their place among those asked for.
    var histories: [Int: RefundHistory] = [:]
}

extension NotificationAnswers {
    /// Reads what `bytes` wrote; nil for what is no such thing.
    init?(_ answers: [UInt8]) {
        var reader = AnswerReader(answers)
        guard let original = reader.optionalNumber() else { return nil }
        self.init(originalOffset: original)
        while !reader.isAtEnd {
            guard let place = reader.number(), let early = reader.number(),
                let count = reader.number(), count >= 0
            else { return nil }
            var history = RefundHistory(earlyReversals: early)
            for _ in 0..<count {
                guard let date = reader.optionalNumber(), let micros = reader.optionalNumber()
                else { return nil }
                history.cancellations.append(
                    .init(dateMilliseconds: date, openMicros: micros))
            }
            histories[Int(truncatingIfNeeded: place)] = history
        }
    }

    var isEmpty: Bool { originalOffset == nil && histories.isEmpty }

    var bytes: [UInt8] {
        var writer = AnswerWriter()
        writer.add(optional: originalOffset)
        for (place, history) in histories.sorted(by: { $0.key < $1.key }) {
            writer.add(place)
            writer.add(history.earlyReversals)
            writer.add(history.cancellations.count)
            for cancellation in history.cancellations {
                writer.add(optional: cancellation.dateMilliseconds)
                writer.add(optional: cancellation.openMicros)
            }
        }
        return writer.bytes
    }
}
