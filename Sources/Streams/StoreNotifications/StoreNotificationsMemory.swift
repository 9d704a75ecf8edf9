/// The counted cancellations of one transaction, in the order of folding, and the reversals without their refund.
struct RefundHistory: Equatable, Sendable {
    struct Cancellation: Equatable, Sendable {
        /// Apple's date of the cancellation, in milliseconds since 1970; nil if missing.
        var dateMilliseconds: Int64?
        /// The amount that a reversal would subtract, in millionths of the unit. Nil after a reversal, and for an
        /// upgraded transaction.
        var openMicros: Int64?
        /// The amount's row in `cohorts`; nil if it is not in `cohorts`.
        var cohort: CohortRow?
    }

    var cancellations: [Cancellation] = []
    /// Reversals that arrived before their refund.
    var earlyReversals: Int64 = 0

    func counts(_ dateMilliseconds: Int64?) -> Bool {
        cancellations.contains { $0.dateMilliseconds == dateMilliseconds }
    }

    /// Records a refund; returns the amount that counts: 0 if its reversal arrived earlier.
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

    /// Reverses the latest refund that is not reversed; returns its amount and its cohort. Without such a refund, the
    /// next one is reversed on arrival.
    mutating func reverse() -> (micros: Int64, cohort: CohortRow?) {
        guard let last = cancellations.lastIndex(where: { $0.openMicros != nil }),
            let micros = cancellations[last].openMicros
        else {
            earlyReversals += 1
            return (0, nil)
        }
        let cohort = cancellations[last].cohort
        cancellations[last].openMicros = nil
        cancellations[last].cohort = nil
        return (micros, cohort)
    }

    /// Records the row in `cohorts` that got the last refund's amount.
    mutating func setCohort(_ cohort: CohortRow) {
        guard let last = cancellations.indices.last else { return }
        cancellations[last].cohort = cohort
    }
}

extension RefundHistory: LastingRow {
    typealias Key = TransactionID

    static let table = MemoryTable(
        "refunds",
        "Counted cancellations of transactions, so that no cancellation counts twice.",
        digest: """
            'refunds ' || \(TransactionID.digest(ofColumn: "transaction_id"))
              || ' ' || cancellations || ' ' || early_reversals || ' ' || hex(coalesce(cohorts, ''))
            """,
        [
            .init(
                "transaction_id", .integerOrBytes,
                "a number, or the bytes of a text that is not a number")
        ] + columns.declared)

    static let columns: MemoryColumns<RefundHistory> = [
        .text(
            "cancellations",
            note: "in fold order: 'ms=micros', without micros if nothing can be reversed",
            { $0.storedCancellations },
            { $0 = RefundHistory(stored: $1 ?? "", earlyReversals: $0.earlyReversals) }),
        .integer(
            "early_reversals", note: "reversals that arrived before their refund",
            { $0.earlyReversals },
            { $0.earlyReversals = $1 }),
        .value(
            .init(
                "cohorts", .bytes, "the rows of cohorts with amounts that can be reversed",
                isOptional: true), { $0.storedCohorts },
            { if case .bytes(let bytes) = $1 { $0.readCohorts(bytes) } }),
    ]

    /// The index and the cohort of each cancellation with a cohort.
    private var storedCohorts: MemoryValue {
        var writer = AnswerWriter()
        for (index, cancellation) in cancellations.enumerated() {
            guard let cohort = cancellation.cohort else { continue }
            writer.add(index)
            cohort.write(to: &writer)
        }
        return writer.bytes.isEmpty ? .none : .bytes(writer.bytes)
    }

    private mutating func readCohorts(_ bytes: [UInt8]) {
        var reader = AnswerReader(bytes)
        while let index = reader.number(), let cohort = CohortRow(&reader) {
            guard let index = Int(exactly: index), cancellations.indices.contains(index) else {
                return
            }
            cancellations[index].cohort = cohort
        }
    }
}

extension TransactionID: LastingKey {
    var memoryValue: MemoryValue {
        switch self {
        case .number(let number): .integer(number)
        case .text(let text): .bytes(text)
        }
    }

