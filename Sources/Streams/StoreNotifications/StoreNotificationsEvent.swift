import JSON

/// A verified and decoded notification or receipt. Its texts are ranges of its `NotificationChunk`'s bytes.
struct StoreNotificationsEvent {
    typealias Measure = StoreNotificationsKey.Measure

    /// The columns that a transaction adds to a row.
    struct Columns {
        var productID: Range<Int> = 0..<0
        var storefront: Range<Int> = 0..<0
        var currency: Range<Int> = 0..<0
        var offer: Range<Int> = 0..<0
        /// Empty without a transaction.
        var ownership: StaticString = ""
    }

    /// The instants that determine a cohort, in milliseconds since 1970; nil if the transaction does not contain them.
    struct CohortDates {
        /// The first purchase of its line.
        var firstPurchase: Int64?
        /// The purchase itself; for a refund, the revocation.
        var instant: Int64?
    }

    /// The effect of a purchase or a renewal on the free trial of its line.
    struct TrialStep {
        enum Kind {
            /// A purchase as a free trial.
            case trial
            /// A purchase without a free trial.
            case purchase
            case paidRenewal
        }

        var line: TransactionID
        var kind: Kind
    }

    /// The price of a sale in version 2.
    struct Sale {
        /// Thousandths of the currency's unit; 0 if missing.
        var price: Int64
        /// Whether it has both a price and a currency.
        var isPriced: Bool
    }

    /// A refund in version 2.
    struct Refund {
        var transactionID: TransactionID?
        /// Milliseconds since 1970; nil if missing.
        var revocationDate: Int64?
        /// Thousandths of the currency's unit.
        var price: Int64
        /// The refunded part of the price in thousandths of a percent, 0 to 100,000.
        var percentage: Int64
        /// The first purchase of its line, in milliseconds since 1970; nil if missing.
        var firstPurchaseDate: Int64?
    }

    /// A cancelled transaction in version 1 and receipts.
    struct Cancellation {
        var transactionID: TransactionID
        var dateMilliseconds: Int64
        /// Whether an upgrade ended it; the customer did not request a refund.
        var isUpgraded: Bool
        /// The first purchase of its line, in milliseconds since 1970; nil if missing.
        var firstPurchaseDate: Int64?
        var columns: Columns
    }

    /// The effect of the event on the numbers.
    enum Effect {
        /// Counts in a measure, and optionally in a second one.
        case count(Columns, Measure, Measure?, Sale? = nil, CohortDates = .init(), TrialStep? = nil)
        /// Counts in the measure; in the measure of refunds only if the refund is new.
        case refund(Columns, Measure, Refund)
        /// Counts in the measure, and reverses a refund of the transaction.
        case reversal(Columns, Measure, transactionID: TransactionID?)
        /// Counts each cancellation that was not counted earlier.
        case cancellations([Cancellation])
    }

    var id: RecordID
    /// Identifies a transaction's sale or consumption request, because the store sends some of them again under another
    /// id. Nil for other events, and without a transaction.
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

/// The reason why a record is kept instead of counted.
enum NotificationRefusal: Error {
    case rejected(Rejection)
    /// The origin is not verified: the member, and its fault.
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

/// The ownership of a purchase. The store also sends purchases of family members and assigned seats, so paid purchases
/// have separate rows.
package enum Ownership {
    private static let words: [(word: StaticString, column: StaticString)] = [
        ("PURCHASED", purchased), ("FAMILY_SHARED", "family"), ("ASSIGNED", "assigned"),
    ]

    /// A customer paid for it; also the value for transactions without the field.
    package static let purchased: StaticString = "purchased"

    static func column(_ word: UnsafeRawBufferPointer?) -> StaticString {
        guard let word else { return purchased }
        return words.first { word.equals($0.word) }?.column ?? "other"
    }
}

/// The App Store's id of a transaction, or of a line of purchases, which has the id of its first transaction.
///
/// Ids are numbers so far; a JSON number and the string with its digits are the same id.
enum TransactionID: Hashable, Sendable {
    case number(Int64)
    /// Any other text, in UTF-8.
    case text([UInt8])

    /// Reads an id from a text. Digits with a leading zero, and digits beyond 64 bits, stay a text.
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
    /// The order in which ids are stored.
    static func < (one: TransactionID, other: TransactionID) -> Bool {
        switch (one, other) {
        case (.number(let one), .number(let other)): one < other
        case (.number, .text): true
        case (.text, .number): false
        case (.text(let one), .text(let other)): one.lexicographicallyPrecedes(other)
        }
    }
}
