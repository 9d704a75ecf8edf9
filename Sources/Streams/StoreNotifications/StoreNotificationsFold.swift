import EventLog
import Signatures

package final class StoreNotificationsFold: StreamFold {
    private let decoders: LentTools<StoreNotificationsDecoder>
    private let memory: any FoldMemory
    private var prepared: PreparedNotifications?
    private var watermarks: [Int32: Int64] = [:]
    private var recalled: RecalledMemory?
    /// What memory answered about the record being folded.
    private var answers = NotificationAnswers()
    private var askedTransactions: [TransactionID] = []

    package internal(set) var effects: FoldEffects
    package let notifications = DeltaTable<StoreNotificationsKey>()
    /// What reversals take from the sums of `store-notifications`; kept apart from what the batch
    /// adds, because an overflow within the batch shows only when both directions are known.
    package let takenBack = DeltaTable<StoreNotificationsKey>()
    let cohorts = DeltaTable<CohortsKey>()
    /// The same of the sums of `cohorts`.
    let cohortsTakenBack = DeltaTable<CohortsKey>()
    package var deltas: [Deltas] { [notifications, takenBack, cohorts, cohortsTakenBack] }
    /// The ids that the batch saw first, with the offsets of what counts.
    private var admitted: [Int32: [RecordID: Int64]] = [:]
    /// The refunds of transactions that the batch changed, by transaction id.
    private var refunds: [Int32: [TransactionID: RefundHistory]] = [:]
    /// The lines of which the batch opened or closed a free trial, with whether one is open.
    var trials: [Int32: [TransactionID: Bool]] = [:]
    /// True once an amount alone does not fit 64 bits.
    private var hasAmountOverflowed = false

    /// Makes a fold that verifies on as many threads as there are decoders, which are its own from now
    /// on and of which there has to be one; `memory` is what the store knows.
    package init(
        topic: String, decoders: [StoreNotificationsDecoder], memory: any FoldMemory
    ) {
        self.decoders = LentTools(decoders, label: "weir.notifications")
        self.memory = memory
        effects = FoldEffects(topic: topic)
    }

    package var hasOverflowed: Bool {
        hasAmountOverflowed || deltas.contains { $0.hasOverflowed }
    }

    package func restore(
        partition: Int32, watermarkMilliseconds: Int64, from memory: any FoldMemory
    ) {
        watermarks[partition] = watermarkMilliseconds
    }

    package func writeMemory(to writer: any FoldMemoryWriter) throws {
        for (partition, ids) in admitted {
            // In order of the ids, so that neighbours on disk are written together.
            for (id, offset) in ids.sorted(by: { $0.key < $1.key }) {
                try writer.write([.id(id), .integer(offset)], to: Self.ids, partition: partition)
            }
        }
        for (partition, histories) in refunds {
            for (transaction, history) in histories.sorted(by: { $0.key < $1.key }) {
                try writer.write(
                    [transaction.memoryValue] + history.row, to: RefundHistory.table,
                    partition: partition)
            }
        }
        for (partition, lines) in trials {
            for (line, isOpen) in lines.sorted(by: { $0.key < $1.key }) {
                try writer.write(
                    [line.memoryValue, .integer(isOpen ? 1 : 0)], to: TrialLines.table,
                    partition: partition)
            }
        }
    }

    package func forget(partition: Int32) {
        watermarks[partition] = nil
    }

    package func prepare(_ batch: RecordBatch) -> PreparedNotifications {
        PreparedNotifications(
            batch, decoders: decoders)
    }

    package func verifications(in prepared: PreparedNotifications) -> Int {
        prepared.verifications
    }

    package func begin(_ prepared: PreparedNotifications) {
        prepared.wait()
        self.prepared = prepared
    }

    package func fold(_ index: Int) throws {
        guard let prepared else { return }
        let (item, bytes) = prepared.item(index)
        let place = advance(prepared.batch[index], index)
        func count(_ outcome: Outcome) {
            effects.count(outcome, at: place, type: item.countedType)
        }
        switch item.event {
        case .failure(let refusal):
            refuse(index, refusal.cause)
            count(refusal.outcome)
        case .success(let event):
            if try admit(event, at: place) {
                count(.accepted)
                try add(event, at: place, bytes)
            } else {
                count(.duplicates)
            }
            if !answers.isEmpty { effects.note(answers.bytes, about: place) }
        }
    }

    package func rejectOverflow(_ index: Int) {
        guard let prepared else { return }
        clear()
        let place = advance(prepared.batch[index], index)
        refuse(index, .rejected(.overflow))
        effects.count(.rejected, at: place, type: prepared.item(index).item.countedType)
    }

    package func recall(from memory: RecalledMemory) {
        recalled = memory
    }

    package static func originalOffset(in answers: [UInt8]) -> Int64? {
        NotificationAnswers(answers)?.originalOffset
    }

    package func clear() {
        let keepsSymbols = effects.removeAll()
        for table in deltas { table.removeAll(keepingRows: keepsSymbols) }
        admitted.removeAll(keepingCapacity: true)
        refunds.removeAll(keepingCapacity: true)
        trials.removeAll(keepingCapacity: true)
        hasAmountOverflowed = false
    }

    private func advance(_ record: RecordView, _ index: Int) -> FoldPosition {
        let place = FoldPosition(record, index: index)
        let watermark = max(watermarks[place.partition] ?? 0, place.timestampMilliseconds)
        watermarks[place.partition] = watermark
        effects.advance(record, in: place.hour, watermarkMilliseconds: watermark)
        return place
    }

    /// Whether an event is new. From then on its ids are known, and the answers are those about its record.
    private func admit(_ event: StoreNotificationsEvent, at place: FoldPosition) throws -> Bool {
        askedTransactions.removeAll(keepingCapacity: true)
        let isKnownID: Bool
        if let recalled {
            answers =
                recalled.answers(partition: place.partition, offset: place.offset)
                .flatMap { NotificationAnswers($0) } ?? NotificationAnswers()
            isKnownID = answers.originalOffset != nil
            // Recalled records are not compared with each other.
            refunds.removeAll(keepingCapacity: true)
            trials.removeAll(keepingCapacity: true)
        } else {
            let known = try offset(of: event.id, place.partition)
            isKnownID = known != nil
            answers = NotificationAnswers(
                originalOffset: try known
                    ?? event.transactionEventID.flatMap { try offset(of: $0, place.partition) })
        }
        // Of a sale or a request that comes again under another id, that id was seen too.
        if !isKnownID {
            admitted[place.partition, default: [:]][event.id] =
                answers.originalOffset ?? place.offset
        }
        guard answers.originalOffset == nil else { return false }
        if let id = event.transactionEventID {
            admitted[place.partition, default: [:]][id] = place.offset
        }
        return true
    }

    /// The offset at which an id was seen first; nil for a new one.
    private func offset(of id: RecordID, _ partition: Int32) throws -> Int64? {
        try admitted[partition]?[id]
            ?? memory.row(of: Self.ids, partition: partition, key: .id(id))?[0].integer
    }

    private func refuse(_ index: Int, _ cause: RefusedRecord.Cause) {
        guard let prepared else { return }
        let envelope = Envelope<StoreNotificationsEventType>(prepared.batch[index])
        effects.refuse(RefusedRecord(index: index, type: envelope.statedType, cause: cause))
    }
}

