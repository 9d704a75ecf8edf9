import EventLog
import JSON

/// Apple's "App Store Server Notifications V1": `responseBodyV1`, in its forms of all years.
extension StoreNotificationsDecoder {
    func notificationV1(_ value: JSONValue) throws(NotificationRefusal) -> StoreNotificationsEvent {
        let (bundleID, environment) = try verifiedV1(value)
        let type = faults.requiredID(value, "notification_type")
        let subject = subjectV1(value, type: type)
        let isStatusChange = type.equals("DID_CHANGE_RENEWAL_STATUS")
        let statusChange =
            isStatusChange
            ? faults.optionalInstant(value, "auto_renew_status_change_date_ms") : nil
        let transactionID = statusChange == nil ? subject.decisive?.transactionID : nil
        let instant =
            statusChange ?? subject.cancelled?.cancellationMilliseconds
            ?? subject.decisive?.purchaseMilliseconds
        if subject.line == nil, transactionID == nil, instant == nil {
            // Without these parts, the next such body would have the same id.
            _ = faults.missing("original_transaction_id")
        }

        idBuilder.begin()
        idBuilder.add("appstore.notification.v1")
        idBuilder.add(type)
        idBuilder.add(bundleID)
        addToID(subject.line)
        // A switch of a line at an instant is one event, regardless of purchases before a retry.
        addToID(transactionID)
        addToID(instant)
        return StoreNotificationsEvent(
            id: idBuilder.finish(), environment: environment, bundleID: keep(bundleID),
            effect: effectV1(type, value, subject))
    }

    private func effectV1(
        _ type: UnsafeRawBufferPointer, _ value: JSONValue, _ subject: SubjectV1
    ) -> StoreNotificationsEvent.Effect {
        guard subject.isCancellation else { return countV1(type, value, subject.decisive) }
        // A body about a cancellation that lists none adds nothing.
        guard let cancelled = subject.cancelled else { return .cancellations([]) }
        if type.equals("REVOKE") {
            let isUpgraded = flag(cancelled.value, "is_upgraded") == true
            // An upgrade counts as one under any type.
            return isUpgraded
                ? .cancellations(cancellations(among: [cancelled]))
                : countV1(type, value, cancelled)
        }
        return .cancellations(
            cancellations(
                among: subject.transactions.filter {
                    $0.originalTransactionID == subject.line
                }))
    }

    /// The subject of a body of version 1.
    struct SubjectV1 {
        /// The transactions in the body; only those of its line of purchases, if it names one.
        let transactions: [ListedTransaction]
        /// Whether its type is about a cancelled transaction.
        let isCancellation: Bool
        /// The cancelled transaction; nil if unknown.
        let cancelled: ListedTransaction?
        /// The transaction that identifies the notification: the cancelled one, otherwise the newest purchase.
        let decisive: ListedTransaction?
        let line: TransactionID?
    }

    /// The subject of a body with a type.
    func subjectV1(_ value: JSONValue, type: UnsafeRawBufferPointer) -> SubjectV1 {
        let namedLine = namedLine(of: value)
        var transactions = transactionsV1(of: value).filter { transaction in
            namedLine == nil || transaction.originalTransactionID == namedLine
        }
        let isCancellation = ["REFUND", "CANCEL", "REVOKE"].contains { type.equals($0) }
        if isCancellation, transactions.allSatisfy({ $0.cancellationMilliseconds == nil }) {
            cancelNamed(by: value, among: &transactions)
        }
        let cancelled =
            isCancellation ? transactions.firstNewest(by: \.cancellationMilliseconds) : nil
        let decisive =
            cancelled ?? transactions.firstNewest(by: \.purchaseMilliseconds) ?? transactions.first
        return SubjectV1(
            transactions: transactions, isCancellation: isCancellation, cancelled: cancelled,
            decisive: decisive, line: namedLine ?? decisive?.originalTransactionID)
    }

    /// The line of purchases at the top level of a body; bodies before March 2021 name it within the withdrawn objects.
    private func namedLine(of value: JSONValue) -> TransactionID? {
        if let line = transactionID(value, "original_transaction_id") { return line }
        for member in [
            value.member("latest_receipt_info"), value.member("latest_expired_receipt_info"),
        ] {
            guard let member, member.isObject else { continue }
            if let line = transactionID(member, "original_transaction_id") { return line }
        }
        return nil
    }

