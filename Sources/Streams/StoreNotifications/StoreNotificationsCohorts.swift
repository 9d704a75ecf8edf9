import EventLog

// The value of a day's customers after a number of days: the rows of `cohorts`, and the memory for them.

/// Whole days since the first purchase of a line, in bins. The name of a bin is its last day.
package struct CohortAge: ColumnWord, Equatable {
    /// The last days of the bins; one more bin contains later days.
    private static let lastDays: [Int64] = [0, 1, 3, 7, 14, 30, 60, 90, 180, 365]
    /// The names of the bins, then the name of `none`.
    private static let names: [StaticString] = [
        "0", "1", "3", "7", "14", "30", "60", "90", "180", "365", "+", "",
    ]
    private static let millisecondsPerDay: Int64 = 86_400_000

    /// In order.
    package static let all = (0...lastDays.count).map { CohortAge(bin: UInt8($0)) }

    /// The last whole day of its bin; nil for the open-ended bin.
    package var lastDay: Int64? {
        Self.lastDays.indices.contains(Int(bin)) ? Self.lastDays[Int(bin)] : nil
    }

    /// For rows without a cohort.
    static let none = CohortAge(bin: UInt8(names.count - 1))

    private let bin: UInt8

    private init(bin: UInt8) { self.bin = bin }

    /// The age at an instant, in milliseconds since 1970; 0 before the first purchase.
    init(at instant: Int64, since firstPurchase: Int64) {
        let (difference, overflow) = instant.subtractingReportingOverflow(firstPurchase)
        let elapsed = overflow ? (instant < firstPurchase ? 0 : .max) : difference
        let days = elapsed / Self.millisecondsPerDay
        bin = UInt8(Self.lastDays.firstIndex { days <= $0 } ?? Self.lastDays.count)
    }

    /// Nil for an unknown name.
    fileprivate init?(name: String) {
        guard let bin = Self.names.firstIndex(where: { "\($0)" == name }) else { return nil }
        self.init(bin: UInt8(bin))
    }

    package var name: StaticString { Self.names[Int(bin)] }
}

/// A row of `cohorts` in memory: the row that got a refund's amount.
struct CohortRow: Equatable, Sendable {
    /// The first hour of the day.
    var cohort: Hour
    var age: CohortAge
    /// Bundle, product, storefront, currency, offer.
    var texts: [String]
}

extension CohortRow {
    private static let textCount = 5

    init(_ key: CohortsKey, cohort: Hour, _ symbols: borrowing SymbolTable) {
        self.cohort = cohort
        age = key.age
        texts = []
        for symbol in [key.bundleID, key.productID, key.storefront, key.currency, key.offer] {
            texts.append(symbols.text(symbol))
        }
    }

    func key(_ symbols: inout SymbolTable) -> CohortsKey {
        let parts = texts.map { symbols.intern($0) }
        return CohortsKey(
            age: age, bundleID: parts[0], productID: parts[1], storefront: parts[2],
            currency: parts[3], offer: parts[4])
    }

    func write(to writer: inout AnswerWriter) {
        writer.add(cohort.hoursSince1970)
        for text in ["\(age.name)"] + texts { writer.add(text) }
    }

    init?(_ reader: inout AnswerReader) {
        guard let hours = reader.number(), let name = reader.text(),
            let age = CohortAge(name: name)
        else { return nil }
        texts = []
        for _ in 0..<Self.textCount {
            guard let text = reader.text() else { return nil }
            texts.append(text)
        }
        cohort = Hour(hoursSince1970: hours)
        self.age = age
    }
}

/// A line of purchases that began with a free trial.
struct TrialLine: LastingRow {
    typealias Key = TransactionID

    /// Whether no paid renewal has followed.
    var isOpen = false

    static let table = MemoryTable(
        "trial_lines", "Subscription lines that have or had a free trial as their latest purchase.",
        digest: """
            'trial ' || \(TransactionID.digest(ofColumn: "original_transaction_id"))
              || ' ' || is_open
            """,
        [
            .init(
                "original_transaction_id", .integerOrBytes,
                "a number, or the bytes of a text that is not a number")
        ] + columns.declared)

    static let columns: MemoryColumns<TrialLine> = [
        .integer(
            "is_open",
            note: "1: the latest purchase was a free trial, and no paid one followed; otherwise 0",
            { $0.isOpen ? 1 : 0 }, { $0.isOpen = $1 == 1 })
    ]
}

extension CohortsKey.Measure {
    /// The measure that counts a notification in its cohort; nil for most.
    init?(_ measure: StoreNotificationsKey.Measure) {
        switch measure {
        case .initialBuys, .oneTimePurchases: self = .buyers
        case .renewals, .recoveries: self = .renewals
        case .expirationsVoluntary, .expirationsBilling, .expirationsPrice, .expirationsOther:
            self = .expirations
        case .refunds: self = .refunds
        default: return nil
        }
    }
}

