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

/// What the store knows of notifications that were accepted: every id, every refund.
package protocol StoreNotificationMemory: AnyObject {
    /// Offset of the record by which an id was accepted and stored; nil when none was.
    func offset(of id: RecordID, partition: Int32) throws -> Int64?
    /// The stored history of a transaction's refunds; an empty one when there is none.
    func refunds(
        ofTransaction transactionID: TransactionID, partition: Int32
    ) throws -> RefundHistory
}
