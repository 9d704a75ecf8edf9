import JSON

/// A notification or receipt that was verified and decoded. Its texts are ranges of the bytes of its
/// `NotificationChunk`.
struct StoreNotificationsEvent {
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

    /// The instants that a cohort follows from, in milliseconds since 1970; nil where a transaction does not say
    /// them.
    struct CohortDates {
        /// When its line was bought first.
        var firstPurchase: Int64?
        /// When it was bought itself; of a refund, when it was revoked.
        var instant: Int64?
    }

    /// What a purchase or a renewal is to the free trial of its line.
    struct TrialStep {
        enum Kind {
            /// A purchase as a free trial.
            case trial
            /// A purchase that is none.
            case purchase
            case paidRenewal
        }

        var line: TransactionID
        var kind: Kind
    }

    /// What a sale of version 2 brought.
    struct Sale {
        /// Thousandths of the currency's unit; 0 without one.
        var price: Int64
        /// Whether it has both a price and a currency.
        var isPriced: Bool
    }

    /// A refund as version 2 tells it.
    struct Refund {
        var transactionID: TransactionID?
        /// Milliseconds since 1970; nil when absent.
        var revocationDate: Int64?
        /// Thousandths of the currency's unit.
        var price: Int64
        /// Part of the price in thousandths of a percent, 0 to 100,000.
        var percentage: Int64
        /// When its line was bought first, in milliseconds since 1970; nil when absent.
        var firstPurchaseDate: Int64?
    }

    /// A cancelled transaction as version 1 and receipts list it.
    struct Cancellation {
        var transactionID: TransactionID
        var dateMilliseconds: Int64
        /// Whether an upgrade ended it: nobody asked for money back.
        var isUpgraded: Bool
        /// When its line was bought first, in milliseconds since 1970; nil when absent.
        var firstPurchaseDate: Int64?
        var columns: Columns
    }

    /// What the event does to the numbers.
    enum Effect {
        /// Counts in a measure, and perhaps in a second one.
        case count(Columns, Measure, Measure?, Sale? = nil, CohortDates = .init(), TrialStep? = nil)
        /// Counts in the measure; in that of refunds unless the refund was counted before.
        case refund(Columns, Measure, Refund)
        /// Counts in the measure, and takes a refund of the transaction back.
        case reversal(Columns, Measure, transactionID: TransactionID?)
        /// Counts each that was not counted before.
        case cancellations([Cancellation])
    }

    var id: RecordID
    /// Tells a sale, or a consumption request, of a transaction from others: the store sends some of them again
    /// under another id. Nil for all other events, and without a transaction.
    var transactionEventID: RecordID?
    var environment: AppStoreEnvironment
    var bundleID: Range<Int>
    var effect: Effect
}

/// Some records of a batch, decoded together, with the texts of their events.
struct NotificationChunk: Sendable {
    struct Item: Sendable {
        var countedType: StaticString
        var event: Result<StoreNotificationsEvent, NotificationRefusal>
    }

    var bytes: [UInt8] = []
    var items: [Item] = []
}

/// Why a record is kept instead of counted.
enum NotificationRefusal: Error {
    case rejected(Rejection)
    /// It is not from whom it says it is: a member, and what is wrong with it.
    case untrusted(StaticString, StaticString)

    var cause: RefusedRecord.Cause {
        switch self {
        case .rejected(let rejection): .rejected(rejection)
        case .untrusted(let member, let explanation):
            .untrusted(detail: "\(member): \(explanation)")
        }
    }

    var outcome: Outcome {
        switch self {
        case .rejected: .rejected
        case .untrusted: .untrusted
        }
    }
}

/// Whom a purchase belongs to. The store sends purchases of family members and of assigned seats beside
/// those that somebody paid for, so that each has rows of its own.
package enum Ownership {
    private static let words: [(word: StaticString, column: StaticString)] = [
        ("PURCHASED", purchased), ("FAMILY_SHARED", "family"), ("ASSIGNED", "assigned"),
    ]

    /// What a customer paid for, and what a transaction is that does not say it.
    package static let purchased: StaticString = "purchased"

    static func column(_ word: UnsafeRawBufferPointer?) -> StaticString {
        guard let word else { return purchased }
        return words.first { word.equals($0.word) }?.column ?? "other"
    }
}

/// The App Store's id of a transaction, or of a line of purchases: that of its first transaction.
///
/// Ids are numbers so far; a JSON number and the string that has its digits are the same id.
enum TransactionID: Hashable, Sendable {
    case number(Int64)
    /// Any other text, in UTF-8.
    case text([UInt8])

    /// Reads a text that names an id, which is the id as it is written: digits with a zero in front of them,
    /// and digits beyond 64 bits, stay a text.
    init(_ text: UnsafeRawBufferPointer) {
        let hasZeroInFront = text.count > 1 && text.first == UInt8(ascii: "0")
        if !hasZeroInFront, case .number(let number) = Digits(text) {
            self = .number(number)
        } else {
            self = .text(Array(text))
        }
    }
}

extension TransactionID: Comparable {
    /// Whether an id comes before another one, in the order in which they are stored.
    static func < (one: TransactionID, other: TransactionID) -> Bool {
        switch (one, other) {
        case (.number(let one), .number(let other)): one < other
        case (.number, .text): true
        case (.text, .number): false
        case (.text(let one), .text(let other)): one.lexicographicallyPrecedes(other)
        }
    }
}