// MARK: What an event adds

extension StoreNotificationsFold {
    private typealias Event = StoreNotificationsEvent

    private func add(
        _ event: StoreNotificationsEvent, at place: FoldPosition, _ bytes: [UInt8]
    ) throws {
        switch event.effect {
        case .count(
            let columns, let measure, let secondMeasure, let sale, let dates, let trialStep):
            let key = key(event, columns, bytes)
            let row = notifications.row(key, at: place)
            notifications.count(measure, row: row)
            if let secondMeasure { notifications.count(secondMeasure, row: row) }
            if let sale, !sale.isPriced { notifications.count(.unpricedSales, row: row) }
            let micros = micros(Int128(sale?.price ?? 0) * Self.microsInThousandth)
            notifications.add(micros, to: .grossMicros, row: row)
            try addToCohorts(
                measure, secondMeasure, gross: micros, trialStep, dates, key, at: place)
        case .refund(let columns, let measure, let refund):
            try add(refund, measure, to: key(event, columns, bytes), at: place)
        case .reversal(let columns, let measure, let transactionID):
            let key = key(event, columns, bytes)
            notifications.count(measure, row: notifications.row(key, at: place))
            guard let transactionID else { return }
            var history = try history(of: transactionID, place.partition)
            let (micros, cohort) = history.reverse()
            refunds[place.partition, default: [:]][transactionID] = history
            guard micros != 0 else { return }
            takenBack.add(-micros, to: .refundedMicros, row: takenBack.row(key, at: place))
            if let cohort { takeBackFromCohorts(micros, cohort, place.partition) }
        case .cancellations(let cancellations):
            for cancellation in cancellations {
                try add(cancellation, to: key(event, cancellation.columns, bytes), at: place)
            }
        }
    }