    /// Bodies of 2021 may identify the cancelled transaction only at their top level, with an order and a date.
    private func cancelNamed(by value: JSONValue, among transactions: inout [ListedTransaction]) {
        guard let order = transactionID(value, "web_order_line_item_id"),
            let cancelledAt = faults.optionalInstant(value, "cancellation_date_ms"),
            let place = transactions.firstIndex(where: {
                transactionID($0.value, "web_order_line_item_id") == order
            })
        else { return }
        transactions[place].cancellationMilliseconds = cancelledAt
    }

    /// The bundle, after checking its secret, and the environment.
    private func verifiedV1(
        _ value: JSONValue
    ) throws(NotificationRefusal) -> (UnsafeRawBufferPointer, AppStoreEnvironment) {
        // Bodies of 2019 name their bundle only within the transaction.
        let named = Self.firstText([
            value.member("bid"), value.member("latest_receipt_info")?.member("bid"),
            value.member("latest_expired_receipt_info")?.member("bid"),
        ])
        guard let bundleID = named, let app = trust.app(bundleID) else {
            throw .untrusted("bid", "is not one of the configured bundles")
        }
        guard let password = value.member("password")?.string else {
            throw .untrusted("password", "is missing")
        }
        guard app.accepts(password: password) else {
            throw .untrusted("password", "is not a shared secret of the bundle")
        }
        let environment =
            value.member("environment") ?? value.member("unified_receipt")?.member("environment")
        let name = faults.requiredID(environment, "environment")
        // A body without an environment is rejected; the returned one does not matter.
        guard !name.isEmpty else { return (bundleID, .production) }
        guard let known = AppStoreEnvironment(ofVersion1: name), trust.environments.contains(known)
        else {
            throw .untrusted("environment", "is not allowed by the pipeline")
        }
        return (bundleID, known)
    }

    /// The transactions in a body: those of the unified receipt, otherwise those of the withdrawn members, which are
    /// one object each.
    private func transactionsV1(of value: JSONValue) -> [ListedTransaction] {
        let unified = faults.object(value.member("unified_receipt"), "unified_receipt")
        let listed = unified.map { listedTransactions($0, "latest_receipt_info") } ?? []
        if !listed.isEmpty { return listed }
        return listedTransactions(value, "latest_receipt_info")
            + listedTransactions(value, "latest_expired_receipt_info")
    }

    private func countV1(
        _ type: UnsafeRawBufferPointer, _ value: JSONValue, _ transaction: ListedTransaction?
    ) -> StoreNotificationsEvent.Effect {
        let columns = transaction.map { self.columns(of: $0) } ?? .init()
        let isTrial = transaction.map { flag($0.value, "is_trial_period") == true } ?? false
        let isOn =
            type.equals("DID_CHANGE_RENEWAL_STATUS") ? flag(value, "auto_renew_status") : nil
        let measure = Self.measure(ofVersion1: type, isOn: isOn)
        return .count(
            columns, measure, measure == .initialBuys && isTrial ? .trials : nil, nil,
            .init(
                firstPurchase: transaction?.firstPurchaseMilliseconds,
                instant: transaction?.purchaseMilliseconds),
            trialStep(measure, of: transaction?.originalTransactionID, isTrial: isTrial))
    }

    private func trialStep(
        _ measure: StoreNotificationsKey.Measure, of line: TransactionID?, isTrial: Bool
    ) -> StoreNotificationsEvent.TrialStep? {
        guard let line else { return nil }
        switch measure {
        case .initialBuys: return .init(line: line, kind: isTrial ? .trial : .purchase)
        // Version 1 has no price.
        case .renewals, .recoveries: return isTrial ? nil : .init(line: line, kind: .paidRenewal)
        default: return nil
        }
    }

    private static func measure(
        ofVersion1 type: UnsafeRawBufferPointer, isOn: Bool?
    ) -> StoreNotificationsKey.Measure {
        if let isOn { return isOn ? .autoRenewOn : .autoRenewOff }
        return measuresV1.first { type.equals($0.type) }?.measure ?? .other
    }

    private static let measuresV1: [(type: StaticString, measure: StoreNotificationsKey.Measure)] =
        [
            ("INITIAL_BUY", .initialBuys),
            ("DID_RENEW", .renewals),
            ("INTERACTIVE_RENEWAL", .renewals),
            ("DID_RECOVER", .recoveries),
            ("RENEWAL", .recoveries),
            ("DID_FAIL_TO_RENEW", .renewalFailures),
            ("DID_CHANGE_RENEWAL_PREF", .preferenceChanges),
            ("REVOKE", .familyRevocations),
            ("CONSUMPTION_REQUEST", .consumptionRequests),
            ("PRICE_INCREASE_CONSENT", .priceIncreasesPending),
        ]
}

