import JSON

/// Apple's "App Store Server Notifications V1": `responseBodyV1`, in the shapes of all its years.
extension StoreNotificationDecoder {
    /// Verifies and decodes a body of version 1.
    func notificationV1(_ value: JSONValue) throws(NotificationRefusal) -> StoreNotificationEvent {
        let (bundleID, environment) = try verifiedV1(value)
        let type = faults.requiredID(value, "notification_type")
        let subject = subjectV1(value, type: type)
        let isStatusChange = type.equals("DID_CHANGE_RENEWAL_STATUS")
        let statusChange =
            isStatusChange
            ? faults.optionalIdentifier(value, "auto_renew_status_change_date_ms") : nil
        let transactionID = statusChange == nil ? subject.decisive?.transactionID : nil
        let instant =
            statusChange ?? subject.cancelled?.cancellationMilliseconds
            ?? subject.decisive?.purchaseMilliseconds
        if subject.line == nil, transactionID == nil, instant == nil {
            // An id made of nothing would be that of the next such body too.
            _ = faults.missing("original_transaction_id")
        }

        idBuilder.begin()
        idBuilder.add("appstore.notification.v1")
        idBuilder.add(type)
        idBuilder.add(bundleID)
        addToID(subject.line)
        // The switch of a line at an instant is one, whatever was bought before a retry.
        addToID(transactionID)
        addToID(instant)
        return StoreNotificationEvent(
            id: idBuilder.finish(), environment: environment, bundleID: keep(bundleID),
            effect: effectV1(type, value, subject))
    }

    private func effectV1(
        _ type: UnsafeRawBufferPointer, _ value: JSONValue, _ subject: SubjectV1
    ) -> StoreNotificationEvent.Effect {
        guard subject.isCancellation else { return countV1(type, value, subject.decisive) }
        // What is about a cancellation and has none adds nothing.
        guard let cancelled = subject.cancelled else { return .cancellations([]) }
        if type.equals("REVOKE") {
            let isUpgraded = flag(cancelled.value, "is_upgraded") == true
            // An upgrade is one whatever the body calls it.
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

    /// What a body of version 1 is about.
    struct SubjectV1 {
        /// The transactions that it lists; where it names a line of purchases, those of it only.
        let transactions: [ListedTransaction]
        /// Whether it is about a transaction that was cancelled.
        let isCancellation: Bool
        /// That transaction; nil when none is known.
        let cancelled: ListedTransaction?
        /// The transaction that tells one notification from another: the cancelled one, else the newest
        /// purchase.
        let decisive: ListedTransaction?
        /// The line of purchases.
        let line: TransactionID?
    }

    /// What a body of a type is about.
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

    /// The line of purchases that a body names at its top level; bodies before March 2021 do so within
    /// the withdrawn objects.
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

    /// Bodies of 2021 may say what was cancelled at their top level only: an order, and when.
    private func cancelNamed(by value: JSONValue, among transactions: inout [ListedTransaction]) {
        guard let order = transactionID(value, "web_order_line_item_id"),
            let cancelledAt = faults.optionalIdentifier(value, "cancellation_date_ms"),
            let place = transactions.firstIndex(where: {
                transactionID($0.value, "web_order_line_item_id") == order
            })
        else { return }
        transactions[place].cancellationMilliseconds = cancelledAt
    }

    /// The bundle, whose secret the body knows, and the environment.
    private func verifiedV1(
        _ value: JSONValue
    ) throws(NotificationRefusal) -> (UnsafeRawBufferPointer, AppStoreEnvironment) {
        // Bodies of 2019 name their bundle within the transaction only.
        let named = Self.firstText([
            value.member("bid"), value.member("latest_receipt_info")?.member("bid"),
            value.member("latest_expired_receipt_info")?.member("bid"),
        ])
        guard let bundleID = named, let app = trust.app(bundleID) else {
            throw .untrusted("bid", "is none of the configured bundles")
        }
        guard let password = value.member("password")?.string else {
            throw .untrusted("password", "is missing")
        }
        guard app.accepts(password: password) else {
            throw .untrusted("password", "is no shared secret of the bundle")
        }
        let environment =
            value.member("environment") ?? value.member("unified_receipt")?.member("environment")
        let name = faults.requiredID(environment, "environment")
        // A body that names none is refused, whichever it is taken for.
        guard !name.isEmpty else { return (bundleID, .production) }
        guard let known = AppStoreEnvironment(ofVersion1: name), trust.environments.contains(known)
        else {
            throw .untrusted("environment", "is none that the pipeline allows")
        }
        return (bundleID, known)
    }

    /// The transactions that a body lists: those of the unified receipt, else those of the withdrawn
    /// members, which are one object each.
    private func transactionsV1(of value: JSONValue) -> [ListedTransaction] {
        let unified = faults.optionalObject(value, "unified_receipt")
        let listed = unified.map { listedTransactions($0, "latest_receipt_info") } ?? []
        if !listed.isEmpty { return listed }
        return listedTransactions(value, "latest_receipt_info")
            + listedTransactions(value, "latest_expired_receipt_info")
    }

    private func countV1(
        _ type: UnsafeRawBufferPointer, _ value: JSONValue, _ transaction: ListedTransaction?
    ) -> StoreNotificationEvent.Effect {
        let columns = transaction.map { self.columns(of: $0) } ?? .init()
        let isTrial = transaction.map { flag($0.value, "is_trial_period") == true } ?? false
        let isOn =
            type.equals("DID_CHANGE_RENEWAL_STATUS") ? flag(value, "auto_renew_status") : nil
        let measure = Self.measure(ofVersion1: type, isOn: isOn)
        return .count(
            columns, measure, measure == .initialBuys && isTrial ? .trials : nil, grossPrice: 0)
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