    private func add(
        _ refund: Event.Refund, _ measure: Event.Measure, to key: StoreNotificationsKey,
        at place: FoldPosition
    ) throws {
        // Fractions of a micro are cut off.
        let exact =
            Int128(refund.price) * Self.microsInThousandth * Int128(refund.percentage) / 100_000
        let micros: Int64
        var history: RefundHistory?
        if let transactionID = refund.transactionID {
            var known = try self.history(of: transactionID, place.partition)
            guard !known.counts(refund.revocationDate) else {
                // Of a repeated refund only a strange subtype is news.
                if measure == .other {
                    notifications.count(measure, row: notifications.row(key, at: place))
                }
                return
            }
            // An amount that is added nowhere overflows nothing.
            micros = known.refund(
                dateMilliseconds: refund.revocationDate,
                micros: known.earlyReversals > 0 ? 0 : self.micros(exact))
            history = known
        } else {
            micros = self.micros(exact)
        }
        let row = notifications.row(key, at: place)
        notifications.count(measure, row: row)
        notifications.add(micros, to: .refundedMicros, row: row)
        let cohort = addRefundToCohorts(
            isCounted: measure == .refunds, micros: micros,
            .init(firstPurchase: refund.firstPurchaseDate, instant: refund.revocationDate), key,
            at: place)
        guard let transactionID = refund.transactionID else { return }
        if let cohort { history?.note(cohort) }
        refunds[place.partition, default: [:]][transactionID] = history
    }

    private func add(
        _ cancellation: Event.Cancellation, to key: StoreNotificationsKey, at place: FoldPosition
    ) throws {
        var history = try history(of: cancellation.transactionID, place.partition)
        guard !history.counts(cancellation.dateMilliseconds) else { return }
        if cancellation.isUpgraded {
            history.upgrade(dateMilliseconds: cancellation.dateMilliseconds)
        } else {
            // Version 1 knows no prices.
            _ = history.refund(dateMilliseconds: cancellation.dateMilliseconds, micros: 0)
        }
        refunds[place.partition, default: [:]][cancellation.transactionID] = history
        notifications.count(
            cancellation.isUpgraded ? .upgradeCancellations : .refunds,
            row: notifications.row(key, at: place))
        guard !cancellation.isUpgraded else { return }
        _ = addRefundToCohorts(
            isCounted: true, micros: 0,
            .init(
                firstPurchase: cancellation.firstPurchaseDate,
                instant: cancellation.dateMilliseconds),
            key, at: place)
    }

    /// Whether the latest purchase of a line was a free trial, and no paid renewal followed.
    func hasOpenTrial(_ line: TransactionID, _ partition: Int32) throws -> Bool {
        if recalled != nil { return answers.hasOpenTrial }
        let isOpen =
            try trials[partition]?[line]
            ?? memory.row(of: TrialLines.table, partition: partition, key: line.memoryValue)
            .map { $0[0].integer == 1 } ?? false
        answers.hasOpenTrial = isOpen
        return isOpen
    }

    private func history(
        of transactionID: TransactionID, _ partition: Int32
    ) throws -> RefundHistory {
        if let place = askedTransactions.firstIndex(of: transactionID) {
            return try refunds[partition]?[transactionID] ?? answer(place, transactionID, partition)
        }
        askedTransactions.append(transactionID)
        let place = askedTransactions.count - 1
        let history =
            try refunds[partition]?[transactionID] ?? answer(place, transactionID, partition)
        if recalled == nil, history != RefundHistory() { answers.histories[place] = history }
        return history
    }

    /// What memory knows of the refunds of a transaction; `place` among those that the record asks for.
    private func answer(
        _ place: Int, _ transactionID: TransactionID, _ partition: Int32
    ) throws -> RefundHistory {
        guard recalled == nil else { return answers.histories[place] ?? RefundHistory() }
        return try memory.row(
            of: RefundHistory.table, partition: partition, key: transactionID.memoryValue
        ).map(RefundHistory.init) ?? RefundHistory()
    }

    /// A price counts in thousandths of the unit, whatever the currency.
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
                effects.symbols.intern(UnsafeRawBufferPointer(rebasing: bytes[range]))
            }
            return StoreNotificationsKey(
                environment: effects.symbols.intern(event.environment.name),
                bundleID: symbol(event.bundleID), productID: symbol(columns.productID),
                storefront: symbol(columns.storefront), currency: symbol(columns.currency),
                offer: symbol(columns.offer),
                ownership: effects.symbols.intern(columns.ownership))
        }
    }
}