/// Apple's "verifyReceipt": `responseBody`, which an operator publishes.
extension StoreNotificationsDecoder {
    /// Decodes a receipt of a known bundle. It counts the cancellations of one line, which is the record's key.
    func receipt(
        _ value: JSONValue, of record: RecordView
    ) throws(NotificationRefusal) -> StoreNotificationsEvent {
        let receipt = value.member("receipt")
        // Receipts of single transactions use `bid`.
        let bundle = Self.firstText([receipt?.member("bundle_id"), receipt?.member("bid")])
        guard let bundleID = bundle, trust.app(bundleID) != nil else {
            throw .untrusted("receipt.bundle_id", "is not one of the configured bundles")
        }
        // Responses for receipts of iOS 6 have no environment, and come from the App Store.
        let name = faults.optionalText(value, "environment").flatMap { $0.isEmpty ? nil : $0 }
        let environment = name.map { AppStoreEnvironment(ofVersion1: $0) } ?? .production
        guard let environment, trust.environments.contains(environment) else {
            throw .untrusted("environment", "is not allowed by the pipeline")
        }
        // A receipt without a key has no line and no id.
        let key = record.key.flatMap { $0.isEmpty ? nil : $0 } ?? faults.missing("the record's key")
        let line = TransactionID(key)
        let transactions =
            listedTransactions(value, "latest_receipt_info")
            + listedTransactions(value, "latest_expired_receipt_info")
            + (receipt.map { listedTransactions($0, "in_app") } ?? [])

        idBuilder.begin()
        idBuilder.add("appstore.receipt")
        idBuilder.add(key)
        if let bytes = record.value { idBuilder.add(bytes) }
        return StoreNotificationsEvent(
            id: idBuilder.finish(), environment: environment, bundleID: keep(bundleID),
            effect: .cancellations(
                cancellations(
                    among: transactions.filter { $0.originalTransactionID == line })))
    }
}

/// A transaction of a customer's history in bodies of version 1 and receipts; valid as long as the document.
struct ListedTransaction {
    let value: JSONValue
    let transactionID: TransactionID?
    /// The transaction's line of purchases.
    let originalTransactionID: TransactionID?
    let firstPurchaseMilliseconds: Int64?
    let purchaseMilliseconds: Int64?
    var cancellationMilliseconds: Int64?
}

extension [ListedTransaction] {
    /// The first transaction with the latest instant; nil without instants.
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

extension StoreNotificationsDecoder {
    /// The transactions of a member: an array or a single one.
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
            firstPurchaseMilliseconds: faults.optionalInstant(value, "original_purchase_date_ms"),
            purchaseMilliseconds: faults.optionalInstant(value, "purchase_date_ms"),
            cancellationMilliseconds: faults.optionalInstant(value, "cancellation_date_ms"))
    }

    /// The cancelled transactions, in order.
    func cancellations(
        among transactions: [ListedTransaction]
    ) -> [StoreNotificationsEvent.Cancellation] {
        transactions.compactMap { transaction in
            guard let date = transaction.cancellationMilliseconds else { return nil }
            if transaction.transactionID == nil {
                // An invalid id is already reported.
                let found = transaction.value.member("transaction_id")
                if found.map({ $0.string?.isEmpty == true }) ?? true {
                    _ = faults.missing("transaction_id")
                }
            }
            return StoreNotificationsEvent.Cancellation(
                transactionID: transaction.transactionID ?? .number(0), dateMilliseconds: date,
                isUpgraded: flag(transaction.value, "is_upgraded") == true,
                firstPurchaseDate: transaction.firstPurchaseMilliseconds,
                columns: columns(of: transaction))
        }
    }

    /// The columns of a transaction's row; version 1 has no storefront and no currency.
    func columns(of transaction: ListedTransaction) -> StoreNotificationsEvent.Columns {
        StoreNotificationsEvent.Columns(
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

    /// A flag, which Apple writes as text or occasionally as a number; nil if missing.
    func flag(_ object: JSONValue, _ name: StaticString) -> Bool? {
        guard let value = object.member(name) else { return nil }
        if let boolean = value.boolean { return boolean }
        if case .exact(let number)? = value.number?.asInteger {
            if (0...1).contains(number) { return number == 1 }
            faults.report(.outOfRange, name, "is neither true nor false")
            return nil
        }
        guard let text = faults.optionalText(object, name), !text.isEmpty else { return nil }
        if text.equals("true") || text.equals("1") { return true }
        if text.equals("false") || text.equals("0") { return false }
        faults.report(.outOfRange, name, "is neither true nor false")
        return nil
    }
}
