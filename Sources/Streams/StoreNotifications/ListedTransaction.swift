import JSON

/// A transaction of a customer's history, as bodies of version 1 and receipts list it; valid as long as
/// the document.
struct ListedTransaction {
    let value: JSONValue
    let transactionID: TransactionID?
    /// The line of purchases that it belongs to.
    let originalTransactionID: TransactionID?
    /// Milliseconds since 1970.
    let purchaseMilliseconds: Int64?
    /// Milliseconds since 1970; nil for one that was not cancelled.
    var cancellationMilliseconds: Int64?
}

extension [ListedTransaction] {
    /// The first of those with the latest instant; nil when none has one.
    func firstNewest(by instant: KeyPath<ListedTransaction, Int64?>) -> ListedTransaction? {
        var newest: (milliseconds: Int64, transaction: ListedTransaction)?
        for transaction in self {
            guard let milliseconds = transaction[keyPath: instant] else { continue }
            if let newest, newest.milliseconds >= milliseconds { continue }
            newest = (milliseconds, transaction)
        }
        return newest?.transaction
    }
}

extension StoreNotificationDecoder {
    /// The transactions of a member: an array of them, or a single one.
    func listedTransactions(_ holder: JSONValue, _ name: StaticString) -> [ListedTransaction] {
        guard let member = holder.member(name) else { return [] }
        if member.isObject { return [listed(member)] }
        return faults.array(holder, name).compactMap { element in
            faults.object(element, name).map { listed($0) }
        }
    }

    private func listed(_ value: JSONValue) -> ListedTransaction {
        ListedTransaction(
            value: value, transactionID: transactionID(value, "transaction_id"),
            originalTransactionID: transactionID(value, "original_transaction_id"),
            purchaseMilliseconds: faults.optionalIdentifier(value, "purchase_date_ms"),
            cancellationMilliseconds: faults.optionalIdentifier(value, "cancellation_date_ms"))
    }

    /// Those that were cancelled, in their order.
    func cancellations(
        among transactions: [ListedTransaction]
    ) -> [StoreNotificationEvent.Cancellation] {
        transactions.compactMap { transaction in
            guard let date = transaction.cancellationMilliseconds else { return nil }
            if transaction.transactionID == nil {
                // One that is there and is no id has its own fault already.
                let found = transaction.value.member("transaction_id")
                if found.map({ $0.string?.isEmpty == true }) ?? true {
                    _ = faults.missing("transaction_id")
                }
            }
            return StoreNotificationEvent.Cancellation(
                transactionID: transaction.transactionID ?? .number(0), dateMilliseconds: date,
                isUpgraded: flag(transaction.value, "is_upgraded") == true,
                columns: columns(of: transaction))
        }
    }

    /// The columns of a transaction's row; version 1 knows neither storefront nor currency.
    func columns(of transaction: ListedTransaction) -> StoreNotificationEvent.Columns {
        StoreNotificationEvent.Columns(
            productID: keep(faults.optionalText(transaction.value, "product_id")),
            offer: offer(of: transaction.value),
            ownership: Ownership.column(
                faults.optionalText(transaction.value, "in_app_ownership_type")))
    }

    private func offer(of transaction: JSONValue) -> Range<Int> {
        let promotional = faults.optionalText(transaction, "promotional_offer_id")
        let code = faults.optionalText(transaction, "offer_code_ref_name")
        let isIntroductory = flag(transaction, "is_in_intro_offer_period") == true
        let isTrial = flag(transaction, "is_trial_period") == true
        if let promotional, !promotional.isEmpty { return keepOffer("promotional", promotional) }
        if let code, !code.isEmpty { return keepOffer("code", code) }
        return isIntroductory || isTrial ? keep("introductory") : 0..<0
    }

    /// A flag, which Apple writes as text, and here and there as a number; nil when absent.
    func flag(_ object: JSONValue, _ name: StaticString) -> Bool? {
        guard let value = object.member(name) else { return nil }
        if let boolean = value.boolean { return boolean }
        if case .exact(let number)? = value.number?.asInteger {
            if (0...1).contains(number) { return number == 1 }
            faults.note(.outOfRange, name, "is neither true nor false")
            return nil
        }
        guard let text = faults.optionalText(object, name), !text.isEmpty else { return nil }
        if text.equals("true") || text.equals("1") { return true }
        if text.equals("false") || text.equals("0") { return false }
        faults.note(.outOfRange, name, "is neither true nor false")
        return nil
    }
}