extension StoreNotificationsFold {
    /// Counts a purchase, a renewal or an expiration in its cohort.
    ///
    /// - Parameters:
    ///   - gross: in millionths of the unit.
    ///   - key: the key of its row in `store-notifications`.
    func addToCohorts(
        _ measure: StoreNotificationsKey.Measure, _ secondMeasure: StoreNotificationsKey.Measure?,
        gross: Int64, _ step: StoreNotificationsEvent.TrialStep?,
        _ dates: StoreNotificationsEvent.CohortDates, _ key: StoreNotificationsKey,
        at position: FoldPosition
    ) throws {
        let counted = CohortsKey.Measure(measure)
        let adds = counted != nil || gross != 0
        guard adds || step != nil, isOfCohorts(key) else { return }
        guard let (cohort, age) = dates.cohort else {
            if adds { countUndated(key, position) }
            return
        }
        let isConversion = try step.map { try endsTrial($0, position.partition) } ?? false
        guard adds else { return }
        let row = cohorts.row(CohortsKey(key, age), at: position, hour: cohort)
        if let counted { cohorts.count(counted, row: row) }
        if secondMeasure == .trials { cohorts.count(.trials, row: row) }
        if isConversion { cohorts.count(.trialConversions, row: row) }
        cohorts.add(gross, to: .grossMicros, row: row)
    }

    /// Counts a refund in its cohort.
    ///
    /// - Parameters:
    ///   - isCounted: false if only the amount counts, because the event has another measure.
    ///   - micros: in millionths of the unit.
    /// - Returns: the row that got the amount; nil without an amount.
    func addRefundToCohorts(
        isCounted: Bool, micros: Int64, _ dates: StoreNotificationsEvent.CohortDates,
        _ key: StoreNotificationsKey, at position: FoldPosition
    ) -> CohortRow? {
        guard isCounted || micros != 0, isOfCohorts(key) else { return nil }
        guard let (cohort, age) = dates.cohort else {
            countUndated(key, position)
            return nil
        }
        let cohortKey = CohortsKey(key, age)
        let row = cohorts.row(cohortKey, at: position, hour: cohort)
        if isCounted { cohorts.count(.refunds, row: row) }
        cohorts.add(micros, to: .refundedMicros, row: row)
        return micros == 0 ? nil : CohortRow(cohortKey, cohort: cohort, state.effects.symbols)
    }

    /// Subtracts a refund's amount from its row.
    func takeBackFromCohorts(_ micros: Int64, _ cohort: CohortRow, _ position: FoldPosition) {
        let row = cohortsTakenBack.row(
            cohort.key(&state.effects.symbols), at: position, hour: cohort.cohort)
        cohortsTakenBack.add(-micros, to: .refundedMicros, row: row)
    }

    /// Whether the customer paid or would have paid: excludes sandboxes, and purchases that were given to the customer.
    private func isOfCohorts(_ key: StoreNotificationsKey) -> Bool {
        key.environment == state.effects.symbols.intern(AppStoreEnvironment.production.name)
            && key.ownership == state.effects.symbols.intern(Ownership.purchased)
    }

    private func countUndated(_ key: StoreNotificationsKey, _ position: FoldPosition) {
        let key = CohortsKey(key, .none)
        cohorts.count(.undated, row: cohorts.row(key, at: position, hour: .unknown))
    }

    /// Records the state of a line's free trial; returns whether the step converts an open one.
    private func endsTrial(
        _ step: StoreNotificationsEvent.TrialStep, _ partition: Int32
    ) throws -> Bool {
        let wasOpen = try hasOpenTrial(step.line, partition)
        let isOpen = step.kind == .trial
        if isOpen != wasOpen { trials.write(TrialLine(isOpen: isOpen), step.line, partition) }
        return wasOpen && step.kind == .paidRenewal
    }
}

extension CohortsKey {
    /// The cohort row of a notification with a row in `store-notifications`.
    fileprivate init(_ key: StoreNotificationsKey, _ age: CohortAge) {
        self.init(
            age: age, bundleID: key.bundleID, productID: key.productID,
            storefront: key.storefront, currency: key.currency, offer: key.offer)
    }
}

extension StoreNotificationsEvent.CohortDates {
    /// The first hour of the day of the first purchase, and the age; nil if a date is missing.
    fileprivate var cohort: (Hour, CohortAge)? {
        guard let firstPurchase, let instant else { return nil }
        return (
            Hour(containing: firstPurchase).startOfDay, CohortAge(at: instant, since: firstPurchase)
        )
    }
}
