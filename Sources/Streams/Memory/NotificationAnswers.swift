/// What is noted of a memory's answers about one notification.
package struct NotificationAnswers: Equatable, Sendable {
    /// Where its id was accepted before; nil for a new one.
    package var originalOffset: Int64?
    /// The refunds that were known of its transactions, by their place among those asked for.
    package var histories: [Int: RefundHistory]

    /// Takes answers; by default those of a memory of nothing.
    package init(originalOffset: Int64? = nil, histories: [Int: RefundHistory] = [:]) {
        self.originalOffset = originalOffset
        self.histories = histories
    }

    /// Reads what `bytes` wrote; nil for what is no such thing.
    package init?(_ answers: [UInt8]) {
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

    /// True when there is nothing to note.
    var isEmpty: Bool { originalOffset == nil && histories.isEmpty }

    /// The answers, the histories in order of their places.
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
