import EventLog
import Signatures

package final class StoreNotificationsFold: LastingFold {
    package let state: LastingState
    private let decoders: LentTools<StoreNotificationsDecoder>
    /// Memory's answers about the current record.
    private var answers = NotificationAnswers()
    private var askedTransactions: [TransactionID] = []

    package let notifications = DeltaTable<StoreNotificationsKey>()
    /// The amounts that reversals subtract from `store-notifications`. They are separate from additions, because an
    /// overflow within the batch shows only if both directions are known.
    package let takenBack = DeltaTable<StoreNotificationsKey>()
    let cohorts = DeltaTable<CohortsKey>()
    /// The amounts that reversals subtract from `cohorts`.
    let cohortsTakenBack = DeltaTable<CohortsKey>()
    package var deltas: [Deltas] { [notifications, takenBack, cohorts, cohortsTakenBack] }
    private let accepted: LastingRows<AcceptedNotification>
    private let refunds: LastingRows<RefundHistory>
    let trials: LastingRows<TrialLine>
    /// True once a single amount exceeds 64 bits.
    private var hasAmountOverflowed = false

    /// Creates a fold that verifies on one thread for each decoder. It requires at least one decoder, and owns them
    /// from now on; `memory` is the store's memory.
    package init(
        topic: String, decoders: [StoreNotificationsDecoder], memory: any FoldMemory
    ) {
        self.decoders = LentTools(decoders, label: "weir.notifications")
        state = LastingState(topic: topic, memory: memory)
        accepted = state.rows(of: AcceptedNotification.self)
        refunds = state.rows(of: RefundHistory.self)
        trials = state.rows(of: TrialLine.self)
    }

    package var hasOverflowed: Bool {
        hasAmountOverflowed || deltas.contains { $0.hasOverflowed }
    }

    package func prepare(_ batch: RecordBatch) -> PreparedNotifications {
        PreparedNotifications(batch, decoders: decoders)
    }

    package func verifications(in prepared: PreparedNotifications) -> Int {
        prepared.verifications
    }

    package func take(
        _ record: RecordView, at position: FoldPosition, of prepared: PreparedNotifications
    ) throws -> (Outcome, StaticString) {
        let (item, bytes) = prepared.item(position.index)
        switch item.event {
        case .failure(let refusal):
            refuse(record, at: position, refusal.cause)
            return (refusal.outcome, item.countedType)
        case .success(let event):
            let isNew = try admit(event, at: position)
            if isNew { try add(event, at: position, bytes) }
            if !answers.isEmpty { state.effects.remember(answers.bytes, about: position) }
            return (isNew ? .accepted : .duplicates, item.countedType)
        }
    }

    package static func originalOffset(in answers: [UInt8]) -> Int64? {
        NotificationAnswers(answers)?.originalOffset
    }

    package func clear() {
        clearTables()
        hasAmountOverflowed = false
    }

    /// Whether an event is new. Afterwards its ids are known, and `answers` belongs to its record.
    private func admit(_ event: StoreNotificationsEvent, at position: FoldPosition) throws -> Bool {
        askedTransactions.removeAll(keepingCapacity: true)
        let isKnownID: Bool
        if let recalled = state.recalled {
            answers =
                recalled.answers(about: position).flatMap { NotificationAnswers($0) }
                ?? NotificationAnswers()
            isKnownID = answers.originalOffset != nil
            // Recalled records are not compared with each other.
            refunds.removeAll()
            trials.removeAll()
        } else {
            let earlier = try accepted.row(event.id, position.partition)?.offset
            isKnownID = earlier != nil
            answers = NotificationAnswers(
                originalOffset: try earlier
                    ?? event.transactionEventID.flatMap {
                        try accepted.row($0, position.partition)?.offset
                    })
        }
        // The new id of a repeated sale or request is remembered too.
        if !isKnownID {
            let offset = answers.originalOffset ?? position.offset
            accepted.write(AcceptedNotification(offset: offset), event.id, position.partition)
        }
        guard answers.originalOffset == nil else { return false }
        if let id = event.transactionEventID {
            accepted.write(AcceptedNotification(offset: position.offset), id, position.partition)
        }
        return true
    }
}

// MARK: Adding events

extension StoreNotificationsFold {
    private typealias Event = StoreNotificationsEvent

    private func add(
        _ event: StoreNotificationsEvent, at position: FoldPosition, _ bytes: [UInt8]
    ) throws {
        switch event.effect {
        case .count(
            let columns, let measure, let secondMeasure, let sale, let dates, let trialStep):
            let key = key(event, columns, bytes)
            let row = notifications.row(key, at: position)
            notifications.count(measure, row: row)
            if let secondMeasure { notifications.count(secondMeasure, row: row) }
            if let sale, !sale.isPriced { notifications.count(.unpricedSales, row: row) }
            let micros = micros(Int128(sale?.price ?? 0) * Self.microsInThousandth)
            notifications.add(micros, to: .grossMicros, row: row)
            try addToCohorts(
                measure, secondMeasure, gross: micros, trialStep, dates, key, at: position)
        case .refund(let columns, let measure, let refund):
            try add(refund, measure, to: key(event, columns, bytes), at: position)
        case .reversal(let columns, let measure, let transactionID):
            let key = key(event, columns, bytes)
            notifications.count(measure, row: notifications.row(key, at: position))
            guard let transactionID else { return }
            var history = try history(of: transactionID, position.partition)
            let (micros, cohort) = history.reverse()
            refunds.write(history, transactionID, position.partition)
            guard micros != 0 else { return }
            takenBack.add(-micros, to: .refundedMicros, row: takenBack.row(key, at: position))
            if let cohort { takeBackFromCohorts(micros, cohort, position) }
        case .cancellations(let cancellations):
            for cancellation in cancellations {
                try add(cancellation, to: key(event, cancellation.columns, bytes), at: position)
            }
        }
    }

