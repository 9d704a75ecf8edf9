/// A notification or receipt that was verified and decoded. Its texts are ranges of the bytes of its
/// `NotificationChunk`.
struct StoreNotificationEvent {
    typealias Measure = StoreNotificationsKey.Measure

    /// The columns of a row that a transaction gives.
    struct Columns {
        var productID: Range<Int> = 0..<0
        var storefront: Range<Int> = 0..<0
        var currency: Range<Int> = 0..<0
        var offer: Range<Int> = 0..<0
        /// Empty where there is no transaction.
        var ownership: StaticString = ""
    }

    /// A refund as version 2 tells it.
    struct Refund {
        /// Nil when it names no transaction.
        var transactionID: TransactionID?
        /// Milliseconds since 1970; nil when absent.
        var revocationDate: Int64?
        /// Thousandths of the currency's unit.
        var price: Int64
        /// Part of the price in thousandths of a percent, 0 to 100,000.
        var percentage: Int64
    }

    /// A cancelled transaction as version 1 and receipts list it.
    struct Cancellation {
        var transactionID: TransactionID
        /// Milliseconds since 1970.
        var dateMilliseconds: Int64
        /// Whether an upgrade ended it: nobody asked for money back.
        var isUpgraded: Bool
        var columns: Columns
    }

    /// What the event does to the numbers.
    enum Effect {
        /// Counts in a measure, and perhaps in a second one; `grossPrice` in thousandths of the unit.
        case count(Columns, Measure, Measure?, grossPrice: Int64)
        /// Counts in the measure; in that of refunds unless the refund was counted before.
        case refund(Columns, Measure, Refund)
        /// Counts in the measure, and takes a refund of the transaction back.
        case reversal(Columns, Measure, transactionID: TransactionID?)
        /// Counts each that was not counted before.
        case cancellations([Cancellation])
    }

    var id: RecordID
    var environment: AppStoreEnvironment
    var bundleID: Range<Int>
    var effect: Effect
}

/// Some records of a batch, decoded together, with the texts of their events.
struct NotificationChunk: Sendable {
    /// A record with what was read of it.
    struct Item: Sendable {
        var countedType: StaticString
        var event: Result<StoreNotificationEvent, NotificationRefusal>
    }

    var bytes: [UInt8] = []
    var items: [Item] = []
}