    /// An id in the digest of a store, in SQL.
    static func digest(ofColumn name: String) -> String {
        "iif(typeof(\(name)) = 'blob', 'x' || hex(\(name)), \(name))"
    }
}

extension RefundHistory {
    /// Reads the text of `storedCancellations`.
    init(stored: String, earlyReversals: Int64) {
        let cancellations = stored.split(separator: ",").map { part in
            let sides = part.split(separator: "=", omittingEmptySubsequences: false)
            return Cancellation(
                dateMilliseconds: sides.first.flatMap { Int64($0) },
                openMicros: sides.dropFirst().first.flatMap { Int64($0) })
        }
        self.init(cancellations: cancellations, earlyReversals: earlyReversals)
    }

    /// The cancellations as `date=micros`, joined with commas; missing parts are empty.
    var storedCancellations: String {
        cancellations.map { cancellation in
            let date = cancellation.dateMilliseconds.map { "\($0)" } ?? ""
            return date + "=" + (cancellation.openMicros.map { "\($0)" } ?? "")
        }.joined(separator: ",")
    }
}

/// An accepted id.
struct AcceptedNotification: LastingRow {
    typealias Key = RecordID

    /// The offset of the counted record.
    var offset: Int64 = 0

    static let table = MemoryTable(
        "notification_ids",
        "Accepted notifications and receipts with their repetitions, and transactions with a counted sale or consumption request.",
        hasIDs: true,
        digest: "hex(id)",
        [.init("id", .bytes, "first 16 bytes of SHA-256 of the id's tuple")] + columns.declared)

    static let columns: MemoryColumns<AcceptedNotification> = [
        .integer("offset", note: "of the counted record", { $0.offset }, { $0.offset = $1 })
    ]
}

/// The recorded answers of memory about one notification.
struct NotificationAnswers: Equatable, Sendable {
    /// The offset of the record that was accepted with its id; nil for a new id.
    var originalOffset: Int64?
    /// Whether the free trial of its line had no paid renewal yet.
    var hasOpenTrial = false
    /// The known refunds of its transactions, by index in the order of lookups.
    var histories: [Int: RefundHistory] = [:]
}

extension NotificationAnswers {
    /// Reads the content of `bytes`; nil for invalid bytes.
    init?(_ answers: [UInt8]) {
        var reader = AnswerReader(answers)
        guard let original = reader.optionalNumber(), let trial = reader.number() else {
            return nil
        }
        self.init(originalOffset: original, hasOpenTrial: trial == 1)
        while !reader.isAtEnd {
            guard let index = reader.number(), let early = reader.number(),
                let count = reader.number(), count >= 0
            else { return nil }
            var history = RefundHistory(earlyReversals: early)
            for _ in 0..<count {
                guard let date = reader.optionalNumber(), let micros = reader.optionalNumber(),
                    let hasCohort = reader.number()
                else { return nil }
                let cohort = hasCohort == 1 ? CohortRow(&reader) : nil
                guard hasCohort == 0 || cohort != nil else { return nil }
                history.cancellations.append(
                    .init(dateMilliseconds: date, openMicros: micros, cohort: cohort))
            }
            histories[Int(truncatingIfNeeded: index)] = history
        }
    }

    var isEmpty: Bool { originalOffset == nil && !hasOpenTrial && histories.isEmpty }

    var bytes: [UInt8] {
        var writer = AnswerWriter()
        writer.add(optional: originalOffset)
        writer.add(hasOpenTrial ? 1 : 0)
        for (index, history) in histories.sorted(by: { $0.key < $1.key }) {
            writer.add(index)
            writer.add(history.earlyReversals)
            writer.add(history.cancellations.count)
            for cancellation in history.cancellations {
                writer.add(optional: cancellation.dateMilliseconds)
                writer.add(optional: cancellation.openMicros)
                writer.add(cancellation.cohort == nil ? 0 : 1)
                cancellation.cohort?.write(to: &writer)
            }
        }
        return writer.bytes
    }
}