    private func add(
        _ refund: Event.Refund, _ measure: Event.Measure, to key: StoreNotificationsKey,
        at position: FoldPosition
    ) throws {
        // Truncates fractions of a micro.
        let exact =
            Int128(refund.price) * Self.microsInThousandth * Int128(refund.percentage) / 100_000
        let micros: Int64
        var history: RefundHistory?
        if let transactionID = refund.transactionID {
            var earlier = try self.history(of: transactionID, position.partition)
            guard !earlier.counts(refund.revocationDate) else {
                // A repeated refund only counts its unknown subtype.
                if measure == .other {
                    notifications.count(measure, row: notifications.row(key, at: position))
                }
                return
            }
            // An amount that is not added must not overflow.
            micros = earlier.refund(
                dateMilliseconds: refund.revocationDate,
                micros: earlier.earlyReversals > 0 ? 0 : self.micros(exact))
            history = earlier
        } else {
            micros = self.micros(exact)
        }
        let row = notifications.row(key, at: position)
        notifications.count(measure, row: row)
        notifications.add(micros, to: .refundedMicros, row: row)
        let cohort = addRefundToCohorts(
            isCounted: measure == .refunds, micros: micros,
            .init(firstPurchase: refund.firstPurchaseDate, instant: refund.revocationDate), key,
            at: position)
        guard let transactionID = refund.transactionID, var history else { return }
        if let cohort { history.setCohort(cohort) }
        refunds.write(history, transactionID, position.partition)
    }

    private func add(
        _ cancellation: Event.Cancellation, to key: StoreNotificationsKey, at position: FoldPosition
    ) throws {
        var history = try history(of: cancellation.transactionID, position.partition)
        guard !history.counts(cancellation.dateMilliseconds) else { return }
        if cancellation.isUpgraded {
            history.upgrade(dateMilliseconds: cancellation.dateMilliseconds)
        } else {
            // Version 1 has no prices.
            _ = history.refund(dateMilliseconds: cancellation.dateMilliseconds, micros: 0)
        }
        refunds.write(history, cancellation.transactionID, position.partition)
        notifications.count(
            cancellation.isUpgraded ? .upgradeCancellations : .refunds,
            row: notifications.row(key, at: position))
        guard !cancellation.isUpgraded else { return }
        _ = addRefundToCohorts(
            isCounted: true, micros: 0,
            .init(
                firstPurchase: cancellation.firstPurchaseDate,
                instant: cancellation.dateMilliseconds),
            key, at: position)
    }

    /// Whether the latest purchase of a line was a free trial without a paid renewal after it.
    func hasOpenTrial(_ line: TransactionID, _ partition: Int32) throws -> Bool {
        if state.recalled == nil {
            answers.hasOpenTrial = try trials.row(line, partition)?.isOpen ?? false
        }
        return answers.hasOpenTrial
    }

    private func history(
        of transactionID: TransactionID, _ partition: Int32
    ) throws -> RefundHistory {
        let asked = askedTransactions.firstIndex(of: transactionID)
        if asked == nil { askedTransactions.append(transactionID) }
        let index = asked ?? askedTransactions.count - 1
        guard state.recalled == nil else {
            return refunds.written(transactionID, partition) ?? answers.histories[index]
                ?? RefundHistory()
        }
        let history = try refunds.row(transactionID, partition) ?? RefundHistory()
        if asked == nil, history != RefundHistory() { answers.histories[index] = history }
        return history
    }

    /// A price is in thousandths of the unit, for every currency.
    private static var microsInThousandth: Int128 { 1000 }

    private func micros(_ exact: Int128) -> Int64 {
        guard let micros = Int64(exactly: exact) else {
            hasAmountOverflowed = true
            return 0
        }
        return micros
    }

    private func key(
        _ event: StoreNotificationsEvent, _ columns: Event.Columns, _ bytes: [UInt8]
    ) -> StoreNotificationsKey {
        bytes.withUnsafeBytes { bytes in
            func symbol(_ range: Range<Int>) -> Symbol {
                state.effects.symbols.intern(UnsafeRawBufferPointer(rebasing: bytes[range]))
            }
            return StoreNotificationsKey(
                environment: state.effects.symbols.intern(event.environment.name),
                bundleID: symbol(event.bundleID), productID: symbol(columns.productID),
                storefront: symbol(columns.storefront), currency: symbol(columns.currency),
                offer: symbol(columns.offer),
                ownership: state.effects.symbols.intern(columns.ownership))
        }
    }
}
